// How full links were in equal stretches of time, on average and exact: from every flow that was under way.

const MOST = 20_000; // flows that are added up while one waits

// For each of `links`, one after the other, the shares of what it could carry in `count` stretches from `from` to `to`;
// null where that takes too long, or flows are not sent.
export function averages(timeline, links, { from, to, count }) {
  const rows = timeline.between(from, to, MOST);
  if (!rows) return null;
  const width = (to - from) / count;
  const row = new Map(links.map((link, j) => [link, j]));
  const carried = new Float64Array(links.length * count);
  for (const i of rows) {
    const own = Array.from(timeline.linksOf(i), (link) => row.get(link)).filter((j) => j !== undefined);
    if (!own.length) continue;
    for (const [begin, end, rate] of timeline.flow(i))
      spread(begin, end, { from, width, count }, (cell, seconds) => {
        for (const j of own) carried[j * count + cell] += rate * seconds;
      });
  }
  const room = capacities(timeline, links, row, { from, width, count });
  return carried.map((bytes, k) => (room[k] > 0 ? Math.min(1, bytes / room[k]) : 0));
}

// Visit every cell that a stretch of time lies in, with the seconds of it that do.
function spread(begin, end, { from, width, count }, visit) {
  const first = Math.max(0, Math.floor((begin - from) / width));
  const last = Math.min(count - 1, Math.ceil((end - from) / width) - 1);
  for (let cell = first; cell <= last; cell += 1) {
    const left = from + cell * width;
    const seconds = Math.min(end, left + width) - Math.max(begin, left);
    if (seconds > 0) visit(cell, seconds);
  }
}

// Bytes that each link could carry in each cell.
function capacities({ links: { bandwidth }, spells }, links, row, cells) {
  const room = new Float64Array(links.length * cells.count);
  links.forEach((link, j) => room.fill(bandwidth[link] * cells.width, j * cells.count, (j + 1) * cells.count));
  for (const spell of spells) {
    const j = row.get(spell.link);
    if (j === undefined) continue;
    spread(spell.begin, spell.end, cells, (cell, seconds) => {
      room[j * cells.count + cell] += (spell.bandwidth - bandwidth[spell.link]) * seconds;
    });
  }
  return room;
}
