// How many bytes every rank has sent at any instant.

import { firstFrom } from "./walk.js";

const NEAR = 8;

// Counted once for a run, and shared by all who ask.
const known = new WeakMap();
export function sentOf(timeline) {
  if (!known.has(timeline)) known.set(timeline, new Sent(timeline));
  return known.get(timeline);
}

export class Sent {
  #ends;
  #passed; // by rank, how many of its messages had arrived when last asked, where looking begins
  #sums;
  #timeline;

  constructor(timeline) {
    const { c, meta, order } = timeline;
    this.#timeline = timeline;
    const rows = Array.from({ length: meta.ranks }, () => []);
    for (const i of order) if (this.#counts(i)) rows[c.src[i]].push(i);
    this.#ends = rows.map((list) => Float64Array.from(list, (i) => timeline.end[i]));
    this.#sums = rows.map((list) => {
      const sums = new Float64Array(list.length + 1);
      for (let k = 0; k < list.length; k += 1) sums[k + 1] = sums[k] + timeline.bytes(list[k]);
      return sums;
    });
    this.#passed = new Uint32Array(meta.ranks);
    this.most = this.#sums.reduce((most, sums) => Math.max(most, sums.at(-1)), 0);
  }

  // Messages that leave a rank: not what it moves within its memory, nor what a switch sends.
  #counts(i) {
    const { c, meta } = this.#timeline;
    return c.src[i] !== c.dst[i] && c.src[i] < meta.ranks;
  }

  // How many messages of a rank have arrived: what moves on from frame to frame passes few of them.
  #arrived(rank, now) {
    const ends = this.#ends[rank];
    let k = this.#passed[rank];
    const isNear = (k === 0 || ends[k - 1] < now) && (k + NEAR >= ends.length || ends[k + NEAR] >= now);
    if (isNear) while (k < ends.length && ends[k] < now) k += 1;
    else k = firstFrom(ends.length, (j) => ends[j], now);
    this.#passed[rank] = k;
    return k;
  }

  // Bytes by rank: of all that has arrived, and of what is under way as much as is there.
  at(t) {
    const timeline = this.#timeline;
    const sent = new Float64Array(this.#sums.length);
    for (let rank = 0; rank < sent.length; rank += 1)
      sent[rank] = this.#sums[rank][this.#arrived(rank, t + timeline.half)];
    for (const i of timeline.moving(t))
      if (this.#counts(i)) sent[timeline.c.src[i]] += timeline.bytes(i) * timeline.delivered(i, t);
    return sent;
  }
}
