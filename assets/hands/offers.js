// What a click may ask of what was chosen: faults that come from Python with what is filled in here in braces.

import { bytesText, rateText, seconds } from "../trace/words.js";

const BRACES = /{(\w+)(?:\*([\d.]+))?}/g;

// What an offer may be on for it to be about this: a "link", a "rank", a device of its kind; the "machine" always is.
function names({ devices }, focus) {
  if (focus.kind === "link") return ["link", "machine"];
  if (focus.kind !== "device") return ["machine"];
  return [devices.kind[focus.index], ...(devices.rank[focus.index] >= 0 ? ["rank"] : []), "machine"];
}

// Those that can be asked about what was chosen: first those to drag, then those to click.
export function offersOn(offers, timeline, focus) {
  const there = names(timeline, focus);
  return offers
    .filter(({ on, to }) => !to && on.some((name) => there.includes(name)))
    .toSorted((a, b) => isDragged(b) - isDragged(a));
}

// Those that one device can be dragged for, onto another where there is one: the most particular first.
export function dragsOn({ offers, timeline }, from, to = null) {
  if (!from || from.index === to?.index) return [];
  const fits = (kinds, focus) => names(timeline, focus).some((name) => kinds.includes(name));
  return offers.filter((offer) => offer.to && fits(offer.on, from) && (!to || fits(offer.to, to)));
}

// A name as it stands in a list, as `sim.parameters.quoted` writes it: a comma is %2C.
export const quoted = (name) =>
  name.replace(/%(?=[0-9A-Fa-f]{2})|[,;=|&]|(?<= )\+(?= )|^\s+|\s+$/g, encodeURIComponent);

// What is asked by dragging one device onto another.
export function between({ on, spec }, { devices }, from, to) {
  const place = ({ index }) => (on.includes("rank") ? devices.rank[index] : quoted(devices.name[index]));
  const ends = { from: place(from), to: place(to) };
  return spec.replace(/{(from|to)}/g, (_, end) => ends[end]);
}

const micro = (time, digits) => `${Number((time * 1e6).toPrecision(digits))}us`;
const doubled = (place) => 2 ** (place / 10);
const factor = (place) => Number(doubled(place).toPrecision(3));
const octaves = (times) => Math.round(10 * Math.log2(times));
const within = (value, [least, most]) => Math.max(least, Math.min(most, value));
const [QUARTER, TWICE] = [-20, 10]; // tenths of octaves
const around = { least: -40, most: 40, start: 0, usual: 0 };

// What is said of a number of a fault that a run has already, like how late a rank is; nothing where it has none.
function said({ faults }, name, key, rank) {
  const spec = faults.findLast((each) => each.startsWith(`${name}:rank=${rank},${key}=`));
  return spec?.split(`${key}=`)[1].split(",")[0];
}

// What can be dragged to: from where to where a slider goes, where it starts and where the old run stands, the word for one
// of its places, what is shown there, and words below it. A place where it starts asks nothing. Null where there is nothing
// to drag.
const DRAGS = {
  // of what the old run has
  bandwidth({ timeline: { links }, old, focus: { index } }) {
    const others = old?.links.src.length === links.src.length ? old.links : links;
    const usual = others.bandwidth[index];
    const of = (place) => usual * doubled(place);
    const range = [QUARTER, TWICE];
    return {
      least: QUARTER,
      most: TWICE,
      start: within(octaves(links.bandwidth[index] / usual), range),
      usual: 0,
      word: (place) => `${Number((of(place) / 1e9).toPrecision(5))}GBps`,
      shown: (place) => rateText(of(place)),
      marks: [
        [QUARTER, "¼"],
        [-10, "½"],
        [0, `1× (${rateText(usual)})`],
        [TWICE, "2×"],
      ],
    };
  },
  times: ({ timeline: { links }, focus: { index } }) => {
    const usual = links.bandwidth[index];
    const marks = [-40, 0, 40].map((place) => [place, rateText(usual * doubled(place))]);
    return { ...around, word: factor, shown: (place) => rateText(usual * doubled(place)), marks };
  },
  latency: ({ timeline: { links }, focus: { index } }) => {
    const usual = links.latency[index];
    if (!(usual > 0)) return null;
    const of = (place) => usual * doubled(place);
    const marks = [-40, 0, 40].map((place) => [place, seconds(of(place))]);
    return { ...around, word: (place) => micro(of(place), 3), shown: (place) => seconds(of(place)), marks };
  },
  late: ({ timeline, old, focus }) => {
    const { time } = old ?? timeline;
    const of = (place) => (time * place) / 100;
    const late = parseFloat(said(timeline, "straggler", "late", timeline.devices.rank[focus.index]) ?? 0) * 1e-6;
    const shown = (place) => seconds(of(place));
    return {
      least: 0,
      most: 100,
      start: within(Math.round(late / of(1)) || 0, [0, 100]),
      usual: 0,
      word: (place) => micro(of(place), 3),
      shown,
      marks: [0, 50, 100].map((place) => [place, place ? shown(place) : "0"]),
    };
  },
  slower: ({ timeline, focus }) => {
    const slower = parseFloat(said(timeline, "straggler", "slower", timeline.devices.rank[focus.index]) ?? 1);
    const shown = (place) => `${factor(place)}×`;
    const marks = [0, 10, 20, 40].map((place) => [place, shown(place)]);
    return { least: 0, most: 40, start: within(octaves(slower), [0, 40]), usual: 0, word: factor, shown, marks };
  },
  bytes: ({ timeline: { meta } }) => {
    if (!meta.share) return null;
    const least = Math.ceil(1 / meta.share);
    const of = (place) => Math.max(least, Number((meta.size * doubled(place)).toPrecision(place ? 3 : 21)));
    const marks = [-40, 0, 40].map((place) => [place, bytesText(of(place))]);
    return { ...around, word: (place) => Math.round(of(place)), shown: (place) => bytesText(of(place)), marks };
  },
};
const DRAGGED = /{(bandwidth|times|latency|late|slower|bytes)}/;

export const isDragged = ({ spec }) => DRAGGED.test(spec);

// Whether an offer is about more than what was chosen, or about less that matters: it comes after the others.
export const isMore = ({ spec }) => /{(kind|latency|bytes)}/.test(spec);

// How an offer is dragged, of which `key` is what is filled in; null where it is not.
export function dragOf({ spec }, about) {
  const [, key] = DRAGGED.exec(spec);
  const drag = DRAGS[key](about);
  return drag && { ...drag, key };
}

// What an offer asks at t, as `name:key=value,…`; arguments of an instant that has not come, or has passed, are left out.
// `dragged` has what a slider stands at.
export function asked({ spec }, timeline, focus, t, dragged = {}) {
  const { devices, links, time } = timeline;
  const { index } = focus;
  const [src, dst] = [links.src[index], links.dst[index]].map((device) => quoted(devices.name[device] ?? ""));
  const place =
    focus.kind === "link"
      ? { src, dst, kind: links.kind[index] }
      : { device: quoted(devices.name[index] ?? ""), rank: devices.rank[index] };
  const values = { ...place, ...dragged };
  if (t > 0 && t < time) values.now = micro(t, 6);
  const [name, rest = ""] = spec.split(/:(.*)/s);
  const pairs = rest.split(",").map((pair) => {
    let isWhole = true;
    const filled = pair.replace(BRACES, (_, key, part = 1) => {
      if (key === "time") return micro(time * part, 2);
      isWhole &&= key in values;
      return String(values[key]);
    });
    return isWhole ? filled : "";
  });
  return [name, pairs.filter(Boolean).join(",")].filter(Boolean).join(":");
}
