// How full links are drawn: greys by share, and red for what is full while others in use are not.

import PALETTE from "./palette.json" with { type: "json" };

const ALIKE = 0.95; // of the busiest link's load, from which on another is as busy
const GREYS = PALETTE.light.load.length;
export const RED = GREYS + 1;

const isUsed = (share) => share > PALETTE.idle;
export const isAlike = (busy, most) => busy >= ALIKE * most;
export const isFull = (share) => share >= PALETTE.full;

// 0 for idle, else a grey from next to nothing to full.
export const loadLevel = (share) => (isUsed(share) ? Math.min(GREYS, 1 + Math.floor(share * GREYS)) : 0);
export const loadColour = (level, { load, red }) => (level === RED ? red : load[level - 1]);

// How busy links are over a run, as a share of all that they could carry; known once for its columns.
const known = new WeakMap();
export function busyOf({ c, meta, links }) {
  if (!known.has(c)) {
    const busy = new Float64Array(links.src.length);
    for (let link = 0; link < busy.length; link += 1)
      for (let b = 0; b < meta.bins; b += 1) busy[link] += c.load[link * meta.bins + b] / 255 / meta.bins;
    known.set(c, busy);
  }
  return known.get(c);
}

// Which links others wait for: those that are full and as busy over the run as any in use; none where all in use are
// alike. `shares` are of an instant.
export function waitedFor(shares, busy) {
  let most = 0;
  for (const [k, share] of shares.entries()) if (isUsed(share)) most = Math.max(most, busy[k]);
  const isBusiest = (k) => isFull(shares[k]) && isAlike(busy[k], most);
  const isMixed = shares.some((share, k) => isUsed(share) && !isBusiest(k));
  return (k) => isMixed && isBusiest(k);
}
