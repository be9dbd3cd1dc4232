// A packed trace, decoded and indexed: what moves, what is held and how loaded links are at any instant.
// No DOM in here, and no rule of any collective: captions, sets and counts come finished from Python.

const ARRAYS = {
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, int32: Int32Array,
  float32: Float32Array, float64: Float64Array,
};
const BUCKETS = 1024;
const KEY_FRAMES = 32;
const REDUCE = 1;

export async function decode(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const columns = {};
  for (const [name, type, offset, count] of header.columns) {
    columns[name] = new ARRAYS[type](bytes, 4 + length + offset, count);
  }
  return new Timeline(header, columns);
}

// The first of `length` rising times, `at(k)` each, that is not before t; `length` where all are.
export function firstFrom(length, at, t) {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) >= t) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Points with the way to each of them, for walking at an even speed.
export function walk(points) {
  const along = [0];
  for (let k = 1; k < points.length; k += 1) {
    along.push(along[k - 1] + Math.hypot(points[k][0] - points[k - 1][0], points[k][1] - points[k - 1][1]));
  }
  return { points, along };
}

// A point at a share of the way, and its direction there.
export function pointAlong({ points, along }, share) {
  const want = share * along[along.length - 1];
  let k = 1;
  while (k < points.length - 1 && along[k] < want) k += 1;
  const span = along[k] - along[k - 1] || 1;
  const [dx, dy] = [(points[k][0] - points[k - 1][0]) / span, (points[k][1] - points[k - 1][1]) / span];
  const into = want - along[k - 1];
  return { x: points[k - 1][0] + dx * into, y: points[k - 1][1] + dy * into, dx, dy };
}

export class Timeline {
  constructor(header, columns) {
    Object.assign(this, header);
    this.c = columns;
    this.tick = this.meta.tick;
    this.time = this.meta.time;
    this.half = this.tick / 2; // times are whole ticks: what lies within half of one is the same instant
    this.bounds = [0, ...this.steps.end.map((end) => Math.min(end * this.tick, this.time))];
    // links that could for a while carry other than their own bandwidth
    this.spells = this.links.spells.map(([link, begin, end, bandwidth]) => ({
      link, begin: begin * this.tick, end: end * this.tick, bandwidth, share: bandwidth / this.links.bandwidth[link],
    }));
    this.count = this.meta.full ? columns.src.length : 0;
    if (this.meta.full) this._index();
  }

  _index() {
    const { c, count, tick } = this;
    this.ready = new Float64Array(count);
    this.start = new Float64Array(count);
    this.through = new Float64Array(count);
    this.end = new Float64Array(count);
    this.moveStart = new Uint32Array(count + 1);
    let last = 0;
    for (let i = 0; i < count; i += 1) {
      last += c.end[i];
      this.end[i] = last * tick;
      this.ready[i] = (last - c.span[i]) * tick;
      const route = c.route[i];
      const hops = c.route_start[route + 1] - c.route_start[route];
      const lead = hops ? c.latency[route] : 0;
      const adding = c.op[i] === REDUCE ? this.meta.gamma * c.sizes[c.size[i]] : 0;
      this.start[i] = Math.min(this.ready[i] + lead, this.end[i]);
      this.through[i] = Math.max(this.end[i] - adding, this.start[i]);
      this.moveStart[i + 1] = this.moveStart[i] + c.moves[i];
    }
    this._indexChanges();
    this._indexBuckets();
    this.order = Uint32Array.from({ length: count }, (_, i) => i).sort((a, b) => this.end[a] - this.end[b] || a - b);
    this._indexFrames();
    this.paths = Array.from({ length: c.node_start.length - 1 }, (_, r) => this._path(r));
  }

  _indexChanges() {
    this.changes = new Map();
    const { change, change_at: at, change_to: to } = this.c;
    for (let k = 0; change && k < change.length; k += 1) {
      const list = this.changes.get(change[k]) ?? [];
      list.push([at[k] * this.tick, to[k]]);
      this.changes.set(change[k], list);
    }
  }

