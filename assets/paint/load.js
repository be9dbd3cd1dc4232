// How full links are drawn: greys by share, and red for what is full while others in use are not.

import PALETTE from "./palette.json" with { type: "json" };

const ALIKE = 0.95; // of the busiest link's load, from which on another is as busy
const GREYS = PALETTE.light.load.length;
export const RED = GREYS + 1;

const isUsed = (share) => share > PALETTE.idle;
export const isFull = (share) => share >= PALETTE.full;

// 0 for idle, else a grey from next to nothing to full.
export const loadLevel = (share) => (isUsed(share) ? Math.min(GREYS, 1 + Math.floor(share * GREYS)) : 0);
export const loadColour = (level, { load, red }) => (level === RED ? red : load[level - 1]);

// Which links are as busy over the run as the busiest, known once for its columns; none where that is half of those in
// use or more: then no link is what the others wait for.
const known = new WeakMap();
export function bottlenecks({ c, meta, links }) {
  if (known.has(c)) return known.get(c);
  const busy = new Float64Array(links.src.length);
  for (let link = 0; link < busy.length; link += 1)
    for (let b = 0; b < meta.bins; b += 1) busy[link] += c.load[link * meta.bins + b];
  return keep(c, busy);
}

// The same from bytes alone, for a run that is shown while somebody drags: loads take longer to be worked out than a frame.
export function guessBottlenecks({ c, links: { bytes, bandwidth } }) {
  keep(
    c,
    Float64Array.from(bytes, (each, k) => each / bandwidth[k]),
  );
}

function keep(c, busy) {
  const most = busy.reduce((a, b) => Math.max(a, b), 0);
  const busiest = busy.map((one) => Number(one > 0 && one >= ALIKE * most));
  const [count, used] = [busiest.reduce((a, b) => a + b, 0), busy.filter((one) => one > 0).length];
  known.set(c, 2 * count < used ? busiest : busy.fill(0));
  return known.get(c);
}

// Which links others wait for at an instant: bottlenecks that are full, where others in use are not.
export function waitedFor(shares, among) {
  const isRed = (k) => among[k] > 0 && isFull(shares[k]);
  const isMixed = shares.some((share, k) => isUsed(share) && !isRed(k));
  return (k) => isMixed && isRed(k);
}
