// What a change did to a run, in the sentences of `ops.answers`: made of the same texts and the same numbers.

import { percent, seconds } from "../trace/words.js";
import { quoted } from "../hands/offers.js";
import { first } from "./facts.js";

const PARTS = ["latency", "bytes", "slowed", "sharing", "reducing", "working", "waiting"];
const FLOWING = new Set([1, 2, 3]);
const WAITING = 6;
const [SAME, SLIGHT, LEAST, NAMED, WORTH, MOST] = [1e-9, 1.05, 0.2, 6, 0.99, 20_000];
const PLACE = /{(\w+)[^}]*}/;
const MACHINE = new Set(["fault", "edits"]);

// The answer to changes, each a word of the plan, its spec and a phrase; `before` and `after` are facts of both runs.
// `timeOf(spec)` is how long the run takes with an edit more, s. As that takes a run, what would win a loss back comes `later`.
export function answered(before, after, changes, text, timeOf = () => null) {
  const phrases = changes.map(([, , phrase]) => phrase);
  const change = phrases.reduce((one, other) => ["answer.and", { first: one, second: other }]);
  const at = { before: `t:${before.time}`, after: `t:${after.time}`, factor: "why" };
  const [id, values] = compared(before, after);
  const why = reasonOf(before, after, changes);
  return {
    headline: spans([id, { change, ...values }], at, text),
    reason: spans(why.message, { [why.place]: why.shows }, text),
    remedy: [],
    later: id === "answer.slower" ? () => remedyOf(after, timeOf, text) : null,
    changes,
  };
}

// What would win a loss back: twice the bandwidth where everybody waits, as `ops.answers.remedy` has it.
function remedyOf({ time, link, transfers }, timeOf, text) {
  if (!link || link.share < LEAST || transfers > MOST) return [];
  const [src, dst] = link.name.split(/ [→↔] /);
  const faster = timeOf(`set_link:src=${quoted(src)},dst=${quoted(dst)},times=2`);
  if (faster === null || faster >= WORTH * time) return [];
  const values = { link: `${src} ↔ ${dst}`, time: seconds(faster) };
  return spans(["answer.remedy.link", values], { link: shownLink(link.name) }, text);
}

function compared(before, after) {
  if (Math.abs(after.time - before.time) <= SAME * before.time) return ["answer.same", { after: seconds(after.time) }];
  const [old, now] = [before, after].map(({ time }) => seconds(time));
  const [number, unit] = old.split(" ");
  const isWorse = after.time > before.time;
  const times = isWorse ? after.time / before.time : before.time / after.time;
  const values = { before: unit === now.split(" ")[1] ? number : old, after: now, factor: factor(times) };
  return [isWorse ? "answer.slower" : "answer.faster", values];
}

function factor(times) {
  if (times >= SLIGHT) return `${Number(times.toPrecision(2))}×`;
  return times < 1.0005 ? ["answer.hardly", { factor: "0.1%" }] : `${(100 * (times - 1)).toFixed(1)}%`;
}

function reasonOf(before, after, changes) {
  if (Math.abs(after.time - before.time) <= SAME * before.time) return same(before, after, changes);
  const isAhead = after.time < before.time;
  const [longer, shorter] = isAhead ? [before, after] : [after, before];
  const more = longer.parts.map((spent, k) => spent - shorter.parts[k]);
  const part = first(more);
  const isSameWork = !isAhead || changes.every(([word]) => MACHINE.has(word));
  const held = holderOf(longer, part, isSameWork);
  if (held) return waits(...held, longer.ranks, isAhead ? "no_longer" : "now");
  const shows = `part:${PARTS[part]}`;
  if (PARTS[part] === "latency" && longer.messages > shorter.messages) {
    const values = { after: after.messages.toLocaleString("en"), before: before.messages.toLocaleString("en") };
    return { message: ["answer.why.messages", values], place: "messages", shows };
  }
  const values = { part: [`answer.why.part.${PARTS[part]}`, {}], time: seconds(more[part]) };
  return { message: [isAhead ? "answer.why.less" : "answer.why.more", values], place: "part", shows };
}

// What holds a run up where most of its additional time is spent on a part: a link, a rank, or nothing of the two.
function holderOf({ link, rank }, part, isSameWork) {
  if (FLOWING.has(part) && isSameWork && link && link.share >= LEAST) return ["link", link];
  return part === WAITING && rank ? ["rank", rank] : null;
}