  _bucket(t) {
    return this.time > 0 ? Math.max(0, Math.min(BUCKETS - 1, Math.floor((t / this.time) * BUCKETS))) : 0;
  }

  _indexBuckets() {
    this.bucketStart = new Uint32Array(BUCKETS + 1);
    for (let i = 0; i < this.count; i += 1) {
      for (let b = this._bucket(this.ready[i]); b <= this._bucket(this.end[i]); b += 1) this.bucketStart[b + 1] += 1;
    }
    for (let b = 0; b < BUCKETS; b += 1) this.bucketStart[b + 1] += this.bucketStart[b];
    const fill = this.bucketStart.slice();
    this.bucketRow = new Uint32Array(this.bucketStart[BUCKETS]);
    for (let i = 0; i < this.count; i += 1) {
      for (let b = this._bucket(this.ready[i]); b <= this._bucket(this.end[i]); b += 1) this.bucketRow[fill[b]++] = i;
    }
  }

  _indexFrames() {
    const places = this.c.given.length;
    const every = Math.max(64, Math.ceil(this.count / KEY_FRAMES));
    let block = Int32Array.from(this.c.given);
    let set = Int32Array.from(this.c.given, (b, p) => (b < 0 ? -1 : this.c.single[Math.floor(p / this.meta.slots)]));
    this.frames = [{ done: 0, block, set }];
    for (let k = 0; k < this.count; k += 1) {
      if (k && k % every === 0 && places * this.frames.length * 8 < 6.4e7) {
        this.frames.push({ done: k, block: block.slice(), set: set.slice() });
      }
      if (k === 0) [block, set] = [block.slice(), set.slice()];
      this._apply(this.order[k], block, set);
    }
  }

  _apply(i, block, set) {
    const base = this.c.dst[i] * this.meta.slots;
    for (let m = this.moveStart[i]; m < this.moveStart[i + 1]; m += 1) {
      block[base + this.c.to[m]] = this.c.block[m];
      set[base + this.c.to[m]] = this.c.leaves[m];
    }
  }

  _path(route) {
    const points = [];
    for (let k = this.c.node_start[route]; k < this.c.node_start[route + 1]; k += 1) {
      const d = this.c.node[k];
      points.push([this.devices.x[d], this.devices.y[d]]);
    }
    return walk(points);
  }

  // The step under way at t: 0 before the first, k until step k and all before it have ended.
  step(t) {
    return Math.min(this.bounds.length - 1, firstFrom(this.bounds.length, (k) => this.bounds[k], t - this.half));
  }

  // Whether the run is over at t.
  over(t) {
    return t + this.half >= this.time;
  }

  caption(t) {
    const k = this.step(t);
    if (k === 0) return this.steps.opening;
    if (this.over(t)) return this.meta.stalled || this.steps.closing;
    return this.steps.caption[k - 1] ?? "";
  }

  phase(step) {
    let name = "";
    for (const [first, label] of this.steps.phases) if (first < step || step === 0) name = label;
    return step === 0 ? "" : name;
  }

  moving(t) {
    if (!this.meta.full) return [];
    if (this._moving?.t === t) return this._moving.found;
    const now = t + this.half;
    const b = this._bucket(now);
    const found = [];
    for (let k = this.bucketStart[b]; k < this.bucketStart[b + 1]; k += 1) {
      const i = this.bucketRow[k];
      if (this.ready[i] < now && now <= this.end[i] && this.c.src[i] !== this.c.dst[i]) found.push(i);
    }
    this._moving = { t, found };
    return found;
  }

  delivered(i, t) {
    if (t >= this.through[i]) return 1;
    if (t <= this.start[i]) return 0;
    const list = this.changes.get(i);
    if (!list) return (t - this.start[i]) / (this.through[i] - this.start[i]);
    let bytes = 0;
    for (let k = 0; k < list.length && list[k][0] < t; k += 1) {
      bytes += (Math.min(t, list[k + 1]?.[0] ?? Infinity) - list[k][0]) * list[k][1];
    }
    return Math.min(1, bytes / this.c.sizes[this.c.size[i]]);
  }

