// The machine: its devices, its links as wide as they are fast, and every block on its way along them.

import { Stage } from "../paint/stage.js";

const PLAIN = 2.4;

// Pixels across each link, between two widths by the logarithm of its bandwidth.
function widthsOf(bandwidth) {
  let [least, widest] = [Infinity, 0];
  for (const b of bandwidth) [least, widest] = [Math.min(least, b), Math.max(widest, b)];
  if (!(widest > least)) return bandwidth.map(() => PLAIN);
  return bandwidth.map((b) => 1.2 + (4.2 * Math.log(b / least)) / Math.log(widest / least));
}

function open(timeline) {
  const { c, devices, links, lines } = timeline;
  return new Stage(timeline, {
    devices,
    lines,
    widths: widthsOf(links.bandwidth),
    used: links.bytes.map((bytes) => bytes > 0),
    focus: "link",
    shares: (t) => timeline.shares(t),
    troubled: (t) => timeline.troubled(t),
    path: (i) => timeline.path(c.route[i]),
    device: (d) => d,
  });
}

export default { label: "Machine", order: 1, refuses: () => "", open };
