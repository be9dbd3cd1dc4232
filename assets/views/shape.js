// The algorithm: every rank where the shape of its messages puts it, a line for every pair that talks.

import { bottlenecks, waitedFor } from "../paint/load.js";
import { Stage } from "../scene/stage.js";
import { linesOf, walk } from "../trace/walk.js";

const WIDTH = 1.6;

function open(timeline) {
  const { c, shape, meta, places } = timeline;
  const count = shape.x.length;
  const isRank = shape.place.map((place) => place < meta.ranks);
  const devices = {
    ...shape,
    kind: isRank.map((rank) => (rank ? "GPU" : "NVS")),
    rank: shape.place.map((place, spot) => (isRank[spot] ? place : -1)),
    name: shape.place.map((place) => timeline.devices.name[places.device[place]]),
    label: shape.place.map((place) => timeline.devices.label[places.device[place]]),
  };
  const lines = linesOf(c, "shape_line");
  const walked = lines.map(walk);
  const pair = new Map(shape.src.map((a, k) => [a * count + shape.dst[k], k]));
  const aside = (i) => (shape.tree.length ? shape.tree[c.block[timeline.moveStart[i]]] * (count / 2) : 0); // of two trees
  const between = (i) => pair.get((c.src[i] + aside(i)) * count + c.dst[i] + aside(i));

  // A line is as full as the narrowest link of the way behind it.
  function shares(t) {
    const full = new Float64Array(lines.length);
    const room = timeline.capacities(t);
    for (const i of timeline.moving(t)) {
      let narrowest = Infinity;
      for (const link of timeline.linksOf(i)) narrowest = Math.min(narrowest, room[link]);
      const line = between(i);
      if (narrowest > 0) full[line] = Math.max(full[line], timeline.rate(i, t) / narrowest);
    }
    return full;
  }

  // A line is red where a link behind it is, unless that is so for all lines in use.
  function reds(t) {
    const isRed = waitedFor(timeline.shares(t), bottlenecks(timeline));
    const red = new Set();
    const used = new Set();
    for (const i of timeline.moving(t)) {
      if (!timeline.rate(i, t)) continue;
      used.add(between(i));
      if (timeline.linksOf(i).some(isRed)) red.add(between(i));
    }
    return (line) => red.size < used.size && red.has(line);
  }

  return new Stage(timeline, {
    devices,
    lines,
    widths: lines.map(() => WIDTH),
    focus: "pair",
    isRing: shape.name === "ring" && shape.x.length > 2,
    shares,
    waitedFor: reds,
    faulty: () => [],
    path: (i) => walked[between(i)],
    device: (d) => places.device[shape.place[d]],
  });
}

export default {
  label: "Algorithm",
  order: 2,
  refuses({ meta, shape }) {
    if (!meta.full) return "player.toolarge";
    return shape ? "" : "player.noshape";
  },
  open,
};
