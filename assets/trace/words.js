// Numbers in words, and words with numbers filled in.

const short = (value) => String(Number(value.toPrecision(4)));

export function seconds(value) {
  const [scale, unit] =
    value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e-3, "ms"] : value >= 1e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
  return `${short(value / scale)} ${unit}`;
}

// Round instants from 0 to the end of a span, no more than `most` of them after the first, with their words.
export function ticks(span, most) {
  if (!(span > 0) || most < 1) return [[0, seconds(0)]];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough * (1 - 1e-9));
  return Array.from({ length: Math.floor(span / step + 1e-9) + 1 }, (_, k) => [k * step, seconds(k * step)]);
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

export function fill(text, values) {
  return text.replace(/{(\w+)}/g, (_, name) => String(values[name] ?? ""));
}

export function rateText(value) {
  return `${Number((value / 1e9).toPrecision(3))} GB/s`;
}

export const percent = (share) => `${Math.round(share * 100)} %`;