  rate(i, t) {
    if (t < this.start[i] || t >= this.through[i]) return 0;
    const list = this.changes.get(i);
    if (!list) return this.c.sizes[this.c.size[i]] / (this.through[i] - this.start[i]);
    let rate = 0;
    for (const [at, to] of list) if (at <= t) rate = to;
    return rate;
  }

  // 0 to 1 along the route: the latency takes its share of the way, then the delivered bytes theirs.
  progress(i, t) {
    const whole = this.through[i] - this.ready[i];
    if (whole <= 0) return 1;
    const leading = (this.start[i] - this.ready[i]) / whole;
    if (t < this.start[i]) return Math.max(0, (t - this.ready[i]) / whole);
    return leading + (1 - leading) * this.delivered(i, t);
  }

  // A point on the route, and its direction there.
  at(i, progress) {
    return pointAlong(this.paths[this.c.route[i]], progress);
  }

  // What transfer i waited for last, or -1.
  cause(i) {
    return this.c.cause[i] ? i - this.c.cause[i] : -1;
  }

  // The transfers that each waited for the one before, up to the last of all.
  critical() {
    if (!this._critical) {
      this._critical = new Set();
      for (let i = this.count ? this.order[this.count - 1] : -1; i >= 0; i = this.cause(i)) this._critical.add(i);
    }
    return this._critical;
  }

  bytes(i) { return this.c.sizes[this.c.size[i]]; }

  links_of(i) {
    const route = this.c.route[i];
    return this.c.route_link.subarray(this.c.route_start[route], this.c.route_start[route + 1]);
  }

  // The flows on a link now.
  sharers(link, t) {
    return this.moving(t).filter((i) => this.rate(i, t) > 0 && this.links_of(i).includes(link));
  }

  // Of the links a flow crosses now, the one that is nearest to full and that others use too; -1 without one.
  squeeze(i, t) {
    const [loads, shares] = [this.loads(t), this.shares(t)];
    let [worst, share] = [-1, 0.99];
    for (const link of this.links_of(i)) {
      const full = shares[link];
      if (full > share && this.rate(i, t) < loads[link] * (1 - 1e-6)) [worst, share] = [link, full];
    }
    return worst;
  }

  // The next message that a rank will send and has not begun to, or -1.
  next(rank, t) {
    this._sends ??= this._indexSends();
    const sends = this._sends.get(rank) ?? [];
    return sends[firstFrom(sends.length, (k) => this.ready[sends[k]], t + this.half)] ?? -1;
  }

  _indexSends() {
    const sends = new Map();
    for (let i = 0; i < this.count; i += 1) {
      const { src } = this.c;
      if (!sends.has(src[i])) sends.set(src[i], []);
      sends.get(src[i]).push(i);
    }
    for (const list of sends.values()) list.sort((a, b) => this.ready[a] - this.ready[b] || a - b);
    return sends;
  }

  // Troubles that bore on a transfer, and for how long.
  hits(i) {
    const found = [];
    for (let k = 0; k < (this.c.hit?.length ?? 0); k += 1) {
      if (this.c.hit[k] === i) found.push([this.troubles[this.c.hit_by[k]], this.c.hit_for[k]]);
    }
    return found;
  }

  // The first end of a transfer after t, or the last before it.
  event(t, by) {
    const at = (k) => this.end[this.order[k]];
    const k = firstFrom(this.count, at, t + by * this.half);
    if (by > 0) return k < this.count ? at(k) : this.time;
    return k > 0 ? at(k - 1) : 0;
  }

