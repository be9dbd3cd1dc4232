// Numbers in the blocks: the value of every place after a number of arrivals, and the last sum of each rank.

import { Names } from "./names.js";

const MOST = 2; // sums of one message

export class Values extends Names {
  #c;
  #done = 0;
  #held;
  #last; // the transfer that reached each rank last

  constructor(timeline) {
    super(timeline);
    this.#c = timeline.c;
    this.words = timeline.header.values.words;
    this.#begin();
  }

  #begin() {
    this.#done = 0;
    this.#held = this.#c.value_given.slice();
    this.#last = new Int32Array(this.timeline.meta.places).fill(-1);
  }

  #go(done) {
    const { dst, to, value_left: left } = this.#c;
    const { moveStart, order, meta } = this.timeline;
    if (done < this.#done) this.#begin();
    for (; this.#done < done; this.#done += 1) {
      const i = order[this.#done];
      this.#last[dst[i]] = i;
      for (let m = moveStart[i]; m < moveStart[i + 1]; m += 1) this.#held[dst[i] * meta.slots + to[m]] = left[m];
    }
  }

  get longest() {
    return this.words.reduce((a, b) => (b.length > a.length ? b : a), "");
  }

  // Return the value of a place, or an empty text.
  place(place, { done }) {
    this.#go(done);
    const { value_end: end = this.#held } = this.#c;
    return this.words[(done === this.timeline.count ? end : this.#held)[place] - 1] ?? "";
  }

  message(i) {
    return this.brought(i).join(" ");
  }

  // Return the values in a message, one text for each block.
  brought(i) {
    const { moveStart } = this.timeline;
    return Array.from(this.#c.value_came.subarray(moveStart[i], moveStart[i + 1]), (word) => this.words[word - 1]);
  }

  // Return the sums that a message makes, like `5+2=7`.
  sums(i) {
    const { sums } = this.timeline.header.values;
    const { moveStart } = this.timeline;
    const told = Array.from(this.#c.value_sum.subarray(moveStart[i], moveStart[i + 1]), (word) => sums[word - 1]);
    const adding = told.filter((sum) => sum);
    return adding.length > MOST ? `${adding.slice(0, MOST).join(", ")}, …` : adding.join(", ");
  }

  // What the last arrival of the step under way made of what a rank held; at the end what becomes of a mean. `block` is
  // the colour's.
  happened(rank, t) {
    const { block, step } = this.#c;
    const timeline = this.timeline;
    const { done } = timeline.held(t);
    const { ends } = timeline.header.values;
    this.#go(done);
    const i = this.#last[rank];
    if (done === timeline.count && ends?.[rank])
      return { sum: ends[rank], block: i < 0 ? 0 : block[timeline.moveStart[i]] };
    if (i < 0 || step[i] + 1 !== timeline.step(t)) return null;
    const sum = this.sums(i);
    return sum ? { sum, block: block[timeline.moveStart[i]] } : null;
  }
}
