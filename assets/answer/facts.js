// What an answer needs to know of a run that was carried out in the page, as `ops.answers.outcome` has it.

import { breakdown, criticalPath } from "../whatif/breakdown.js";
import { carriedBy } from "../whatif/derived.js";
import { arrivals } from "../whatif/run.js";
import { capacities, spellsOf } from "../whatif/use.js";

const FLOWING = [1, 2, 3]; // parts of the time that a link costs beside its latency
const WAITING = 6;

// `run` is what the kernel gave for a `plan` about the run that `timeline` shows.
export function factsOf(timeline, { plan, run }) {
  const { links, devices, meta } = timeline;
  const name = (k) => `${devices.name[links.src[k]]} → ${devices.name[links.dst[k]]}`;
  const names = links.src.map((_, k) => name(k));
  const spells = spellsOf(run.changes, plan.bandwidth, run.time);
  const path = criticalPath(run);
  const { why, seconds } = breakdown(timeline, run, { path, arrived: arrivals(timeline, run), plan, spells });
  const bandwidth = capacities(plan.bandwidth, spells, [0, run.time]);
  const bytes = carriedBy(timeline, run.bytes);
  const use = bytes.map((carried, k) => (bandwidth[k] * run.time > 0 ? carried / (bandwidth[k] * run.time) : 0));
  const about = { timeline, run, path, seconds, use, names };
  return {
    time: run.time,
    ranks: meta.ranks,
    transfers: timeline.count,
    size: plan.size,
    parts: why.parts.map(([, spent]) => spent),
    messages: why.messages,
    links: { names, bandwidth, latency: plan.latency, bytes, use },
    link: linkWaitedFor(about),
    rank: rankWaitedFor(about),
  };
}

// The link that the critical path spends most time on, its share of the run, and how many ranks wait for it.
function linkWaitedFor({ timeline: { c, links, meta }, run, path, seconds, use, names }) {
  const spent = names.map(() => 0);
  path.forEach((i, k) => {
    const route = c.route_link.subarray(c.route_start[c.route[i]], c.route_start[c.route[i] + 1]);
    if (route.length) spent[fullest(route, use)] += total(seconds[k], FLOWING);
  });
  const link = first(spent);
  if (!spent[link]) return null;
  const isBack = (k) => links.src[k] === links.dst[link] && links.dst[k] === links.src[link];
  const both = new Set([link, ...links.src.keys().filter(isBack)]);
  const crosses = (some) => (i) =>
    c.route_link.subarray(c.route_start[c.route[i]], c.route_start[c.route[i] + 1]).some((k) => some.has(k));
  const [one, two] = [new Set([link]), both].map((some) => behind(c, meta, run, crosses(some)));
  const name = two > one ? names[link].replace("→", "↔") : names[link];
  return { name, link, share: spent[link] / run.time, ranks: two };
}

// The rank whose being late or slow costs the critical path most.
function rankWaitedFor({ timeline: { c, meta }, run, path, seconds }) {
  const lost = Array.from({ length: meta.places }, () => 0);
  path.forEach((i, k) => (lost[c.src[i]] += seconds[k][WAITING]));
  const rank = first(lost);
  if (!lost[rank]) return null;
  return { name: String(rank), share: lost[rank] / run.time, ranks: behind(c, meta, run, (i) => c.src[i] === rank) };
}

// How many ranks' last messages come after a chain of messages with a marked one in it.
function behind({ dst }, { places, ranks }, { end, cause }, isMarked) {
  const known = new Int8Array(end.length); // 1 for those that do, -1 for others
  const last = new Int32Array(places).fill(-1);
  for (let i = 0; i < end.length; i += 1) {
    if (!(end[i] < end[last[dst[i]]])) last[dst[i]] = i;
    follow(i, cause, known, isMarked);
  }
  return last.subarray(0, ranks).reduce((count, i) => count + Number(known[i] === 1), 0);
}

// Know of a message, and of those that it comes after, whether they come after a marked one.
function follow(i, cause, known, isMarked) {
  const chain = [];
  let j = i;
  while (j >= 0 && !known[j] && !isMarked(j)) {
    chain.push(j);
    j = cause[j];
  }
  if (j >= 0) known[j] ||= 1;
  for (const k of chain) known[k] = j < 0 ? -1 : known[j];
}

const total = (row, parts) => parts.reduce((sum, part) => sum + row[part], 0);

// The place of the first of the largest values.
export const first = (values) => values.reduce((best, value, k) => (value > values[best] ? k : best), 0);

const fullest = (route, use) => route.reduce((best, k) => (use[k] > use[best] ? k : best), route[0]);
