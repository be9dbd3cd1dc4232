// One run of a plan in the kernel: what `sim.engine` does for a collective that is alone on its machine.

import { HISTORY, arena } from "./arena.js";
import { NeedsPythonError } from "./words.js";

const [HORIZON, DONE, PAUSED] = [1, 2, 3];
const ALLOWANCE = 3; // the entry of `FabricState.count`
const PIECE = 1n << 40n;
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
    if (spell.end > time && spell.end < Infinity)
      later(time + (spell.end - time), (now) => limit(now, spell, 1));
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
  const kept = Number(kernel.view("net.count")[HISTORY]);
  const [transfer, history] = [kernel.view("net.history_transfer"), kernel.view("net.history")];
  const last = new Int32Array(rows.count).fill(-1); // of those at the instant of its start
  for (let k = 0; k < kept; k += 1) if (history[2 * k] === start[transfer[k]]) last[transfer[k]] = k;
  const [whose, time, rate] = [[], [], []];
  for (let k = 0; k < kept; k += 1) {
    const own = transfer[k];
    if (!(history[2 * k] > start[own] || last[own] === k)) continue;
    whose.push(own);
    time.push(history[2 * k]);
    rate.push(history[2 * k + 1]);
  }
  return { transfer: whose, time, rate };
}

function advance(kernel, horizon) {
  for (;;) {
    kernel.view("count")[ALLOWANCE] = PIECE;
    const why = kernel.advance(horizon);
    if (why !== PAUSED) return why;
    const room = kernel.view("net.history_transfer").length;
    kernel.resize("net.history_transfer", 2 * room);
    kernel.resize("net.history", [2 * room, 2]);
  }
}

function carryOut(kernel, changes) {
  for (const { time, link, bandwidth } of changes) {
    if (time > 0 && advance(kernel, time) === DONE) return;
    kernel.view("net.capacity")[link] = bandwidth;
    kernel.touch(link, time);
  }
  if (advance(kernel, Infinity) !== DONE) throw new NeedsPythonError("it never ends");
}

// When every transfer of a run with such a plan was ready, left, flowed and ended, in s, and what it waited for last.
export function carriedOut(kernel, rows, plan) {
  const { count } = rows;
  const [changes, gates] = [changesOf(plan), gatesOf(plan, rows)];
  const [bytes, lead] = [rows.bytes(plan.size), rows.leads(plan.latency)];
  kernel.place(arena(rows, { bandwidth: plan.bandwidth, lead, bytes, gates }));
  carryOut(kernel, changes);
  const time = kernel.view("job_end")[0];
  const column = (name) => kernel.view(name).slice(0, count);
  const [ready, start, end, cause] = ["ready", "start", "end", "cause"].map(column);
  const behind = kernel.view("behind");
  const left = ready.slice();
  const waited = kernel.view("cause").slice();
  const held = gates.map((gate, k) => ({ ...gate, row: rows.rows + k }));
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
