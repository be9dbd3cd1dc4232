// What may be looked at, to be chosen from a list: what the pointer can ask about, the keyboard can too.

import { linkName } from "../pane/explain.js";
import { make } from "../player/elements.js";

const MOST = 512;

// An empty list with a label, and behind it a hint if there is one.
export function listOf(parent, label, hint) {
  const root = make("label", "rs-look", parent);
  root.textContent = `${label} `;
  if (hint) make("span", "rs-hint", parent).textContent = hint;
  return make("select", "rs-pick", root);
}

function option([name, value]) {
  const one = document.createElement("option");
  [one.textContent, one.value] = [name, value];
  return one;
}

// Ranks, links, and devices that something is offered on; nothing comes first. Each is a name and a value.
export function choicesOf(timeline, offers) {
  const { devices, links } = timeline;
  const ranks = devices.rank.map((rank, d) => [rank, d]).filter(([rank]) => rank >= 0);
  const choices = ranks
    .toSorted((a, b) => a[0] - b[0])
    .map(([rank, d]) => [`${timeline.rankName(rank)} · ${devices.name[d]}`, { kind: "device", index: d }]);
  const kinds = new Set(offers.flatMap(({ on, to }) => (to ? [] : on)));
  for (const [d, kind] of devices.kind.entries())
    if (devices.rank[d] < 0 && kinds.has(kind)) choices.push([devices.name[d], { kind: "device", index: d }]);
  for (let k = 0; k < links.src.length && choices.length < MOST; k += 1)
    choices.push([linkName(timeline, k), { kind: "link", index: k }]);
  return [["–", ""], ...choices.slice(0, MOST).map(([name, focus]) => [name, JSON.stringify(focus)])];
}

const named = (timeline, { kind, index }) =>
  kind === "link" ? linkName(timeline, index) : timeline.devices.name[index];

// What is called the same in another run; null where nothing is.
export function found(focus, before, timeline) {
  const many = { link: timeline.links.src, device: timeline.devices.name }[focus?.kind];
  if (!many) return null;
  const name = named(before, focus);
  const index = [...many.keys()].find((k) => named(timeline, { ...focus, index: k }) === name);
  return index === undefined ? null : { ...focus, index };
}

const isKept = (one, [name, value]) => one.value === value && one.textContent === name;

// Have a list offer these, and one be chosen, or nothing. Of hundreds those alone are made that were not there before: runs on
// one machine have most of them in common.
export function offerChoices(list, choices, focus) {
  const there = [...list.options];
  const least = Math.min(there.length, choices.length);
  let [head, tail] = [0, 0];
  while (head < least && isKept(there[head], choices[head])) head += 1;
  while (tail < least - head && isKept(there.at(-1 - tail), choices.at(-1 - tail))) tail += 1;
  for (const gone of there.slice(head, there.length - tail)) gone.remove();
  const fresh = choices.slice(head, choices.length - tail).map(option);
  list.options[head - 1]?.after(...fresh);
  if (!head) list.prepend(...fresh);
  const value = focus ? JSON.stringify({ kind: focus.kind, index: focus.index }) : "";
  list.value = choices.some((choice) => choice[1] === value) ? value : "";
}
