// Where cards, other devices, cables and the ways of messages are: the machine's own places, stretched to a board's size.

import { walk } from "../trace/walk.js";

const MOST_WIDE = 270;
const LEAST_WIDE = 74;
const NARROWER = 4;
const GAP = 12;
const MARGIN = 2;
const ASIDE = 5; // pixels from a cable's middle to the lane of one direction
const TURN = 10; // points of a way through a device
const SMALL = { wide: 76, high: 34 };
const SWITCH = { wide: 0.2, high: 0.16 }; // of the board, so that messages through it pass each other

// Whether two boxes stand closer to each other than they may.
export const meets = ([ax, ay, aw, ah], [bx, by, bw, bh]) =>
  ax < bx + bw + GAP && bx < ax + aw + GAP && ay < by + bh + GAP && by < ay + ah + GAP;

// How far along from a to b a box around a ends, as a share.
function leaves([ax, ay], [bx, by], w, h) {
  const [dx, dy] = [Math.abs(bx - ax), Math.abs(by - ay)];
  return Math.min(1, dx > 0 ? w / 2 / dx : Infinity, dy > 0 ? h / 2 / dy : Infinity);
}

const towards = ([ax, ay], [bx, by], share) => [ax + (bx - ax) * share, ay + (by - ay) * share];

// A value as a share of the way from the least of all to the greatest.
function spread(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => (high > low ? (value - low) / (high - low) : 0.5);
}

// The same, with those of `even` evenly apart, so that cards have room, and others between them as they were.
function spaced(values, even) {
  const share = spread(values);
  const knots = [...new Set(even.map((value) => Math.round(share(value) * 1e3) / 1e3))].toSorted((a, b) => a - b);
  const last = knots.length - 1;
  if (last < 1) return share;
  return (value) => {
    const at = Math.max(knots[0], Math.min(knots[last], share(value)));
    const k = Math.min(
      last - 1,
      knots.findLastIndex((knot) => knot <= at),
    );
    return (k + (at - knots[k]) / (knots[k + 1] - knots[k])) / last;
  };
}

// A bow from one point to another, bent towards a third; without its ends.
function bow(before, middle, after) {
  return Array.from({ length: TURN - 1 }, (_, k) => {
    const u = (k + 1) / TURN;
    return towards(towards(before, middle, u), towards(middle, after, u), u);
  });
}

export class Plan {
  #boxes;
  #centres;
  #paths = new Map();
  #timeline;

  constructor(timeline, width, height, cardHigh) {
    this.#timeline = timeline;
    const { links } = timeline;
    this.used = links.src.map((_, k) => k).filter((k) => links.bytes[k] > 0);
    const { rank, kind } = timeline.devices;
    const placed = [...new Set([...this.used.flatMap((k) => [links.src[k], links.dst[k]]), ...timeline.places.device])];
    const ranks = placed.filter((d) => rank[d] >= 0);
    const others = placed.filter((d) => rank[d] < 0);
    for (let wide = MOST_WIDE; wide >= LEAST_WIDE; wide -= NARROWER) {
      this.#place(placed, { width, height, wide, cardHigh });
      if (!this.#isCrowded(ranks)) break;
    }
    const numbered = ranks.toSorted((a, b) => rank[a] - rank[b]);
    this.cards = numbered.map((d) => ({ rank: rank[d], box: this.#boxes.get(d) }));
    this.others = others.map((d) => ({ name: timeline.devices.name[d], kind: kind[d], box: this.#boxes.get(d) }));
    this.lanes = this.used.map((link) => ({ link, points: this.#lane(links.src[link], links.dst[link]) }));
  }

  // Boxes around the machine's places, with cards so wide.
  #place(placed, { width, height, wide, cardHigh }) {
    const { devices } = this.#timeline;
    const cards = placed.filter((d) => devices.rank[d] >= 0).map((d) => devices.x[d]);
    const across = spaced(
      placed.map((d) => devices.x[d]),
      cards,
    );
    const down = spread(placed.map((d) => devices.y[d]));
    this.#boxes = new Map();
    this.#centres = new Map();
    for (const d of placed) {
      const [w, h] = this.#extent(d, { width, height, wide, cardHigh });
      const at = (share, room, size) => MARGIN + size / 2 + share * (room - size - 2 * MARGIN);
      const x = at(across(devices.x[d]), width, wide);
      const y = at(down(devices.y[d]), height, h);
      this.#centres.set(d, [x, y]);
      this.#boxes.set(d, [x - w / 2, y - h / 2, w, h]);
    }
  }

  #extent(d, { width, height, wide, cardHigh }) {
    const { rank, kind } = this.#timeline.devices;
    if (rank[d] >= 0) return [wide, cardHigh];
    if (kind[d] === "NVS") return [SWITCH.wide * width, SWITCH.high * height];
    return [Math.min(SMALL.wide, wide), SMALL.high];
  }

  #isCrowded(ranks) {
    const boxes = [...this.#boxes];
    return ranks.some((d) => boxes.some(([other, box]) => other !== d && meets(this.#boxes.get(d), box)));
  }

  // One direction of a cable: beside its middle, to the right of the way.
  #lane(from, to) {
    const [[ax, ay], [bx, by]] = [this.#centres.get(from), this.#centres.get(to)];
    const away = Math.hypot(bx - ax, by - ay) || 1;
    const [x, y] = [(-(by - ay) / away) * ASIDE, ((bx - ax) / away) * ASIDE];
    return [
      [ax + x, ay + y],
      [bx + x, by + y],
    ];
  }

  // The part of a lane outside of the boxes at its ends.
  #open(from, to) {
    const [a, b] = this.#lane(from, to);
    const size = (d) => this.#boxes.get(d).slice(2);
    return [towards(a, b, leaves(a, b, ...size(from))), towards(b, a, leaves(b, a, ...size(to)))];
  }

  // A route's way: along its lanes, and in a bow through every device between.
  path(route) {
    if (this.#paths.has(route)) return this.#paths.get(route);
    const { c } = this.#timeline;
    const nodes = Array.from(c.node.subarray(c.node_start[route], c.node_start[route + 1]));
    const parts = nodes.slice(1).map((node, k) => this.#open(nodes[k], node));
    const points = [];
    parts.forEach((part, k) => {
      if (k) points.push(...bow(parts[k - 1][1], this.#centres.get(nodes[k]), part[0]));
      points.push(...part);
    });
    const way = walk(points);
    this.#paths.set(route, way);
    return way;
  }

  // Cables with how full the fuller of their directions is, and their places by share of the way.
  loads(shares) {
    const { links, devices } = this.#timeline;
    const cables = new Map();
    for (const link of this.used) {
      const [a, b] = [links.src[link], links.dst[link]].toSorted((p, q) => p - q);
      const key = `${a} ${b}`;
      const other = cables.get(key);
      if (!other || shares[link] > other.share) {
        const name = `${devices.name[links.src[link]]} → ${devices.name[links.dst[link]]}`;
        const [from, to] = this.#open(a, b);
        cables.set(key, { link: name, share: shares[link], at: (part) => towards(from, to, part) });
      }
    }
    return [...cables.values()];
  }
}
