// Frames around what belongs together: open ones behind it, closed ones in its place, each with its name.

import { faint, quiet } from "./ink.js";
import { LEAST } from "./labels.js";

const SHADE = { host: 0.025, pod: 0.025, rack: 0.035, group: 0.025, numa: 0.05 };
const HEAD = 0.6; // device widths of the strip that a frame's name stands in
const WEIGHT = 600;

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
    for (const k of level.closed) this.#tile(g, k, labels, colours);
    const size = Math.max(LEAST, Math.min(13, scale * 0.36));
    if (high * HEAD < size) return;
    for (const box of this.#boxes.filter((one) => !isCovered(one))) {
      const [label, , x, y, width, height, side] = box;
      const line = side === "below" ? y + height - HEAD / 2 : y + HEAD / 2;
      const word = labels.fitting(words(label), width * wide - 8, { size, weight: WEIGHT });
      const look = { size, weight: WEIGHT, fill: quiet(colours), align: "left", paper: colours.paper };
      labels.write(word, this.#camera.x(x) + scale * 0.3, this.#camera.y(line), look);
    }
  }

  // A closed group: its name and how many ranks are in it.
  #tile(g, k, labels, colours) {
    const box = this.#groups.boxes[k];
    const [left, top, w, h] = this.#place(box);
    this.#trace(g, box, Math.min(8, h / 4));
    g.fillStyle = colours.panel;
    g.fill();
    g.strokeStyle = faint(colours, 0.5);
    g.lineWidth = 1.2;
    g.stroke();
    const size = Math.max(LEAST, Math.min(14, h * 0.3));
    const count = this.#groups.ranks[k] ? `${this.#groups.ranks[k]} GPU` : "";
    const isTall = count && h > 2.6 * size;
    const word = labels.fitting(words(box[0]), w - 6, { size, weight: WEIGHT });
    const middle = top + h / 2;
    const isAside = this.#groups.isBroad(k) && labels.fitting([word], w / 2 - 6, { size, weight: WEIGHT });
    const x = left + (this.#groups.isBar(k) ? Math.max(w * 0.06, 30) : w * (isAside ? 0.25 : 0.5));
    if (h < size + 2) return;
    labels.write(word, x, middle - (isTall ? size * 0.62 : 0), {
      size,
      weight: WEIGHT,
      fill: colours.ink,
      above: true,
    });
    if (!isTall) return;
    const small = labels.fitting([count], w - 6, { size: LEAST });
    labels.write(small, x, middle + size * 0.68, { size: LEAST, fill: quiet(colours) });
    const below = middle + size * 0.68 + LEAST;
    this.rooms.set(k, isAside ? [left + w * 0.45, top, w * 0.52, h] : [left, below, w, top + h - below]);
  }
}
