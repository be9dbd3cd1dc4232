// How much of what it could carry each link used, in equal stretches of a run, as `sim.trace.link_load` has it.

// Where links could carry other than their own bandwidth, within a run: by link, then in time order.
export function spellsOf(changes, bandwidth, ended) {
  const order = changes.map((_, k) => k).toSorted((a, b) => changes[a].link - changes[b].link || a - b);
  return order.flatMap((k, j) => {
    const { link, time: begin, bandwidth: rate } = changes[k];
    const next = changes[order[j + 1]];
    const end = next?.link === link ? next.time : ended;
    return end > begin && rate !== bandwidth[link] ? [{ link, begin, end, bandwidth: rate }] : [];
  });
}

// Every stretch of constant rate: transfer, from, to and B/s.
function* intervals({ c, count }, { start, bytes, history }, arrived) {
  if (!history) {
    for (let i = 0; i < count; i += 1) {
      const crosses = c.route_start[c.route[i] + 1] > c.route_start[c.route[i]];
      if (arrived[i] > start[i] && crosses) yield [i, start[i], arrived[i], bytes[i] / (arrived[i] - start[i])];
    }
    return;
  }
  const { transfer, time, rate } = history;
  const order = Uint32Array.from(transfer, (_, k) => k).sort((a, b) => transfer[a] - transfer[b] || a - b);
  for (let j = 0; j < order.length; j += 1) {
    const [k, next] = [order[j], order[j + 1]];
    const until = transfer[next] === transfer[k] ? time[next] : arrived[transfer[k]];
    if (until > time[k]) yield [transfer[k], time[k], until, rate[k]];
  }
}

// B/s that every link could carry on average in every stretch, a row per link.
export function capacities(bandwidth, spells, edges) {
  const count = edges.length - 1;
  const average = new Float64Array(bandwidth.length * count);
  bandwidth.forEach((rate, link) => average.fill(rate, link * count, (link + 1) * count));
  for (const { link, begin, end, bandwidth: rate } of spells)
    for (let j = 0; j < count; j += 1) {
      const within = Math.max(Math.min(edges[j + 1], end) - Math.max(edges[j], begin), 0);
      const width = edges[j + 1] - edges[j];
      average[link * count + j] += (rate - bandwidth[link]) * (width > 0 ? within / width : 0);
    }
  return average;
}

// In 255ths, a row per link.
export function useOf(timeline, run, { arrived, bandwidth, spells }) {
  const { c, meta } = timeline;
  const { bins } = meta;
  const { time } = run;
  if (!(time > 0)) return new Uint8Array(bandwidth.length * bins);
  const edges = Float64Array.from({ length: bins + 1 }, (_, j) => (j < bins ? j * (time / bins) : time));
  const wide = bins + 1;
  const [opens, closes, head, tail] = [0, 1, 2, 3].map(() => new Float64Array(bandwidth.length * wide));
  const clip = (t) => Math.min(Math.max(t, edges[0]), edges[bins]);
  for (const [i, from, to, rate] of intervals(timeline, run, arrived)) {
    const [begin, until] = [clip(from), clip(to)];
    const first = stretch(edges, begin, 0, (edge) => edge <= begin);
    const last = stretch(edges, until, first, (edge) => edge < until);
    const isWithin = first === last;
    const into = rate * ((isWithin ? until : edges[first + 1]) - begin);
    const outOf = isWithin ? 0 : rate * (until - edges[last]);
    const all = isWithin ? 0 : rate;
    for (let k = c.route_start[c.route[i]]; k < c.route_start[c.route[i] + 1]; k += 1) {
      const row = c.route_link[k] * wide;
      head[row + first] += into;
      tail[row + last] += outOf;
      opens[row + first + 1] += all;
      closes[row + last] += all;
    }
  }
  const room = capacities(bandwidth, spells, edges);
  const use = new Uint8Array(bandwidth.length * bins);
  bandwidth.forEach((own, link) => {
    let running = 0;
    for (let j = 0; j < bins; j += 1) {
      const at = link * wide + j;
      running += opens[at] - closes[at];
      const throughout = Math.abs(running) < 1e-9 * own ? 0 : running; // what cancels out leaves rounding
      const width = edges[j + 1] - edges[j];
      const carried = head[at] + tail[at] + throughout * width;
      const could = room[link * bins + j] * width;
      const share = could > 1e-9 * (own * width) ? carried / could : 0;
      use[link * bins + j] = Math.min(Math.max(Math.ceil(share * 255 - 1e-9), 0), 255);
    }
  });
  return use;
}

// The last stretch, from `least` on, whose left edge `isBefore` an instant.
function stretch(edges, t, least, isBefore) {
  const most = edges.length - 2;
  let j = Math.min(Math.max(Math.floor(t / (edges[1] - edges[0])), 0), most);
  while (j < most && isBefore(edges[j + 1])) j += 1;
  while (j > least && !isBefore(edges[j])) j -= 1;
  return Math.max(j, least);
}
