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
  #every;
  #firstMove;
  #frames = []; // as far as anybody has asked
  #held = null;

  // `order` are transfers as they end, at `end` each; `firstMove` is where the moves of each begin.
  constructor(columns, slots, order, end, firstMove) {
    this.#columns = columns;
    this.#slots = slots;
    this.#order = order;
    this.#end = end;
    this.#firstMove = firstMove;
    const frames = Math.max(1, Math.min(KEY_FRAMES, Math.floor(FRAME_BYTES / (8 * columns.given.length))));
    this.#every = Math.max(LEAST_APART, Math.ceil(order.length / frames));
  }

  #begin() {
    const { given, single } = this.#columns;
    const [block, set] = [Int32Array.from(given), new Int32Array(given.length)];
    for (let place = 0; place < given.length; place += 1)
      set[place] = given[place] < 0 ? -1 : single[Math.floor(place / this.#slots)];
    this.#held = { done: 0, block, set };
    this.#keep();
  }

  #keep() {
    const { done, block, set } = this.#held;
    this.#frames.push({ done, block: block.slice(), set: set.slice() });
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
    if (!this.#held) this.#begin();
    const held = this.#held;
    let from = this.#frames[0];
    for (const frame of this.#frames) if (frame.done <= done) from = frame;
    if (held.done > done || held.done < from.done) {
      held.block.set(from.block);
      held.set.set(from.set);
      held.done = from.done;
    }
    while (held.done < done) {
      this.#land(this.#order[held.done], held.block, held.set);
      held.done += 1;
      if (held.done === this.#frames.length * this.#every) this.#keep();
    }
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
