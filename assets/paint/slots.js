// Who holds what: ranks down, slots across. Colour is the block, fill its contributions, the number its name.
// Cells are pixels, and only those of what has landed since the last picture are set again.

import { blockColour, blockNumber, channels, faint, inkOn, quiet } from "./ink.js";
import { LEAST } from "./labels.js";

const GUTTER = 26; // pixels for the numbers of ranks, and more where they have more than two digits
const [DIGIT, BESIDE] = [7.6, 10];
const NUMBER = 13; // pixels from one rank's number to the next
const TINT = 0.22;
const SHADES = 64;
const SMALL_CELLS = { most: 34, tall: 26, high: 420 };
const LARGE_CELLS = { most: Infinity, tall: 72, high: 560 };

const word = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
const between = (a, b, share) => a.map((v, k) => Math.round(v * (1 - share) + b[k] * share));
const edges = (count, size) => Uint32Array.from({ length: count + 1 }, (_, k) => Math.round(k * Math.max(1, size)));

// Pixels of all cells, with edges on whole pixels, one pixel each at least; what they may be filled with.
class Sheet {
  constructor(ranks, slots, cell, row, colours) {
    this.lefts = edges(slots, cell);
    this.tops = edges(ranks, row);
    this.gap = cell > 4 && row > 4 ? 1 : 0;
    this.pixels = new ImageData(this.lefts[slots] || 1, this.tops[ranks] || 1);
    this.words = new Uint32Array(this.pixels.data.buffer);
    this.canvas = new OffscreenCanvas(this.pixels.width, this.pixels.height);
    this.context = this.canvas.getContext("2d");
    const paper = Array.from(channels(colours.paper));
    const tints = (ink) =>
      Uint32Array.from({ length: SHADES + 1 }, (_, k) => word(between(paper, ink, TINT + ((1 - TINT) * k) / SHADES)));
    this.tints = colours.blocks.map((colour) => tints(Array.from(channels(colour))));
    this.empty = this.gap ? word(Array.from(channels(faint(colours, 0.05)))) : 0;
    this.dirty = null;
  }

  // Fill a cell from the bottom up to a share with its block's colour; none where there is no block.
  fill(rank, slot, block, share) {
    const [left, right] = [this.lefts[slot], this.lefts[slot + 1] - this.gap];
    const [top, bottom] = [this.tops[rank], this.tops[rank + 1] - this.gap];
    const high = share * (bottom - top);
    for (let y = top; y < bottom; y += 1) {
      const cover = Math.max(0, Math.min(1, high - (bottom - 1 - y)));
      const ink = block < 0 ? this.empty : this.tints[blockNumber(block)][Math.round(cover * SHADES)];
      this.words.fill(ink, y * this.pixels.width + left, y * this.pixels.width + right);
    }
    const [a, b, c, d] = this.dirty ?? [Infinity, Infinity, 0, 0];
    this.dirty = [Math.min(a, left), Math.min(b, top), Math.max(c, right), Math.max(d, bottom)];
  }

  // Put what has been filled on the canvas; returns its left, top, right and bottom.
  put() {
    const [left, top, right, bottom] = this.dirty ?? [0, 0, 0, 0];
    if (this.dirty) this.context.putImageData(this.pixels, 0, 0, left, top, right - left, bottom - top);
    this.dirty = null;
    return [left, top, right, bottom];
  }
}

export class Slots {
  #backdrop;
  #isNamed = false; // where the longest name has room: a few names among cells without would say these are empty
  #isPainted = false;
  #sheet;
  #shown = -1;
  #surface;

  constructor(timeline) {
    this.timeline = timeline;
  }

  // As wide as there is room for; the surface is as high as it needs, or as `least`. Cells of a picture of its own may be
  // `large`.
  layout(surface, { width, least = 0 }, large = false) {
    const { ranks, slots } = this.timeline.meta;
    const { most, tall, high } = large ? LARGE_CELLS : SMALL_CELLS;
    this.gutter = Math.max(GUTTER, BESIDE + DIGIT * String(ranks - 1).length);
    this.cell = Math.min(least ? Infinity : most, (width - this.gutter) / slots);
    this.row = Math.max(1, least ? least / ranks : Math.min(tall, Math.max(this.cell, 12), high / ranks));
    this.size = Math.max(LEAST, Math.min(large ? 15 : 12, this.row * 0.55));
    surface.resize(width, Math.max(least, ranks * this.row + 2));
    this.#surface = surface;
    this.#sheet = new Sheet(ranks, slots, this.cell * surface.ratio, this.row * surface.ratio, surface.colours);
    this.#isNamed = this.row >= LEAST + 2 && this.#fits();
    this.#shown = -1;
    this.#isPainted = false;
    this.#backdrop = surface.layer("numbers");
    this.#paintNumbers(this.#backdrop);
  }

