// How much every rank has sent, climbing to what the one that sends most cannot send less than.

import { faint, quiet } from "../paint/ink.js";
import { sentOf } from "../trace/sent.js";
import { fill, sizesIn } from "../trace/words.js";

const GUTTER = { numbers: 26, words: 48 };
const SUMS = ["top", "mean", "bottom"];
const HEAD = 18;
const ROW = { most: 18, high: 300 };
const WORDS = 74; // pixels of a number beside its bar
const READABLE = 12; // pixels of a row with words, or of several of which the first has its name
const SEVERAL = 64; // ranks, of more of which the one that has sent most, the mean and the one that has sent least are shown

export class Counters {
  #surface;

  constructor(timeline) {
    this.timeline = timeline;
  }

  // Counted when it is first seen: beside other runs there is no room for it.
  get #sent() {
    return sentOf(this.timeline);
  }

  layout(surface, { width }) {
    const { ranks } = this.timeline.meta;
    const rows = ranks > SEVERAL ? SUMS.length : ranks;
    this.row = Math.min(ROW.most, ROW.high / rows);
    this.gutter = ranks > SEVERAL ? GUTTER.words : GUTTER.numbers;
    surface.resize(width, HEAD + rows * this.row + 2);
    this.#surface = surface;
  }

  // Rows with their names and bytes: every rank's, or of very many what is true of all.
  #rows(t, text) {
    const sent = this.#sent.at(t);
    if (sent.length <= SEVERAL) return Array.from(sent, (bytes, rank) => [this.timeline.rankNumber(rank), bytes]);
    let [top, all, bottom] = [0, 0, Infinity];
    for (const bytes of sent) {
      top = Math.max(top, bytes);
      bottom = Math.min(bottom, bytes);
      all += bytes;
    }
    const values = [top, all / sent.length, bottom];
    return SUMS.map((name, k) => [text[`player.sent.${name}`], values[k]]);
  }

  // Where so many bytes end, in pixels.
  #x(bytes) {
    const { least } = this.timeline.meta;
    const { gutter } = this;
    return gutter + ((this.#surface.width - gutter - WORDS) * bytes) / (Math.max(this.#sent.most, least) || 1);
  }

  paint(t, text) {
    const { context: g, colours, width, height } = this.#surface;
    const { least } = this.timeline.meta;
    this.#surface.clear();
    g.textBaseline = "middle";
    g.font = `500 12px ${colours.font}`;
    const every = Math.ceil(READABLE / this.row);
    const { gutter } = this;
    const words = sizesIn(Math.max(this.#sent.most, least));
    for (const [k, [name, bytes]] of this.#rows(t, text).entries()) {
      const y = HEAD + k * this.row;
      g.fillStyle = faint(colours, 0.06);
      g.fillRect(gutter, y, width - gutter - WORDS, this.row - 1);
      g.fillStyle = colours.accent;
      g.fillRect(gutter, y, this.#x(bytes) - gutter, this.row - 1);
      if (k % every) continue;
      g.fillStyle = quiet(colours);
      g.textAlign = "right";
      g.fillText(name, gutter - 6, y + this.row / 2);
      if (every > 1) continue;
      g.textAlign = "left";
      g.fillText(words(bytes), width - WORDS + 6, y + this.row / 2);
    }
    if (!least) return;
    g.fillStyle = colours.ink;
    g.fillRect(this.#x(least) - 1, HEAD - 4, 2, height - HEAD + 2);
    g.textAlign = "right";
    g.fillText(fill(text["player.sent.least"], { bytes: words(least) }), this.#x(least) + 2, 7);
  }
}
