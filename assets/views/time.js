// Messages over time: ranks down, time across, an arrow for every message from where it leaves to where it has arrived.

import { paintBlocks } from "../paint/blocks.js";
import { blockColour, blockNumber, faint, quiet } from "../paint/ink.js";
import { paintBands, paintEnd, paintPhases, paintRuler, paintSpell } from "../time/ruler.js";
import { placesOf } from "../time/rows.js";
import { TimeAxis, TimeWindow } from "../time/window.js";
import { offLine } from "../trace/walk.js";

const MOST = 300_000; // arrows, which are all drawn
const NAMED = 64;
const ROWS = 32;
const REACH = 6;
const [TOP, FOOT] = [20, 22]; // pixels of the ruler above, and of phases below
const SIDE = 18; // pixels across the largest block

class SpaceTime {
  #axis;
  #backdrop;
  #drawn = [];
  #places = [];
  #row = [];
  #shown = null; // the columns of the run on the backdrop
  #surface;
  #turn = -1;

  constructor(timeline) {
    this.timeline = timeline;
  }

  layout(surface, { width, most, least = 0, span, window, order = "machine" }) {
    this.#places = placesOf(this.timeline, order);
    this.#row = [];
    for (const [row, place] of this.#places.entries()) this.#row[place] = row;
    const whole = new TimeWindow();
    whole.follow(span);
    this.#axis = new TimeAxis(window ?? whole, 34, width - 12);
    this.#turn = -1;
    surface.resize(width, least || Math.max(200, Math.min(most, this.timeline.meta.ranks * 34 + 40)));
    this.#surface = surface;
  }

  // Paint what stands still as long as the same time is in sight.
  #paintBackdrop() {
    const g = this.#surface.layer("time");
    this.#backdrop = g;
    const { height, colours } = this.#surface;
    const bottom = height - FOOT;
    paintBands(g, this.#axis, this.timeline, { top: TOP, bottom, colours });
    paintRuler(g, this.#axis, { bottom, colours });
    this.#paintRows(g);
    this.#within(g, () => this.#paintAll(g));
    this.#paintAxis(g);
  }

  // Paint nothing beside the axis.
  #within(g, paint) {
    const { left, right } = this.#axis;
    g.save();
    g.beginPath();
    g.rect(left, 0, right - left + 6, this.#surface.height);
    g.clip();
    paint();
    g.restore();
  }

  x(t) {
    return this.#axis.x(t);
  }

  // What moves through time with wheel, fingers and keys.
  get camera() {
    return this.#axis?.camera ?? null; // none before it was laid out
  }

  y(place) {
    return TOP + ((this.#row[place] + 0.5) * (this.#surface.height - TOP - FOOT)) / this.timeline.places.name.length;
  }

  #paintRows(g) {
    const { meta, places } = this.timeline;
    const { colours, width } = this.#surface;
    const every = Math.max(1, Math.ceil(places.name.length / ROWS));
    g.font = `500 12px ${colours.font}`;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (let row = 0; row < this.#places.length; row += every) {
      const place = this.#places[row];
      g.fillStyle = quiet(colours);
      g.fillText(place < meta.ranks ? this.timeline.rankNumber(place) : "⊕", 24, this.y(place));
      g.fillStyle = faint(colours, 0.12);
      g.fillRect(30, this.y(place), width - 40, 1);
    }
  }

  // Every message of the run, colour by colour.
  #paintAll(g) {
    const { timeline } = this;
    const { blocks } = this.#surface.colours;
    const paths = blocks.map(() => new Path2D());
    for (let i = 0; i < timeline.count; i += 1) {
      if (!this.#isMessage(i) || !this.#axis.seen(timeline.left[i], timeline.end[i])) continue;
      const [ax, ay, bx, by] = this.#ends(i);
      const path = paths[blockNumber(timeline.c.block[timeline.moveStart[i]])];
      path.moveTo(ax, ay);
      path.lineTo(bx, by);
    }
    g.globalAlpha = timeline.count > 2000 ? 0.35 : 0.5;
    g.lineWidth = timeline.count > 1000 ? 0.6 : 1.2;
    paths.forEach((path, number) => {
      g.strokeStyle = blocks[number];
      g.stroke(path);
    });
    g.globalAlpha = 1;
  }

  // What befell links, and where phases begin.
  #paintAxis(g) {
    const { timeline } = this;
    const { colours, height } = this.#surface;
    g.fillStyle = colours.ink;
    const at = { y: height - FOOT, mark: height - FOOT, time: timeline.time };
    for (const spell of timeline.spells) paintSpell(g, this.#axis, spell, at);
    paintPhases(g, this.#axis, timeline, { y: height - 8, colours });
  }

  #isMessage(i) {
    return this.timeline.c.src[i] !== this.timeline.c.dst[i];
  }

  // Mark where an old run ended.
  end(t) {
    const { context, height, colours } = this.#surface;
    paintEnd(context, this.#axis, t, { top: TOP, bottom: height - FOOT, colours });
  }

  // Messages of a run that are on their way: where each left, and where it has got to.
  moved(timeline, t) {
    return timeline.moving(t).map((i) => {
      const [ax, ay, bx, by] = this.#ends(i, timeline);
      const share = timeline.progress(i, t);
      return { i, ax, ay, x: ax + (bx - ax) * share, y: ay + (by - ay) * share };
    });
  }

  // Where the arrow of a transfer begins and ends: x, y, x, y.
  #ends(i, { c, left, end } = this.timeline) {
    return [this.x(left[i]), this.y(c.src[i]), this.x(end[i]), this.y(c.dst[i])];
  }

  #paintArrow(g, i, colour) {
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
    const { blocks } = this.#surface.colours;
    const paths = blocks.map(() => new Path2D());
    for (const { i, ax, ay, x, y } of moving) {
      const path = paths[blockNumber(c.block[moveStart[i]])];
      path.moveTo(ax, ay);
      path.lineTo(x, y);
    }
    g.lineWidth = 2.6;
    paths.forEach((path, number) => {
      g.strokeStyle = blocks[number];
      g.stroke(path);
    });
  }

  paint(t, { focus, lit, veil, travel }) {
    const { timeline } = this;
    const surface = this.#surface;
    const { context: g, colours } = surface;
    if (this.#turn !== this.#axis.window.turn || this.#shown !== timeline.c) {
      [this.#turn, this.#shown] = [this.#axis.window.turn, timeline.c];
      this.#paintBackdrop();
    }
    surface.clear();
    surface.lay(this.#backdrop);
    if (lit) this.#within(g, () => this.#paintLit(g, lit));
    g.lineCap = "round";
    veil?.(g);
    const moving = this.moved(timeline, t);
    travel?.(moving);
    this.#drawn = moving;
    if (this.#axis.seen(t, t)) {
      g.fillStyle = colours.ink;
      g.fillRect(this.x(t) - 0.75, 4, 1.5, surface.height - 24);
    }
    this.#within(g, () => {
      this.#paintMoving(g, moving);
      if (moving.length <= NAMED) paintBlocks(g, timeline, moving, { side: SIDE, colours, lit: null, chosen: -1 });
      if (focus?.kind === "block") {
        g.lineWidth = 4;
        const block = timeline.c.block[timeline.moveStart[focus.index]];
        this.#paintArrow(g, focus.index, blockColour(block, colours));
      }
    });
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
    const { left, end } = this.timeline;
    for (let i = 0; i < this.timeline.count; i += 1) {
      if (this.x(left[i]) > px + REACH || this.x(end[i]) < px - REACH || !this.#isMessage(i)) continue;
      const off = offLine(px, py, ...this.#ends(i));
      if (off < near) [best, near] = [{ kind: "block", index: i }, off];
    }
    return best;
  }
}

export default {
  label: "Messages over time",
  order: 4,
  refuses({ count, meta }) {
    if (!meta.full) return "player.toolarge";
    return count <= MOST ? "" : "player.crowded";
  },
  open: (timeline) => new SpaceTime(timeline),
};