  // Whether the name of every block has room in a cell.
  #fits() {
    const { context: g, gap } = this.#sheet;
    g.font = this.#font();
    return g.measureText(this.timeline.names.longest).width < this.cell * this.#surface.ratio - gap;
  }

  #font() {
    const { colours, ratio } = this.#surface;
    return `600 ${this.size * ratio}px ${colours.font}`;
  }

  // Numbers of ranks: of all, or of every so many where there is no room for more.
  #paintNumbers(g) {
    const { colours } = this.#surface;
    g.fillStyle = quiet(colours);
    g.font = `600 ${LEAST}px ${colours.font}`;
    g.textAlign = "right";
    g.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(NUMBER / this.row));
    for (let r = 0; r < this.timeline.meta.ranks; r += every) {
      const y = Math.max(LEAST / 2, (r + 0.5) * this.row);
      if (r && y < LEAST * 1.5) continue; // the first stands a little lower than its row
      g.fillText(this.timeline.rankNumber(r), this.gutter - 6, y);
    }
  }

  // The middle of a place, in pixels.
  middle(rank, slot) {
    return [this.gutter + (slot + 0.5) * this.cell, (rank + 0.5) * this.row];
  }

  // The rank and slot under the pointer, or null.
  pick(x, y) {
    const { ranks, slots } = this.timeline.meta;
    const [rank, slot] = [Math.floor(y / this.row), Math.floor((x - this.gutter) / this.cell)];
    return rank >= 0 && rank < ranks && slot >= 0 && slot < slots ? { kind: "place", rank, index: slot } : null;
  }

  paint(t) {
    const { timeline, cell, row } = this;
    const { ranks, slots } = timeline.meta;
    const surface = this.#surface;
    const held = timeline.held(t);
    if (held && this.#shown !== held.done) this.#renew(held);
    surface.clear();
    surface.lay(this.#backdrop);
    if (!held) return;
    const { context: g } = surface;
    const { canvas } = this.#sheet;
    g.imageSmoothingEnabled = slots * cell * surface.ratio < canvas.width * 0.75;
    g.drawImage(canvas, this.gutter, 0, slots * cell, ranks * row);
  }

  // Paint, unless the last picture shows the same; for one on which nothing else is painted.
  refresh(t) {
    const held = this.timeline.held(t);
    if (this.#isPainted && held?.done === this.#shown) return;
    this.paint(t);
    this.#isPainted = true;
  }

  #renew(held) {
    const { ranks, slots } = this.timeline.meta;
    const places = ranks * slots;
    const fill = (place) => {
      if (place >= places) return; // a switch's
      const block = held.block[place];
      this.#sheet.fill(Math.floor(place / slots), place % slots, block, block < 0 ? 0 : this.#share(held, place));
    };
    if (this.#shown < 0 || !this.timeline.landed(this.#shown, held.done, fill)) {
      for (let place = 0; place < places; place += 1) fill(place);
    }
    this.#shown = held.done;
    const dirty = this.#sheet.put();
    if (this.#isNamed) this.#paintNames(held, dirty);
  }

  // What is put on the sheet covers the words of every cell within.
  #paintNames(held, [left, top, right, bottom]) {
    const { ranks, slots } = this.timeline.meta;
    const { lefts, tops } = this.#sheet;
    for (let rank = 0; rank < ranks; rank += 1) {
      if (tops[rank] < top || tops[rank] >= bottom) continue;
      for (let slot = 0; slot < slots; slot += 1) {
        const within = lefts[slot] >= left && lefts[slot] < right;
        if (within && held.block[rank * slots + slot] >= 0) this.#paintName(held, rank, slot);
      }
    }
  }

  // How much of what its block will be a place holds.
  #share(held, place) {
    return Math.min(1, this.timeline.contributors(held.set[place]).count / this.timeline.meta.whole);
  }

  #paintName(held, rank, slot) {
    const { timeline } = this;
    const { colours } = this.#surface;
    const { lefts, tops, gap, context: g } = this.#sheet;
    const place = rank * timeline.meta.slots + slot;
    const block = held.block[place];
    g.font = this.#font();
    g.fillStyle = this.#share(held, place) > 0.6 ? inkOn(blockColour(block, colours)) : colours.ink;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(
      timeline.names.place(place, held),
      (lefts[slot] + lefts[slot + 1] - gap) / 2,
      (tops[rank] + tops[rank + 1] - gap) / 2,
    );
  }
}
