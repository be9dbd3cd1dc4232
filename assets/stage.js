// Blocks on their way between devices: over the machine's links, or along the algorithm's own shape.

import { blockColour, blockNumber, faint, fit, inkOn, loadColour, loadLevel, quiet } from "./paint.js";
import { percent, rateText } from "./explain.js";
import { PALETTE } from "./palette.js";
import { pointAlong, walk } from "./timeline.js";

const DEVICE = { GPU: [1.2, 0.95], NVS: [1.5, 0.55], PCI: [1.0, 0.46], CPU: [1.1, 0.6], NIC: [0.9, 0.46], NET: [1.9, 0.6] };
const SIDE = 0.1;
const LEVEL = 0.3;
export const MANY = 500;
const RATES = 32;
const SMALL = 6;

// The way a link is drawn: straight, kept to its right; in an arc where it would run through a row of devices.
function linkPoints(devices, a, b) {
  const [ax, ay, bx, by] = [devices.x[a], devices.y[a], devices.x[b], devices.y[b]];
  const [wide, high] = [bx - ax, by - ay];
  const length = Math.hypot(wide, high) || 1;
  const [beyond, upwards, most] = devices.bow;
  const level = Math.abs(high) < LEVEL && length > beyond;
  if (level || (Math.abs(wide) < LEVEL && length > upwards)) {
    const sag = Math.min(0.42 + 0.16 * length, most) + (wide + high > 0 ? 0 : SIDE * 1.6);
    return Array.from({ length: 13 }, (_, k) => {
      const u = k / 12;
      const off = sag * 3 * u * (1 - u);
      return [ax + wide * u + (level ? 0 : off), ay + high * u + (level ? off : 0)];
    });
  }
  const [nx, ny] = [-high / length, wide / length];
  return [[ax + nx * SIDE, ay + ny * SIDE], [bx + nx * SIDE, by + ny * SIDE]];
}

// What a stage shows: devices, the lines between them, the line a transfer follows, how full every line is.
export function machine(timeline) {
  const { c, devices, links, paths } = timeline;
  const lines = links.src.map((a, k) => linkPoints(devices, a, links.dst[k]));
  const [widest, least] = [Math.max(...links.bandwidth), Math.min(...links.bandwidth)];
  const widths = links.bandwidth.map((b) => (widest > least ? 1.2 + (4.2 * Math.log(b / least)) / Math.log(widest / least) : 2.4));
  (paths ?? []).forEach((path, route) => {
    const points = [];
    for (let k = c.route_start[route]; k < c.route_start[route + 1]; k += 1) {
      const link = c.route_link[k];
      const from = c.node[c.node_start[route] + (k - c.route_start[route])];
      points.push(...(links.src[link] === from ? lines[link] : [...lines[link]].reverse()));
    }
    if (points.length) Object.assign(path, walk(points));
  });
  const [shares, troubled] = [(t) => timeline.shares(t), (t) => timeline.troubled(t)];
  return { devices, lines, widths, shares, troubled, focus: "link", path: (i) => paths[c.route[i]] };
}

// The same run with every rank where the algorithm's shape puts it; null where that would be a smudge.
export function shape(timeline) {
  const { c, shape: drawn, meta } = timeline;
  if (!drawn) return null;
  const places = drawn.x.length;
  const kind = drawn.x.map((_, r) => (r < meta.ranks ? "GPU" : "NVS"));
  const rank = drawn.x.map((_, r) => (r < meta.ranks ? r : -1));
  const host = timeline.places.device.map((d) => timeline.devices.name[d]);
  const devices = { ...drawn, kind, rank, name: host };
  const lines = drawn.src.map((a, k) => linkPoints(devices, a, drawn.dst[k]));
  const walked = lines.map(walk);
  const pair = new Map(drawn.src.map((a, k) => [a * places + drawn.dst[k], k]));
  const between = (i) => pair.get(c.src[i] * places + c.dst[i]);
  const shares = (t) => {
    const found = new Float64Array(lines.length);
    const room = timeline.capacities(t);
    for (const i of timeline.moving(t)) {
      const narrowest = Math.min(...Array.from(timeline.links_of(i), (link) => room[link]));
      if (narrowest > 0) found[between(i)] = Math.max(found[between(i)], timeline.rate(i, t) / narrowest);
    }
    return found;
  };
  const widths = lines.map(() => 1.6);
  return { devices, lines, widths, shares, troubled: () => [], focus: "pair", path: (i) => walked[between(i)] };
}

