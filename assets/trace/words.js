// Numbers in words, and words with numbers filled in.

const short = (value, digits = 4) => String(Number(value.toPrecision(digits)));

const UNITS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

function timed(value, digits) {
  const [scale, unit] = UNITS.find(([least]) => value >= least) ?? UNITS.at(-1);
  return `${short(value / scale, digits)} ${unit}`;
}

export const seconds = (value) => timed(value, 4);
export const about = (value) => timed(value, 2);

// One unit and one last digit for a time and all it is made of, so that what is shown adds up: as sim.units has it.
export class TimeScale {
  constructor(scale, unit, decimals) {
    Object.assign(this, { scale, unit, decimals });
  }

  static of(value) {
    const [scale, unit] = UNITS.find(([least]) => Math.abs(value) >= least) ?? UNITS.at(-1);
    const before = value ? Math.floor(Math.log10(Math.abs(value) / scale)) + 1 : 1;
    return new TimeScale(scale, unit, Math.max(0, 4 - before));
  }

  // Seconds in whole last digits, each rounded up or down so that together they are their rounded sum.
  counts(parts) {
    const exact = parts.map((part) => (part / this.scale) * 10 ** this.decimals);
    const counts = exact.map(Math.floor);
    const order = exact.map((_, k) => k).toSorted((a, b) => counts[a] - exact[a] - (counts[b] - exact[b]));
    for (const k of order.slice(0, Math.round(sum(exact)) - sum(counts))) counts[k] += 1;
    return counts;
  }

  text(count) {
    return `${(count / 10 ** this.decimals).toFixed(this.decimals)} ${this.unit}`;
  }
}

// Round instants of a stretch of time, no more than `most` of them after the first, with their words in one unit.
export function ticks(from, to, most) {
  if (!(to > from) || most < 1) return [[from, seconds(from)]];
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough * (1 - 1e-9));
  const { scale, unit } = TimeScale.of(to);
  const decimals = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, k) => {
    const t = (first + k) * step;
    return [t, `${(t / scale).toFixed(decimals)} ${unit}`];
  });
}

// A time in the unit of a whole that it is part of.
export function timeLike(value, whole) {
  const scale = TimeScale.of(whole);
  return scale.text(Math.round((value / scale.scale) * 10 ** scale.decimals));
}

// Bytes in whole units of the most that they come to, so that the unit stays while they grow.
export function bytesLike(value, most) {
  const [scale, unit] = BINARY.find(([least]) => most >= least) ?? [1, "B"];
  return `${Math.round(value / scale)} ${unit}`;
}

const BINARY = ["TiB", "GiB", "MiB", "KiB"].map((unit, k) => [1024 ** (4 - k), unit]);
const DECIMAL = ["TB", "GB", "MB", "KB", "B"].map((unit, k) => [1000 ** (4 - k), unit]);

// As sim.units.fmt_size has it: binary units where they come out whole, decimal ones otherwise.
export function bytesText(value) {
  const [whole, binary] = BINARY.find(([scale]) => value >= scale) ?? [1, "B"];
  if (Number.isInteger((value / whole) * 4)) return `${value / whole} ${binary}`;
  const [scale, unit] = DECIMAL.find(([least]) => value >= least) ?? [1, "B"];
  return `${short(value / scale)} ${unit}`;
}

// One unit for all sizes of a table, so that they can be compared as they stand: that of the largest.
export function sizesIn(most) {
  const [, unit] = bytesText(most).split(" ");
  const [scale] = [...BINARY, ...DECIMAL].find(([, name]) => name === unit);
  return (value) => `${short(value / scale)} ${unit}`;
}

export const sum = (values) => values.reduce((total, value) => total + value, 0);

export function fill(text, values) {
  return text.replace(/{(\w+)}/g, (_, name) => String(values[name] ?? ""));
}

export function rateText(value) {
  return `${Number((value / 1e9).toPrecision(3))} GB/s`;
}

// As sim.units.fmt_share has it.
export const percent = (share) => `${Math.round(share * 100)}%`;
