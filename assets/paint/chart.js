// Links over time: how full each was, all through the run.

import { ticks } from "../trace/words.js";
import { blockColour, faint, loadColour, loadLevel, quiet } from "./ink.js";

const ROWS = 48;
const ROW = 13;
const TICKS = 130;
const EDGE = 8;
const RULER = 18;
const HEAD = RULER + ROW + 3; // the ruler, and the lane of the critical path
const FOOT = 22;
const APART = 90; // pixels between the words of a ruler

// A ruler of time, the same for every picture that time runs across: words above, hairlines down through the picture.
export function paintRuler(g, { x, span, left, right, bottom, colours }) {
  g.font = `500 11px ${colours.font}`;
  g.textBaseline = "middle";
  for (const [t, word] of ticks(span, (right - left) / APART)) {
    g.fillStyle = faint(colours, 0.14);
    g.fillRect(x(t) - 0.5, RULER - 4, 1, bottom - RULER + 4);
    g.fillStyle = quiet(colours);
    const wide = g.measureText(word).width;
    g.textAlign = x(t) - wide / 2 < 0 ? "left" : x(t) + wide / 2 > right ? "right" : "center";
    g.fillText(word, g.textAlign === "left" ? Math.max(0, x(t)) : Math.min(right, x(t)), RULER / 2);
  }
}

// Phases as bands, every other one a shade darker.
export function paintBands(g, { x, timeline, top, bottom, colours }) {
  const { bounds, steps } = timeline;
  g.fillStyle = faint(colours, 0.035);
  steps.phases.forEach(([first], k) => {
    const end = steps.phases[k + 1] ? bounds[steps.phases[k + 1][0]] : timeline.time;
    if (k % 2) g.fillRect(x(bounds[first]), top, x(end) - x(bounds[first]), bottom - top);
  });
}

// A mark on an axis of time: something changed here.
export function notch(g, x, y) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x - 4, y + 6);
  g.lineTo(x + 4, y + 6);
  g.fill();
}

// Where phases begin, `[x, name]` from left to right: a name that would run into the one before it is left out.
export function paintPhases(g, phases, y, colours) {
  g.fillStyle = quiet(colours);
  let free = 0;
  for (const [x, name] of phases) {
    if (x < free) continue;
    g.fillText(name, x, y);
    free = x + g.measureText(name).width + 6;
  }
}

// The busiest links when there are too many, and those in trouble.
function rowsOf({ spells, links }) {
  const troubled = new Set(spells.map(({ link }) => link));
  const need = (bytes, k) => (troubled.has(k) ? Infinity : bytes / links.bandwidth[k]);
  const used = links.bytes.map((bytes, k) => [need(bytes, k), k]).filter(([seconds]) => seconds > 0);
  const busiest = used.toSorted((a, b) => b[0] - a[0]).slice(0, ROWS);
  return busiest.map(([, k]) => k).toSorted((a, b) => a - b);
}

export class LoadChart {
  #backdrop;
  #brush = null;
  #gutter;
  #span;
  #surface;

  constructor(timeline) {
    this.timeline = timeline;
    this.rows = rowsOf(timeline);
  }

