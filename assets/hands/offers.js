// What a click may ask of what was chosen: faults that come from Python with what is filled in here in braces.

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

export const isDragged = ({ spec }) => spec.includes("{share}");

// From where to where a share is dragged, in per cent: what a link can carry at t of its own bandwidth is all there is.
export function span(timeline, { kind, index }, t) {
  const most = kind === "link" ? timeline.capacities(t)[index] / timeline.links.bandwidth[index] : 1;
  return [LEAST, Math.round(100 * most)];
}

const micro = (time, digits) => `${Number((time * 1e6).toPrecision(digits))}us`;

// What an offer asks at t, as `name:key=value,…`; arguments of an instant that has not come, or has passed, are left out.
export function asked({ spec }, timeline, focus, t, share = 1) {
  const { devices, links, time } = timeline;
  const { index } = focus;
  const values =
    focus.kind === "link"
      ? { src: quoted(devices.name[links.src[index]]), dst: quoted(devices.name[links.dst[index]]) }
      : { device: quoted(devices.name[index]), rank: devices.rank[index] };
  if (t > 0 && t < time) values.now = micro(t, 6);
  values.share = Number(share.toPrecision(4));
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
