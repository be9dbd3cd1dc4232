// Which transfers are under way when: a run is taken in stretches, of each of which they are listed.

const COUNT = 1024;

export class Stretches {
  #left;
  #end;
  #first = null; // of a stretch's rows
  #rows;
  #time;

  // `left` and `end` are when transfers are under way, in a run of so much time.
  constructor(left, end, time) {
    [this.#left, this.#end, this.#time] = [left, end, time];
  }

  #of(t) {
    return this.#time > 0 ? Math.max(0, Math.min(COUNT - 1, Math.floor((t / this.#time) * COUNT))) : 0;
  }

  #list() {
    const [left, end] = [this.#left, this.#end];
    const first = new Uint32Array(COUNT + 1);
    for (let i = 0; i < left.length; i += 1)
      for (let b = this.#of(left[i]); b <= this.#of(end[i]); b += 1) first[b + 1] += 1;
    for (let b = 0; b < COUNT; b += 1) first[b + 1] += first[b];
    const next = first.slice();
    const rows = new Uint32Array(first[COUNT]);
    for (let i = 0; i < left.length; i += 1) {
      for (let b = this.#of(left[i]); b <= this.#of(end[i]); b += 1) {
        rows[next[b]] = i;
        next[b] += 1;
      }
    }
    [this.#first, this.#rows] = [first, rows];
  }

  // The rows that are under way in the stretches from that of one instant to that of another, and some more; those that are
  // so in several come as often.
  rows(from, to = from) {
    if (!this.#first) this.#list();
    return this.#rows.subarray(this.#first[this.#of(from)], this.#first[this.#of(to) + 1]);
  }
}
