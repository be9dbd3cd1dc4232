// Levels of detail: what stands too close to be told apart is drawn as one tile, and cables between tiles as one bundle.

import { walk } from "../trace/walk.js";

const OPEN = 14; // pixels per device width from which on devices are drawn one by one
const BROAD = 2; // times as wide as high: its name stands at its left, and bundles meet it at its right
const LANES = [0.55, 0.95]; // shares of a broad tile's width between which they do
const BARE = 8; // and those that stand in a group besides the groups in it
const TILE = 40; // pixels across from which on the groups within a group are
const SHOULDER = 0.3; // device widths from the end of a bar
const ASIDE = 3; // pixels between the two ways of a bundle
const CLOSING = new Set(["host", "pod", "rack", "group"]);

const holds = ([, , left, top, wide, high], x, y) => x > left && x < left + wide && y > top && y < top + high;
const area = ([, , , , wide, high]) => wide * high;

export class Groups {
  // `devices` have `x`, `y` and `boxes`, of which those that can be closed are groups.
  constructor({ x, y, boxes, rank }) {
    this.boxes = boxes.filter(([, kind]) => CLOSING.has(kind)).toSorted((a, b) => area(b) - area(a));
    const parents = this.boxes.map((box, k) =>
      this.boxes.findLastIndex((outer, j) => j < k && holds(outer, box[2] + box[4] / 2, box[3] + box[5] / 2)),
    );
    this.parents = parents;
    this.inner = this.boxes.map((_, k) => parents.indexOf(k));
    this.home = Int32Array.from(x, (_, d) => this.boxes.findLastIndex((box) => holds(box, x[d], y[d])));
    this.ranks = this.boxes.map(() => 0);
    this.home.forEach((group, d) => {
      for (let k = group; k >= 0 && rank[d] >= 0; k = parents[k]) this.ranks[k] += 1;
    });
  }

  // Whether a group that is drawn as one thing is broad: one of GPUs has its name at the left and cables at the right.
  isBroad(k) {
    const [, , , , wide, high] = this.boxes[k];
    return wide > BROAD * high;
  }

  // Whether it is a bar, which is switches alone: cables meet it wherever they come from.
  isBar(k) {
    return this.isBroad(k) && !this.ranks[k];
  }

  // The groups that are drawn as one thing at so many pixels per device width.
  closed(scale) {
    const isClosed = (k) => {
      const within = this.inner[k];
      if (within < 0) return scale < OPEN;
      const [, , , , wide, high] = this.boxes[within];
      return scale < BARE || Math.min(wide, high) * scale < TILE;
    };
    if (this.boxes.length < 2) return new Set();
    const closed = new Set();
    this.boxes.forEach((_, k) => {
      for (let up = this.parents[k]; up >= 0; up = this.parents[up]) if (closed.has(up)) return;
      if (isClosed(k)) closed.add(k);
    });
    return closed;
  }

  // For every device the closed group that it is drawn in, or -1.
  shownIn(closed) {
    return this.home.map((group) => {
      for (let k = group; k >= 0; k = this.parents[k]) if (closed.has(k)) return k;
      return -1;
    });
  }
}

// What is drawn when some groups are closed: bundles of links between tiles and devices, and the links left alone.
export class Level {
  // The box of the tile with ranks in it that is at a place, or null.
  tileAt(x, y) {
    const { boxes, ranks } = this.groups;
    return boxes[[...this.closed].find((k) => ranks[k] && holds(boxes[k], x, y))] ?? null;
  }

  #bundles = new Map();
  #paths = new Map();
  #scene;
  #timeline;

  constructor(timeline, scene, groups, scale) {
    this.#timeline = timeline;
    this.#scene = scene;
    this.groups = groups;
    this.closed = groups.closed(scale);
    this.key = [...this.closed].join();
    this.in = groups.shownIn(this.closed);
    this.alone = [];
    this.inside = new Map([...this.closed].map((k) => [k, []]));
    if (this.closed.size) this.#bundle(scale);
    else this.alone = scene.lines.map((_, k) => k).filter((k) => !this.#isHidden(k));
  }

  get bundles() {
    return [...this.#bundles.values()];
  }

  // Whether a line ends at a device that is folded away.
  #isHidden(line) {
    const { isHidden } = this.#scene;
    const { src, dst } = this.#timeline.links;
    return Boolean(isHidden) && (isHidden(src[line]) || isHidden(dst[line]));
  }

  // A number for what a device is drawn as: itself, or the tile it is in.
  #end(device) {
    return this.in[device] < 0 ? device : this.in.length + this.in[device];
  }

