// The algorithm: every rank where the shape of its messages puts it, a line for every pair that talks.

import { busyOf, waitedFor } from "../paint/load.js";
import { Stage } from "../paint/stage.js";
import { linesOf, walk } from "../trace/walk.js";

const WIDTH = 1.6;

function open(timeline) {
  const { c, shape, meta, places } = timeline;
  const count = shape.x.length;
  const isRank = shape.x.map((_, place) => place < meta.ranks);
  const devices = {
    ...shape,
    kind: isRank.map((rank) => (rank ? "GPU" : "NVS")),
    rank: isRank.map((rank, place) => (rank ? place : -1)),
    name: places.device.map((d) => timeline.devices.name[d]),
  };
  const lines = linesOf(c, "shape_line");
  const walked = lines.map(walk);
  const pair = new Map(shape.src.map((a, k) => [a * count + shape.dst[k], k]));
  const between = (i) => pair.get(c.src[i] * count + c.dst[i]);

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
    const isRed = waitedFor(timeline.shares(t), busyOf(timeline));
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
    shares,
    waitedFor: reds,
    faulty: () => [],
    path: (i) => walked[between(i)],
    device: (d) => places.device[d],
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
