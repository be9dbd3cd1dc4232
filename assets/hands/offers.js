// What a click may ask of what was chosen: faults that come from Python with what is filled in here in braces.

import { bytesText, percent, rateText, seconds } from "../trace/words.js";

const BRACES = /{(\w+)(?:\*([\d.]+))?}/g;
const LEAST = 5; // per cent of a bandwidth that can be dragged to

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
const quiet = { least: -40, most: 40, start: 0 };

// What can be dragged to: from where to where a slider goes and where it starts, the word for one of its places, and what is
// shown there. A place where it starts asks nothing. Null where there is nothing to drag.
const DRAGS = {
  // percent of a bandwidth: faults multiply, so the fault gets a share of the bandwidth that is left
  share: (timeline, focus, t) => {
    const [least, most] = span(timeline, focus, t);
    if (most <= least) return null;
    const word = (place) => Number((place / most).toPrecision(4));
    return { least, most, start: most, word, shown: (place) => percent(place / 100) };
  },
  times: ({ links }, { index }) => ({
    ...quiet,
    word: factor,
    shown: (place) => rateText(links.bandwidth[index] * doubled(place)),
  }),
  latency: ({ links }, { index }) => {
    const of = (place) => links.latency[index] * doubled(place);
    return of(0) > 0 ? { ...quiet, word: (place) => micro(of(place), 3), shown: (place) => seconds(of(place)) } : null;
  },
  late: ({ time }) => {
    const of = (place) => (time * place) / 100;
    return {
      least: 0,
      most: 100,
      start: 0,
      word: (place) => micro(of(place), 3),
      shown: (place) => seconds(of(place)),
    };
  },
  slower: () => ({ least: 0, most: 40, start: 0, word: factor, shown: (place) => `×${factor(place)}` }),
  bytes: ({ meta }) => {
    const least = meta.share ? Math.ceil(1 / meta.share) : 0;
    const of = (place) => Math.max(least, Number((meta.size * doubled(place)).toPrecision(place ? 3 : 21)));
    return meta.share
      ? { ...quiet, word: (place) => Math.round(of(place)), shown: (place) => bytesText(of(place)) }
      : null;
  },
};
const DRAGGED = /{(share|times|latency|late|slower|bytes)}/;

export const isDragged = ({ spec }) => DRAGGED.test(spec);

// How an offer is dragged, of which `key` is what is filled in; null where it is not.
export function dragOf({ spec }, timeline, focus, t) {
  const [, key] = DRAGGED.exec(spec);
  const drag = DRAGS[key](timeline, focus, t);
  return drag && { ...drag, key };
}

// From where to where a share is dragged, in per cent: what a link can carry at t of its own bandwidth is all there is.
export function span(timeline, { kind, index }, t) {
  const most = kind === "link" ? timeline.capacities(t)[index] / timeline.links.bandwidth[index] : 1;
  return [LEAST, Math.round(100 * most)];
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
