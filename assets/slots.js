// Who holds what: ranks down, slots across. Colour is the block, fill its contributions, the number its name.
// Cells are pixels, and only those of what has landed since the last picture are set again.

import { PALETTE } from "./palette.js";
import { blockColour, blockNumber, channels, faint, fit, inkOn, quiet } from "./paint.js";

const GUTTER = 26;
const READABLE = 6.5;
const TINT = 0.22;

const word = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
const between = (a, b, share) => a.map((v, k) => Math.round(v * (1 - share) + b[k] * share));

export class Slots {
  constructor(timeline) {
    this.timeline = timeline;
  }

  // As wide as there is room for, cells no larger than `most`; the canvas is as high as it needs.
  resize(canvas, width, colours, most = 34) {
    const { ranks, slots } = this.timeline.meta;
    this.colours = colours;
    this.cell = Math.min(most, (width - GUTTER) / slots);
    this.row = Math.max(1, Math.min(most * 0.76, Math.max(this.cell, 12), (most > 34 ? 560 : 420) / ranks));
    this.width = width;
    this.height = ranks * this.row + 2;
    this.context = fit(canvas, width, this.height);
    this.shown = -1;
    this._paper();
    this._backdrop(width);
  }

  // A sheet of pixels with edges of cells on whole pixels, one pixel each at least; what it may be filled with.
  _paper() {
    const { ranks, slots } = this.timeline.meta;
    const ratio = window.devicePixelRatio || 1;
    const edges = (count, size) => Uint32Array.from({ length: count + 1 }, (_, k) => Math.round(k * Math.max(1, size * ratio)));
    [this.lefts, this.tops] = [edges(slots, this.cell), edges(ranks, this.row)];
    this.gap = this.cell * ratio > 4 && this.row * ratio > 4 ? 1 : 0;
    this.pixels = new ImageData(this.lefts[slots] || 1, this.tops[ranks] || 1);
    this.words = new Uint32Array(this.pixels.data.buffer);
    this.sheet = new OffscreenCanvas(this.pixels.width, this.pixels.height);
    this.inner = this.sheet.getContext("2d");
    const paper = Array.from(channels(this.colours.paper));
    const full = PALETTE.blocks.map((colour) => Array.from(channels(colour)));
    this.tints = full.map((colour) => Uint32Array.from({ length: 65 }, (_, k) => word(between(paper, colour, TINT + ((1 - TINT) * k) / 64))));
    this.empty = this.gap ? word(Array.from(channels(faint(this.colours, 0.05)))) : 0;
  }

  // Numbers of ranks, where there is room for them.
  _backdrop(width) {
    const { row, colours } = this;
    this.backdrop = document.createElement("canvas");
    const g = fit(this.backdrop, width, this.height);
    if (row < 9) return;
    g.fillStyle = quiet(colours);
    g.font = `600 ${Math.min(12, row * 0.6)}px ${colours.font}`;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (let r = 0; r < this.timeline.meta.ranks; r += 1) g.fillText(String(r), GUTTER - 6, (r + 0.5) * row);
  }

  // The middle of a place, in pixels.
  middle(rank, slot) {
    return [GUTTER + (slot + 0.5) * this.cell, (rank + 0.5) * this.row];
  }

  // The rank and slot under the pointer, or null.
  pick(x, y) {
    const { ranks, slots } = this.timeline.meta;
    const [rank, slot] = [Math.floor(y / this.row), Math.floor((x - GUTTER) / this.cell)];
    return rank >= 0 && rank < ranks && slot >= 0 && slot < slots ? { kind: "place", rank, index: slot } : null;
  }

  paint(t) {
    const { context: g, timeline, cell, row } = this;
    const { ranks, slots } = timeline.meta;
    const held = timeline.held(t);
    if (held && this.shown !== held.done) this._renew(held);
    g.clearRect(0, 0, this.width, this.height);
    g.drawImage(this.backdrop, 0, 0, this.width, this.height);
    if (!held) return;
    g.imageSmoothingEnabled = slots * cell < this.sheet.width * 0.75 / (window.devicePixelRatio || 1);
    g.drawImage(this.sheet, GUTTER, 0, slots * cell, ranks * row);
  }

  _renew(held) {
    const { timeline } = this;
    const { ranks, slots } = timeline.meta;
    const changed = [];
    const all = this.shown < 0 || !timeline.landed(this.shown, held.done, (place) => changed.push(place));
    this.shown = held.done;
    const count = all ? ranks * slots : changed.length;
    const dirty = [Infinity, Infinity, 0, 0];
    for (let k = 0; k < count; k += 1) {
      const place = all ? k : changed[k];
      if (place < ranks * slots) this._fill(place, held, dirty);
    }
    if (dirty[2] > 0) this.inner.putImageData(this.pixels, 0, 0, dirty[0], dirty[1], dirty[2] - dirty[0], dirty[3] - dirty[1]);
    if (Math.min(this.row * 0.55, this.cell * 1.5) < READABLE) return;
    // what is put on the sheet covers the words of every cell within
    for (let place = 0; place < ranks * slots; place += 1) {
      const [rank, slot] = [Math.floor(place / slots), place % slots];
      const [x, y] = [this.lefts[slot], this.tops[rank]];
      if (x >= dirty[0] && y >= dirty[1] && x < dirty[2] && y < dirty[3]) this._name(place, held, x, y, slot, rank);
    }
  }

  // How much of what its block will be a place holds.
  _share(held, place) {
    return Math.min(1, this.timeline.contributors(held.set[place]).count / this.timeline.meta.whole);
  }

  _fill(place, held, dirty) {
    const { lefts, tops, gap, words, pixels } = this;
    const { slots } = this.timeline.meta;
    const [rank, slot] = [Math.floor(place / slots), place % slots];
    const [left, right, top, bottom] = [lefts[slot], lefts[slot + 1] - gap, tops[rank], tops[rank + 1] - gap];
    const block = held.block[place];
    const share = block < 0 ? 0 : this._share(held, place) * (bottom - top);
    for (let y = top; y < bottom; y += 1) {
      const cover = Math.max(0, Math.min(1, share - (bottom - 1 - y)));
      const ink = block < 0 ? this.empty : this.tints[blockNumber(block)][Math.round(cover * 64)];
      words.fill(ink, y * pixels.width + left, y * pixels.width + right);
    }
    dirty[0] = Math.min(dirty[0], left);
    dirty[1] = Math.min(dirty[1], top);
    dirty[2] = Math.max(dirty[2], right);
    dirty[3] = Math.max(dirty[3], bottom);
  }

  _name(place, held, x, y, slot, rank) {
    const { timeline, row, cell, colours, inner: g } = this;
    const block = held.block[place];
    if (block < 0) return;
    const label = timeline.blockName(block);
    const size = Math.min(cell > 34 ? 15 : 12, row * 0.55, (cell * 1.5) / label.length);
    if (size < READABLE) return;
    const ratio = window.devicePixelRatio || 1;
    g.fillStyle = this._share(held, place) > 0.6 ? inkOn(blockColour(block)) : colours.ink;
    g.font = `600 ${size * ratio}px ${colours.font}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(label, (x + this.lefts[slot + 1] - this.gap) / 2, (y + this.tops[rank + 1] - this.gap) / 2);
  }
}
