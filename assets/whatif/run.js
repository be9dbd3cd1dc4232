// One run of a plan in the kernel: what `sim.engine` does for a collective that is alone on its machine.

import { arena } from "./arena.js";
import { NeedsPythonError } from "./words.js";

const PIECE = 1n << 50n; // of work between two pauses: more than there is
const REDUCE = 1;

// What links can carry from when on, in the order in which it happens: moments as SimPy adds them up.
function changesOf(plan) {
  const due = [];
  const changes = [];
  const shares = new Map();
  let turn = 0;
  const limit = (time, { links, fault }, share) => {
    for (const link of links) {
      if (!shares.has(link)) shares.set(link, new Map());
      shares.get(link).set(fault, share);
      let rate = 1;
      for (const each of shares.get(link).values()) rate *= each;
      changes.push({ time, link, bandwidth: plan.bandwidth[link] * rate });
    }
  };
  const later = (time, act) => due.push({ time, turn: (turn += 1), act });
  const begin = (time, spell) => {
    limit(time, spell, spell.share);
    if (spell.end > time && spell.end < Infinity) later(time + (spell.end - time), (now) => limit(now, spell, 1));
  };
  for (const spell of plan.spells)
    if (spell.start > 0) later(spell.start, (now) => begin(now, spell));
    else begin(0, spell);
  while (due.length) {
    due.sort((a, b) => a.time - b.time || a.turn - b.turn);
    const { time, act } = due.shift();
    act(time);
  }
  return changes;
}

// Late ranks as gates: seconds, and the rows of the transfers that they hold back.
function gatesOf({ late }, { c, count }) {
  const gates = [];
  for (const fault of new Set(late.map((each) => each.fault)))
    for (const { rank, seconds } of late.filter((each) => each.fault === fault)) {
      const rows = [];
      for (let i = 0; i < count; i += 1) if (c.src[i] === rank || c.dst[i] === rank) rows.push(i);
      gates.push({ seconds, rows, fault });
    }
  return gates;
}

// Changes of rate as `Arena.changes` gives them: transfer, s and B/s of each.
function historyOf(kernel, rows, start) {
  if (!rows.keepsHistory) return null;
  const kept = Number(kernel.view("net.count")[kernel.constants.links.HISTORY]);
  const [transfer, history] = [kernel.view("net.history_transfer"), kernel.view("net.history")];
  const last = new Int32Array(rows.count).fill(-1); // of those at the instant of its start
  for (let k = 0; k < kept; k += 1) if (history[2 * k] === start[transfer[k]]) last[transfer[k]] = k;
  const [whose, time, rate] = [new Int32Array(kept), new Float64Array(kept), new Float64Array(kept)];
  let count = 0;
  for (let k = 0; k < kept; k += 1) {
    const own = transfer[k];
    if (!(history[2 * k] > start[own] || last[own] === k)) continue;
    [whose[count], time[count], rate[count]] = [own, history[2 * k], history[2 * k + 1]];
    count += 1;
  }
  return { transfer: whose.subarray(0, count), time: time.subarray(0, count), rate: rate.subarray(0, count) };
}

// Whether the run has ended by a moment.
function hasEnded(kernel, horizon) {
  const { ALLOWANCE, DONE, PAUSED } = kernel.constants.kernel;
  for (;;) {
    kernel.view("count")[ALLOWANCE] = PIECE;
    const why = kernel.advance(horizon);
    if (why !== PAUSED) return why === DONE;
    const room = kernel.view("net.history_transfer").length;
    kernel.resize("net.history_transfer", 2 * room);
    kernel.resize("net.history", [2 * room, 2]);
  }
}

function carryOut(kernel, changes) {
  let now = 0;
  for (const { time, link, bandwidth } of changes) {
    if (time > now && hasEnded(kernel, time)) return; // those of one instant are made together
    now = time;
    kernel.view("net.capacity")[link] = bandwidth;
    kernel.touch(link, time);
  }
  if (!hasEnded(kernel, Infinity)) throw new NeedsPythonError("it never ends");
}

// When every transfer of a run with such a plan was ready, left, flowed and ended, in s, and what it waited for last.
export function carriedOut(kernel, rows, plan) {
  const { count } = rows;
  const [changes, gates] = [changesOf(plan), gatesOf(plan, rows)];
  const { overhead, routeStart, routeLinks } = rows;
  const lead = kernel.leads({ overhead, latency: plan.latency, routeStart, routeLinks });
  const bytes = rows.bytes(plan.size);
  kernel.place(arena(rows, { bandwidth: plan.bandwidth, lead, bytes, gates }, kernel.constants));
  carryOut(kernel, changes);
  const time = kernel.view("job_end")[0];
  const column = (name) => kernel.view(name).slice(0, count);
  const [ready, start, end, cause] = ["ready", "start", "end", "cause"].map(column);
  const behind = kernel.view("behind");
  const left = ready.slice();
  const waited = kernel.view("cause").slice();
  const held = gates.map(({ fault }, k) => ({ fault, row: rows.rows + k }));
  for (let i = 0; i < count; i += 1) {
    while (cause[i] >= count) cause[i] = waited[cause[i]];
    if (behind[i] < 0) continue;
    cause[i] = behind[i];
    left[i] = start[i] - lead[rows.c.route[i]];
  }
  const past = changes.filter((change) => change.time <= time);
  const hits = { waited, held };
  return { time, ready, left, start, end, cause, bytes, history: historyOf(kernel, rows, start), changes: past, hits };
}

// When the last byte of every transfer was there, before any reduction.
export function arrivals({ c, meta }, { start, end, bytes }) {
  return end.map((moment, i) => {
    const adds = c.op[i] === REDUCE && c.dst[i] < meta.ranks;
    return Math.max(moment - (adds ? meta.gamma * bytes[i] : 0), start[i]);
  });
}
