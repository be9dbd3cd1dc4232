// Messages over time: ranks down, time across, an arrow for every message from where it leaves to where it has arrived.

import { paintBlock, sideOf } from "../paint/blocks.js";
import { notch, paintBands, paintPhases, paintRuler } from "../paint/chart.js";
import { COLOURS, blockColour, blockNumber, faint, quiet } from "../paint/ink.js";
import { offLine } from "../trace/walk.js";

const NAMED = 64;
const ROWS = 32;
const REACH = 6;
const [TOP, FOOT] = [20, 22]; // pixels of the ruler above, and of phases below
const SIDE = 18; // pixels across the largest block

class SpaceTime {
  #backdrop;
  #drawn = [];
  #span;
  #surface;

  constructor(timeline) {
    this.timeline = timeline;
  }

  layout(surface, { width, most, span }) {
    this.#span = span || 1;
    surface.resize(width, Math.max(200, Math.min(most, this.timeline.meta.ranks * 34 + 40)));
    this.#surface = surface;
    this.#backdrop = surface.layer();
    const bottom = surface.height - FOOT;
    const frame = { x: (t) => this.x(t), timeline: this.timeline, bottom, colours: surface.colours };
    paintBands(this.#backdrop, { ...frame, top: TOP });
    paintRuler(this.#backdrop, { ...frame, span: this.#span, left: 34, right: width });
    this.#paintRows(this.#backdrop);
    this.#paintAll(this.#backdrop);
    this.#paintAxis(this.#backdrop);
  }

  x(t) {
    return 34 + (this.#surface.width - 46) * (t / this.#span);
  }

  y(place) {
    return TOP + ((place + 0.5) * (this.#surface.height - TOP - FOOT)) / this.timeline.places.name.length;
  }

  #paintRows(g) {
    const { meta, places } = this.timeline;
    const { colours, width } = this.#surface;
    const every = Math.max(1, Math.ceil(places.name.length / ROWS));
    g.font = `500 11px ${colours.font}`;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (let place = 0; place < places.name.length; place += every) {
      g.fillStyle = quiet(colours);
      g.fillText(place < meta.ranks ? String(place) : "⊕", 24, this.y(place));
      g.fillStyle = faint(colours, 0.12);
      g.fillRect(30, this.y(place), width - 40, 1);
    }
  }

  // Every message of the run, colour by colour.
  #paintAll(g) {
    const { timeline } = this;
    const paths = COLOURS.map(() => new Path2D());
    for (let i = 0; i < timeline.count; i += 1) {
      if (!this.#isMessage(i)) continue;
      const [ax, ay, bx, by] = this.#ends(i);
      const path = paths[blockNumber(timeline.c.block[timeline.moveStart[i]])];
      path.moveTo(ax, ay);
      path.lineTo(bx, by);
    }
    g.globalAlpha = timeline.count > 2000 ? 0.35 : 0.5;
    g.lineWidth = timeline.count > 1000 ? 0.6 : 1.2;
    paths.forEach((path, number) => {
      g.strokeStyle = COLOURS[number];
      g.stroke(path);
    });
    g.globalAlpha = 1;
  }

  // What befell links, and where phases begin.
  #paintAxis(g) {
    const { timeline } = this;
    const { colours, height } = this.#surface;
    g.fillStyle = colours.ink;
    for (const { begin, end } of timeline.spells) {
      g.fillRect(this.x(begin), height - 22, Math.max(2, this.x(end) - this.x(begin)), 2);
      notch(g, this.x(begin), height - 22);
      if (end < timeline.time) notch(g, this.x(end), height - 22);
    }
    g.textAlign = "left";
    const phases = timeline.steps.phases.map(([first, name]) => [this.x(timeline.bounds[first]) + 2, name]);
    paintPhases(g, phases, height - 8, colours);
  }

  #isMessage(i) {
    return this.timeline.c.src[i] !== this.timeline.c.dst[i];
  }

  // Where the arrow of a transfer begins and ends: x, y, x, y.
  #ends(i) {
    const { c, ready, end } = this.timeline;
    return [this.x(ready[i]), this.y(c.src[i]), this.x(end[i]), this.y(c.dst[i])];
  }

  #paintArrow(g, i, colour = blockColour(this.timeline.c.block[this.timeline.moveStart[i]])) {
    const [ax, ay, bx, by] = this.#ends(i);
    g.strokeStyle = colour;
    g.beginPath();
    g.moveTo(ax, ay);
    g.lineTo(bx, by);
    g.stroke();
  }

  // Messages on their way `{ i, ax, ay, x, y }`, colour by colour.
  #paintMoving(g, moving) {
    const { c, moveStart } = this.timeline;
    const paths = COLOURS.map(() => new Path2D());
    for (const { i, ax, ay, x, y } of moving) {
      const path = paths[blockNumber(c.block[moveStart[i]])];
      path.moveTo(ax, ay);
      path.lineTo(x, y);
    }
    g.lineWidth = 2.6;
    paths.forEach((path, number) => {
      g.strokeStyle = COLOURS[number];
      g.stroke(path);
    });
  }

  paint(t, { focus, lit, veil, travel }) {
    const { timeline } = this;
    const surface = this.#surface;
    const { context: g, colours } = surface;
    surface.clear();
    surface.lay(this.#backdrop);
    if (lit) this.#paintLit(g, lit);
    g.lineCap = "round";
    veil?.(g);
    const moving = timeline.moving(t).map((i) => {
      const [ax, ay, bx, by] = this.#ends(i);
      const share = timeline.progress(i, t);
      return { i, ax, ay, x: ax + (bx - ax) * share, y: ay + (by - ay) * share };
    });
    travel?.(moving);
    this.#drawn = moving;
    this.#paintMoving(g, moving);
    if (moving.length <= NAMED)
      for (const { i, x, y } of moving) paintBlock(g, timeline, i, x, y, { side: sideOf(timeline, i, SIDE), colours });
    if (focus?.kind === "block") {
      g.lineWidth = 4;
      this.#paintArrow(g, focus.index);
    }
    g.fillStyle = colours.ink;
    g.fillRect(this.x(t) - 0.75, 4, 1.5, surface.height - 24);
  }

  #paintLit(g, lit) {
    g.globalAlpha = 0.55;
    g.lineWidth = 4;
    for (const i of lit) if (this.#isMessage(i)) this.#paintArrow(g, i, this.#surface.colours.accent);
    g.globalAlpha = 1;
  }

  // Where everything under way has got to on the surface, by transfer.
  places() {
    return new Map(this.#drawn.map(({ i, x, y }) => [i, { x, y, bundle: null }]));
  }

  // Where ranks stand on the surface, by rank.
  ranks() {
    return new Map(Array.from({ length: this.timeline.meta.ranks }, (_, rank) => [rank, { x: 20, y: this.y(rank) }]));
  }

  pick(px, py) {
    let [best, near] = [null, REACH];
    const { ready, end } = this.timeline;
    for (let i = 0; i < this.timeline.count; i += 1) {
      if (this.x(ready[i]) > px + REACH || this.x(end[i]) < px - REACH || !this.#isMessage(i)) continue;
      const off = offLine(px, py, ...this.#ends(i));
      if (off < near) [best, near] = [{ kind: "block", index: i }, off];
    }
    return best;
  }
}

export default {
  label: "Messages over time",
  order: 4,
  refuses: (timeline) => (timeline.meta.full ? "" : "player.toolarge"),
  open: (timeline) => new SpaceTime(timeline),
};
