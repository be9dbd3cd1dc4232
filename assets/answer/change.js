// What a reader has changed, as phrases: as `ops.answers.change` has it.

import { bytesText, percent, seconds as timeText } from "../trace/words.js";
import { bandwidth, isFault, isFurther, seconds, taken } from "../whatif/words.js";

const ORDER = ["algorithm", "machine", "capture", "rates", "size", "settings", "fault", "ranks", "root", "counts"];
const ALL = "all";
const USUAL = { slow_link: { share: "0.5" }, set_class: { kind: ALL } };
const CHOICES = {
  straggler: ["slower", "late"],
  set_link: ["times", "bandwidth", "latency"],
  set_class: ["times", "bandwidth", "latency"],
};
const PLAIN = { 0.5: "half", 2: "twice" };
const RATES = [
  [1e12, "TB/s"],
  [1e9, "GB/s"],
  [1e6, "MB/s"],
  [1e3, "KB/s"],
  [1, "B/s"],
];

function rate(value) {
  const [scale, unit] = RATES.find(([least]) => value >= least) ?? RATES.at(-1);
  return `${Number((value / scale).toPrecision(4))} ${unit}`;
}

function ratio(text) {
  const number = Number(text);
  return number >= 1 ? `${Number(number.toPrecision(6))}×` : percent(number);
}

const time = (text) => timeText(seconds(text));
const SHOWN = {
  share: ratio,
  times: ratio,
  slower: ratio,
  bandwidth: (text) => rate(bandwidth(text)),
  latency: time,
  late: time,
};

// The id of what a kind does with some values: half and twice have words of their own.
function idOf(name, stated, text) {
  const choice = CHOICES[name]?.find((key) => key in stated) ?? "";
  const number = Number(stated[["times", "slower"].includes(choice) ? choice : "share"] ?? NaN);
  const id = ["answer.change", name, choice].filter(Boolean).join(".");
  const special = `${id}.${PLAIN[number] ?? (number < 1 ? "less" : "")}`;
  return special in text ? special : id;
}

// What a fault or an edit does: the id of a text, and what fills its places.
export function described(spec, text) {
  const { name, words } = taken(spec);
  const stated = { ...USUAL[name], ...Object.fromEntries(words) };
  const values = Object.fromEntries(Object.entries(stated).map(([key, word]) => [key, SHOWN[key]?.(word) ?? word]));
  if (name === "set_class") values.links = [`answer.change.links.${values.kind === ALL ? "all" : "kind"}`, values];
  const change = [idOf(name, stated, text), values];
  const begin = words.has("start") ? seconds(words.get("start")) : 0;
  return begin ? ["answer.change.from", { change, time: timeText(begin) }] : change;
}

// The changes of a page, each a word of the plan, its spec and a phrase, with those that a reader asked for since; `faults` are
// those of the page's run, and `size` its bytes.
export function changesOf(before, specs, { faults, size, text }) {
  let changes = [...before];
  for (const spec of specs) {
    const word = wordOf(spec);
    const others = changes.filter((change) => change[0] !== word);
    const own = changes.filter((change) => change[0] === word);
    if (word === "size") changes = [...others, ...resized(own[0]?.[1] ?? bytesText(size), spec)];
    else changes = [...others, ...further(own, spec, { last: word === "fault" ? faults.at(-1) : "", text })];
  }
  return changes.toSorted((a, b) => place(a) - place(b));
}

const place = ([word]) => (ORDER.includes(word) ? ORDER.indexOf(word) : ORDER.length);

function wordOf(spec) {
  if (spec.startsWith("size:")) return "size";
  return isFault(spec) ? "fault" : "edits";
}

function resized(old, spec) {
  const now = bytesText(Number(taken(spec).words.get("bytes")));
  return now === old ? [] : [["size", old, ["answer.change.size", { old, new: now }]]];
}

// Changes of one word with one more, which takes the place of the one before, or of the `last` that the page's run has, where it
// differs in its numbers alone.
function further(own, spec, { last, text }) {
  const phrase = [wordOf(spec), spec, described(spec, text)];
  if (own.length) return [...(isFurther(own.at(-1)[1], spec) ? own.slice(0, -1) : own), phrase];
  if (!last || !isFurther(last, spec)) return [phrase];
  return [phrase, [phrase[0], "", ["answer.change.without", { change: described(last, text) }]]];
}
