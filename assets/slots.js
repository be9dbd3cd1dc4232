// Who holds what: ranks down, slots across. Colour is the block, fill its contributions, the number its name.

import { blockColour, faint, fit, inkOn } from "./paint.js";

const GUTTER = 26;

export class Slots {
  constructor(timeline) {
    this.timeline = timeline;
  }

  // As wide as there is room for, cells no larger than `most`; the canvas is as high as it needs.
  resize(canvas, width, colours, most = 34) {
    const { ranks, slots } = this.timeline.meta;
    this.colours = colours;
    this.cell = Math.max(1, Math.min(most, (width - GUTTER) / slots));
    this.row = Math.max(1, Math.min(most * 0.76, Math.max(this.cell, 12), (most > 34 ? 560 : 420) / ranks));
    this.width = width;
    this.height = ranks * this.row + 2;
    this.context = fit(canvas, width, this.height);
    this.painted = document.createElement("canvas");
    this.inner = fit(this.painted, width, this.height);
    this.shown = null;
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
    const held = this.timeline.held(t);
    if (held && this.shown !== held.done) {
      this.shown = held.done;
      this._cells(held);
    }
    this.context.clearRect(0, 0, this.width, this.height);
    if (held) this.context.drawImage(this.painted, 0, 0, this.width, this.height);
  }

  // Only when something has landed: most frames show the same as the one before.
  _cells(held) {
    const { timeline, inner: g, row, colours } = this;
    const { ranks, slots } = timeline.meta;
    g.clearRect(0, 0, this.width, this.height);
    g.textBaseline = "middle";
    for (let r = 0; r < ranks; r += 1) {
      if (row >= 9) {
        g.fillStyle = faint(colours, 0.7);
        g.font = `600 ${Math.min(12, row * 0.6)}px ${colours.font}`;
        g.textAlign = "right";
        g.fillText(String(r), GUTTER - 6, (r + 0.5) * row);
      }
      for (let s = 0; s < slots; s += 1) this._cell(g, r, s, held.block[r * slots + s], held.set[r * slots + s]);
    }
  }

  _cell(g, rank, slot, block, set) {
    const { timeline, row, cell, colours } = this;
    const gap = cell > 4 ? 1 : 0;
    const [x, y, w, h] = [GUTTER + slot * cell, rank * row, cell - gap, row - gap];
    if (block < 0) {
      if (!gap) return;
      g.fillStyle = faint(colours, 0.05);
      g.fillRect(x, y, w, h);
      return;
    }
    const colour = blockColour(block);
    const share = Math.min(1, timeline.contributors(set).count / timeline.meta.whole);
    g.fillStyle = colour;
    g.globalAlpha = 0.22;
    g.fillRect(x, y, w, h);
    g.globalAlpha = 1;
    g.fillRect(x, y + h * (1 - share), w, h * share);
    const label = timeline.blockName(block);
    const size = Math.min(cell > 34 ? 15 : 12, row * 0.55, (cell * 1.5) / label.length);
    if (size < 6.5) return;
    g.fillStyle = share > 0.6 ? inkOn(colour) : colours.ink;
    g.font = `600 ${size}px ${colours.font}`;
    g.textAlign = "center";
    g.fillText(label, x + w / 2, y + h / 2);
  }
}