export class Stage {
  constructor(timeline, geometry) {
    Object.assign(this, { timeline, geometry });
    const { devices, lines } = geometry;
    const xs = [0, devices.width, ...lines.flat().map(([x]) => x)];
    const ys = [0, devices.height, ...lines.flat().map(([, y]) => y + 0.15)];
    this.origin = [Math.min(...xs), Math.min(...ys)];
    this.size = [Math.max(...xs) - this.origin[0], Math.max(...ys) - this.origin[1]];
  }

  height(width, most) {
    const wanted = (width * (this.size[1] + 0.6)) / (this.size[0] + 0.6);
    return Math.max(200, Math.min(wanted, most));
  }

  resize(canvas, width, most, colours) {
    const height = this.height(width, most);
    this.context = fit(canvas, width, height);
    this.scale = Math.min(width / (this.size[0] + 0.5), height / (this.size[1] + 0.5), 78);
    this.left = (width - this.size[0] * this.scale) / 2 - this.origin[0] * this.scale;
    this.top = (height - this.size[1] * this.scale) / 2 - this.origin[1] * this.scale;
    [this.width, this.high, this.colours] = [width, height, colours];
    this.thin = Math.min(1, 0.35 + this.scale / 80);
    this.backdrop = document.createElement("canvas");
    const back = fit(this.backdrop, width, height);
    this._boxes(back);
    this.geometry.lines.forEach((_, k) => this._line(back, k, faint(colours, 0.2), this.geometry.widths[k]));
    this.front = document.createElement("canvas");
    this.inner = fit(this.front, width, height);
    this._devices(this.inner);
    this.shown = -1;
    this.flow = document.createElement("canvas");
    this.flowing = fit(this.flow, width, height);
    this.levels = null;
  }

  x(units) { return this.left + units * this.scale; }
  y(units) { return this.top + units * this.scale; }

  _boxes(g) {
    for (const [label, kind, x, y, width, height] of this.geometry.devices.boxes) {
      g.beginPath();
      g.roundRect(this.x(x), this.y(y), width * this.scale, height * this.scale, 8);
      g.fillStyle = faint(this.colours, kind === "host" ? 0.025 : 0.05);
      g.fill();
      g.strokeStyle = faint(this.colours, 0.14);
      g.lineWidth = 1;
      g.stroke();
      const size = Math.min(13, this.scale * 0.42);
      if (size < 6) continue;
      g.fillStyle = quiet(this.colours);
      g.font = `600 ${size}px ${this.colours.font}`;
      g.textAlign = "left";
      g.textBaseline = "top";
      g.fillText(label, this.x(x) + this.scale * 0.3, this.y(y) + this.scale * 0.22);
    }
  }

  _trace(g, k) {
    this.geometry.lines[k].forEach(([x, y], j) => (j ? g.lineTo(this.x(x), this.y(y)) : g.moveTo(this.x(x), this.y(y))));
  }

  _line(g, k, colour, width) {
    g.beginPath();
    this._trace(g, k);
    g.strokeStyle = colour;
    g.lineWidth = width * this.thin;
    g.stroke();
  }

  paint(t, focus, lit) {
    const g = this.context;
    g.clearRect(0, 0, this.width, this.high);
    g.drawImage(this.backdrop, 0, 0, this.width, this.high);
    this._loads(t);
    g.drawImage(this.flow, 0, 0, this.width, this.high);
    g.lineCap = "round";
    if (focus?.kind === this.geometry.focus) this._line(g, focus.index, this.colours.accent, this.geometry.widths[focus.index] + 3);
    this._strips(t);
    g.drawImage(this.front, 0, 0, this.width, this.high);
    if (focus?.kind === "device") this._frame(g, this._device(focus.index), this.colours.accent, 3);
    this._blocks(g, t, focus, lit);
    for (const spell of this.geometry.troubled(t)) this._mark(g, spell);
  }

