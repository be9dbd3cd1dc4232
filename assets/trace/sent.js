// How many bytes every rank has sent at any instant.

import { firstFrom } from "./walk.js";

export class Sent {
  #ends;
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
    this.most = this.#sums.reduce((most, sums) => Math.max(most, sums.at(-1)), 0);
  }

  // Messages that leave a rank: not what it moves within its memory, nor what a switch sends.
  #counts(i) {
    const { c, meta } = this.#timeline;
    return c.src[i] !== c.dst[i] && c.src[i] < meta.ranks;
  }

  // Bytes by rank: of all that has arrived, and of what is under way as much as is there.
  at(t) {
    const timeline = this.#timeline;
    const sent = Float64Array.from(this.#sums, (sums, rank) => {
      const ends = this.#ends[rank];
      return sums[firstFrom(ends.length, (k) => ends[k], t + timeline.half)];
    });
    for (const i of timeline.moving(t))
      if (this.#counts(i)) sent[timeline.c.src[i]] += timeline.bytes(i) * timeline.delivered(i, t);
    return sent;
  }
}
