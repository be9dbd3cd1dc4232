// Links over time: how full each was, all through the run.

import { faint, loadColour, loadLevel, quiet } from "./ink.js";

const ROWS = 48;
const FEW = 24;
const TICKS = 130;
const EDGE = 8;

// A mark on an axis of time: something changed here.
export function notch(g, x, y) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x - 4, y + 6);
  g.lineTo(x + 4, y + 6);
  g.fill();
}

// Where phases begin, `[x, name]` from left to right: a name that would run into the one before it is left out.
export function paintPhases(g, phases, y) {
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
  #gutter;
  #row;
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
    this.#row = this.rows.length <= FEW ? 13 : 10;
    surface.resize(width, this.rows.length * this.#row + 22);
    this.#surface = surface;
    const g = surface.layer();
    this.#backdrop = g;
    this.#paintLoads(g);
    this.#paintNames(g);
    this.#paintSpells(g);
    this.#paintTicks(g);
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
        g.fillRect(this.#gutter + b * cell, j * this.#row, cell + 0.6, this.#row - 1);
      }
    });
  }

  #paintNames(g) {
    const { devices, links } = this.timeline;
    const { colours } = this.#surface;
    g.fillStyle = quiet(colours);
    g.font = `500 ${this.#row - 2}px ${colours.font}`;
    g.textAlign = "right";
    g.textBaseline = "middle";
    this.rows.forEach((link, j) => {
      const name = `${devices.name[links.src[link]]} → ${devices.name[links.dst[link]]}`;
      g.fillText(name, this.#gutter - 8, (j + 0.5) * this.#row, this.#gutter - 12);
    });
  }

  // Where a link could carry less than its own bandwidth: a bar under its row, from when to when, and a notch in the axis.
  #paintSpells(g) {
    g.fillStyle = this.#surface.colours.ink;
    for (const { link, begin, end } of this.timeline.spells) {
      const j = this.rows.indexOf(link);
      if (j < 0) continue;
      g.fillRect(this.x(begin), (j + 1) * this.#row - 2, Math.max(2, this.x(end) - this.x(begin)), 2);
      const bottom = this.rows.length * this.#row + 1;
      notch(g, this.x(begin), bottom);
      if (end < this.timeline.time) notch(g, this.x(end), bottom);
    }
  }

  #paintTicks(g) {
    const { steps, bounds } = this.timeline;
    const { colours } = this.#surface;
    const bottom = this.rows.length * this.#row;
    g.strokeStyle = faint(colours, 0.35);
    for (const t of bounds.length <= TICKS ? bounds.slice(1) : []) {
      g.beginPath();
      g.moveTo(this.x(t), bottom + 1);
      g.lineTo(this.x(t), bottom + 5);
      g.stroke();
    }
    g.fillStyle = quiet(colours);
    g.font = `500 11px ${colours.font}`;
    g.textAlign = "left";
    g.textBaseline = "alphabetic";
    const phases = steps.phases.map(([first, name]) => [this.x(bounds[first]) + 2, name]);
    paintPhases(g, phases, bottom + 17);
  }

  x(t) {
    return this.#gutter + (this.#surface.width - this.#gutter - EDGE) * (t / this.#span);
  }

  // The instant at so many pixels from the left, for seeking.
  t(px) {
    const share = (px - this.#gutter) / (this.#surface.width - this.#gutter - EDGE);
    return Math.max(0, Math.min(1, share)) * this.#span;
  }

  paint(t) {
    const surface = this.#surface;
    surface.clear();
    surface.lay(this.#backdrop);
    surface.context.fillStyle = surface.colours.ink;
    surface.context.fillRect(this.x(t) - 1, 0, 2, this.rows.length * this.#row + 6);
  }
}
