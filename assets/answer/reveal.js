// What words of an answer show in a run's picture.

// A link by its ends, `A>B`, or a rank by its number, as something to look at; null where the picture has none.
export function focusOf({ links, devices }, what, name) {
  if (what === "rank") {
    const index = devices.rank.indexOf(Number(name));
    return index < 0 ? null : { kind: "device", index };
  }
  const ends = name.split(">").map((end) => devices.name.indexOf(end));
  const index = links.src.findIndex((src, k) => src === ends[0] && links.dst[k] === ends[1]);
  return index < 0 ? null : { kind: "link", index };
}
