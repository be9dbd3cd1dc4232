// Canvases without a browser: they write down what is painted, with the style it is painted in.

import { paints } from "../../assets/paint/ink.js";

const STYLES = ["fillStyle", "strokeStyle", "lineWidth", "globalAlpha", "font"];

class Path {
  constructor() {
    this.points = [];
  }

  beginPath() {
    this.points = [];
  }

  moveTo(x, y) {
    this.points.push([x, y]);
  }

  lineTo(x, y) {
    this.points.push([x, y]);
  }
}

class Context extends Path {
  constructor(canvas) {
    super();
    Object.assign(this, { canvas, calls: [], globalAlpha: 1 });
    for (const name of [
      "clearRect",
      "clip",
      "drawImage",
      "fillRect",
      "fillText",
      "putImageData",
      "reset",
      "restore",
      "save",
      "setLineDash",
      "strokeRect",
      "strokeText",
    ]) {
      this[name] = (...args) => this.write(name, args);
    }
  }

  write(name, args) {
    this.calls.push({ name, args, ...Object.fromEntries(STYLES.map((style) => [style, this[style]])) });
  }

  stroke(path = this) {
    this.write("stroke", [path.points]);
  }

  fill() {
    this.write("fill", [this.points]);
  }

  rect(x, y, w, h) {
    this.points.push([x, y], [x + w, y + h]);
  }

  roundRect(x, y, w, h) {
    this.points.push([x, y], [x + w, y + h]);
  }

  arc(x, y, radius) {
    this.points.push([x, y, radius]);
  }

  createLinearGradient() {
    return { addColorStop() {} };
  }

  setTransform(ratio) {
    this.ratio = ratio;
  }

  measureText(text) {
    return { width: 6 * text.length };
  }

  // The colour of the last filling, where it is written #rrggbb.
  getImageData() {
    const hex = /^#(..)(..)(..)$/.exec(this.fillStyle)?.slice(1) ?? ["80", "80", "80"];
    return { data: Uint8ClampedArray.from([...hex.map((part) => Number.parseInt(part, 16)), 255]) };
  }
}

export class Canvas {
  constructor(width, height) {
    Object.assign(this, { width, height, style: {} });
  }

  getContext() {
    this.context ??= new Context(this);
    return this.context;
  }
}

class Pixels {
  constructor(width, height) {
    Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
  }
}

Object.assign(globalThis, { OffscreenCanvas: Canvas, Path2D: Path, ImageData: Pixels });

export const COLOURS = { ...paints(false), accent: "#0000ff", font: "serif" };
