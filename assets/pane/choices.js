// What may be looked at, to be chosen from a list: what the pointer can ask about, the keyboard can too.

import { linkName } from "./explain.js";

const MOST = 512;

function option(name, value) {
  const one = document.createElement("option");
  [one.textContent, one.value] = [name, value];
  return one;
}

// Ranks, links, and devices that something is offered on; nothing comes first.
export function choicesOf(timeline, offers) {
  const { devices, links } = timeline;
  const ranks = devices.rank.map((rank, d) => [rank, d]).filter(([rank]) => rank >= 0);
  const choices = ranks
    .toSorted((a, b) => a[0] - b[0])
    .map(([rank, d]) => [`${timeline.rankName(rank)} · ${devices.name[d]}`, { kind: "device", index: d }]);
  const kinds = new Set(offers.flatMap(({ on }) => on));
  for (const [d, kind] of devices.kind.entries())
    if (devices.rank[d] < 0 && kinds.has(kind)) choices.push([devices.name[d], { kind: "device", index: d }]);
  for (let k = 0; k < links.src.length && choices.length < MOST; k += 1)
    choices.push([linkName(timeline, k), { kind: "link", index: k }]);
  return [option("–", ""), ...choices.slice(0, MOST).map(([name, focus]) => option(name, JSON.stringify(focus)))];
}
