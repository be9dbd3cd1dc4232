// The kernel's memory for one run, laid out as `sim.fabric.memory` does: what stays as it is from what-if to what-if is
// made once.

const NONE = -1;
const [FEWEST, SPARSE, MOST] = [32, 8, 2048]; // as in `sim.fabric.crossbar.group`

// Whom each row of a run lets go, which connection it is on, and where the links of its route are.
export class Rows {
  #bytes = null; // of the size asked for last

  constructor({ c, meta, links, count }) {
    this.count = count;
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
    const columns = [c.route, c.route_start, c.route_link];
    [this.route, this.routeStart, this.routeLinks] = columns.map((column) => Int32Array.from(column));
    this.overhead = new Float64Array(this.routes);
    this.op = c.op.map((op, i) => (c.dst[i] < meta.ranks ? op : 0));
    for (let i = 0; i < count; i += 1) {
      const crosses = c.route_start[c.route[i] + 1] > c.route_start[c.route[i]];
      this.overhead[c.route[i]] = crosses && c.src[i] < meta.ranks ? meta.overhead : 0;
    }
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

  // Bytes of every transfer.
  bytes(size) {
    const { c, meta, count } = this;
    if (this.#bytes?.size === size) return this.#bytes.each;
    const [each, unit] = [new Float64Array(count), size * meta.share];
    for (let i = 0; i < count; i += 1) each[i] = size === meta.size ? c.sizes[c.size[i]] : c.moves[i] * unit;
    this.#bytes = { size, each };
    return each;
  }
}

// Some values in longer memory, filled with another one; in their own where that is no longer.
function longer(values, length, fill) {
  if (length === values.length) return values;
  const all = new values.constructor(length).fill(fill);
  all.set(values);
  return all;
}

const each = (names, shape, value = null) => Object.fromEntries(names.map((name) => [name, [shape, value]]));

// The arrays of a run by their paths, each with its shape and what is in it, for `Kernel.place`. Gates, `{ seconds, rows }`, hold
// rows back for some seconds.
export function arena(rows, { bandwidth, lead, bytes, gates }, constants) {
  const stop = rows.rows + gates.length;
  return {
    ...network(rows, bandwidth, constants.links),
    ...waits(rows, gates, stop),
    ...routing(rows, lead, gates, stop),
    ...each(["net.history_transfer"], rows.keepsHistory ? 8 * stop + 1024 : 0),
    ...each(["net.history"], [rows.keepsHistory ? 8 * stop + 1024 : 0, 2]),
    count: [5, BigInt64Array.of(1n, 0n, 0n, 0n, 0n)],
    now: [1, 0],
    gamma: [1, rows.meta.gamma],
    "calendar.size": [3, BigInt64Array.of(0n, 0n, BigInt(NONE))],
    "calendar.time": [4 * stop + 64, null],
    ...each(["calendar.heap", "calendar.nodes"], [4 * stop + 64, 2]),
    "calendar.last_time": [3, 0],
    "calendar.last_node": [3, NONE],
    op: [stop, longer(rows.op, stop, 0)],
    size: [stop, longer(bytes, stop, 0)],
    connection: [stop, longer(rows.connection, stop, NONE)],
    behind: [stop, NONE],
    "alike.count": [6, 0],
    "connections.state": [[rows.connections, 4], NONE],
    "connections.flows": [1, 0],
    ...each(["ready", "end", "cause", "wave"], stop),
    start: [stop, NaN],
    ...each(["job_stop", "job_left"], 1, stop),
    job_end: [1, 0],
    finished: [1, null],
    ...crossbar(rows.links, rows.width, constants.crossbar),
  };
}

function network({ links: m, room, first }, bandwidth, { LONE, TICKET, OVERTAKEN }) {
  const state = new Int32Array(8 * m);
  for (let k = 0; k < m; k += 1) state[8 * k + LONE] = state[8 * k + TICKET] = NONE;
  const count = new BigInt64Array(8);
  count[OVERTAKEN] = BigInt(NONE);
  return {
    "net.count": [8, count],
    "net.capacity": [m, bandwidth],
    "net.state": [[m, 8], state],
    "net.clock": [[m, 5], 0],
    ...each(
      ["net.parent", "net.ring"],
      m,
      BigInt64Array.from({ length: m }, (_, k) => BigInt(k)),
    ),
    "net.order": [[m, 2], 0],
    "net.first": [m + 1, first],
    "net.flow": [[room, 2], null],
    ...each(["net.members", "net.elsewhere", "net.finish"], room),
    ...each(["net.room", "net.unfixed", "net.links", "net.stale", "net.vacated", "net.fired", "net.level_link"], m),
    "net.level": [m + 4, null],
    "net.place": [m, NONE],
  };
}

// Who waits for whom; gates come last.
function waits(rows, gates, stop) {
  const [pending, start] = [longer(rows.pending, stop, 0), longer(rows.afterStart, stop + 1, 0n)];
  const held = gates.flatMap((gate) => gate.rows);
  for (const i of held) pending[i] += 1;
  let end = rows.after.length;
  gates.forEach((gate, k) => {
    end += gate.rows.length;
    start[rows.rows + 1 + k] = BigInt(end);
  });
  const after = longer(rows.after, end, 0);
  after.set(held, rows.after.length);
  return { pending: [stop, pending], after_start: [stop + 1, start], after: [end, after] };
}

// Routes of transfers, then one that leaves no device, for marks, and one that takes its seconds for each gate.
function routing({ rows, count, routes: nowhere, ...all }, lead, gates, stop) {
  const many = stop > count ? nowhere + 1 + gates.length : nowhere;
  const [route, leads] = [longer(all.route, stop, nowhere), longer(lead, many, 0)];
  gates.forEach(({ seconds }, k) => {
    route[rows + k] = nowhere + 1 + k;
    leads[nowhere + 1 + k] = seconds;
  });
  const start = longer(all.routeStart, many + 1, all.routeLinks.length);
  return {
    route: [stop, route],
    lead: [many, leads],
    "net.route_start": [many + 1, start],
    "net.route_links": [all.routeLinks.length, all.routeLinks],
  };
}

function crossbar(m, width, { WORD, MARGIN }) {
  const [blocks, rows] = [Math.ceil(width / WORD), width ? width + MARGIN : 0];
  return {
    "bar.count": [5, BigInt64Array.of(BigInt(NONE), 0n, 0n, 0n, 0n)],
    "bar.cursor": [[2, 4], 0],
    "bar.number": [width ? m : 0, null],
    "bar.turn": [2 * width, null],
    ...each(["bar.lines", "bar.rows"], [7, 2, rows]),
    "bar.crosses": [[2, blocks + 1, rows], null],
    "bar.finish": [[2, width, width], null],
    "bar.slot": [[width, width], null],
    "bar.table": [[2, 4, 256], null],
  };
}
