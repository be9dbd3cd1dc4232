// Blocks on their way between devices: over the machine's links, or along the algorithm's own shape.

import { offLine, pointAlong, walk } from "../trace/walk.js";
import { percent, rateText } from "../trace/words.js";
import { paintBlocks, paintDots } from "./blocks.js";
import { MANY, SIGN, blockColour, faint, loadColour, loadLevel, quiet } from "./ink.js";

const RATES = 32;
const SMALL = 6;
const LEAST_HIGH = 200;
const LARGEST = 78;

// Where device widths come to stand on a surface.
class Camera {
  constructor([left, top, wide, high], width, height) {
    this.scale = Math.min(width / (wide + 0.5), height / (high + 0.5), LARGEST);
    this.left = (width - wide * this.scale) / 2 - left * this.scale;
    this.top = (height - high * this.scale) / 2 - top * this.scale;
  }

  x(units) {
    return this.left + units * this.scale;
  }

  y(units) {
    return this.top + units * this.scale;
  }
}

// `scene` says what stands where:
// `devices` with `x`, `y`, `kind`, `name`, `rank`, `boxes`; `lines` as points and their `widths` in pixels;
// `shares(t)` how full every line is, `troubled(t)` which cannot carry what they should, `path(i)` a transfer's way,
// `focus` what a line is called when it is chosen, `device(d)` which of the machine's devices a drawn one is.
export class Stage {
  #backdrop;
  #camera;
  #drawn = [];
  #flow;
  #front;
  #frame;
  #levels = null;
  #shown = -1;
  #surface;
  #thin;

  constructor(timeline, scene) {
    this.timeline = timeline;
    this.scene = scene;
    const { devices, lines } = scene;
    const [low, high] = [
      [0, 0],
      [devices.width, devices.height],
    ];
    for (const [x, y] of lines.flat()) {
      [low[0], low[1]] = [Math.min(low[0], x), Math.min(low[1], y + 0.15)];
      [high[0], high[1]] = [Math.max(high[0], x), Math.max(high[1], y + 0.15)];
    }
    this.#frame = [...low, high[0] - low[0], high[1] - low[1]];
  }

