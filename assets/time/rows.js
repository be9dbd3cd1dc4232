// Which links have a row of their own, and in which order.

const ROWS = 48;

function ranksOf({ devices, links }) {
  return links.src.map((src, k) => {
    const ranks = [devices.rank[src], devices.rank[links.dst[k]]].filter((rank) => rank >= 0);
    return Math.min(...ranks); // beyond all where there is none
  });
}

const byNumber = (keys) => (a, b) => keys[a] - keys[b] || a - b;

// What sorts places by their devices.
const byDevice = (compare) => (timeline) => {
  const { device } = timeline.places;
  return (a, b) => compare(timeline, device[a], device[b]) || a - b;
};

const byName = ({ devices }, a, b) => devices.name[a].localeCompare(devices.name[b], undefined, { numeric: true });

// Bytes that places send, less than nothing: who sends most comes first.
function sentBy(timeline) {
  const { src, dst } = timeline.c;
  const sent = timeline.places.name.map(() => 0);
  for (let i = 0; i < timeline.count; i += 1) if (src[i] !== dst[i]) sent[src[i]] -= timeline.bytes(i);
  return sent;
}

// How rows may be sorted, by name; each makes what compares two `links`, and two `places` of ranks.
export const ORDERS = {
  machine: { links: () => (a, b) => a - b, places: byDevice((_, a, b) => a - b) },
  name: {
    links: ({ devices, links }) => {
      const name = (k) => `${devices.name[links.src[k]]} ${devices.name[links.dst[k]]}`;
      return (a, b) => name(a).localeCompare(name(b), undefined, { numeric: true }) || a - b;
    },
    places: byDevice(byName),
  },
  busy: {
    links: ({ links }) => byNumber(links.bytes.map((bytes, k) => -bytes / links.bandwidth[k])),
    places: (timeline) => byNumber(sentBy(timeline)),
  },
  rank: { links: (timeline) => byNumber(ranksOf(timeline)), places: () => (a, b) => a - b },
};

// Ranks and then switches, as rows from above.
export function placesOf(timeline, order) {
  const { ranks } = timeline.meta;
  const compare = ORDERS[order].places(timeline);
  const places = [...timeline.places.name.keys()];
  return places.toSorted((a, b) => Number(a >= ranks) - Number(b >= ranks) || compare(a, b));
}

// The busiest links when there are too many, and those with a fault; before them those that are pinned.
export function rowsOf(timeline, order, pinned) {
  const { spells, links } = timeline;
  const faulty = new Set(spells.map(({ link }) => link));
  const need = (bytes, k) => (faulty.has(k) ? Infinity : bytes / links.bandwidth[k]);
  const used = links.bytes.map((bytes, k) => [need(bytes, k), k]).filter(([seconds]) => seconds > 0);
  const busiest = used.toSorted((a, b) => b[0] - a[0]).slice(0, ROWS);
  const rows = busiest.map(([, k]) => k).toSorted(ORDERS[order].links(timeline));
  return [...pinned, ...rows.filter((k) => !pinned.includes(k))];
}
