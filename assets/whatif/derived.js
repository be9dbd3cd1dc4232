// A run of a plan as the player has it: the header and the columns that `ui.player.payload` would have packed.

import { breakdown, criticalPath } from "./breakdown.js";
import { leavesAt } from "./holdings.js";
import { arrivals } from "./run.js";
import { rounded, small } from "./sums.js";
import { spellsOf, useOf } from "./use.js";

const [MOST_TICKS, LEAST] = [2_000_000_000, 1e-15];
const EDITED = ", edited";

// Have properties worked out when they are first asked for.
function lazily(target, makers) {
  for (const [names, make] of makers) {
    let made = null;
    for (const name of names)
      Object.defineProperty(target, name, {
        get: () => (made ??= make())[name],
        enumerable: true,
        configurable: true,
      });
  }
  return target;
}

// Messages by step: from the least that leave to the last that ends, in ticks.
function stepsOf({ messages }, ends, left) {
  let [i, latest] = [0, 0];
  const [begin, end] = [[], []];
  for (const count of messages) {
    let first = count ? Infinity : 0;
    for (const stop = i + count; i < stop; i += 1) {
      first = Math.min(first, left[i]);
      latest = Math.max(latest, ends[i]);
    }
    begin.push(first);
    end.push(latest);
  }
  return { begin, end };
}

// Bytes that crossed every link.
export function carriedBy({ c, links }, bytes) {
  const routes = new Float64Array(c.route_start.length - 1);
  bytes.forEach((size, i) => (routes[c.route[i]] += size));
  const carried = links.src.map(() => 0);
  routes.forEach((size, r) => {
    for (let k = c.route_start[r]; k < c.route_start[r + 1]; k += 1) carried[c.route_link[k]] += size;
  });
  return carried;
}

// Faults that affected transfers, and for how long.
function hitsOf({ c, count }, run, plan) {
  const seconds = new Map(); // by fault, then transfer
  const add = (fault, i, span) => {
    const key = fault * count + i;
    seconds.set(key, (seconds.get(key) ?? 0) + span);
  };
  for (const { row, fault } of run.hits.held)
    for (let i = 0; i < count; i += 1) if (run.hits.waited[i] === row) add(fault, i, run.ready[i]);
  for (const { links, start, end, fault } of plan.spells)
    for (let i = 0; i < count; i += 1) {
      const under = Math.min(run.end[i], Math.min(end, run.time)) - Math.max(run.start[i], start);
      if (!(under > 0)) continue;
      const own = c.route_link.subarray(c.route_start[c.route[i]], c.route_start[c.route[i] + 1]);
      if (own.some((link) => links.includes(link))) add(fault, i, under);
    }
  const keys = [...seconds.keys()].toSorted((a, b) => a - b);
  return {
    hit: small(keys.map((key) => key % count)),
    hit_by: small(keys.map((key) => Math.floor(key / count))),
    hit_for: Float32Array.from(keys, (key) => seconds.get(key)),
  };
}

// Rates of those transfers only that did not keep one rate throughout.
function changesOf({ count }, { history }, ticks) {
  if (!history) return {};
  const { transfer, time, rate } = history;
  const often = new Uint32Array(count);
  for (const i of transfer) often[i] += 1;
  const rows = [];
  for (let k = 0; k < transfer.length; k += 1) if (often[transfer[k]] > 1) rows.push(k);
  rows.sort((a, b) => transfer[a] - transfer[b] || a - b);
  return {
    change: small(rows.map((k) => transfer[k])),
    change_at: Int32Array.from(rows, (k) => ticks(time[k])),
    change_to: Float32Array.from(rows, (k) => rate[k]),
  };
}

// When transfers left and ended, in ticks, and the columns that tell it; and the wait of every route for its first byte.
function timesOf({ c, count }, run, ticks) {
  const [ends, left] = [new Float64Array(count), new Float64Array(count)];
  const [end, span, cause] = [new Int32Array(count), new Int32Array(count), new Int32Array(count)];
  const latency = new Float64Array(c.route_start.length - 1);
  let last = 0;
  for (let i = 0; i < count; i += 1) {
    ends[i] = ticks(run.end[i]);
    left[i] = ticks(run.left[i]);
    end[i] = ends[i] - last;
    span[i] = ends[i] - left[i];
    cause[i] = run.cause[i] < 0 ? 0 : i - run.cause[i];
    latency[c.route[i]] = run.start[i] - run.left[i];
    last = ends[i];
  }
  return { ends, left, columns: { end, span, cause, latency } };
}

function sizesOf(bytes) {
  const sizes = Float64Array.from(new Set(bytes)).sort();
  const number = new Map(Array.from(sizes, (size, k) => [size, k]));
  return { sizes, size: small(bytes.map((size) => number.get(size))) };
}

// `timeline` is the run that the plan changes, `run` what the kernel gave.
export function derived(timeline, plan, run) {
  const { c, meta, links, header } = timeline;
  const { time } = run;
  const tick = Math.max(time / MOST_TICKS, LEAST);
  const ticks = (moment) => rounded(Math.min(moment, time + tick) / tick);
  const { ends, left, columns: moments } = timesOf(timeline, run, ticks);
  const spells = spellsOf(run.changes, plan.bandwidth, time);
  const shared = lazily({}, [
    [["arrived"], () => ({ arrived: arrivals(timeline, run) })],
    [["path"], () => ({ path: criticalPath(run) })],
    [["why", "bits"], () => breakdown(timeline, run, { path: shared.path, arrived: shared.arrived, plan, spells })],
  ]);
  const isSame = plan.size === meta.size;
  const columns = lazily({ ...c, ...(isSame ? {} : sizesOf(run.bytes)) }, [
    [["path"], () => ({ path: small(shared.path) })],
    [["path_on"], () => ({ path_on: shared.bits })],
    [["load"], () => ({ load: useOf(timeline, run, { arrived: shared.arrived, bandwidth: plan.bandwidth, spells }) })],
    [["leaves", "sets"], () => ({ leaves: c.leaves, sets: c.sets, ...leavesAt(timeline, ends) })],
    [["hit", "hit_by", "hit_for"], () => hitsOf(timeline, run, plan)],
  ]);
  Object.assign(columns, moments, changesOf(timeline, run, ticks));
  const machine = plan.isEdited ? `${meta.machine.replace(/, edited$/, "")}${EDITED}` : meta.machine;
  const least = isSame ? meta.least : (meta.least / (meta.size * meta.share)) * (plan.size * meta.share);
  const others = { machine, size: plan.size, time, tick, least };
  const whole = {
    ...header,
    meta: { ...meta, ...others },
    links: {
      ...links,
      bandwidth: Array.from(plan.bandwidth),
      latency: Array.from(plan.latency),
      bytes: isSame ? links.bytes : carriedBy(timeline, run.bytes),
      spells: spells.map((spell) => [spell.link, ticks(spell.begin), ticks(spell.end), spell.bandwidth]),
    },
    steps: { ...header.steps, ...stepsOf(header.steps, ends, left) },
    faults: plan.faults,
  };
  return { header: lazily(whole, [[["why"], () => ({ why: shared.why })]]), columns };
}
