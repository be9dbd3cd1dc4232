// Links over time: how full each was, all through the run.

import { blockColour, faint, quiet } from "../paint/ink.js";
import { RED, bottlenecks, isFull, loadColour, loadLevel } from "../paint/load.js";
import { averages } from "../trace/averages.js";
import { RULER, paintBands, paintEnd, paintPhases, paintRuler, paintSpell } from "./ruler.js";
import { rowsOf } from "./rows.js";
import { TimeAxis, TimeWindow } from "./window.js";

const ROW = 13;
const TICKS = 130;
const EDGE = 8;
const HEAD = RULER + ROW + 3; // the ruler, and the lane of the critical path
const FOOT = 22;

export class LoadChart {
  #axis;
  #backdrop;
  #brush = null;
  #fine = null;
  #hand = null; // pixels from the left at which the clock's hand stands
  #lit = null;
  #old = null; // when an old run ended
  #surface;
  #turn = -1;

  constructor(timeline) {
    this.timeline = timeline;
    this.order = "machine";
    this.pinned = [];
    this.rows = rowsOf(timeline, this.order, this.pinned);
  }

  // Sort rows by an order of `ORDERS`, below those that are pinned; what changes is seen when it is laid out again.
  arrange(order, pinned) {
    Object.assign(this, { order, pinned, rows: rowsOf(this.timeline, order, pinned) });
  }

