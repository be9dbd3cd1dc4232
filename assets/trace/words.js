// Numbers in words, and words with numbers filled in.

const short = (value) => String(Number(value.toPrecision(4)));

export function seconds(value) {
  const [scale, unit] =
    value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e-3, "ms"] : value >= 1e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
  return `${short(value / scale)} ${unit}`;
}

export function bytesText(value) {
  const k = Math.max(0, Math.min(4, Math.floor(Math.log2(Math.max(1, value)) / 10)));
  return `${short(value / 1024 ** k)} ${["B", "KiB", "MiB", "GiB", "TiB"][k]}`;
}

export function fill(text, values) {
  return text.replace(/{(\w+)}/g, (_, name) => String(values[name] ?? ""));
}

export function rateText(value) {
  return `${Number((value / 1e9).toPrecision(3))} GB/s`;
}

export const percent = (share) => `${Math.round(share * 100)} %`;
