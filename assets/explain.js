// Numbers and things in words, for captions and tips.

export function seconds(value) {
  const [scale, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e-3, "ms"] : value >= 1e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
  return `${Number((value / scale).toPrecision(4))} ${unit}`;
}

export function fill(text, values) {
  return text.replace(/{(\w+)}/g, (_, name) => String(values[name] ?? ""));
}

export function rateText(value) {
  return `${Number((value / 1e9).toPrecision(3))} GB/s`;
}

function explainPlace(timeline, text, t, rank, slot) {
  const held = timeline.slots(rank, t)[slot];
  const key = held?.block === null ? "nothing" : held?.ranks ? "holding" : "counting";
  const what = fill(text[`player.${key}`], held ?? {});
  return [fill(text["player.place"], { rank, slot, what })];
}

// What is known at t about a link, a block, a device or a place, in lines.
export function explain(timeline, text, t, { kind, index, rank: of }) {
  if (kind === "place") return explainPlace(timeline, text, t, of, index);
  if (kind === "link") {
    const { links, devices } = timeline;
    const rate = timeline.loads(t)[index];
    return [
      `${devices.name[links.src[index]]} → ${devices.name[links.dst[index]]} (${links.kind[index]})`,
      fill(text["player.rate"], { rate: rateText(rate), capacity: rateText(links.bandwidth[index]) }),
    ];
  }
  if (kind === "block") {
    const i = index;
    const share = `${Math.round(timeline.delivered(i, t) * 100)} %`;
    const m = timeline.moveStart[i];
    return [
      fill(text["caption.block"], { block: timeline.blockName(timeline.c.block[m]) }),
      fill(text["player.blockline"], {
        src: timeline.places.name[timeline.c.src[i]], dst: timeline.places.name[timeline.c.dst[i]],
        share, rate: rateText(timeline.rate(i, t)),
      }),
    ];
  }
  const rank = timeline.devices.rank[index];
  const name = `${timeline.devices.name[index]}${timeline.devices.numa[index] >= 0 ? ` · NUMA ${timeline.devices.numa[index]}` : ""}`;
  if (rank < 0) return [name];
  const holds = timeline.slots(rank, t).filter((slot) => slot.block !== null);
  const shown = holds.slice(0, 8).map((slot) => `${slot.block}: ${slot.ranks || slot.count}`);
  return [`${name} · rank ${rank}`, ...shown, ...(holds.length > 8 ? ["…"] : [])];
}