  // `span` is the time from edge to edge: several runs on one clock share it.
  layout(surface, { width, span }) {
    this.#span = span || 1;
    this.#gutter = width > 520 ? 128 : 84;
    surface.resize(width, this.#bottom + FOOT);
    this.#surface = surface;
    const g = surface.layer();
    this.#backdrop = g;
    const frame = { x: (t) => this.x(t), timeline: this.timeline, bottom: this.#bottom, colours: surface.colours };
    paintBands(g, { ...frame, top: RULER });
    paintRuler(g, { ...frame, span: this.#span, left: this.#gutter, right: width });
    this.#paintLoads(g);
    this.#paintCritical(g);
    this.#paintNames(g);
    this.#paintSpells(g);
    this.#paintTicks(g);
  }

  get #bottom() {
    return HEAD + this.rows.length * ROW;
  }

  #top(row) {
    return HEAD + row * ROW;
  }

  // The messages that each waited for the one before, one after the other.
  #paintCritical(g) {
    const { timeline } = this;
    if (!timeline.count) return;
    for (const i of timeline.critical()) {
      const [begin, end] = [this.x(timeline.ready[i]), this.x(timeline.end[i])];
      g.fillStyle = blockColour(timeline.c.block[timeline.moveStart[i]]);
      g.fillRect(begin, RULER, Math.max(1, end - begin - 0.5), ROW - 1);
    }
  }

  #paintLoads(g) {
    const { timeline } = this;
    const { bins } = timeline.meta;
    const cell = (this.x(timeline.time) - this.#gutter) / bins;
    const idle = faint(this.#surface.colours, 0.06);
    this.rows.forEach((link, j) => {
      for (let b = 0; b < bins; b += 1) {
        const level = loadLevel(timeline.c.load[link * bins + b] / 255);
        g.fillStyle = level ? loadColour(level) : idle;
        g.fillRect(this.#gutter + b * cell, this.#top(j), cell + 0.6, ROW - 1);
      }
    });
  }

  #paintNames(g) {
    const { devices, links } = this.timeline;
    const { colours } = this.#surface;
    g.fillStyle = quiet(colours);
    g.font = `500 11px ${colours.font}`;
    g.textAlign = "right";
    g.textBaseline = "middle";
    this.rows.forEach((link, j) => {
      const name = `${devices.name[links.src[link]]} → ${devices.name[links.dst[link]]}`;
      g.fillText(name, this.#gutter - 8, this.#top(j + 0.5), this.#gutter - 12);
    });
  }

  // Where a link could carry less than its own bandwidth: a bar under its row, from when to when, and a notch in the axis.
  #paintSpells(g) {
    g.fillStyle = this.#surface.colours.ink;
    for (const { link, begin, end } of this.timeline.spells) {
      const j = this.rows.indexOf(link);
      if (j < 0) continue;
      g.fillRect(this.x(begin), this.#top(j + 1) - 2, Math.max(2, this.x(end) - this.x(begin)), 2);
      const bottom = this.#bottom + 1;
      notch(g, this.x(begin), bottom);
      if (end < this.timeline.time) notch(g, this.x(end), bottom);
    }
  }

  #paintTicks(g) {
    const { steps, bounds } = this.timeline;
    const { colours } = this.#surface;
    const bottom = this.#bottom;
    g.strokeStyle = faint(colours, 0.35);
    for (const t of bounds.length <= TICKS ? bounds.slice(1) : []) {
      g.beginPath();
      g.moveTo(this.x(t), bottom + 1);
      g.lineTo(this.x(t), bottom + 5);
      g.stroke();
    }
    g.font = `500 11px ${colours.font}`;
    g.textAlign = "left";
    g.textBaseline = "alphabetic";
    const phases = steps.phases.map(([first, name]) => [this.x(bounds[first]) + 2, name]);
    paintPhases(g, phases, bottom + 17, colours);
  }

  x(t) {
    return this.#gutter + (this.#surface.width - this.#gutter - EDGE) * (t / this.#span);
  }

  // The instant at so many pixels from the left, for seeking.
  t(px) {
    const share = (px - this.#gutter) / (this.#surface.width - this.#gutter - EDGE);
    return Math.max(0, Math.min(1, share)) * this.#span;
  }

  // The link whose row is at a point, or what is on the critical path there; null beside them.
  pick(px, py) {
    const { timeline } = this;
    if (px < this.#gutter || py < RULER) return null;
    if (py < HEAD) {
      const t = this.t(px);
      const i = timeline.count
        ? [...timeline.critical()].find((k) => timeline.ready[k] <= t && t <= timeline.end[k])
        : -1;
      return i >= 0 ? { kind: "block", index: i } : null;
    }
    const link = this.rows[Math.floor((py - HEAD) / ROW)];
    return link === undefined ? null : { kind: "link", index: link };
  }

  // Of all links that carry anything, how many have a row.
  get shown() {
    return [this.rows.length, this.timeline.links.bytes.filter((bytes) => bytes > 0).length];
  }

  // The stretch of time that is played over and over, or null.
  brush(range) {
    this.#brush = range;
  }

  paint(t) {
    const surface = this.#surface;
    const { context: g, colours } = surface;
    surface.clear();
    surface.lay(this.#backdrop);
    if (this.#brush) {
      const [from, to] = this.#brush.map((at) => this.x(at));
      g.globalAlpha = 0.65;
      g.fillStyle = colours.paper;
      g.fillRect(this.#gutter, RULER, from - this.#gutter, this.#bottom - RULER);
      g.fillRect(to, RULER, surface.width - to, this.#bottom - RULER);
      g.globalAlpha = 1;
      g.fillStyle = colours.accent;
      g.fillRect(from, RULER - 3, to - from, 3);
    }
    g.fillStyle = colours.ink;
    g.fillRect(this.x(t) - 1, RULER - 4, 2, this.#bottom - RULER + 10);
  }
}
