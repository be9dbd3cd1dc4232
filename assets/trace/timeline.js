// A trace that can be asked about any instant: what moves, how fast, how full links are, what is held.
// No DOM in here, and no rule of any collective: captions, sets and counts come finished from Python.

import { Contents } from "./contents.js";
import { sendsOf } from "./sends.js";
import { Names } from "../values/names.js";
import { Sets } from "./sets.js";
import { Stretches } from "./stretches.js";
import { Values } from "../values/values.js";
import { byEnd, firstFrom, linesOf, pointAlong, routeAlong } from "./walk.js";

const REDUCE = 1;

export class Timeline {
  // What is found out about this run once.
  #own = { changes: new Map(), last: { moving: null, loads: null, shares: null } };
  #paths = [];

  constructor(header, columns) {
    const { meta, devices, places, links, steps, block_names: blockNames, shape, faults, kinds } = header;
    Object.assign(this, { header, meta, devices, places, links, steps, blockNames, shape, faults, kinds });
    this.c = columns;
    this.tick = meta.tick;
    this.time = meta.time;
    this.half = this.tick / 2; // times are whole ticks: what lies within half of one is the same instant
    this.bounds = [0, ...steps.end.map((end) => Math.min(end * this.tick, this.time))];
    // links that could for a while carry other than their own bandwidth
    this.spells = links.spells.map(([link, begin, end, bandwidth]) => ({
      link,
      begin: begin * this.tick,
      end: end * this.tick,
      bandwidth,
      share: bandwidth / links.bandwidth[link],
    }));
    this.lines = linesOf(columns, "line");
    this.count = meta.full ? columns.src.length : 0;
    this.largestOwn = meta.full ? columns.sizes.reduce((most, size) => Math.max(most, size), 0) : 0; // bytes of a message
    this.largest = this.largestOwn; // and of all that are drawn to one scale
    if (meta.full) this.#index();
    this.values = header.values ? new Values(this) : null; // numbers in the blocks
    this.names = this.values ?? new Names(this);
  }

  // What its time is made of, or null for one that never ended.
  get why() {
    return this.header.why;
  }

