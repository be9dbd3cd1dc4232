// Links over time: how full each was, all through the run.

import { faint, fit, loadColour } from "./paint.js";

const ROWS = 48;
const WORDS = 24;

// Links over time, the busiest first when there are too many; returns where time runs, for seeking.
export class LoadChart {
  constructor(timeline) {
    this.timeline = timeline;
    const used = timeline.links.bytes.map((bytes, k) => [bytes / timeline.links.bandwidth[k], k]).filter(([need]) => need > 0);
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
    rows.forEach((link, j) => {
      for (let b = 0; b < bins; b += 1) {
        const share = timeline.c.load[link * bins + b] / 255;
        g.fillStyle = loadColour(share, faint(colours, 0.06));
        g.fillRect(this.gutter + b * cell, j * this.row, cell + 0.6, this.row - 1);
      }
      if (!words) return;
      g.fillStyle = faint(colours, 0.75);
      g.font = `500 10px ${colours.font}`;
      g.textAlign = "right";
      g.textBaseline = "middle";
      const { name } = timeline.devices;
      g.fillText(`${name[timeline.links.src[link]]} → ${name[timeline.links.dst[link]]}`, this.gutter - 8, (j + 0.5) * this.row, this.gutter - 12);
    });
    this._ticks(g);
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
    g.fillStyle = faint(this.colours, 0.75);
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
