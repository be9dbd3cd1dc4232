// Which links have a row of their own, and in which order.

const ROWS = 48;

function ranksOf({ devices, links }) {
  return links.src.map((src, k) => {
    const ranks = [devices.rank[src], devices.rank[links.dst[k]]].filter((rank) => rank >= 0);
    return Math.min(...ranks); // beyond all where there is none
  });
}

const byNumber = (keys) => (a, b) => keys[a] - keys[b] || a - b;

// How rows may be sorted, by name; each makes what compares two links.
export const ORDERS = {
  machine: () => (a, b) => a - b,
  name: ({ devices, links }) => {
    const name = (k) => `${devices.name[links.src[k]]} ${devices.name[links.dst[k]]}`;
    return (a, b) => name(a).localeCompare(name(b), undefined, { numeric: true }) || a - b;
  },
  busy: ({ links }) => byNumber(links.bytes.map((bytes, k) => -bytes / links.bandwidth[k])),
  rank: (timeline) => byNumber(ranksOf(timeline)),
};

// The busiest links when there are too many, and those in trouble; before them those that are pinned.
export function rowsOf(timeline, order, pinned) {
  const { spells, links } = timeline;
  const troubled = new Set(spells.map(({ link }) => link));
  const need = (bytes, k) => (troubled.has(k) ? Infinity : bytes / links.bandwidth[k]);
  const used = links.bytes.map((bytes, k) => [need(bytes, k), k]).filter(([seconds]) => seconds > 0);
  const busiest = used.toSorted((a, b) => b[0] - a[0]).slice(0, ROWS);
  const rows = busiest.map(([, k]) => k).toSorted(ORDERS[order](timeline));
  return [...pinned, ...rows.filter((k) => !pinned.includes(k))];
}