  #index() {
    const { count } = this;
    this.left = new Float64Array(count);
    this.start = new Float64Array(count);
    this.through = new Float64Array(count);
    this.end = new Float64Array(count);
    this.moveStart = new Uint32Array(count + 1);
    this.#indexTimes();
    this.#indexChanges();
    this.#own.stretches = new Stretches(this.left, this.end, this.time);
  }

  // Transfers as they end.
  get order() {
    this.#own.order ??= byEnd(this.c.end);
    return this.#own.order;
  }

  // Show what another run of the same schedule shows, but for what is held; that one shows what this one did.
  exchange(other) {
    const contents = this.#arrivals;
    const shown = { ...this };
    Object.assign(this, other);
    Object.assign(other, shown);
    [this.#own, other.#own] = [other.#own, this.#own];
    [this.#own.contents, other.#own.contents] = [contents, this.#own.contents];
  }

  // In as few words as it takes: this is done once per run, before any of it is compiled.
  #indexTimes() {
    const { left, start, through, end, moveStart, tick, count } = this;
    const { end: ends, span, route, op, size, moves, latency, route_start: first } = this.c;
    const adding = Array.from(this.c.sizes, (bytes) => this.meta.gamma * bytes);
    const lead = Array.from(latency, (wait, k) => (first[k + 1] > first[k] ? wait : 0));
    let last = 0;
    for (let i = 0; i < count; i += 1) {
      last += ends[i];
      const over = last * tick;
      end[i] = over;
      left[i] = (last - span[i]) * tick;
      const flows = Math.min(left[i] + lead[route[i]], over);
      start[i] = flows;
      through[i] = op[i] === REDUCE ? Math.max(over - adding[size[i]], flows) : over;
      moveStart[i + 1] = moveStart[i] + moves[i];
    }
  }

  #indexChanges() {
    const { change = [], change_at: at, change_to: to } = this.c;
    for (let k = 0; k < change.length; k += 1) {
      const list = this.#own.changes.get(change[k]) ?? [];
      list.push([at[k] * this.tick, to[k]]);
      this.#own.changes.set(change[k], list);
    }
  }

  // A route along the lines of its links, each walked the way the message goes.
  path(route) {
    this.#paths[route] ??= routeAlong(this, this.lines, route);
    return this.#paths[route];
  }

  // The step under way at t: 0 before the first, k until step k and all before it have ended.
  step(t) {
    return Math.min(
      this.bounds.length - 1,
      firstFrom(this.bounds.length, (k) => this.bounds[k], t - this.half),
    );
  }

  over(t) {
    return t + this.half >= this.time;
  }

  caption(t) {
    const k = this.step(t);
    if (k === 0) return this.steps.opening;
    if (this.over(t)) return this.meta.stalled || this.steps.closing;
    return this.steps.caption[k - 1] ?? "";
  }

  // Transfers between places that are under way.
  moving(t) {
    if (!this.meta.full) return [];
    if (this.#own.last.moving?.t === t) return this.#own.last.moving.rows;
    const rows = this.#around(t + this.half);
    this.#own.last.moving = { t, rows };
    return rows;
  }

  // Those of the first instant that is looked at are looked for: most runs that are never played are shown at one alone.
  #around(now) {
    const { left, end } = this;
    const { src, dst } = this.c;
    const listed = this.#own.last.moving ? this.#own.stretches.rows(now) : null;
    const rows = [];
    for (let k = 0; k < (listed ?? left).length; k += 1) {
      const i = listed ? listed[k] : k;
      if (left[i] < now && now <= end[i] && src[i] !== dst[i]) rows.push(i);
    }
    return rows;
  }

  // Transfers that are under way at some time of a stretch; null where looking for them is too much, or none are sent.
  between(from, to, most) {
    if (!this.meta.full) return null;
    const listed = this.#own.stretches.rows(from, to);
    const rows = this.count < listed.length ? this.order : new Set(listed.length > most ? [] : listed);
    if (this.count > most && listed.length > most) return null;
    return Array.from(rows).filter((i) => this.left[i] < to && this.end[i] > from);
  }

  // The stretches in which transfer i flows at one rate: from, to and bytes per second of each.
  flow(i) {
    const [start, through] = [this.start[i], this.through[i]];
    const list = this.#own.changes.get(i);
    if (list) return list.map(([at, rate], k) => [at, list[k + 1]?.[0] ?? through, rate]);
    return through > start ? [[start, through, this.bytes(i) / (through - start)]] : [];
  }

  // The share of its bytes that transfer i has delivered.
  delivered(i, t) {
    if (t >= this.through[i]) return 1;
    if (t <= this.start[i]) return 0;
    const list = this.#own.changes.get(i);
    if (!list) return (t - this.start[i]) / (this.through[i] - this.start[i]);
    let bytes = 0;
    for (let k = 0; k < list.length && list[k][0] < t; k += 1) {
      bytes += (Math.min(t, list[k + 1]?.[0] ?? Infinity) - list[k][0]) * list[k][1];
    }
    return Math.min(1, bytes / this.bytes(i));
  }

  // In bytes per second, now.
  rate(i, t) {
    if (t < this.start[i] || t >= this.through[i]) return 0;
    const list = this.#own.changes.get(i);
    if (!list) return this.bytes(i) / (this.through[i] - this.start[i]);
    let rate = 0;
    for (const [at, to] of list) if (at <= t) rate = to;
    return rate;
  }

  // 0 to 1 along the route: the latency takes its share of the way, then the delivered bytes theirs.
  progress(i, t) {
    const whole = this.through[i] - this.left[i];
    if (whole <= 0) return 1;
    const leading = (this.start[i] - this.left[i]) / whole;
    if (t < this.start[i]) return Math.max(0, (t - this.left[i]) / whole);
    return leading + (1 - leading) * this.delivered(i, t);
  }

  // What transfer i waited for last, or -1.
  cause(i) {
    return this.c.cause[i] ? i - this.c.cause[i] : -1;
  }

  // The transfers that each waited for the one before, the last of all first.
  critical() {
    this.#own.critical ??= new Set((this.c.path ?? []).toReversed());
    return this.#own.critical;
  }

  // Those of them that spent time on a part of the run's.
  spentOn(part) {
    const { path = [], path_on: bits } = this.c;
    const bit = 1 << this.why.parts.findIndex(([name]) => name === part);
    return new Set(path.filter((_, k) => bits[k] & bit));
  }

  bytes(i) {
    return this.c.sizes[this.c.size[i]];
  }

  linksOf(i) {
    const route = this.c.route[i];
    return this.c.route_link.subarray(this.c.route_start[route], this.c.route_start[route + 1]);
  }

  // The flows on a link now.
  sharers(link, t) {
    return this.moving(t).filter((i) => this.rate(i, t) > 0 && this.linksOf(i).includes(link));
  }

  // Of the links a flow crosses now, the one that is nearest to full and that others use too; -1 without one.
  squeeze(i, t) {
    const [loads, shares] = [this.loads(t), this.shares(t)];
    let [worst, share] = [-1, 0.99];
    for (const link of this.linksOf(i)) {
      const full = shares[link];
      if (full > share && this.rate(i, t) < loads[link] * (1 - 1e-6)) [worst, share] = [link, full];
    }
    return worst;
  }

  // The next message that a rank will send and has not begun to, or -1.
  next(rank, t) {
    this.#own.sends ??= sendsOf(this);
    const sends = this.#own.sends.get(rank) ?? [];
    return sends[firstFrom(sends.length, (k) => this.left[sends[k]], t + this.half)] ?? -1;
  }

  // Faults that delayed a transfer, and for how long.
  hits(i) {
    const { hit, hit_by: by, hit_for: seconds } = this.c;
    const hits = [];
    for (let k = 0; k < (hit?.length ?? 0); k += 1) if (hit[k] === i) hits.push([this.faults[by[k]], seconds[k]]);
    return hits;
  }

  // The first end of a transfer after t, or the last before it.
  event(t, by) {
    const at = (k) => this.end[this.order[k]];
    const k = firstFrom(this.count, at, t + by * this.half);
    if (by > 0) return k < this.count ? at(k) : this.time;
    return k > 0 ? at(k - 1) : 0;
  }

  // Every block on its way along the machine's lines.
  blocks(t) {
    return this.moving(t).map((i) => {
      const progress = this.progress(i, t);
      const [{ x, y }, m] = [pointAlong(this.path(this.c.route[i]), progress), this.moveStart[i]];
      const [slot, block, count] = [this.c.from[m], this.c.block[m], this.c.moves[i]];
      return { transfer: i, slot, block, count, src: this.c.src[i], dst: this.c.dst[i], progress, x, y };
    });
  }

  // Where links carry other than their own bandwidth now.
  faulty(t) {
    const now = t + this.half;
    return this.spells.filter(({ begin, end }) => begin < now && (now <= end || this.over(end)));
  }

  // What every link can carry now, in bytes per second.
  capacities(t) {
    const changed = this.faulty(t);
    if (!changed.length) return this.links.bandwidth;
    const now = this.links.bandwidth.slice();
    for (const { link, bandwidth } of changed) now[link] = bandwidth;
    return now;
  }

  // The share of that which every link carries now.
  shares(t) {
    if (this.#own.last.shares?.t !== t) {
      const [room, loads, last] = [this.capacities(t), this.loads(t), this.#own.last.shares];
      const known = last?.room === room && last.loads === loads ? last.now : null;
      this.#own.last.shares = { t, room, loads, now: known ?? loads.map((rate, k) => rate / (room[k] || Infinity)) };
    }
    return this.#own.last.shares.now;
  }

  // Bytes per second on every link now: exact from the flows, or the chart's average for very large runs.
  loads(t) {
    if (this.#own.last.loads?.t === t) return this.#own.last.loads.rates;
    const [now, last] = [this.meta.full ? this.#flowing(t) : this.#average(t), this.#own.last.loads?.rates];
    const rates = last?.every((rate, k) => rate === now[k]) ? last : now; // the same as long as nothing changes
    this.#own.last.loads = { t, rates };
    return rates;
  }

  // Every link that carries anything now: its ends, bytes per second, and the share of what it can carry.
  carried(t) {
    const { src, dst } = this.links;
    const name = (d) => this.devices.name[d];
    const shares = this.shares(t);
    return Array.from(this.loads(t), (rate, k) => ({
      src: name(src[k]),
      dst: name(dst[k]),
      rate,
      share: shares[k],
      link: k,
    })).filter(({ rate }) => rate > 0);
  }

  #flowing(t) {
    const rates = new Float64Array(this.links.src.length);
    const { route, route_start: start, route_link: link } = this.c;
    for (const i of this.moving(t)) {
      const rate = this.rate(i, t);
      for (let k = start[route[i]]; k < start[route[i] + 1]; k += 1) rates[link[k]] += rate;
    }
    return rates;
  }

  #average(t) {
    const { bins } = this.meta;
    const room = this.capacities(t);
    const bin = this.time > 0 ? Math.min(bins - 1, Math.floor((t / this.time) * bins)) : 0;
    return Float64Array.from(room, (capacity, k) => (this.c.load[k * bins + bin] / 255) * capacity);
  }

  get #arrivals() {
    this.#own.contents ??= new Contents(this.c, this.meta.slots, this.order, this.end, this.moveStart);
    return this.#own.contents;
  }

  // What every place holds at t: blocks and contributor sets, and how many transfers are done; null where that is not sent.
  held(t) {
    return this.meta.full ? this.#arrivals.at(t + this.half) : null;
  }

  // See `Contents.landed`.
  landed(from, to, visit) {
    return this.#arrivals.landed(from, to, visit);
  }

  blockName(block) {
    return this.blockNames?.[block] ?? String(block);
  }

  rankName(rank) {
    return this.places.name[rank].trim();
  }

  // A rank's number in the run, of which a picture may show a part.
  rankNumber(rank) {
    return String(this.meta.numbers?.[rank] ?? rank);
  }

  contributors(set) {
    this.#own.sets ??= new Sets(this.c.sets ?? []);
    return this.meta.named ? this.#own.sets.of(set) : { count: Math.max(0, set), ranks: "" };
  }

  // What a rank holds, slot by slot.
  slots(rank, t) {
    const held = this.held(t);
    if (!held) return [];
    return Array.from({ length: this.meta.slots }, (_, slot) => {
      const place = rank * this.meta.slots + slot;
      const block = held.block[place];
      if (block < 0) return { slot, block: null, count: 0, ranks: "" };
      const { count, ranks } = this.contributors(held.set[place]);
      const value = this.values && { value: this.values.place(place, held) };
      return { slot, block: this.blockName(block), number: block, count, ranks, ...value };
    });
  }
}
