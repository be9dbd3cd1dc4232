// The ranks of closed groups in small, where their names leave room, and what they send to each other there.

import { blockColour, faint } from "./ink.js";

const SIDE = { least: 6, most: 16 }; // pixels across a rank
const APART = 1.8; // times as far from one to the next
const DOT = { most: 6, share: 0.6 }; // pixels across a message, and of a rank
const ARCH = 0.9; // of a rank that a message rises on its way

// How many columns make so many ranks the largest in a room, in rows of one length, and how large.
function seated(count, [, , w, h]) {
  let best = { columns: 1, side: 0 };
  for (let columns = 1; columns <= count; columns += 1) {
    const side = count % columns ? 0 : Math.min(SIDE.most, w / columns / APART, (h * columns) / count / APART);
    if (side >= best.side) best = { columns, side };
  }
  return best;
}

export class Marks {
  #places = new Map(); // of a rank: the middle of its mark and how large it is
  #timeline;

  // `rooms` has left, top, width and height of what is free in a closed group, in pixels, by its number.
  constructor(timeline, { devices }, level, rooms) {
    this.#timeline = timeline;
    const ranks = new Map([...rooms.keys()].map((k) => [k, []]));
    for (const [d, k] of level.in.entries()) if (devices.rank[d] >= 0) ranks.get(k)?.push(devices.rank[d]);
    for (const [k, own] of ranks)
      this.#seat(
        own.toSorted((a, b) => a - b),
        rooms.get(k),
      );
  }

  #seat(ranks, room) {
    const { columns, side } = seated(ranks.length, room);
    if (side < SIDE.least) return;
    const [left, top, w, h] = room;
    const step = side * APART;
    const [x, y] = [
      left + (w - (columns - 1) * step) / 2,
      top + (h - (Math.ceil(ranks.length / columns) - 1) * step) / 2,
    ];
    for (const [k, rank] of ranks.entries())
      this.#places.set(rank, { x: x + (k % columns) * step, y: y + Math.floor(k / columns) * step, side });
  }

  paint(g, colours) {
    g.fillStyle = colours.paper;
    g.strokeStyle = faint(colours, 0.6);
    g.lineWidth = 1;
    for (const { x, y, side } of this.#places.values()) {
      g.beginPath();
      g.roundRect(x - side / 2, y - side / 2, side, side, side / 4);
      g.fill();
      g.stroke();
    }
  }

  // Messages on their way from one to another, in a small arch.
  paintFlights(g, rows, t, colours) {
    const { c, moveStart } = this.#timeline;
    for (const i of rows) {
      const [from, to] = [this.#places.get(c.src[i]), this.#places.get(c.dst[i])];
      if (!from || !to) continue;
      const gone = this.#timeline.progress(i, t);
      const dot = Math.min(DOT.most, from.side * DOT.share);
      const x = from.x + (to.x - from.x) * gone;
      const y = from.y + (to.y - from.y) * gone - Math.sin(Math.PI * gone) * from.side * ARCH;
      g.fillStyle = blockColour(c.block[moveStart[i]], colours);
      g.fillRect(x - dot / 2, y - dot / 2, dot, dot);
    }
  }
}
