// Where a person stands in the runs they look at, as words of a link: the instant, the view, how near they are, what
// they have chosen, and the stretch of time that is played over and over.
//
// A place is `t`, `view`, a list of `cameras` and one of what is `chosen`, each with an entry per run, null where there
// is nothing to tell; `window` and `brush` are stretches of time, or null.

import { registered } from "./registry.js";

export const WORDS = ["t", "view", "camera", "window", "chosen", "brush"];
const BETWEEN = "_"; // numbers: it stands in an address as it is
const APART = "*"; // runs side by side
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const FARTHEST = 1e6; // device widths, or times nearer

// What may be chosen, by its kind: of how many things there are it is one; places are of a rank and a slot of it.
const COUNTS = {
  rank: ({ meta }) => [meta.ranks],
  device: ({ devices }) => [devices.name.length],
  link: ({ links }) => [links.src.length],
  block: ({ count }) => [count],
  pair: ({ shape }) => [shape ? shape.src.length : 0],
  place: ({ meta }) => (meta.full ? [meta.ranks, meta.slots] : [0, 0]),
};

const brief = (number, digits = 6) => String(Number(number.toPrecision(digits)));

function numbersOf(word, count) {
  const texts = word.split(BETWEEN);
  const numbers = texts.map(Number);
  const isGood = texts.length === count && texts.every((text) => NUMBER.test(text)) && numbers.every(Number.isFinite);
  return isGood ? numbers : null;
}

function stretchOf(word, { time }) {
  const range = numbersOf(word, 2);
  return range && range[0] >= 0 && range[0] < range[1] && range[0] < time ? [range[0], Math.min(range[1], time)] : null;
}

function cameraOf(word) {
  const numbers = numbersOf(word, 3);
  return numbers && numbers[0] >= 1 && numbers.every((each) => Math.abs(each) < FARTHEST) ? numbers : null;
}

function wordOf(focus, { devices }) {
  if (!focus) return "";
  if (focus.kind === "place") return ["place", focus.rank, focus.index].join(BETWEEN);
  const rank = focus.kind === "device" ? devices.rank[focus.index] : -1;
  return rank >= 0 ? `rank${BETWEEN}${rank}` : `${focus.kind}${BETWEEN}${focus.index}`;
}

function focusOf(word, timeline) {
  const [kind, ...texts] = word.split(BETWEEN);
  const most = Object.hasOwn(COUNTS, kind) ? COUNTS[kind](timeline) : [];
  const isGood = texts.length === most.length && texts.every((text, k) => /^\d{1,9}$/.test(text) && text < most[k]);
  if (!isGood || !texts.length) return null;
  const [first, second] = texts.map(Number);
  if (kind === "rank") return { kind: "device", index: timeline.devices.rank.indexOf(first) };
  return kind === "place" ? { kind, rank: first, index: second } : { kind, index: first };
}

// The words of a place; what is as usual is left out, the view too where it is the `usual` one.
export function written(place, timelines, usual) {
  const listed = (list, word) => list.map((each, k) => (each ? word(each, timelines[k]) : "")).join(APART);
  const stretch = (range) => (range ? range.map((t) => brief(t, 9)).join(BETWEEN) : "");
  const words = {
    t: place.t > 0 ? brief(place.t, 12) : "",
    view: place.view === usual ? "" : place.view,
    camera: listed(place.cameras, (numbers) => numbers.map((each) => brief(each)).join(BETWEEN)),
    window: stretch(place.window),
    chosen: listed(place.chosen, wordOf),
    brush: stretch(place.brush),
  };
  return Object.fromEntries(Object.entries(words).filter(([, word]) => word.replaceAll(APART, "")));
}

// The place that words tell, and in `refused` those that are nothing in these runs; `t` and a view of no such name have
// been seen to by whoever read the address.
export function read(words, timelines) {
  const refused = [];
  const [longest] = timelines.toSorted((a, b) => b.time - a.time);
  const taken = (name, value) => {
    if (words[name] && !value) refused.push(`${name}=${words[name]}`);
    return value;
  };
  const listed = (name, of) => {
    const parts = words[name]?.split(APART) ?? [];
    const values = parts.map((part, k) => (part && timelines[k] ? of(part, timelines[k]) : null));
    const isGood = parts.every((part, k) => !part || values[k]);
    return taken(name, isGood ? values : null) ?? [];
  };
  const stretch = (name) => taken(name, words[name] ? stretchOf(words[name], longest) : null);
  taken(
    "view",
    registered().some(({ name }) => name === words.view),
  );
  return {
    cameras: listed("camera", cameraOf),
    chosen: listed("chosen", focusOf),
    window: stretch("window"),
    brush: stretch("brush"),
    refused,
  };
}

// Put the words of a place into the page's address, without a step to come back to.
export function keep(words) {
  const address = new URL(globalThis.location.href);
  const isKept = WORDS.every((name) => (address.searchParams.get(name) ?? "") === (words[name] ?? ""));
  if (isKept) return;
  for (const name of WORDS) address.searchParams.delete(name);
  for (const [name, word] of Object.entries(words)) address.searchParams.set(name, word);
  globalThis.history.replaceState(globalThis.history.state, "", address);
}
