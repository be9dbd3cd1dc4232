// Links over time: how full each was, all through the run.

import { faint, fit, loadColour, loadLevel, quiet } from "./paint.js";

const ROWS = 48;
const WORDS = 24;

// A mark on an axis of time: something changed here.
export function notch(g, x, y) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x - 4, y + 6);
  g.lineTo(x + 4, y + 6);
  g.fill();
}

// Links over time, the busiest first when there are too many; returns where time runs, for seeking.
export class LoadChart {
  constructor(timeline) {
    this.timeline = timeline;
    const hurt = new Set(timeline.spells.map(({ link }) => link));
    const need = (bytes, k) => (hurt.has(k) ? Infinity : bytes / timeline.links.bandwidth[k]);
    const used = timeline.links.bytes.map((bytes, k) => [need(bytes, k), k]).filter(([bytes]) => bytes > 0);
    const busiest = used.sort((a, b) => b[0] - a[0]).slice(0, ROWS).map(([, k]) => k);
    this.rows = busiest.sort((a, b) => a - b);
  }

  // `span` is the time from edge to edge: several runs on one clock share it.
  resize(canvas, width, colours, span) {
    this.span = span || 1;
    const { timeline, rows } = this;
    const words = rows.length <= WORDS && width > 520;
    this.gutter = words ? 128 : 8;
    this.row = rows.length <= WORDS ? 13 : 5;
    this.width = width;
    this.high = rows.length * this.row + 22;
    this.context = fit(canvas, width, this.high);
    this.colours = colours;
    this.backdrop = document.createElement("canvas");
    const g = fit(this.backdrop, width, this.high);
    const { bins } = timeline.meta;
    const cell = (this.x(timeline.time) - this.gutter) / bins;
    const idle = faint(colours, 0.06);
    rows.forEach((link, j) => {
      for (let b = 0; b < bins; b += 1) {
        const level = loadLevel(timeline.c.load[link * bins + b] / 255);
        g.fillStyle = level ? loadColour(level) : idle;
        g.fillRect(this.gutter + b * cell, j * this.row, cell + 0.6, this.row - 1);
      }
      if (!words) return;
      g.fillStyle = quiet(colours);
      g.font = `500 11px ${colours.font}`;
      g.textAlign = "right";
      g.textBaseline = "middle";
      const { name } = timeline.devices;
      g.fillText(`${name[timeline.links.src[link]]} → ${name[timeline.links.dst[link]]}`, this.gutter - 8, (j + 0.5) * this.row, this.gutter - 12);
    });
    this._spells(g);
    this._ticks(g);
  }

  // Where a link could carry less than its own bandwidth: a bar under its row, from when to when, and a notch in the axis.
  _spells(g) {
    g.fillStyle = this.colours.ink;
    for (const { link, begin, end } of this.timeline.spells) {
      const j = this.rows.indexOf(link);
      if (j < 0) continue;
      g.fillRect(this.x(begin), (j + 1) * this.row - 2, Math.max(2, this.x(end) - this.x(begin)), 2);
      const bottom = this.rows.length * this.row + 1;
      notch(g, this.x(begin), bottom);
      if (end < this.timeline.time) notch(g, this.x(end), bottom);
    }
  }

  _ticks(g) {
    const { steps, bounds } = this.timeline;
    const bottom = this.rows.length * this.row;
    g.strokeStyle = faint(this.colours, 0.35);
    const few = bounds.length <= 130;
    bounds.forEach((t, k) => {
      if (!few || k === 0) return;
      g.beginPath();
      g.moveTo(this.x(t), bottom + 1);
      g.lineTo(this.x(t), bottom + 5);
      g.stroke();
    });
    g.fillStyle = quiet(this.colours);
    g.font = `500 11px ${this.colours.font}`;
    g.textAlign = "left";
    g.textBaseline = "alphabetic";
    for (const [first, name] of steps.phases) g.fillText(name, this.x(bounds[first]) + 2, bottom + 17);
  }

  x(t) {
    return this.gutter + (this.width - this.gutter - 8) * (t / this.span);
  }

  t(px) {
    return Math.max(0, Math.min(1, (px - this.gutter) / (this.width - this.gutter - 8))) * this.span;
  }

  paint(t) {
    const g = this.context;
    g.clearRect(0, 0, this.width, this.high);
    g.drawImage(this.backdrop, 0, 0, this.width, this.high);
    g.fillStyle = this.colours.ink;
    g.fillRect(this.x(t) - 1, 0, 2, this.rows.length * this.row + 6);
  }
}
