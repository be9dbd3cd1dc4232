// Who has contributed to what every move leaves behind, where several of one step write to one place: in the order in
// which they end, as `ui.stage.provenance` has it.

const REDUCE = 1;

// Whether any two moves of one step write to one place.
function meets({ c, meta, moveStart, steps }) {
  let i = 0;
  for (const messages of steps.messages) {
    const written = new Set();
    for (const stop = i + messages; i < stop; i += 1)
      for (let m = moveStart[i]; m < moveStart[i + 1]; m += 1) {
        const place = c.dst[i] * meta.slots + c.to[m];
        if (written.has(place)) return true;
        written.add(place);
      }
  }
  return false;
}

// `leaves` and `sets` for other ends, in ticks; as they are where no order makes a difference.
export function leavesAt(timeline, ends) {
  const { c, meta, moveStart, steps, count } = timeline;
  if (!c.sets.length && meta.named) return {}; // nobody followed contributors
  timeline.meeting ??= meets(timeline);
  if (!timeline.meeting) return {};
  const words = Array.from(c.sets);
  const known = new Map();
  for (let k = 0; 2 * k < words.length; k += 1) known.set(`${words[2 * k]},${words[2 * k + 1]}`, k);
  const numberOf = (low, high) => {
    const key = `${low},${high}`;
    if (!known.has(key)) {
      known.set(key, words.length / 2);
      words.push(low, high);
    }
    return known.get(key);
  };
  const both = (a, b) => {
    if (a < 0) return b;
    if (!meta.named) return a + b;
    return numberOf((words[2 * a] | words[2 * b]) >>> 0, (words[2 * a + 1] | words[2 * b + 1]) >>> 0);
  };
  const held = Int32Array.from(c.given, (block, place) => (block < 0 ? -1 : c.single[Math.floor(place / meta.slots)]));
  const leaves = new Uint32Array(c.leaves.length);
  let first = 0;
  for (const messages of steps.messages) {
    const rows = Array.from({ length: messages }, (_, k) => first + k);
    first += messages;
    for (const i of rows.toSorted((a, b) => ends[a] - ends[b] || a - b))
      for (let m = moveStart[i]; m < moveStart[i + 1]; m += 1) {
        const place = c.dst[i] * meta.slots + c.to[m];
        leaves[m] = c.op[i] === REDUCE ? both(held[place], c.brings[m]) : c.brings[m];
        held[place] = leaves[m];
      }
  }
  return count ? { leaves, sets: Uint32Array.from(words) } : {};
}
