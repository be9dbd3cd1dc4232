// The machine: its devices, its links as wide as they are fast, and every block on its way along them.

import { bottlenecks, waitedFor } from "../paint/load.js";
import { Foldable } from "../scene/foldable.js";
import { Stage } from "../scene/stage.js";
import { linesOf, routeAlong } from "../trace/walk.js";

const [PLAIN, THIN, ROOM] = [2.6, 1.2, 4.2]; // pixels: of all where they are alike, of the thinnest, and what is added at most
const ROOMY = 8; // links that end at a rank, up to which they are as wide as they may be

// Pixels across each link, between two widths by the logarithm of its bandwidth: one for each doubling where there is room.
// Several runs have one scale of `rates`.
function widthsOf(bandwidth, rates) {
  let [least, widest] = rates ?? [Infinity, 0];
  for (const b of bandwidth) [least, widest] = [Math.min(least, b), Math.max(widest, b)];
  const doublings = Math.log2(widest / least) || 1;
  const [thinnest, each] = [Math.max(THIN, PLAIN - doublings / 2), Math.min(1, ROOM / doublings)];
  return bandwidth.map((b) => thinnest + each * Math.log2(b / least));
}

// How much of that there is room for: where every rank is joined to every other, wide lines would be one red sheet.
function roomOf({ src, dst }, ranks) {
  const ends = ranks.map(() => 0);
  for (const side of [src, dst]) for (const device of side) ends[device] += 1;
  const most = ends.reduce((many, count, device) => (ranks[device] < 0 ? many : Math.max(many, count)), 0);
  return Math.min(1, ROOMY / (most || 1));
}

// A picture of the machine with its devices where `placed` says; `hidden` ones are folded into a mark.
function stage(timeline, { placed, lines, path, hidden }) {
  const { devices, links } = timeline;
  const room = roomOf(links, devices.rank);
  const isHidden = new Set(hidden);
  let made = {}; // what a hand changes makes links wider and thinner
  const widths = () => {
    const [{ bandwidth }, { rates }] = [timeline.links, timeline];
    if (made.of !== bandwidth || made.rates !== rates)
      made = { of: bandwidth, rates, all: widthsOf(bandwidth, rates).map((width) => Math.max(1, width * room)) };
    return made.all;
  };
  return new Stage(timeline, {
    devices: { ...devices, ...placed },
    lines,
    get widths() {
      return widths();
    },
    used: links.bytes.map((bytes) => bytes > 0),
    isHidden: (d) => isHidden.has(d),
    focus: "link",
    shares: (t) => timeline.shares(t),
    waitedFor: (t) => waitedFor(timeline.shares(t), bottlenecks(timeline)),
    faulty: (t) => timeline.faulty(t),
    path,
    device: (d) => d,
  });
}

function open(timeline) {
  const { c, devices, header, lines } = timeline;
  const plain = { placed: {}, lines, path: (i) => timeline.path(c.route[i]), hidden: devices.hidden };
  const folded = stage(timeline, plain);
  if (!header.unfolded) return folded;
  const apart = linesOf(c, "unfolded_line");
  const paths = [];
  const path = (i) => (paths[c.route[i]] ??= routeAlong(timeline, apart, c.route[i]));
  const whole = stage(timeline, { placed: header.unfolded, lines: apart, path, hidden: [] });
  return new Foldable(folded, whole);
}

export default { label: "Machine", order: 1, refuses: () => "", open };
