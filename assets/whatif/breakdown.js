// Where the time of a run went, as `sim.trace.breakdown` has it: the seconds of its critical path by what they were
// spent on.

import { added, rounded, ulp } from "./sums.js";

const PARTS = ["latency", "bytes", "slowed", "sharing", "reducing", "working", "waiting"];
const [OF_SPAN, OF_CLOCK] = [1e-9, 1e-12]; // within which two moments are one

// The transfers that made the run as long as it was, each waiting for the one before.
export function criticalPath({ end, cause }) {
  if (!end.length) return [];
  let last = 0;
  for (let i = 1; i < end.length; i += 1) if (end[i] > end[last]) last = i;
  const path = [last];
  while (cause[path.at(-1)] >= 0) path.push(cause[path.at(-1)]);
  return path.toReversed();
}

function same(moment, other, span) {
  return Math.abs(moment - other) <= OF_SPAN * span + OF_CLOCK * Math.abs(other) ? other : moment;
}

// When transfer i would be through if it had its links, as faults left them, to itself; no later than it was.
function through(run, i, { links, bandwidth, spells, until }) {
  const own = spells.filter(({ link }) => links.includes(link));
  const begin = run.start[i];
  const moments = new Set(own.flatMap((spell) => [spell.begin, spell.end]));
  const stops = [...moments].filter((moment) => begin < moment && moment < until).toSorted((a, b) => a - b);
  let left = run.bytes[i];
  let now = begin;
  for (const then of [...stops, until]) {
    const at = now;
    const rates = links.map(
      (link) =>
        own.find((spell) => spell.link === link && spell.begin <= at && at < spell.end)?.bandwidth ?? bandwidth[link],
    );
    const rate = Math.min(...rates);
    if (left <= rate * (then - now)) return now + left / rate;
    left -= rate * (then - now);
    now = then;
  }
  return until;
}

// The parts of a run's time, which add up to it exactly, and on which of them each transfer of its path spent any.
export function breakdown({ c, meta }, run, { path, arrived, plan, spells }) {
  const step = ulp(run.time);
  const whole = rounded(run.time / step);
  const faulty = new Set(spells.map(({ link }) => link));
  const spent = PARTS.map(() => 0);
  const bits = new Uint8Array(path.length);
  const seconds = []; // of every transfer of the path, by part
  let last = 0;
  path.forEach((i, k) => {
    const links = Array.from(c.route_link.subarray(c.route_start[c.route[i]], c.route_start[c.route[i] + 1]));
    const overhead = c.src[i] < meta.ranks ? meta.overhead : 0;
    const lead = links.length ? overhead + added((j) => plan.latency[links[j]], links.length) : 0;
    const alone = run.bytes[i] / Math.min(...links.map((link) => plan.bandwidth[link]));
    const [left, start, there, end] = [run.left[i], run.start[i], arrived[i], run.end[i]];
    const latency = same(Math.min(left + lead, start), start, start - left);
    const own = same(Math.min(start + alone, there), there, there - start);
    const isFaulty = links.some((link) => faulty.has(link));
    const later = isFaulty
      ? through(run, i, { links, bandwidth: plan.bandwidth, spells, until: there })
      : start + alone;
    const slowed = Math.max(own, same(Math.min(later, there), there, there - start));
    const spans = [left, latency, start, own, slowed, there, end].map((moment) => {
      const now = Math.min(Math.max(rounded(moment / step), last), whole);
      const span = now - last;
      last = now;
      return span;
    });
    const [before, ahead, extra, flowing, slow, sharing, reducing] = spans;
    const waiting = before + extra + (k === path.length - 1 ? whole - last : 0);
    const counts = [ahead, flowing, slow, sharing, reducing, 0, waiting];
    seconds.push(counts.map((count) => count * step));
    counts.forEach((count, j) => {
      spent[j] += count * step;
      if (count > 0) bits[k] |= 1 << j;
    });
  });
  const away = path.filter((i) => c.src[i] !== c.dst[i]);
  return {
    why: {
      parts: PARTS.map((part, j) => [part, spent[j]]),
      messages: away.length,
      bytes: added((j) => run.bytes[away[j]], away.length),
    },
    bits,
    seconds,
  };
}
