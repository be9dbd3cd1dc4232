// The kernel's memory for one run, laid out as `sim.fabric.memory` does: what stays as it is from what-if to what-if is
// made once.

import { added } from "./sums.js";

const NONE = -1;
const [LONE, TICKET, OVERTAKEN, HISTORY] = [1, 2, 6, 4]; // as in `sim.fabric.links`
const [FEWEST, SPARSE, MOST] = [32, 8, 2048]; // as in `sim.fabric.crossbar.group`
const [WORD, MARGIN] = [32, 16]; // as in `sim.fabric.crossbar.table`
const REDUCE = 1;
export { HISTORY };

// Whom each row of a run lets go, which connection it is on, and where the links of its route are.
export class Rows {
  constructor({ c, meta, links, count }) {
    this.count = count;
    this.transfers = Array.from({ length: count }, (_, i) => i);
    this.links = links.src.length;
    this.meta = meta;
    this.c = c;
    this.keepsHistory = Boolean(c.change);
    const { waiters, waiter } = c;
    this.rows = waiters.length; // with the marks between steps
    this.afterStart = new BigInt64Array(this.rows + 1);
    this.after = new Int32Array(waiter.length);
    this.pending = new Int32Array(this.rows);
    let at = 0;
    for (let i = 0; i < this.rows; i += 1) {
      for (const stop = at + waiters[i]; at < stop; at += 1) {
        this.after[at] = i + waiter[at];
        this.pending[this.after[at]] += 1;
      }
      this.afterStart[i + 1] = BigInt(at);
    }
    this.#route();
    this.#connect();
    this.#claim();
  }

  #route() {
    const { c, meta, count } = this;
    this.routes = c.route_start.length - 1;
    this.overhead = new Float64Array(this.routes);
    this.op = c.op.map((op, i) => (c.dst[i] < meta.ranks ? op : 0));
    for (let i = 0; i < count; i += 1) this.overhead[c.route[i]] = c.src[i] < meta.ranks ? meta.overhead : 0;
  }

  // Numbers of connections by pair of places and channel, as `Arena._connections` gives them.
  #connect() {
    const { c, count } = this;
    const channels = c.channel.reduce((most, channel) => Math.max(most, channel), 0) + 1;
    const met = new Map();
    const number = new Int32Array(count);
    for (let i = 0; i < count; i += 1) {
      const key = c.route[i] * channels + c.channel[i];
      if (!met.has(key)) met.set(key, met.size);
      number[i] = met.get(key);
    }
    this.connections = met.size;
    if (met.size === count) {
      number.fill(NONE);
      this.connections = 0;
    } else if (2 * met.size > count) {
      const members = new Uint32Array(met.size);
      for (const each of number) members[each] += 1;
      let next = 0;
      const named = members.map((many) => (many > 1 ? (next += 1) : 0));
      for (let i = 0; i < count; i += 1) number[i] = named[number[i]] - 1;
      this.connections = next;
    }
    this.connection = number;
  }

  // Where the list of each link begins, which may have to hold all that ever crosses it; and how wide a crossbar may be.
  #claim() {
    const { c, count, routes } = this;
    const [taken, claims] = [new Uint32Array(routes), new Uint32Array(this.links)];
    for (let i = 0; i < count; i += 1) taken[c.route[i]] += 1;
    const sides = [new Set(), new Set()];
    let pairs = 0;
    for (let r = 0; r < routes; r += 1) {
      const [from, to] = [c.route_start[r], c.route_start[r + 1]];
      for (let k = from; k < to; k += 1) claims[c.route_link[k]] += taken[r];
      if (to - from !== 2) continue;
      pairs += 1;
      sides.forEach((side, k) => side.add(c.route_link[from + k]));
    }
    this.first = new BigInt64Array(this.links + 1);
    this.room = 0;
    claims.forEach((claim, k) => {
      this.room += claim;
      this.first[k + 1] = BigInt(this.room);
    });
    const [a, b] = sides.map(({ size }) => size);
    const fits = Math.min(a, b) >= FEWEST && Math.max(a, b) <= MOST && pairs * SPARSE >= a * b;
    this.width = fits && !this.keepsHistory ? Math.max(a, b) : 0;
  }

  // Seconds of every route from ready to the first byte.
  leads(latency) {
    const { route_start: start, route_link: link } = this.c;
    return this.overhead.map((overhead, r) => {
      const from = start[r];
      const hops = start[r + 1] - from;
      return hops ? overhead + added((k) => latency[link[from + k]], hops) : 0;
    });
  }

  // Bytes of every transfer.
  bytes(size) {
    const { c, meta } = this;
    const known = size === meta.size;
    return Float64Array.from(this.transfers, (i) => (known ? c.sizes[c.size[i]] : c.moves[i] * (size * meta.share)));
  }
}

const whole = (from, length, value, into) => {
  const all = new into(length).fill(value);
  all.set(from);
  return all;
};