  name(end) {
    return end < this.in.length ? this.#scene.devices.label[end][0] : this.groups.boxes[end - this.in.length][0];
  }

  #middle(end) {
    const { devices } = this.#scene;
    if (end < this.in.length) return [devices.x[end], devices.y[end]];
    const [, , left, top, wide, high] = this.groups.boxes[end - this.in.length];
    return [left + wide / 2, top + high / 2];
  }

  // Where a line to another end meets one: its middle, or of a tile that is a bar where that is nearest.
  #met(end, other) {
    const [x, y] = this.#middle(end);
    if (end < this.in.length) return [this.#alongBar(end, other) ?? x, y];
    const [, , left, , wide, high] = this.groups.boxes[end - this.in.length];
    if (!this.groups.isBar(end - this.in.length)) return [this.#lane(end, other) ?? x, y];
    const toward = this.#lane(other, end) ?? this.#middle(other)[0];
    return [Math.max(left + high / 2, Math.min(left + wide - high / 2, toward)), y];
  }

  // Where a device that is a bar is met: nearest to where the other end is.
  #alongBar(device, other) {
    const wide = this.#scene.devices.wide?.[device];
    if (!wide) return null;
    const toward = this.#lane(other, device) ?? this.#middle(other)[0];
    const x = this.#scene.devices.x[device];
    return Math.max(x - wide / 2 + SHOULDER, Math.min(x + wide / 2 - SHOULDER, toward));
  }

  // Where a broad tile is met from above or below: the more tiles between, the farther to the right.
  #lane(end, other) {
    if (end < this.in.length) return null;
    const k = end - this.in.length;
    if (!this.groups.isBroad(k) || this.groups.isBar(k)) return null;
    const [, , left, top, wide, high] = this.groups.boxes[k];
    const [from, to] = [top + high / 2, this.#middle(other)[1]].toSorted((a, b) => a - b);
    const column = [...this.closed].map((j) => this.groups.boxes[j]).filter(([, , x]) => Math.abs(x - left) < 1);
    const between = column.filter(([, , , y, , h]) => y + h / 2 > from && y + h / 2 < to).length;
    return (
      left + wide * (LANES[0] + (LANES[1] - LANES[0]) * Math.min(1, (between + 0.5) / Math.max(1, column.length / 2)))
    );
  }

  #bundle(scale) {
    const { src, dst } = this.#timeline.links;
    const count = this.in.length + this.groups.boxes.length;
    src.forEach((from, link) => {
      const [a, b] = [this.#end(from), this.#end(dst[link])];
      if (a === b) this.inside.get(a - this.in.length)?.push(link);
      else if (a < this.in.length && b < this.in.length) {
        if (!this.#isHidden(link)) this.alone.push(link);
      } else {
        const key = a * count + b;
        if (!this.#bundles.has(key)) this.#bundles.set(key, { a, b, links: [], points: this.#points(a, b, scale) });
        this.#bundles.get(key).links.push(link);
      }
    });
  }

  // A bundle's line, kept to its right.
  #points(a, b, scale) {
    const [[ax, ay], [bx, by]] = [this.#met(a, b), this.#met(b, a)];
    const away = Math.hypot(bx - ax, by - ay) || 1;
    const [dx, dy] = [(-(by - ay) / away) * (ASIDE / scale), ((bx - ax) / away) * (ASIDE / scale)];
    return [
      [ax + dx, ay + dy],
      [bx + dx, by + dy],
    ];
  }

  // The way of transfer i along what is drawn; null where it stays within one tile.
  path(i) {
    if (!this.closed.size) return this.#scene.path(i);
    const { c } = this.#timeline;
    const route = c.route[i];
    if (!this.#paths.has(route)) this.#paths.set(route, this.#path(c.node_start[route], c.node_start[route + 1]));
    return this.#paths.get(route);
  }

  #path(first, stop) {
    const { node } = this.#timeline.c;
    const count = this.in.length + this.groups.boxes.length;
    const points = [];
    for (let k = first + 1; k < stop; k += 1) {
      const [a, b] = [this.#end(node[k - 1]), this.#end(node[k])];
      if (a !== b) points.push(...(this.#bundles.get(a * count + b)?.points ?? [this.#middle(a), this.#middle(b)]));
    }
    return points.length > 1 ? walk(points) : null;
  }

  // The tile that a transfer stays in: its name and where its middle is, in device widths.
  tile(i) {
    const { c } = this.#timeline;
    const end = this.#end(c.node[c.node_start[c.route[i]]]);
    const [x, y] = this.#middle(end);
    return { x, y, name: this.name(end) };
  }
}
