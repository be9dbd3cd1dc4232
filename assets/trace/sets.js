// Sets of ranks, as words of bits: how many are in one, and which, told in few words once somebody asks.

const NOBODY = { count: 0, ranks: "" };

const has = (low, high, rank) => rank < 64 && ((rank < 32 ? low >>> rank : high >>> (rank - 32)) & 1) === 1;

function spelled(low, high) {
  const words = [];
  for (let rank = 0; rank < 64; rank += 1) {
    if (!has(low, high, rank)) continue;
    const first = rank;
    while (has(low, high, rank + 1)) rank += 1;
    words.push(rank === first ? `${first}` : `${first}-${rank}`);
  }
  return words.join(", ");
}

function counted(low, high) {
  let count = 0;
  for (let bits = low; bits; bits &= bits - 1) count += 1;
  for (let bits = high; bits; bits &= bits - 1) count += 1;
  return count;
}

export class Sets {
  #known = [];
  #words;

  // `words` are two of 32 bits for every set, the lower half first.
  constructor(words) {
    this.#words = words;
  }

  // How many ranks are in a set, and which.
  of(set) {
    if (set < 0 || 2 * set >= this.#words.length) return NOBODY;
    this.#known[set] ??= new RankSet(this.#words[2 * set], this.#words[2 * set + 1]);
    return this.#known[set];
  }
}

class RankSet {
  #words;
  #spelled;

  constructor(...words) {
    this.#words = words;
    this.count = counted(...words);
  }

  get ranks() {
    this.#spelled ??= spelled(...this.#words);
    return this.#spelled;
  }
}
