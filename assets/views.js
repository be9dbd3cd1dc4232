// Two more pictures of the same instant: blocks flying between the places that hold them, and messages over time.

import { notch } from "./chart.js";
import { blockColour, blockNumber, faint, fit, quiet } from "./paint.js";
import { PALETTE } from "./palette.js";
import { Slots } from "./slots.js";
import { MANY, offLine, paintBlock, paintDots, paintHalo } from "./stage.js";

const FLYING = 4;
const ARROWS = 20000;

// Ranks down, slots across, and every block on its way from the place that holds it to the one that will.
export class Matrix {
  constructor(timeline) {
    this.timeline = timeline;
    this.slots = new Slots(timeline);
  }

  resize(canvas, width, most, colours) {
    this.colours = colours;
    this.slots.resize(canvas, width, colours, 64);
    this.context = this.slots.context;
  }

  paint(t, focus, lit) {
    const { timeline, slots, context: g } = this;
    slots.paint(t);
    const side = Math.max(4, Math.min(26, slots.cell * 0.8, slots.row * 0.8));
    this.drawn = [];
    for (const i of timeline.moving(t)) {
      const progress = timeline.progress(i, t);
      const first = timeline.moveStart[i];
      const last = Math.min(timeline.moveStart[i + 1], first + FLYING);
      for (let m = first; m < last; m += 1) {
        if (timeline.c.src[i] >= timeline.meta.ranks || timeline.c.dst[i] >= timeline.meta.ranks) continue;
        const [ax, ay] = slots.middle(timeline.c.src[i], timeline.c.from[m]);
        const [bx, by] = slots.middle(timeline.c.dst[i], timeline.c.to[m]);
        const [x, y] = [ax + (bx - ax) * progress, ay + (by - ay) * progress];
        this.drawn.push({ i, x, y });
      }
    }
    if (side < 6 || this.drawn.length > MANY) paintDots(g, timeline, this.drawn, lit, 4, this.colours);
    else {
      for (const { i, x, y } of this.drawn) {
        if (lit?.has(i)) paintHalo(g, x, y, side, this.colours);
        paintBlock(g, timeline, i, x, y, side, this.colours, focus?.kind === "block" && focus.index === i);
      }
    }
    if (focus?.kind !== "place") return;
    const [x, y] = slots.middle(focus.rank, focus.index);
    g.strokeStyle = this.colours.accent;
    g.lineWidth = 2;
    g.strokeRect(x - slots.cell / 2, y - slots.row / 2, slots.cell - 1, slots.row - 1);
  }

  pick(px, py) {
    const found = (this.drawn ?? []).findLast(({ x, y }) => Math.hypot(x - px, y - py) < 12);
    return found ? { kind: "block", index: found.i } : this.slots.pick(px, py);
  }
}

// Time across, ranks down, an arrow for every message from where it leaves to where it has arrived.
export class SpaceTime {
  constructor(timeline) {
    this.timeline = timeline;
  }

  resize(canvas, width, most, colours, span) {
    const { ranks } = this.timeline.meta;
    this.span = span || 1;
    this.high = Math.max(200, Math.min(most, ranks * 34 + 40));
    Object.assign(this, { width, colours, context: fit(canvas, width, this.high) });
    this.backdrop = document.createElement("canvas");
    this._whole(fit(this.backdrop, width, this.high));
  }

  x(t) { return 34 + (this.width - 46) * (t / this.span); }
  y(rank) { return 10 + ((rank + 0.5) * (this.high - 30)) / this.timeline.places.name.length; }

