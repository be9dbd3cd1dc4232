// Who has contributed to what every move leaves behind, where several of one step write to one place: in the order in
// which they end, as `ui.layout.provenance` has it.

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

// What gives the number of the union of two sets, each two words; one that is new is added to them.
function unions(words) {
  const known = new Map();
  for (let k = 0; 2 * k < words.length; k += 1) known.set(`${words[2 * k]},${words[2 * k + 1]}`, k);
  return (a, b) => {
    const [low, high] = [0, 1].map((half) => (words[2 * a + half] | words[2 * b + half]) >>> 0);
    const key = `${low},${high}`;
    if (!known.has(key)) {
      known.set(key, words.length / 2);
      words.push(low, high);
    }
    return known.get(key);
  };
}

// `leaves` and `sets` for other ends, in ticks; as they are where no order makes a difference.
export function leavesAt(timeline, ends) {
  const { c, meta, moveStart, steps } = timeline;
  if (!c.sets.length && meta.named) return {}; // nobody followed contributors
  timeline.meeting ??= meets(timeline);
  if (!timeline.meeting) return {};
  const words = Array.from(c.sets);
  const both = meta.named ? unions(words) : (a, b) => a + b;
  const held = Int32Array.from(c.given, (block, place) => (block < 0 ? -1 : c.single[Math.floor(place / meta.slots)]));
  const leaves = new Uint32Array(c.leaves.length);
  for (const i of inTime(steps, ends))
    for (let m = moveStart[i]; m < moveStart[i + 1]; m += 1) {
      const place = c.dst[i] * meta.slots + c.to[m];
      leaves[m] = c.op[i] === REDUCE && held[place] >= 0 ? both(held[place], c.brings[m]) : c.brings[m];
      held[place] = leaves[m];
    }
  return { leaves, sets: Uint32Array.from(words) };
}

// Transfers step by step, those of one as they end.
function inTime({ messages }, ends) {
  let first = 0;
  return messages.flatMap((count) => {
    const rows = Array.from({ length: count }, (_, k) => first + k);
    first += count;
    return rows.sort((a, b) => ends[a] - ends[b] || a - b);
  });
}
