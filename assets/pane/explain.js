// Links, blocks, devices and places in words, for tips and cards.

import { bytesText, fill, percent, rateText, seconds } from "../trace/words.js";

const LISTED = 4;

// A message in few words: which block, from whom to whom.
function named(timeline, text, i) {
  const { c, places, moveStart } = timeline;
  const block = timeline.blockName(c.block[moveStart[i]]);
  return fill(text["player.message"], { src: places.name[c.src[i]].trim(), dst: places.name[c.dst[i]].trim(), block });
}

export function linkName({ links, devices }, k) {
  return `${devices.name[links.src[k]]} → ${devices.name[links.dst[k]]}`;
}

// A block and who added to it: the one or the several by their numbers, or how many they are where those are not known.
function contents(text, { block, count, ranks, value }) {
  const by = count > 1 ? "player.holding.several" : "player.holding";
  const what = fill(text[ranks ? by : "player.counting"], { block, count, ranks });
  return value ? `${what} = ${value}` : what;
}

function explainPlace(timeline, text, t, { rank, index: slot }) {
  const held = timeline.slots(rank, t)[slot];
  const what = held?.block === null ? text["player.nothing"] : contents(text, held ?? {});
  return [fill(text["player.place"], { rank, slot, what })];
}

function explainLink(timeline, text, t, { index }) {
  const { links } = timeline;
  const rate = timeline.loads(t)[index];
  const [now, own] = [timeline.capacities(t)[index], links.bandwidth[index]];
  const sharers = timeline.sharers(index, t);
  const lines = [
    `${linkName(timeline, index)} (${links.kind[index]})`,
    fill(text["player.rate"], { rate: rateText(rate), capacity: rateText(now) }),
  ];
  if (now !== own) lines.push(fill(text["player.changed"], { share: percent(now / own), own: rateText(own) }));
  for (const i of sharers.slice(0, LISTED)) lines.push(`${named(timeline, text, i)}: ${rateText(timeline.rate(i, t))}`);
  if (sharers.length > LISTED) lines.push(fill(text["player.others"], { count: sharers.length - LISTED }));
  lines.push(fill(text["player.total"], { bytes: bytesText(links.bytes[index]) }));
  return lines;
}

// Who sends to whom, on all links: the line of a shape.
function explainPair(timeline, text, t, { index }) {
  const { shape } = timeline;
  const [src, dst] = [shape.src, shape.dst].map((ends) => shape.place[ends[index]]);
  const flows = timeline.moving(t).filter((i) => timeline.c.src[i] === src && timeline.c.dst[i] === dst);
  const name = (place) => timeline.places.name[place].trim();
  const lines = [`${name(src)} → ${name(dst)}`];
  if (!flows.length) lines.push(text["player.idle"]);
  for (const i of flows.slice(0, LISTED)) lines.push(`${named(timeline, text, i)}: ${rateText(timeline.rate(i, t))}`);
  return lines;
}

// When a message left, and what it had waited for: another's arrival, or its connection, which sent another.
function left(timeline, text, i) {
  const [before, at] = [timeline.cause(i), seconds(timeline.left[i])];
  if (before < 0) return fill(text["player.atonce"], { at });
  const inLine = timeline.through[before] > timeline.left[i] + timeline.half;
  return fill(text[inLine ? "player.behind" : "player.after"], { message: named(timeline, text, before), at });
}

// The devices on a message's way, in turn.
function passed({ c }, i) {
  const route = c.route[i];
  return [...c.node.subarray(c.node_start[route], c.node_start[route + 1])];
}

function explainBlock(timeline, text, t, { index: i }) {
  const m = timeline.moveStart[i];
  const { count, ranks } = timeline.contributors(timeline.c.brings[m]);
  const block = timeline.blockName(timeline.c.block[m]);
  const src = timeline.places.name[timeline.c.src[i]].trim();
  const dst = timeline.places.name[timeline.c.dst[i]].trim();
  const share = percent(timeline.delivered(i, t));
  const value = timeline.values?.brought(i)[0];
  const lines = [
    `${contents(text, { block, count, ranks, value })} · ${bytesText(timeline.bytes(i))}`,
    fill(text["player.blockline"], { src, dst, share, rate: rateText(timeline.rate(i, t)) }),
  ];
  const nics = passed(timeline, i).filter((device) => timeline.devices.kind[device] === "NIC");
  const names = nics.map((device) => timeline.devices.name[device]).join(" → ");
  if (nics.length) lines.push(fill(text["player.nics"], { nics: names }));
  lines.push(left(timeline, text, i));
  const waited = timeline.start[i] - timeline.left[i];
  if (waited > 0) lines.push(fill(text["player.waited"], { time: seconds(waited) }));
  const link = timeline.squeeze(i, t);
  if (link >= 0) {
    const others = timeline.sharers(link, t).length - 1;
    lines.push(fill(text["player.squeezed"], { link: linkName(timeline, link), count: others }));
  }
  for (const [fault, time] of timeline.hits(i)) lines.push(fill(text["player.hit"], { fault, time: seconds(time) }));
  if (timeline.critical().has(i)) lines.push(text["player.oncritical"]);
  return lines;
}

function explainDevice(timeline, text, t, { index }) {
  const { devices } = timeline;
  const rank = devices.rank[index];
  const name = `${devices.name[index]}${devices.numa[index] >= 0 ? ` · NUMA ${devices.numa[index]}` : ""}`;
  if (rank < 0) return [name];
  const holds = timeline.slots(rank, t).filter((slot) => slot.block !== null);
  const lines = [`${name} · ${timeline.rankName(rank)}`];
  for (const slot of holds.slice(0, 8)) lines.push(contents(text, slot));
  if (holds.length > 8) lines.push(fill(text["player.others"], { count: holds.length - 8 }));
  const next = timeline.next(rank, t);
  if (next < 0) return lines;
  const before = timeline.cause(next);
  const what = { message: named(timeline, text, next), other: before >= 0 ? named(timeline, text, before) : "" };
  lines.push(fill(text[before >= 0 ? "player.waitsfor" : "player.sendsnext"], what));
  return lines;
}

const EXPLAIN = {
  place: explainPlace,
  link: explainLink,
  pair: explainPair,
  block: explainBlock,
  device: explainDevice,
};

// What is known at t about a link, a block, a device, a pair or a place, in lines.
export function explain(timeline, text, t, focus) {
  return EXPLAIN[focus.kind](timeline, text, t, focus);
}