function waits(what, { name, share, ranks }, all, ending) {
  const shows = what === "rank" ? `rank:${name}` : shownLink(name);
  const [how, values] = ranks
    ? ranks === all
      ? ["all", { ranks }]
      : ["some", { ranks, all }]
    : ["share", { share: percent(share) }];
  return { message: [`answer.why.${what}.${how}.${ending}`, { [what]: name, ...values }], place: what, shows };
}

const shownLink = (name) => `link:${name.replace(/ [→↔] /, ">")}`;

// Why a change makes no difference.
function same(before, after, changes) {
  const [old, now] = [ratesOf(before.links), ratesOf(after.links)];
  const changed = [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
  if (!changed.length) {
    const rank = changes.map(([, spec]) => /^straggler:(?:.*,)?rank=(\d+)/.exec(spec)?.[1]).find(Boolean);
    if (rank) return { message: ["answer.why.slack", { rank }], place: "rank", shows: `rank:${rank}` };
    return alike(before, after, changes);
  }
  const { names, bytes, use } = after.links;
  const used = changed.filter((name) => bytes[names.lastIndexOf(name)] > 0);
  if (!used.length) {
    const links = firstFew(bothWays(changed));
    return { message: ["answer.why.unused", { links }], place: "links", shows: shownLink(changed[0]) };
  }
  const busy = used.map((name) => use[names.lastIndexOf(name)]);
  const link = used[first(busy)];
  const values = { link, share: percent(busy[first(busy)]) };
  const held = heldAlike(before, after);
  if (held && endsOf(link) !== endsOf(held.name))
    return {
      message: ["answer.why.still", { held: held.name, ...values }],
      place: "held",
      shows: shownLink(held.name),
    };
  return { message: ["answer.why.room", values], place: "link", shows: shownLink(link) };
}

// Why two runs whose links are the same take just as long.
function alike(before, after, changes) {
  const held = heldAlike(before, after);
  if (held) {
    const share = percent(after.links.use[held.link]);
    return { message: ["answer.why.both", { link: held.name, share }], place: "link", shows: shownLink(held.name) };
  }
  if (changes.some(([word]) => !MACHINE.has(word)) && after.messages && after.messages === before.messages) {
    const values = { messages: after.messages.toLocaleString("en") };
    return { message: ["answer.why.both.messages", values], place: "messages", shows: "part:latency" };
  }
  return { message: ["answer.why.same", {}], place: "", shows: "" };
}

// The link that both runs wait for, or null.
function heldAlike({ link: one }, { link: two }) {
  const isSame = one && two && endsOf(one.name) === endsOf(two.name);
  return isSame && Math.min(one.share, two.share) >= LEAST ? two : null;
}

// The two ends of a link, whichever comes first.
const endsOf = (name) =>
  name
    .split(/ [→↔] /)
    .toSorted()
    .join();

// Bandwidth and latency of all links from one device to another, by name.
function ratesOf({ names, bandwidth, latency }) {
  const rates = new Map();
  names.forEach((name, k) => rates.set(name, `${rates.get(name) ?? ""}${bandwidth[k]},${latency[k]};`));
  return rates;
}

const back = (name) => name.split(" → ").toReversed().join(" → ");

// The names of links, both directions of one as one.
function bothWays(names) {
  return names.flatMap((name, k) => {
    if (!names.includes(back(name))) return [name];
    return names.indexOf(back(name)) < k ? [] : [name.replace("→", "↔")];
  });
}

const firstFew = (words) => words.slice(0, NAMED).join(", ") + (words.length > NAMED ? " …" : "");

// A message, which is an id and what fills its places, as pieces of text, each with what shows it.
function spans([id, values], targets, text) {
  const pieces = text[id].split(new RegExp(PLACE, "g"));
  const cut = pieces.map((piece, k) => (k % 2 ? [read(values[piece], text), targets[piece] ?? ""] : [piece, ""]));
  return joined(cut.filter(([words]) => words));
}

// The sentence of a message; a text stays as it is.
export function read(message, text) {
  if (!Array.isArray(message)) return String(message);
  const [id, values] = message;
  return text[id].replace(new RegExp(PLACE, "g"), (_, name) => read(values[name], text));
}

// Join neighbouring pieces of text that show no evidence.
function joined(pieces) {
  const whole = [];
  for (const [words, shows] of pieces)
    if (whole.length && !shows && !whole.at(-1)[1]) whole.at(-1)[0] += words;
    else whole.push([words, shows]);
  return whole;
}
