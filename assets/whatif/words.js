// A what-if in words: edits of the machine and faults as Python's `sim.faults` reads them, or a size.

const MEASURED = /^([\d.]+(?:e[+-]?\d+)?)\s*([a-zµμ/]*)$/i;
const TIMES = { "": 1, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, μs: 1e-6, ns: 1e-9, ps: 1e-12 };
const SCALES = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15 };
const BINARY = { ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30, ti: 2 ** 40, pi: 2 ** 50 };
const LARGEST_BANDWIDTH = 1e18; // B/s
const LARGEST_SIZE = 2 ** 50; // bytes
const SLOWEST = 1e6;
const ALL = "all";

// What only Python can work out.
export class NeedsPythonError extends Error {}

function expect(isFine, why) {
  if (!isFine) throw new NeedsPythonError(why);
}

function measured(text) {
  const parts = MEASURED.exec(text.trim());
  expect(parts, `${text} is not a number with a unit`);
  return [Number(parts[1]), parts[2]];
}

export function seconds(text) {
  const [value, unit] = measured(text);
  expect(unit in TIMES, `${text} has an unknown unit`);
  return value * TIMES[unit];
}

function scaled(unit) {
  const scale = BINARY[unit.toLowerCase()] ?? SCALES[unit.toLowerCase()];
  expect(scale, `${unit} is an unknown unit`);
  return scale;
}

export function bandwidth(text) {
  const [value, unit] = measured(text);
  const base = unit.replace(/ps$|\/s$/, "");
  const isBits = /(b|bit)$/.test(base);
  return (value * scaled(base.replace(/bit$|b$|B$/, ""))) / (isBits ? 8 : 1);
}

function bytes(text) {
  const [value, unit] = measured(text);
  const size = value * scaled(unit.replace(/b$/i, ""));
  expect(Number.isInteger(size) && size >= 1 && size <= LARGEST_SIZE, `${text} is no size`);
  return size;
}

function plain(text) {
  const value = Number(text);
  expect(text !== "" && Number.isFinite(value), `${text} is not a number`);
  return value;
}

// `name:key=value,…` taken apart.
export function taken(spec) {
  const [name, rest = ""] = spec.split(/:(.*)/s);
  const pairs = rest.split(",").filter(Boolean);
  return { name, words: new Map(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2).map(decodeURIComponent))) };
}

// The words of a spec, each read by its function; others are Python's.
function read({ name, words }, readers) {
  const unknown = [...words.keys()].find((key) => !(key in readers));
  expect(unknown === undefined, `${name} with ${unknown}`);
  return Object.fromEntries([...words].map(([key, word]) => [key, readers[key](word)]));
}

const yes = (word) => ["yes", "true", "on", "1"].includes(word.toLowerCase());
const same = (word) => word;
const LINK = { src: same, dst: same };
const RATES = { bandwidth, latency: seconds, times: plain };
const SPELL = { start: seconds, end: seconds };

const NUMBERS = /(?<=[,:])(bandwidth|latency|share|late|slower)=[^,]+/g;

// Whether a fault or an edit differs from another one in its numbers alone; as `ui.controls.compare` has it.
export const isFurther = (last, spec) =>
  last !== undefined && last.replace(NUMBERS, "$1") === spec.replace(NUMBERS, "$1");

export const isFault = (spec) => taken(spec).name in FAULTS;

// A machine and what happens to it: `bandwidth` and `latency` by link, `size` in bytes, ranks that are `late`, and `spells` in
// which links have a share of their bandwidth.
export class Plan {
  #timeline;
  #isSlowed = false;

