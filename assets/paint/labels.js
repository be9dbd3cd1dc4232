// Words on a picture: none smaller than can be read, and none on top of another.

import { SIGN } from "./ink.js";

export const LEAST = 12; // pixels of type
const CELL = 64;
const PAD = 2;
const TALL = 18; // pixels of a sign
const ALONG = [SIGN, ...Array.from({ length: 19 }, (_, k) => (k + 1) / 20)].toSorted(
  (a, b) => Math.abs(a - SIGN) - Math.abs(b - SIGN),
); // shares of a line's way, the usual one first
const ASIDE = [0, 1.4, -1.4, 2.8, -2.8, 4.2, -4.2]; // half widths of a sign

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

function lay(g, [left, top, right, bottom], paper) {
  g.fillStyle = paper;
  g.beginPath();
  g.roundRect(left, top, right - left, bottom - top, 3);
  g.fill();
}

export class Labels {
  #above = [];
  #cells = new Map();
  #font;
  #others;
  #g;
  #wide = new Map(); // pixels, by what is written how: what fits is measured, and then written

  // Words keep clear of `others`, too.
  constructor(g, font, others = null) {
    this.#g = g;
    this.#font = font;
    this.#others = others;
  }

  *#near([left, top, right, bottom]) {
    for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x += 1)
      for (let y = Math.floor(top / CELL); y <= Math.floor(bottom / CELL); y += 1) yield x * 4096 + y;
  }

  isFree(box) {
    for (const cell of this.#near(box)) if (this.#cells.get(cell)?.some((other) => overlap(box, other))) return false;
    return this.#others?.isFree(box) ?? true;
  }

  // Keep what is within left, top, right and bottom free of words from now on.
  take(box) {
    for (const cell of this.#near(box)) {
      if (!this.#cells.has(cell)) this.#cells.set(cell, []);
      this.#cells.get(cell).push(box);
    }
  }

  // The first of some words, the longest first, that is no wider than `room`; nothing where none is.
  fitting(words, room, { size, weight = 500 }) {
    return words.find((word) => word && this.#width(word, size, weight) <= room) ?? "";
  }

  #width(word, size, weight) {
    const key = `${weight} ${size} ${word}`;
    if (!this.#wide.has(key)) {
      this.#g.font = `${weight} ${size}px ${this.#font}`;
      this.#wide.set(key, this.#g.measureText(word).width);
    }
    return this.#wide.get(key);
  }

  // Write words with their middle at a point, or their left edge, on `paper` where there is one; false without room.
  // Those that stand `above` what flies are painted again where something passes them.
  write(word, x, y, { size, weight = 500, fill, align = "center", paper = "", above = false }) {
    const g = this.#g;
    if (!word || size < LEAST) return false;
    const box = this.#around(word, x, y, { size, weight, align });
    if (!this.isFree(box)) return false;
    g.font = `${weight} ${size}px ${this.#font}`;
    this.take(box);
    if (above) this.#above.push({ word, x, y, box, font: g.font, fill, align });
    if (paper) lay(g, box, paper);
    g.fillStyle = fill;
    g.textAlign = align;
    g.textBaseline = "middle";
    g.fillText(word, x, y);
    return true;
  }

  #around(word, x, y, { size, weight, align }) {
    const wide = this.#width(word, size, weight);
    const left = align === "center" ? x - wide / 2 : x;
    return [left - PAD, y - size / 2 - PAD, left + wide + PAD, y + size / 2 + PAD];
  }

  // Write a sign on its place of a line, of which `at(share)` is a point and its direction; or as near to that as there is
  // room, along the line and then beside it.
  sign(word, at, { ink, paper, font }) {
    const g = this.#g;
    g.font = `700 ${LEAST}px ${font}`;
    const half = g.measureText(word).width / 2 + 5;
    const around = ([x, y]) => [x - half - 1, y - TALL / 2 - 1, x + half + 1, y + TALL / 2 + 1];
    const spots = ASIDE.flatMap((side) =>
      ALONG.map((share) => {
        const { x, y, dx, dy } = at(share);
        return [x - dy * side * half, y + dx * side * half];
      }),
    );
    const [x, y] = spots.find((spot) => this.isFree(around(spot))) ?? spots[0];
    this.take(around([x, y]));
    g.fillStyle = paper;
    g.beginPath();
    g.roundRect(x - half, y - TALL / 2, 2 * half, TALL, TALL / 2);
    g.fill();
    g.strokeStyle = ink;
    g.lineWidth = 2;
    g.stroke();
    g.fillStyle = ink;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(word, x, y + 0.5);
  }

  // Words above what flies that one of some boxes passes.
  passed(boxes) {
    return this.#above.filter(({ box }) => boxes.some((other) => overlap(box, other)));
  }
}

// Whether one of such words is where a box is.
export const isPassed = (words, box) => words.some((one) => overlap(one.box, box));

// Write such words once more, on paper over what passes them.
export function lift(g, words, paper) {
  g.textBaseline = "middle";
  for (const { word, x, y, box, font, fill, align } of words) {
    lay(g, box, paper);
    Object.assign(g, { font, fillStyle: fill, textAlign: align });
    g.fillText(word, x, y);
  }
}