  // Loads stay as they are while no flow begins, ends or changes: only then are lines painted again, those of one
  // colour and width at a stroke.
  _loads(t) {
    const { geometry, flowing: g } = this;
    const levels = Uint8Array.from(geometry.shares(t), loadLevel);
    if (this.levels?.every((level, k) => level === levels[k])) return;
    this.levels = levels;
    g.clearRect(0, 0, this.width, this.high);
    g.lineCap = "round";
    const strokes = new Map();
    levels.forEach((level, k) => {
      if (!level) return;
      const width = geometry.widths[k] + 0.8;
      const key = level * 1000 + width;
      if (!strokes.has(key)) strokes.set(key, { level, width, lines: [] });
      strokes.get(key).lines.push(k);
    });
    for (const { level, width, lines } of strokes.values()) {
      g.strokeStyle = loadColour(level);
      g.lineWidth = width * this.thin;
      g.beginPath();
      for (const k of lines) this._trace(g, k);
      g.stroke();
    }
  }

  // A link that cannot carry what the machine says: a sign with what is left of it, nearer to where it comes from.
  _mark(g, { link, share }) {
    const { x, y } = pointAlong(walk(this.geometry.lines[link]), 0.36);
    const text = share > 0 ? percent(share) : "✕";
    g.font = `700 11px ${this.colours.font}`;
    const half = g.measureText(text).width / 2 + 5;
    g.fillStyle = this.colours.paper;
    g.beginPath();
    g.roundRect(this.x(x) - half, this.y(y) - 9, 2 * half, 18, 9);
    g.fill();
    g.strokeStyle = this.colours.ink;
    g.lineWidth = 2;
    g.stroke();
    g.fillStyle = this.colours.ink;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(text, this.x(x), this.y(y) + 0.5);
  }

  _box(d) {
    const { devices } = this.geometry;
    const [w, h] = DEVICE[devices.kind[d]].map((side) => side * this.scale);
    return [this.x(devices.x[d]) - w / 2, this.y(devices.y[d]) - h / 2, w, h];
  }