  _whole(g) {
    const { timeline, colours } = this;
    const places = timeline.places.name.length;
    const every = Math.max(1, Math.ceil(places / 32));
    g.font = `500 11px ${colours.font}`;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (let r = 0; r < places; r += every) {
      g.fillStyle = quiet(colours);
      g.fillText(r < timeline.meta.ranks ? String(r) : "⊕", 24, this.y(r));
      g.fillStyle = faint(colours, 0.12);
      g.fillRect(30, this.y(r), this.width - 40, 1);
    }
    g.globalAlpha = timeline.count > 2000 ? 0.35 : 0.5;
    g.lineWidth = timeline.count > 1000 ? 0.6 : 1.2;
    const every_ = Math.max(1, Math.ceil(timeline.count / ARROWS));
    for (let i = 0; i < timeline.count; i += every_) if (this._away(i)) this._arrow(g, i, 1);
    g.globalAlpha = 1;
    g.fillStyle = colours.ink;
    for (const { begin, end } of timeline.spells) {
      g.fillRect(this.x(begin), this.high - 22, Math.max(2, this.x(end) - this.x(begin)), 2);
      notch(g, this.x(begin), this.high - 22);
      if (end < timeline.time) notch(g, this.x(end), this.high - 22);
    }
    g.fillStyle = quiet(colours);
    g.textAlign = "left";
    for (const [first, name] of timeline.steps.phases) g.fillText(name, this.x(timeline.bounds[first]) + 2, this.high - 8);
  }

  _away(i) { return this.timeline.c.src[i] !== this.timeline.c.dst[i]; }

  _ends(i) {
    const { timeline } = this;
    return [this.x(timeline.ready[i]), this.y(timeline.c.src[i]), this.x(timeline.end[i]), this.y(timeline.c.dst[i])];
  }

  // Messages on their way, colour by colour.
  _arrows(g, moving, t) {
    const { timeline } = this;
    const paths = PALETTE.blocks.map(() => new Path2D());
    for (const i of moving) {
      const [ax, ay, bx, by] = this._ends(i);
      const share = timeline.progress(i, t);
      const path = paths[blockNumber(timeline.c.block[timeline.moveStart[i]])];
      path.moveTo(ax, ay);
      path.lineTo(ax + (bx - ax) * share, ay + (by - ay) * share);
    }
    g.lineWidth = 2.6;
    paths.forEach((path, number) => {
      g.strokeStyle = PALETTE.blocks[number];
      g.stroke(path);
    });
  }

  _arrow(g, i, share) {
    const [ax, ay, bx, by] = this._ends(i);
    g.strokeStyle = blockColour(this.timeline.c.block[this.timeline.moveStart[i]]);
    g.beginPath();
    g.moveTo(ax, ay);
    g.lineTo(ax + (bx - ax) * share, ay + (by - ay) * share);
    g.stroke();
  }

  paint(t, focus, lit) {
    const { context: g, timeline, colours } = this;
    g.clearRect(0, 0, this.width, this.high);
    g.drawImage(this.backdrop, 0, 0, this.width, this.high);
    if (lit) {
      g.globalAlpha = 0.55;
      g.lineWidth = 4;
      for (const i of lit) {
        if (!this._away(i)) continue;
        const [ax, ay, bx, by] = this._ends(i);
        g.strokeStyle = colours.accent;
        g.beginPath();
        g.moveTo(ax, ay);
        g.lineTo(bx, by);
        g.stroke();
      }
      g.globalAlpha = 1;
    }
    g.lineCap = "round";
    const moving = timeline.moving(t);
    this._arrows(g, moving, t);
    for (const i of moving.length > 64 ? [] : moving) {
      const [ax, ay, bx, by] = this._ends(i);
      const share = timeline.progress(i, t);
      paintBlock(g, timeline, i, ax + (bx - ax) * share, ay + (by - ay) * share, 14, colours, false);
    }
    if (focus?.kind === "block") {
      g.lineWidth = 4;
      this._arrow(g, focus.index, 1);
    }
    g.fillStyle = colours.ink;
    g.fillRect(this.x(t) - 0.75, 4, 1.5, this.high - 24);
  }

  pick(px, py) {
    let [best, near] = [null, 6];
    for (let i = 0; i < Math.min(this.timeline.count, ARROWS); i += 1) {
      if (!this._away(i)) continue;
      const off = offLine(px, py, ...this._ends(i));
      if (off < near) [best, near] = [{ kind: "block", index: i }, off];
    }
    return best;
  }
}