  layout(surface, { width, most }) {
    const [, , wide, high] = this.#frame;
    const height = Math.max(LEAST_HIGH, Math.min((width * (high + 0.6)) / (wide + 0.6), most));
    surface.resize(width, height);
    this.#surface = surface;
    this.#camera = new Camera(this.#frame, width, height);
    this.#thin = Math.min(1, 0.35 + this.#camera.scale / 80);
    this.#backdrop = surface.layer();
    this.#paintBoxes(this.#backdrop);
    const pale = faint(surface.colours, 0.2);
    this.scene.lines.forEach((_, k) => this.#paintLine(this.#backdrop, k, pale, this.scene.widths[k]));
    this.#front = surface.layer();
    this.#paintDevices(this.#front);
    this.#shown = -1;
    this.#flow = surface.layer();
    this.#levels = null;
  }

  paint(t, { focus, lit }) {
    const { scene } = this;
    const surface = this.#surface;
    const { context: g, colours } = surface;
    surface.clear();
    surface.lay(this.#backdrop);
    this.#paintLoads(t);
    surface.lay(this.#flow);
    g.lineCap = "round";
    if (focus?.kind === scene.focus) this.#paintLine(g, focus.index, colours.accent, scene.widths[focus.index] + 3);
    this.#paintContents(t);
    surface.lay(this.#front);
    if (focus?.kind === "device") this.#paintFrame(g, this.#drawnAs(focus.index), { colour: colours.accent, width: 3 });
    this.#paintBlocks(g, t, focus, lit);
    for (const spell of scene.troubled(t)) this.#paintSign(g, spell);
  }

  #paintBoxes(g) {
    const { colours } = this.#surface;
    const camera = this.#camera;
    for (const [label, kind, x, y, width, height] of this.scene.devices.boxes) {
      g.beginPath();
      g.roundRect(camera.x(x), camera.y(y), width * camera.scale, height * camera.scale, 8);
      g.fillStyle = faint(colours, kind === "host" ? 0.025 : 0.05);
      g.fill();
      g.strokeStyle = faint(colours, 0.14);
      g.lineWidth = 1;
      g.stroke();
      const size = Math.min(13, camera.scale * 0.42);
      if (size < SMALL) continue;
      g.fillStyle = quiet(colours);
      g.font = `600 ${size}px ${colours.font}`;
      g.textAlign = "left";
      g.textBaseline = "top";
      g.fillText(label, camera.x(x) + camera.scale * 0.3, camera.y(y) + camera.scale * 0.22);
    }
  }

  #follow(g, line) {
    const camera = this.#camera;
    const points = this.scene.lines[line];
    g.moveTo(camera.x(points[0][0]), camera.y(points[0][1]));
    for (let j = 1; j < points.length; j += 1) g.lineTo(camera.x(points[j][0]), camera.y(points[j][1]));
  }

  #paintLine(g, line, colour, width) {
    g.beginPath();
    this.#follow(g, line);
    g.strokeStyle = colour;
    g.lineWidth = width * this.#thin;
    g.stroke();
  }

  // Loads stay as they are while no flow begins, ends or changes: only then are lines painted again, those of one
  // colour and width at a stroke.
  #paintLoads(t) {
    const { scene } = this;
    const levels = Uint8Array.from(scene.shares(t), loadLevel);
    if (this.#levels?.every((level, k) => level === levels[k])) return;
    this.#levels = levels;
    const g = this.#flow;
    this.#surface.clear(g);
    g.lineCap = "round";
    const strokes = new Map();
    levels.forEach((level, line) => {
      if (!level) return;
      const width = scene.widths[line] + 0.8;
      const key = level * 1000 + width;
      if (!strokes.has(key)) strokes.set(key, { level, width, lines: [] });
      strokes.get(key).lines.push(line);
    });
    for (const { level, width, lines } of strokes.values()) {
      g.strokeStyle = loadColour(level);
      g.lineWidth = width * this.#thin;
      g.beginPath();
      for (const line of lines) this.#follow(g, line);
      g.stroke();
    }
  }

  // A link that cannot carry what the machine says: a sign with what is left of it, nearer to where it comes from.
  #paintSign(g, { link, share }) {
    const { colours } = this.#surface;
    const { x, y } = pointAlong(walk(this.scene.lines[link]), SIGN);
    const [left, middle] = [this.#camera.x(x), this.#camera.y(y)];
    const text = share > 0 ? percent(share) : "✕";
    g.font = `700 11px ${colours.font}`;
    const half = g.measureText(text).width / 2 + 5;
    g.fillStyle = colours.paper;
    g.beginPath();
    g.roundRect(left - half, middle - 9, 2 * half, 18, 9);
    g.fill();
    g.strokeStyle = colours.ink;
    g.lineWidth = 2;
    g.stroke();
    g.fillStyle = colours.ink;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(text, left, middle + 0.5);
  }

  // Left, top, width and height of a device.
  #box(d) {
    const { devices } = this.scene;
    const camera = this.#camera;
    const [w, h] = this.timeline.kinds[devices.kind[d]].map((side) => side * camera.scale);
    return [camera.x(devices.x[d]) - w / 2, camera.y(devices.y[d]) - h / 2, w, h];
  }