  _frame(g, d, colour, width, fill) {
    const [x, y, w, h] = this._box(d);
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
  _devices(g) {
    const { timeline, colours } = this;
    const { devices } = this.geometry;
    devices.kind.forEach((_, d) => {
      const [x, y, w, h] = this._box(d);
      const rank = devices.rank[d];
      const name = rank >= 0 ? timeline.rankName(rank) : devices.name[d];
      if (rank >= 0) this._frame(g, d, colours.ink, 1.4, colours.paper);
      else this._frame(g, d, faint(colours, 0.35), 1, colours.panel);
      const size = Math.min(13, h * (rank >= 0 ? 0.27 : 0.52), (w * 1.5) / Math.max(6, name.length));
      if (size < 5) return;
      g.fillStyle = rank >= 0 ? colours.ink : quiet(colours);
      g.font = `${rank >= 0 ? 600 : 500} ${size}px ${colours.font}`;
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.fillText(name, x + w / 2, rank >= 0 ? y + h * 0.2 : y + h / 2);
    });
  }

  // What ranks hold, in small, on their devices: only of those where something has landed since the last picture.
  _strips(t) {
    const { timeline } = this;
    const held = timeline.held(t);
    if (!held || held.done === this.shown) return;
    const changed = new Set();
    const { slots } = timeline.meta;
    const some = this.shown >= 0 && timeline.landed(this.shown, held.done, (place) => changed.add(Math.floor(place / slots)));
    this.shown = held.done;
    this.geometry.devices.rank.forEach((rank, d) => {
      const [x, y, w, h] = this._box(d);
      if (rank < 0 || h <= 14 || (some && !changed.has(rank))) return;
      this.inner.fillStyle = this.colours.paper;
      this.inner.fillRect(x + 2.5, y + h * 0.64, w - 5, h * 0.3);
      this._strip(this.inner, held, rank, x + 3, y + h * 0.64, w - 6, h * 0.3);
    });
  }

  // A device of the machine as one of the drawn ones, and the other way round.
  _device(index) {
    return this.geometry.focus === "link" ? index : this.timeline.places.device.indexOf(index);
  }

  // A rank's slots in small: colour is the block, height is how many contributions are in.
  _strip(g, held, rank, x, y, w, h) {
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

  _blocks(g, t, focus, lit) {
    const { timeline } = this;
    const side = Math.max(6, Math.min(24, this.scale * 0.42));
    this.drawn = timeline.moving(t).map((i) => {
      const { x, y } = pointAlong(this.geometry.path(i), timeline.progress(i, t));
      return { i, x: this.x(x), y: this.y(y) };
    });
    const many = this.drawn.length > MANY;
    if (many || (side <= SMALL && this.drawn.length > RATES)) {
      paintDots(g, timeline, this.drawn, lit, many ? 4 : side, this.colours);
      return;
    }
    const rates = this.drawn.length <= RATES && this.scale > 34;
    for (const { i, x, y } of this.drawn) {
      if (lit?.has(i)) paintHalo(g, x, y, side, this.colours);
      paintBlock(g, timeline, i, x, y, side, this.colours, focus?.kind === "block" && focus.index === i);
      if (!rates || timeline.squeeze(i, t) < 0) continue;
      const text = rateText(timeline.rate(i, t));
      g.font = `600 11px ${this.colours.font}`;
      const half = g.measureText(text).width / 2 + 4;
      g.fillStyle = this.colours.ink;
      g.beginPath();
      g.roundRect(x - half, y + side / 2 + 2, 2 * half, 14, 4);
      g.fill();
      g.fillStyle = this.colours.paper;
      g.fillText(text, x, y + side / 2 + 9.5);
    }
  }

  // What is under the pointer: a block, a device or a link.
  pick(px, py) {
    for (const { i, x, y } of [...(this.drawn ?? [])].reverse()) {
      if (Math.hypot(x - px, y - py) < Math.max(9, this.scale * 0.25)) return { kind: "block", index: i };
    }
    const { devices, lines, focus } = this.geometry;
    for (let d = 0; d < devices.kind.length; d += 1) {
      const [w, h] = DEVICE[devices.kind[d]];
      if (Math.abs(px - this.x(devices.x[d])) < (w * this.scale) / 2 && Math.abs(py - this.y(devices.y[d])) < (h * this.scale) / 2) {
        return { kind: "device", index: focus === "link" ? d : this.timeline.places.device[d] };
      }
    }
    let [best, near] = [null, 7];
    lines.forEach((points, k) => {
      for (let j = 1; j < points.length; j += 1) {
        const off = offLine(px, py, this.x(points[j - 1][0]), this.y(points[j - 1][1]), this.x(points[j][0]), this.y(points[j][1]));
        if (off < near) [best, near] = [{ kind: focus, index: k }, off];
      }
    });
    return best;
  }
}

// How far a point is from a stretch of line.
export function offLine(px, py, ax, ay, bx, by) {
  const span = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
  const u = Math.max(0, Math.min(1, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / span));
  return Math.hypot(px - ax - u * (bx - ax), py - ay - u * (by - ay));
}

export function paintHalo(g, x, y, side, colours) {
  g.beginPath();
  g.arc(x, y, side * 0.95, 0, 7);
  g.strokeStyle = colours.accent;
  g.lineWidth = 3;
  g.stroke();
}

// Very many blocks: dots, colour by colour.
export function paintDots(g, timeline, drawn, lit, side, colours) {
  if (lit) for (const { i, x, y } of drawn) if (lit.has(i)) paintHalo(g, x, y, side, colours);
  const { block } = timeline.c;
  const dots = PALETTE.blocks.map(() => []);
  const half = Math.max(2, side / 2);
  if (half > 2) {
    g.fillStyle = colours.ink;
    for (const { x, y } of drawn) g.fillRect(x - half - 1, y - half - 1, 2 * half + 2, 2 * half + 2);
  }
  for (const dot of drawn) dots[blockNumber(block[timeline.moveStart[dot.i]])].push(dot);
  dots.forEach((same, number) => {
    g.fillStyle = PALETTE.blocks[number];
    for (const { x, y } of same) g.fillRect(x - half, y - half, 2 * half, 2 * half);
  });
}

// A block with its name, or a dot when it is small.
export function paintBlock(g, timeline, i, x, y, side, colours, chosen) {
  const m = timeline.moveStart[i];
  const block = timeline.c.block[m];
  const colour = blockColour(block);
  g.beginPath();
  if (side < 6) g.rect(x - side / 2, y - side / 2, side, side);
  else g.roundRect(x - side / 2, y - side / 2, side, side, side / 5);
  g.fillStyle = colour;
  g.fill();
  if (side < 6) return;
  g.lineWidth = chosen ? 3 : 1.2;
  g.strokeStyle = colours.ink;
  g.stroke();
  const label = timeline.c.moves[i] > 1 ? `${timeline.c.moves[i]}×` : timeline.blockName(block);
  const size = Math.min(side * 0.62, (side * 1.5) / label.length);
  if (size < 6) return;
  g.fillStyle = inkOn(colour);
  g.font = `700 ${size}px ${colours.font}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(label, x, y + size * 0.06);
}