  // What a run shows, with these what-ifs, in order: edits come before faults. Throws NeedsPythonError.
  constructor(timeline, specs) {
    const { links, meta } = timeline;
    this.#timeline = timeline;
    [this.bandwidth, this.latency] = [links.bandwidth, links.latency].map((values) => Float64Array.from(values));
    this.size = meta.size;
    this.late = []; // rank, seconds, and which fault
    this.spells = []; // links, share, start, end, and which fault
    this.isEdited = false;
    this.faults = [...timeline.faults];
    this.#isSlowed = this.faults.some((spec) => taken(spec).words.has("slower"));
    for (const spec of specs.filter((each) => !isFault(each))) this.#edit(taken(spec));
    this.isFurther = isFurther(specs.at(-2), specs.at(-1) ?? "");
    let there = this.faults.length;
    for (const spec of specs.filter(isFault)) {
      const goesOn = isFurther(this.faults.at(-1), spec);
      if (goesOn && this.faults.length === there) {
        expect(!taken(spec).words.has("slower"), "another pace of a rank that is slow"); // its links are slow already
        there -= 1;
      }
      this.faults.splice(goesOn ? -1 : this.faults.length, 1, spec);
    }
    this.faults.forEach((spec, fault) => this.#fault(taken(spec), { timeline, fault, isThere: fault < there }));
  }

  #edit(spec) {
    expect(spec.name in EDITS, spec.name);
    if (spec.name !== "size") {
      expect(!this.#isSlowed, "an edit below a slow rank");
      this.isEdited = true;
    }
    EDITS[spec.name](this, spec, this.#timeline);
  }

  #fault(spec, how) {
    expect(spec.name in FAULTS, spec.name);
    FAULTS[spec.name](this, spec, how);
  }

  // Give links other rates.
  rate(links, { bandwidth: wide, latency, times = 1 }) {
    for (const k of links) {
      const rate = (wide ?? this.bandwidth[k]) * times;
      expect(rate >= 1 && rate <= LARGEST_BANDWIDTH, `${rate} B/s`);
      this.bandwidth[k] = rate;
      if (latency !== undefined) this.latency[k] = latency;
    }
  }
}

// The links between two devices, one way and back.
function between({ devices, links }, { src, dst }) {
  const [a, b] = [devices.name.indexOf(src), devices.name.indexOf(dst)];
  const way = (from, to) => [...links.src.keys()].filter((k) => links.src[k] === from && links.dst[k] === to);
  const found = [...way(a, b), ...way(b, a)];
  expect(a >= 0 && b >= 0 && found.length, `${src} → ${dst}`);
  return found;
}

const EDITS = {
  set_link(plan, spec, timeline) {
    const rates = read(spec, { ...LINK, ...RATES });
    plan.rate(between(timeline, rates), rates);
  },
  set_class(plan, spec, { links }) {
    const { kind = ALL, ...rates } = read(spec, { kind: same, ...RATES });
    plan.rate(
      [...links.kind.keys()].filter((k) => kind === ALL || links.kind[k] === kind),
      rates,
    );
  },
  size(plan, spec, { meta }) {
    plan.size = read(spec, { bytes }).bytes;
    expect(meta.share > 0 && plan.size * meta.share >= 1, "a size that leaves no byte");
  },
};

const FAULTS = {
  straggler(plan, spec, { timeline, fault, isThere }) {
    const { rank, late = 0, slower = 1 } = read(spec, { rank: plain, late: seconds, slower: plain });
    const device = timeline.devices.rank.indexOf(rank);
    expect(device >= 0 && slower >= 1 && slower <= SLOWEST, "a straggler");
    const { src, dst } = timeline.links;
    if (slower > 1 && !isThere)
      plan.bandwidth.forEach((rate, k) => {
        if (src[k] === device || dst[k] === device) plan.bandwidth[k] = rate / slower;
      });
    if (late > 0) plan.late.push({ rank, seconds: late, fault });
  },
  slow_link(plan, spec, { timeline, fault }) {
    const { share = 0.5, start = 0, end = Infinity, ...link } = read(spec, { ...LINK, ...SPELL, share: plain });
    expect(share > 0 && share <= 1 && start < end, "a share");
    plan.spells.push({ links: between(timeline, link), share, start, end, fault });
  },
  dead_link(plan, spec, { timeline, fault }) {
    const { start = 0, end = Infinity, reroute = false, ...link } = read(spec, { ...LINK, ...SPELL, reroute: yes });
    const links = between(timeline, link);
    const isIdle = links.every((k) => timeline.links.bytes[k] === 0);
    expect(start < end && (!reroute || (isIdle && start === 0 && end === Infinity)), "a detour");
    plan.spells.push({ links, share: 0, start, end, fault });
  },
};

// Whether a page may be able to work out what is asked.
export const isKnown = (spec) => taken(spec).name in { ...FAULTS, ...EDITS };