  #paintFrame(g, d, { colour, width, fill }) {
    const [x, y, w, h] = this.#box(d);
    g.beginPath();
    g.roundRect(x, y, w, h, Math.min(6, h / 4));
    if (fill) {
      g.fillStyle = fill;
      g.fill();
    }
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.stroke();
  }

  // Devices and their names change with the size alone.
  #paintDevices(g) {
    const { timeline } = this;
    const { colours } = this.#surface;
    const { devices } = this.scene;
    const rankLook = {
      frame: { colour: colours.ink, width: 1.4, fill: colours.paper },
      text: colours.ink,
      weight: 600,
    };
    const otherLook = {
      frame: { colour: faint(colours, 0.35), width: 1, fill: colours.panel },
      text: quiet(colours),
      weight: 500,
    };
    devices.kind.forEach((_, d) => {
      const [x, y, w, h] = this.#box(d);
      const isRank = devices.rank[d] >= 0;
      const look = isRank ? rankLook : otherLook;
      const whole = isRank ? timeline.rankName(devices.rank[d]) : devices.name[d];
      this.#paintFrame(g, d, look.frame);
      const sizeOf = (text) => Math.min(13, h * (isRank ? 0.27 : 0.6), (w * 1.5) / Math.max(4, text.length));
      // A box says which host it is: where there is little room, the device's own name does.
      const name = sizeOf(whole) < 5 ? whole.slice(whole.lastIndexOf(".") + 1) : whole;
      const size = sizeOf(name);
      if (size < 5) return;
      g.fillStyle = look.text;
      g.font = `${look.weight} ${size}px ${colours.font}`;
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.fillText(name, x + w / 2, y + h * (isRank ? 0.2 : 0.5));
    });
  }

  // What ranks hold, in small, on their devices: only of those where something has landed since the last picture.
  #paintContents(t) {
    const { timeline } = this;
    const held = timeline.held(t);
    if (!held || held.done === this.#shown) return;
    const changed = new Set();
    const { slots } = timeline.meta;
    const some =
      this.#shown >= 0 && timeline.landed(this.#shown, held.done, (place) => changed.add(Math.floor(place / slots)));
    this.#shown = held.done;
    this.scene.devices.rank.forEach((rank, d) => {
      if (rank >= 0 && (!some || changed.has(rank))) this.#paintStrip(this.#front, held, rank, d);
    });
  }

  // A rank's slots in small: colour is the block, height is how many contributions are in.
  #paintStrip(g, held, rank, d) {
    const [left, top, wide, tall] = this.#box(d);
    if (tall <= 14) return;
    const [x, y, w, h] = [left + 3, top + tall * 0.64, wide - 6, tall * 0.3];
    g.fillStyle = this.#surface.colours.paper;
    g.fillRect(x - 0.5, y, w + 1, h);
    const { slots, whole } = this.timeline.meta;
    const shown = Math.min(slots, Math.floor(w / 2));
    const cell = w / shown;
    for (let s = 0; s < shown; s += 1) {
      const place = rank * slots + s;
      if (held.block[place] < 0) continue;
      const { count } = this.timeline.contributors(held.set[place]);
      g.fillStyle = blockColour(held.block[place]);
      g.globalAlpha = 0.28;
      g.fillRect(x + s * cell, y, Math.max(1, cell - 1), h);
      g.globalAlpha = 1;
      const high = Math.max(1.5, (h * Math.min(count, whole)) / whole);
      g.fillRect(x + s * cell, y + h - high, Math.max(1, cell - 1), high);
    }
  }

  // Which of the drawn devices one of the machine's is.
  #drawnAs(device) {
    return this.scene.devices.kind.findIndex((_, d) => this.scene.device(d) === device);
  }

  #paintBlocks(g, t, focus, lit) {
    const { timeline, scene } = this;
    const { colours } = this.#surface;
    const camera = this.#camera;
    const side = Math.max(SMALL, Math.min(24, camera.scale * 0.42));
    this.#drawn = timeline.moving(t).map((i) => {
      const { x, y } = pointAlong(scene.path(i), timeline.progress(i, t));
      return { i, x: camera.x(x), y: camera.y(y) };
    });
    if (side <= SMALL && this.#drawn.length > RATES && this.#drawn.length <= MANY) {
      paintDots(g, timeline, this.#drawn, { side, colours, lit });
      return;
    }
    const chosen = focus?.kind === "block" ? focus.index : -1;
    if (this.#drawn.length > RATES || camera.scale <= 34) {
      paintBlocks(g, timeline, this.#drawn, { side, colours, lit, chosen });
      return;
    }
    for (const block of this.#drawn) {
      paintBlocks(g, timeline, [block], { side, colours, lit, chosen });
      if (timeline.squeeze(block.i, t) >= 0)
        this.#paintRate(g, rateText(timeline.rate(block.i, t)), block.x, block.y + side / 2);
    }
  }

  // A rate below a block.
  #paintRate(g, text, x, y) {
    const { colours } = this.#surface;
    g.font = `600 11px ${colours.font}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    const half = g.measureText(text).width / 2 + 4;
    g.fillStyle = colours.ink;
    g.beginPath();
    g.roundRect(x - half, y + 2, 2 * half, 14, 4);
    g.fill();
    g.fillStyle = colours.paper;
    g.fillText(text, x, y + 9.5);
  }

  // What is under the pointer: a block, a device or a line.
  pick(px, py) {
    const near = Math.max(9, this.#camera.scale * 0.25);
    const block = this.#drawn.findLast(({ x, y }) => Math.hypot(x - px, y - py) < near);
    if (block) return { kind: "block", index: block.i };
    const device = this.scene.devices.kind.findIndex((_, d) => {
      const [x, y, w, h] = this.#box(d);
      return px > x && px < x + w && py > y && py < y + h;
    });
    return device >= 0 ? { kind: "device", index: this.scene.device(device) } : this.#pickLine(px, py);
  }

  #pickLine(px, py) {
    const camera = this.#camera;
    let [best, near] = [null, 7];
    this.scene.lines.forEach((points, line) => {
      for (let j = 1; j < points.length; j += 1) {
        const [ax, ay] = [camera.x(points[j - 1][0]), camera.y(points[j - 1][1])];
        const off = offLine(px, py, ax, ay, camera.x(points[j][0]), camera.y(points[j][1]));
        if (off < near) [best, near] = [{ kind: this.scene.focus, index: line }, off];
      }
    });
    return best;
  }
}
