// Frames around what belongs together: open ones behind it, closed ones in its place, each with its name.

import { faint } from "../paint/ink.js";
import { LEAST } from "../paint/labels.js";

const SHADE = { host: 0.025, pod: 0.025, rack: 0.035, group: 0.025, numa: 0.05 };
const HEAD = 0.6; // device widths of the strip that a frame's name stands in
const WEIGHT = 600;
const LINE = 13; // pixels, at least, that a line of a tile is for
const ASIDE = 0.55; // of a broad tile's width for its name, where the rest is its ranks'

// A name, and the number in it for where that is all there is room for.
const words = (label) => [label, label.replace(/^\D+/, "")];

export class Frames {
  #boxes;
  #camera;
  #groups;

  constructor(boxes, groups, camera) {
    this.#boxes = boxes;
    this.#groups = groups;
    this.#camera = camera;
  }

  // Left, top, width and height in pixels.
  #place([, , x, y, width, height]) {
    const camera = this.#camera;
    return [camera.x(x), camera.y(y), width * camera.wide, height * camera.high];
  }

  // Whether a point is on the mark of idle devices.
  isMark(px, py) {
    return this.#boxes.some((box) => {
      const [x, y, w, h] = this.#place(box);
      return box[1] === "idle" && px > x && px < x + w && py > y && py < y + h;
    });
  }

  #trace(g, box, round) {
    g.beginPath();
    g.roundRect(...this.#place(box), round);
  }

  // The open ones, behind everything.
  paint(g, colours) {
    for (const box of this.#boxes) {
      this.#trace(g, box, Math.min(8, this.#camera.scale));
      g.fillStyle = faint(colours, SHADE[box[1]] ?? 0.025);
      g.fill();
      g.strokeStyle = faint(colours, 0.14);
      g.lineWidth = 1;
      g.stroke();
    }
  }

  // Names, in the strip that is left free for them, and tiles in place of closed groups; `rooms` is then what is free in
  // each of those, as left, top, width and height in pixels.
  paintTitles(g, level, labels, colours) {
    const { scale, wide, high } = this.#camera;
    const closed = [...level.closed].map((k) => this.#groups.boxes[k]);
    const isCovered = ([, , x, y, width, height]) =>
      closed.some(
        ([, , left, top, across, down]) =>
          x + width / 2 > left && x + width / 2 < left + across && y + height / 2 > top && y + height / 2 < top + down,
      );
    this.rooms = new Map();
    const aside = this.#aside([...level.closed], labels);
    for (const k of level.closed) this.#tile(g, k, labels, colours, aside);
    const size = Math.max(LEAST, Math.min(13, scale * 0.36));
    if (high * HEAD < size) return;
    for (const box of this.#boxes.filter((one) => !isCovered(one))) {
      const [label, , x, y, width, height, side] = box;
      const line = side === "below" ? y + height - HEAD / 2 : y + HEAD / 2;
      const word = labels.fitting(words(label), width * wide - 8, { size, weight: WEIGHT });
      const look = { size, weight: WEIGHT, fill: colours.quiet, align: "left", above: true };
      labels.write(word, this.#camera.x(x) + scale * 0.3, this.#camera.y(line), look);
    }
  }

  #size(k) {
    return Math.max(LEAST, Math.min(14, this.#place(this.#groups.boxes[k])[3] * 0.3));
  }

  // How large the names of broad tiles are where all of them leave room beside them, so that all look alike; or 0.
  #aside(closed, labels) {
    const broad = closed.filter((k) => this.#groups.isBroad(k) && this.#groups.ranks[k]);
    const isShort = (k, size) => {
      const room = this.#place(this.#groups.boxes[k])[2] * ASIDE - 6;
      return labels.fitting([this.#groups.boxes[k][0]], room, { size, weight: WEIGHT });
    };
    const sizes = [Math.min(...broad.map((k) => this.#size(k))), LEAST];
    return sizes.find((size) => broad.every((k) => isShort(k, size))) ?? 0;
  }

  // A closed group: its name and how many ranks are in it.
  #tile(g, k, labels, colours, aside) {
    const box = this.#groups.boxes[k];
    const [left, top, w, h] = this.#place(box);
    this.#trace(g, box, Math.min(8, h / 4));
    g.fillStyle = colours.panel;
    g.fill();
    g.strokeStyle = faint(colours, 0.5);
    g.lineWidth = 1.2;
    g.stroke();
    const isAside = this.#groups.isBroad(k) && this.#groups.ranks[k] && aside;
    const size = isAside ? aside : this.#size(k);
    if (h < size + 2) return;
    const x = left + (this.#groups.isBar(k) ? Math.max(w * 0.06, 30) : w * (isAside ? ASIDE / 2 : 0.5));
    const below = this.#name(k, labels, colours, { x, size });
    if (isAside) this.rooms.set(k, [left + w * ASIDE, top, w * (0.97 - ASIDE), h]);
    else if (below && this.#groups.ranks[k]) this.rooms.set(k, [left, below, w, top + h - below]);
  }

  // A closed group's name with its middle at `x`, and below it how many ranks there are; where that ends, or 0 without.
  #name(k, labels, colours, { x, size }) {
    const [, top, w, h] = this.#place(this.#groups.boxes[k]);
    const isTall = this.#groups.ranks[k] && h > 2.6 * size;
    const word = labels.fitting(words(this.#groups.boxes[k][0]), w - 6, { size, weight: WEIGHT });
    const line = Math.max(size, LINE); // less, and one would be in the other's way
    const middle = top + h / 2;
    const y = middle - (isTall ? line * 0.62 : 0);
    labels.write(word, x, y, { size, weight: WEIGHT, fill: colours.ink, above: true });
    if (!isTall) return 0;
    const small = labels.fitting([`${this.#groups.ranks[k]} GPU`], w - 6, { size: LEAST });
    labels.write(small, x, middle + line * 0.68, { size: LEAST, fill: colours.quiet });
    return middle + line * 0.68 + LEAST;
  }
}
