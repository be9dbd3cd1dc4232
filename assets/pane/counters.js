// How much every rank has sent, climbing to what the one that sends most cannot send less than.

import { faint, quiet } from "../paint/ink.js";
import { Sent } from "../trace/sent.js";
import { bytesText, fill } from "../trace/words.js";

const GUTTER = 26;
const HEAD = 18;
const ROW = { most: 18, high: 300 };
const WORDS = 74; // pixels of a number beside its bar
const READABLE = 12; // pixels of a row with words

export class Counters {
  #sent;
  #surface;

  constructor(timeline) {
    this.timeline = timeline;
    this.#sent = new Sent(timeline);
  }

  layout(surface, { width }) {
    const { ranks } = this.timeline.meta;
    this.row = Math.max(2, Math.min(ROW.most, ROW.high / ranks));
    surface.resize(width, HEAD + ranks * this.row + 2);
    this.#surface = surface;
  }

  // Where so many bytes end, in pixels.
  #x(bytes) {
    const { least } = this.timeline.meta;
    return GUTTER + ((this.#surface.width - GUTTER - WORDS) * bytes) / (Math.max(this.#sent.most, least) || 1);
  }

  paint(t, text) {
    const { context: g, colours, width, height } = this.#surface;
    const { least } = this.timeline.meta;
    this.#surface.clear();
    g.textBaseline = "middle";
    g.font = `500 11px ${colours.font}`;
    const hasWords = this.row >= READABLE;
    for (const [rank, bytes] of this.#sent.at(t).entries()) {
      const y = HEAD + rank * this.row;
      g.fillStyle = faint(colours, 0.06);
      g.fillRect(GUTTER, y, width - GUTTER - WORDS, this.row - 1);
      g.fillStyle = colours.accent;
      g.fillRect(GUTTER, y, this.#x(bytes) - GUTTER, this.row - 1);
      if (!hasWords) continue;
      g.fillStyle = quiet(colours);
      g.textAlign = "right";
      g.fillText(String(rank), GUTTER - 6, y + this.row / 2);
      g.textAlign = "left";
      g.fillText(bytesText(Math.round(bytes)), width - WORDS + 6, y + this.row / 2);
    }
    if (!least) return;
    g.fillStyle = colours.ink;
    g.fillRect(this.#x(least) - 1, HEAD - 4, 2, height - HEAD + 2);
    g.textAlign = "right";
    g.fillText(fill(text["player.sent.least"], { bytes: bytesText(least) }), this.#x(least) + 2, 7);
  }
}
