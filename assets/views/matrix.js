// Who holds what: ranks down, slots across, and every block on its way from the place that holds it to the one that will.

import { paintBlocks } from "../paint/blocks.js";
import { Slots } from "../paint/slots.js";

const FLYING = 4;
const REACH = 12;

class Matrix {
  #drawn = [];
  #surface;

  constructor(timeline) {
    this.timeline = timeline;
    this.slots = new Slots(timeline);
  }

  layout(surface, room) {
    this.#surface = surface;
    this.slots.layout(surface, room, true);
  }

  paint(t, { focus, lit, veil, travel }) {
    const { timeline, slots } = this;
    const { context: g, colours } = this.#surface;
    slots.paint(t);
    veil?.(g);
    this.#drawn = timeline.moving(t).flatMap((i) => this.#flights(i, t));
    travel?.(this.#drawn);
    const side = Math.max(4, Math.min(26, slots.cell * 0.8, slots.row * 0.8));
    const chosen = focus?.kind === "block" ? focus.index : -1;
    paintBlocks(g, timeline, this.#drawn, { side, colours, lit, chosen });
    if (focus?.kind !== "place") return;
    const [x, y] = slots.middle(focus.rank, focus.index);
    g.strokeStyle = colours.accent;
    g.lineWidth = 2;
    g.strokeRect(x - slots.cell / 2, y - slots.row / 2, slots.cell - 1, slots.row - 1);
  }

  // Where the blocks of a transfer are; none where it is a switch's, which has no row.
  #flights(i, t) {
    const { c, meta, moveStart } = this.timeline;
    if (c.src[i] >= meta.ranks || c.dst[i] >= meta.ranks) return [];
    const progress = this.timeline.progress(i, t);
    const first = moveStart[i];
    const flights = [];
    for (let m = first; m < Math.min(moveStart[i + 1], first + FLYING); m += 1) {
      const [ax, ay] = this.slots.middle(c.src[i], c.from[m]);
      const [bx, by] = this.slots.middle(c.dst[i], c.to[m]);
      flights.push({ i, x: ax + (bx - ax) * progress, y: ay + (by - ay) * progress });
    }
    return flights;
  }

  // Where everything under way is on the surface, by transfer.
  places() {
    return new Map(this.#drawn.toReversed().map(({ i, x, y }) => [i, { x, y, bundle: null }]));
  }

  // Where ranks stand on the surface, by rank.
  ranks() {
    const { slots } = this;
    return new Map(
      Array.from({ length: this.timeline.meta.ranks }, (_, rank) => [rank, { x: 14, y: slots.middle(rank, 0)[1] }]),
    );
  }

  pick(px, py) {
    const block = this.#drawn.findLast(({ x, y }) => Math.hypot(x - px, y - py) < REACH);
    return block ? { kind: "block", index: block.i } : this.slots.pick(px, py);
  }
}

export default {
  label: "Who holds what",
  order: 3,
  key: "m",
  wide: true,
  refuses: (timeline) => (timeline.meta.full ? "" : "player.toolarge"),
  open: (timeline) => new Matrix(timeline),
};