  // Mark where an old run ended, in s.
  against(time) {
    if (this.#old !== time) this.#turn = -1;
    this.#old = time;
  }

  // `window` is the time from edge to edge, which several runs on one clock share; without one it is all of `span`.
  layout(surface, { width, span, window }) {
    const whole = new TimeWindow();
    whole.follow(span);
    const gutter = width > 520 ? 128 : 84;
    surface.resize(width, this.#bottom + FOOT);
    this.#surface = surface;
    this.#axis = new TimeAxis(window ?? whole, gutter, width - EDGE);
    this.#turn = -1;
  }

  // Paint what stands still as long as the same time is in sight.
  #paintBackdrop() {
    const g = this.#surface.layer("chart");
    const { from, to, isHome } = this.#axis.window;
    const cells = { from, to, count: this.timeline.meta.bins };
    this.#fine = isHome ? null : averages(this.timeline, this.rows, cells);
    this.#backdrop = g;
    const { colours } = this.#surface;
    const [axis, bottom] = [this.#axis, this.#bottom];
    paintBands(g, axis, this.timeline, { top: RULER, bottom, colours });
    paintRuler(g, axis, { bottom, colours });
    this.#paintLoads(g);
    this.#paintCritical(g);
    this.#paintNames(g);
    this.#paintSpells(g);
    this.#paintTicks(g);
    paintPhases(g, axis, this.timeline, { y: bottom + 17, colours });
    if (this.#old !== null) paintEnd(g, axis, this.#old, { top: RULER, bottom, colours });
  }

  get #bottom() {
    return HEAD + this.rows.length * ROW;
  }

  #top(row) {
    return HEAD + row * ROW;
  }

  // The messages that each waited for the one before, one after the other; where some are lit, those.
  #paintCritical(g) {
    const { timeline } = this;
    if (!timeline.count) return;
    for (const i of timeline.critical()) {
      const seen = this.#axis.seen(timeline.left[i], timeline.end[i]);
      if (!seen) continue;
      g.globalAlpha = this.#lit && !this.#lit.has(i) ? 0.25 : 1;
      g.fillStyle = blockColour(timeline.c.block[timeline.moveStart[i]], this.#surface.colours);
      g.fillRect(seen[0], RULER, Math.max(1, seen[1] - seen[0] - 0.5), ROW - 1);
    }
    g.globalAlpha = 1;
  }

  // Seconds over which a cell of the chart is an average: the nearer one comes, the fewer, where flows are known.
  get cell() {
    const { meta, time } = this.timeline;
    return (this.#fine ? this.#axis.window.span : time) / meta.bins;
  }

  #paintLoads(g) {
    const { timeline, cell } = this;
    const { bins } = timeline.meta;
    const { from, to } = this.#axis.window;
    const origin = this.#fine ? from : 0;
    const first = cell > 0 ? Math.max(0, Math.floor((from - origin) / cell)) : 0;
    const stop = cell > 0 ? Math.min(bins, Math.ceil((to - origin) / cell)) : bins;
    const idle = faint(this.#surface.colours, 0.06);
    const share = (link, j, b) => this.#fine?.[j * bins + b] ?? timeline.c.load[link * bins + b] / 255;
    const waited = bottlenecks(timeline);
    const levelAt = (link, j, b) => {
      const now = share(link, j, b);
      return waited[link] && isFull(now) ? RED : loadLevel(now);
    };
    this.rows.forEach((link, j) => {
      let [since, level] = [first, -1]; // cells of one colour are one stroke
      for (let b = first; b <= stop; b += 1) {
        const next = b < stop ? levelAt(link, j, b) : -1;
        if (next === level) continue;
        if (b > since) {
          const [begin, end] = this.#axis.seen(origin + since * cell, origin + b * cell) ?? [0, 0];
          g.fillStyle = level ? loadColour(level, this.#surface.colours) : idle;
          g.fillRect(begin, this.#top(j), end - begin + 0.6, ROW - 1);
        }
        [since, level] = [b, next];
      }
    });
  }

  #paintNames(g) {
    const { devices, links } = this.timeline;
    const { colours } = this.#surface;
    const gutter = this.#axis.left;
    g.textAlign = "right";
    g.textBaseline = "middle";
    this.rows.forEach((link, j) => {
      const isPinned = j < this.pinned.length;
      g.font = `${isPinned ? 700 : 500} 12px ${colours.font}`;
      g.fillStyle = isPinned ? colours.ink : quiet(colours);
      const name = `${devices.name[links.src[link]]} → ${devices.name[links.dst[link]]}`;
      g.fillText(name, gutter - 8, this.#top(j + 0.5), gutter - 12);
    });
    if (!this.pinned.length) return;
    g.fillStyle = faint(colours, 0.35);
    g.fillRect(0, this.#top(this.pinned.length) - 1.5, this.#surface.width - EDGE, 1);
  }

  // Where a link could carry less than its own bandwidth: a bar under its row, from when to when, and a notch in the axis.
  #paintSpells(g) {
    g.fillStyle = this.#surface.colours.ink;
    const { spells, time } = this.timeline;
    for (const spell of spells) {
      const j = this.rows.indexOf(spell.link);
      if (j >= 0) paintSpell(g, this.#axis, spell, { y: this.#top(j + 1) - 2, mark: this.#bottom + 1, time });
    }
  }

  // Where steps end, where there is room to tell them apart.
  #paintTicks(g) {
    const { colours } = this.#surface;
    const bottom = this.#bottom;
    const ends = this.timeline.bounds.slice(1).filter((t) => this.#axis.seen(t, t));
    g.strokeStyle = faint(colours, 0.35);
    for (const t of ends.length <= TICKS ? ends : []) {
      g.beginPath();
      g.moveTo(this.x(t), bottom + 1);
      g.lineTo(this.x(t), bottom + 5);
      g.stroke();
    }
    g.font = `500 12px ${colours.font}`;
    g.textBaseline = "alphabetic";
  }

  x(t) {
    return this.#axis.x(t);
  }

  // The instant at so many pixels from the left, for seeking.
  t(px) {
    return this.#axis.t(px);
  }

  // What moves through time with wheel and fingers.
  get camera() {
    return this.#axis.camera;
  }

  // Whether a point is on the ruler, by which time is dragged aside.
  isRuler(py) {
    return py < RULER;
  }

  // The link whose name is at a point, or -1.
  nameAt(px, py) {
    return px < this.#axis.left && py >= HEAD ? (this.rows[Math.floor((py - HEAD) / ROW)] ?? -1) : -1;
  }

  // The link whose row is at a point, and the instant there, or what is on the critical path there; null beside them.
  pick(px, py) {
    const { timeline } = this;
    if (px < this.#axis.left || py < RULER) return null;
    const t = this.t(px);
    if (py < HEAD) {
      const i = timeline.count
        ? [...timeline.critical()].find((k) => timeline.left[k] <= t && t <= timeline.end[k])
        : -1;
      return i >= 0 ? { kind: "block", index: i, t } : null;
    }
    const link = this.rows[Math.floor((py - HEAD) / ROW)];
    return link === undefined ? null : { kind: "link", index: link, t };
  }

  // Of all links that carry anything, how many have a row.
  get shown() {
    const { bytes } = this.timeline.links;
    return [this.rows.filter((k) => bytes[k] > 0).length, bytes.filter((each) => each > 0).length];
  }

  // The stretch of time that is played over and over, or null.
  brush(range) {
    this.#brush = range;
    this.#hand = null;
  }

  // `lit` are the messages of the critical path that stand out, all of them where it is null.
  paint(t, lit = null) {
    const surface = this.#surface;
    const { context: g, colours } = surface;
    const [axis, bottom] = [this.#axis, this.#bottom];
    const isOld = this.#turn === axis.window.turn && this.#lit === lit;
    if (!isOld) {
      [this.#turn, this.#lit] = [axis.window.turn, lit];
      this.#paintBackdrop();
    }
    const isWhole = Number.isInteger(surface.ratio); // or the edges of what is mended would be seen
    if (isOld && isWhole && this.#hand !== null && !this.#brush) surface.mend(this.#backdrop, this.#hand - 3, 6);
    else {
      surface.clear();
      surface.lay(this.#backdrop);
    }
    if (this.#brush) this.#paintBrush(g);
    this.#hand = null;
    if (!axis.seen(t, t)) return;
    this.#hand = Math.round(this.x(t));
    g.fillStyle = colours.ink;
    g.fillRect(this.#hand - 1, RULER - 4, 2, bottom - RULER + 10);
  }

  #paintBrush(g) {
    const { paper, accent } = this.#surface.colours;
    const { left, right } = this.#axis;
    const [from, to] = this.#brush.map((at) => Math.max(left, Math.min(right, this.x(at))));
    g.globalAlpha = 0.65;
    g.fillStyle = paper;
    g.fillRect(left, RULER, from - left, this.#bottom - RULER);
    g.fillRect(to, RULER, right - to, this.#bottom - RULER);
    g.globalAlpha = 1;
    g.fillStyle = accent;
    g.fillRect(from, RULER - 3, to - from, 3);
  }
}