  blocks(t) {
    return this.moving(t).map((i) => {
      const progress = this.progress(i, t);
      const { x, y, dx, dy } = this.at(i, progress);
      const m = this.moveStart[i];
      return {
        transfer: i, slot: this.c.from[m], block: this.c.block[m], count: this.c.moves[i],
        src: this.c.src[i], dst: this.c.dst[i], progress, x, y, dx, dy,
      };
    });
  }

  // Where links carry other than their own bandwidth now.
  troubled(t) {
    const now = t + this.half;
    return this.spells.filter(({ begin, end }) => begin < now && (now <= end || this.over(end)));
  }

  // What every link can carry now, in bytes per second.
  capacities(t) {
    const changed = this.troubled(t);
    if (!changed.length) return this.links.bandwidth;
    const now = this.links.bandwidth.slice();
    for (const { link, bandwidth } of changed) now[link] = bandwidth;
    return now;
  }

  // The share of that which every link carries now.
  shares(t) {
    if (this._shares?.t !== t) {
      const room = this.capacities(t);
      this._shares = { t, now: this.loads(t).map((rate, k) => (room[k] > 0 ? rate / room[k] : 0)) };
    }
    return this._shares.now;
  }

  // Bytes per second on every link now: exact from the flows, or the chart's average for very large runs.
  loads(t) {
    if (this._loads?.t === t) return this._loads.rates;
    const rates = new Float64Array(this.links.src.length);
    if (!this.meta.full) {
      const room = this.capacities(t);
      const bin = Math.min(this.meta.bins - 1, Math.floor((t / this.time) * this.meta.bins));
      for (let k = 0; k < rates.length; k += 1) {
        rates[k] = (this.c.load[k * this.meta.bins + bin] / 255) * room[k];
      }
      return rates;
    }
    for (const i of this.moving(t)) {
      const rate = this.rate(i, t);
      const route = this.c.route[i];
      for (let k = this.c.route_start[route]; k < this.c.route_start[route + 1]; k += 1) {
        rates[this.c.route_link[k]] += rate;
      }
    }
    this._loads = { t, rates };
    return rates;
  }

  // What every place holds at t: blocks and contributor sets, from the nearest key frame on. Good until asked again.
  held(t) {
    if (!this.meta.full) return null;
    const done = firstFrom(this.count, (k) => this.end[this.order[k]], t + this.half);
    let from = this.frames[0];
    for (const frame of this.frames) if (frame.done <= done) from = frame;
    if (!this._held || this._held.done > done || this._held.done < from.done) {
      this._held ??= { block: from.block.slice(), set: from.set.slice() };
      this._held.block.set(from.block);
      this._held.set.set(from.set);
      this._held.done = from.done;
    }
    for (; this._held.done < done; this._held.done += 1) this._apply(this.order[this._held.done], this._held.block, this._held.set);
    return this._held;
  }

  // Visit every place written by the arrivals from the `from`-th to before the `to`-th; false where looking at all is less.
  landed(from, to, visit) {
    if (to < from || to - from > this.c.given.length) return false;
    for (let k = from; k < to; k += 1) {
      const i = this.order[k];
      for (let m = this.moveStart[i]; m < this.moveStart[i + 1]; m += 1) visit(this.c.dst[i] * this.meta.slots + this.c.to[m]);
    }
    return true;
  }

  blockName(block) {
    return this.block_names?.[block] ?? String(block);
  }

  rankName(rank) {
    return this.places.name[rank].trim();
  }

  contributors(set) {
    if (!this.meta.named) return { count: Math.max(0, set), ranks: "" };
    const entry = this.sets[set];
    return entry ? { count: entry[0], ranks: entry[1] } : { count: 0, ranks: "" };
  }

  slots(rank, t) {
    const held = this.held(t);
    if (!held) return [];
    return Array.from({ length: this.meta.slots }, (_, slot) => {
      const place = rank * this.meta.slots + slot;
      const block = held.block[place];
      return block < 0
        ? { slot, block: null, count: 0, ranks: "" }
        : { slot, block: this.blockName(block), number: block, ...this.contributors(held.set[place]) };
    });
  }
}
