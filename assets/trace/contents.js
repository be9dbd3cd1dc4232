// What every place holds at any instant: key frames, and the arrivals from the nearest one on.

import { firstFrom } from "./walk.js";

const KEY_FRAMES = 32;
const FRAME_BYTES = 6.4e7;
const LEAST_APART = 64;

export class Contents {
  #columns;
  #slots;
  #order;
  #end;
  #firstMove;
  #frames = [];
  #held = null;

  // `order` are transfers as they end, at `end` each; `firstMove` is where the moves of each begin.
  constructor(columns, slots, order, end, firstMove) {
    this.#columns = columns;
    this.#slots = slots;
    this.#order = order;
    this.#end = end;
    this.#firstMove = firstMove;
    this.#keep();
  }

  #keep() {
    const { given, single } = this.#columns;
    const frames = Math.max(1, Math.min(KEY_FRAMES, Math.floor(FRAME_BYTES / (8 * given.length))));
    const every = Math.max(LEAST_APART, Math.ceil(this.#order.length / frames));
    const block = Int32Array.from(given);
    const set = Int32Array.from(given, (b, place) => (b < 0 ? -1 : single[Math.floor(place / this.#slots)]));
    this.#frames.push({ done: 0, block: block.slice(), set: set.slice() });
    for (let k = 0; k < this.#order.length; k += 1) {
      if (k && k % every === 0) this.#frames.push({ done: k, block: block.slice(), set: set.slice() });
      this.#land(this.#order[k], block, set);
    }
  }

  #land(i, block, set) {
    const { dst, to, block: brought, leaves } = this.#columns;
    const base = dst[i] * this.#slots;
    for (let m = this.#firstMove[i]; m < this.#firstMove[i + 1]; m += 1) {
      block[base + to[m]] = brought[m];
      set[base + to[m]] = leaves[m];
    }
  }

  // Blocks and contributor sets by place, and how many transfers are `done`. Good until asked again.
  at(now) {
    const done = firstFrom(this.#order.length, (k) => this.#end[this.#order[k]], now);
    let from = this.#frames[0];
    for (const frame of this.#frames) if (frame.done <= done) from = frame;
    if (!this.#held || this.#held.done > done || this.#held.done < from.done) {
      this.#held ??= { done: 0, block: from.block.slice(), set: from.set.slice() };
      this.#held.block.set(from.block);
      this.#held.set.set(from.set);
      this.#held.done = from.done;
    }
    const held = this.#held;
    for (; held.done < done; held.done += 1) this.#land(this.#order[held.done], held.block, held.set);
    return held;
  }

  // Visit every place written by the arrivals from the `from`-th to before the `to`-th; false where looking at all is less.
  landed(from, to, visit) {
    if (to < from || to - from > this.#columns.given.length) return false;
    for (let k = from; k < to; k += 1) {
      const i = this.#order[k];
      const base = this.#columns.dst[i] * this.#slots;
      for (let m = this.#firstMove[i]; m < this.#firstMove[i + 1]; m += 1) visit(base + this.#columns.to[m]);
    }
    return true;
  }
}