// The arrays of a run by their paths, each with its shape and what is in it, for `Kernel.place`.
export function arena(rows, { bandwidth, lead, bytes, gates }) {
  const { c, count, links: m, room, width, meta } = rows;
  const marks = rows.rows - count + gates.length;
  const stop = count + marks;
  const held = gates.flatMap(({ rows: held_ }) => held_);
  const edges = rows.after.length;
  const [after, afterStart] = [rows.after, rows.afterStart];
  const [pending, starts] = [whole(rows.pending, stop, 0, Int32Array), whole(afterStart, stop + 1, 0n, BigInt64Array)];
  let end = edges;
  gates.forEach(({ rows: some }, k) => {
    end += some.length;
    starts[rows.rows + 1 + k] = BigInt(end);
  });
  for (const i of held) pending[i] += 1;
  const nowhere = rows.routes; // a route that leaves no device, for marks; then one for each gate
  const routes = marks ? rows.routes + 1 + gates.length : rows.routes;
  const route = whole(c.route, stop, nowhere, Int32Array);
  gates.forEach((_, k) => (route[rows.rows + k] = nowhere + 1 + k));
  const leads = whole(lead, routes, 0, Float64Array);
  gates.forEach(({ seconds }, k) => (leads[nowhere + 1 + k] = seconds));
  const changes = rows.keepsHistory ? 8 * stop + 1024 : 0;
  const state = new Int32Array(8 * m);
  for (let k = 0; k < m; k += 1) state[8 * k + LONE] = state[8 * k + TICKET] = NONE;
  const netCount = new BigInt64Array(8);
  netCount[OVERTAKEN] = BigInt(NONE);
  const upward = BigInt64Array.from({ length: m }, (_, k) => BigInt(k));
  const entries = 4 * stop + 64;
  const words = (name, length) => [`net.${name}`, [length, null]];
  return {
    count: [5, BigInt64Array.of(1n, 0n, 0n, 0n, 0n)],
    now: [1, 0],
    gamma: [1, meta.gamma],
    "net.count": [8, netCount],
    "net.capacity": [m, bandwidth],
    "net.state": [[m, 8], state],
    "net.clock": [[m, 5], 0],
    "net.parent": [m, upward],
    "net.ring": [m, upward],
    "net.order": [[m, 2], 0],
    "net.first": [m + 1, rows.first],
    "net.flow": [[room, 2], null],
    ...Object.fromEntries(["members", "elsewhere", "finish"].map((name) => words(name, room))),
    ...Object.fromEntries(
      ["room", "unfixed", "links", "stale", "vacated", "fired", "level_link"].map((name) => words(name, m)),
    ),
    "net.route_start": [routes + 1, whole(c.route_start, routes + 1, c.route_start[rows.routes], Int32Array)],
    "net.route_links": [c.route_link.length, c.route_link],
    "net.level": [m + 4, null],
    "net.place": [m, NONE],
    "net.history_transfer": [changes, null],
    "net.history": [[changes, 2], null],
    "calendar.size": [3, BigInt64Array.of(0n, 0n, BigInt(NONE))],
    "calendar.time": [entries, null],
    "calendar.heap": [[entries, 2], null],
    "calendar.nodes": [[entries, 2], null],
    "calendar.last_time": [3, 0],
    "calendar.last_node": [3, NONE],
    lead: [routes, leads],
    op: [stop, whole(rows.op, stop, 0, Uint8Array)],
    route: [stop, route],
    size: [stop, whole(bytes, stop, 0, Float64Array)],
    connection: [stop, whole(rows.connection, stop, NONE, Int32Array)],
    behind: [stop, NONE],
    pending: [stop, pending],
    after_start: [stop + 1, starts],
    after: [end, held.length ? Int32Array.from([...after, ...held]) : after],
    "alike.count": [6, 0],
    "connections.state": [[rows.connections, 4], NONE],
    "connections.flows": [1, 0],
    ...Object.fromEntries(["ready", "end", "cause", "wave"].map((name) => [name, [stop, null]])),
    start: [stop, NaN],
    job_stop: [1, stop],
    job_left: [1, stop],
    job_end: [1, 0],
    finished: [1, null],
    ...crossbar(m, width),
  };
}

function crossbar(m, width) {
  const [blocks, rows] = [Math.ceil(width / WORD), width ? width + MARGIN : 0];
  return {
    "bar.count": [5, BigInt64Array.of(BigInt(NONE), 0n, 0n, 0n, 0n)],
    "bar.cursor": [[2, 4], 0],
    "bar.number": [width ? m : 0, null],
    "bar.turn": [2 * width, null],
    "bar.lines": [[7, 2, rows], null],
    "bar.rows": [[7, 2, rows], null],
    "bar.crosses": [[2, blocks + 1, rows], null],
    "bar.finish": [[2, width, width], null],
    "bar.slot": [[width, width], null],
    "bar.table": [[2, 4, 256], null],
  };
}

export { REDUCE };
