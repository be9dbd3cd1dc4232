// What closed groups do, where their names leave room: a bar for each rank, of what it has sent, and how full the links
// are that leave the group and that enter it.

import { percent, rateText } from "../trace/words.js";
import { sentOf } from "../trace/sent.js";
import { faint } from "../paint/ink.js";
import { LEAST } from "../paint/labels.js";
import { RED, loadColour, loadLevel } from "../paint/load.js";

const EDGE = 4;
const ROW = { least: 4, most: 14 }; // pixels of a bar of load
const WORDS = 44; // pixels for a share in figures
const BAR = { most: 14, least: 2 }; // pixels across a rank's
const SHARE = 0.45; // of the room for the ranks' bars, of its height or, where it is broad, of its width
const BROAD = 2.5; // times as wide as high
const BAND = { high: 20, edge: 8 }; // pixels of the words on a bar between tiles
const seen = new WeakSet(); // runs that have been drawn before
const WAYS = ["↑", "↓"];

// The bars between tiles, each with the links that end there.
function bandsOf({ links }, { devices }, level) {
  const bars = Object.keys(devices.wide ?? {}).filter((d) => level.in[d] < 0);
  const bands = new Map(bars.map((d) => [Number(d), []]));
  if (bands.size) for (const [link, d] of links.dst.entries()) bands.get(d)?.push(link);
  return bands;
}

export class Tiles {
  #links = new Map(); // of a group: those that leave it, and those that enter it
  #bands = new Map(); // of a bar between tiles: the links that end there
  #ranks;
  #rooms;
  #scene;
  #timeline;

  // `rooms` has left, top, width and height of what is free in a closed group, in pixels, by its number.
  constructor(timeline, scene, level, rooms) {
    [this.#timeline, this.#scene, this.#rooms] = [timeline, scene, rooms];
    this.#ranks = new Map([...rooms.keys()].map((k) => [k, []]));
    for (const [d, k] of level.in.entries())
      if (scene.devices.rank[d] >= 0) this.#ranks.get(k)?.push(scene.devices.rank[d]);
    if (rooms.size) this.#bands = bandsOf(timeline, scene, level);
    for (const { a, b, links } of level.bundles)
      for (const [way, end] of [a, b].entries()) {
        const k = end - level.in.length;
        if (!this.#links.has(k)) this.#links.set(k, [[], []]);
        this.#links.get(k)[way].push(...links);
      }
  }

  // Bars of ranks wait for the second picture: what they have sent is counted once, which takes longer than the first.
  paint(g, t, colours) {
    if (!this.#rooms.size) return;
    const sent = seen.has(this.#timeline) && this.#timeline.count ? sentOf(this.#timeline) : null;
    const [bytes, loads] = [sent?.at(t), this.#timeline.loads(t)];
    const look = { g, colours, bytes, most: sent?.most, loads, waits: this.#scene.waitedFor(t) };
    look.room = this.#timeline.capacities(t);
    seen.add(this.#timeline);
    for (const [k, room] of this.#rooms) this.#paintOne(look, k, room);
  }

  // What a bar between tiles is, how fast its links are and how full, in words on its middle; over all that passes it.
  paintBands(g, t, camera, colours) {
    const [{ devices }, { bandwidth }] = [this.#scene, this.#timeline.links];
    const [loads, room] = [this.#timeline.loads(t), this.#timeline.capacities(t)];
    for (const [d, ends] of this.#bands) {
      if (!ends.length) continue;
      const [carried, most] = ends.reduce(([a, b], link) => [a + loads[link], b + room[link]], [0, 0]);
      const fastest = Math.max(...ends.map((link) => bandwidth[link]));
      const words = `${devices.label[d][0]}: ${ends.length} × ${rateText(fastest)}, ${percent(most ? carried / most : 0)}`;
      g.font = `600 ${LEAST}px ${colours.font}`;
      const wide = g.measureText(words).width + 2 * BAND.edge;
      const [x, y] = [camera.x(devices.x[d]), camera.y(devices.y[d])];
      g.beginPath();
      g.roundRect(x - wide / 2, y - BAND.high / 2, wide, BAND.high, 4);
      g.fillStyle = colours.surface;
      g.fill();
      g.strokeStyle = faint(colours, 0.4);
      g.lineWidth = 1;
      g.stroke();
      g.fillStyle = colours.ink;
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.fillText(words, x, y + 0.5);
    }
  }

  #paintOne(look, k, [left, top, wide, high]) {
    const [x, y, w, h] = [left + EDGE, top + EDGE, wide - 2 * EDGE, high - 2 * EDGE];
    if (w < 8 * BAR.least || h < 2 * ROW.least) return;
    const isBroad = w > BROAD * h;
    const [across, down] = isBroad ? [w * SHARE, 0] : [0, h * SHARE];
    if (look.bytes)
      this.#paintRanks(look, this.#ranks.get(k), isBroad ? [x, y, across - EDGE, h] : [x, y, w, down - EDGE]);
    const row = Math.min(ROW.most, (h - down) / 2);
    const first = isBroad ? y + h / 2 - row : y + down;
    for (const way of [0, 1])
      this.#paintLoad(look, this.#links.get(k)?.[way] ?? [], [x + across, first + way * row, w - across, row], way);
  }

  #paintRanks({ g, colours, bytes, most }, ranks, [x, y, w, h]) {
    const each = Math.min(BAR.most, w / Math.max(1, ranks.length));
    if (each < BAR.least || h < 4) return;
    for (const [k, rank] of ranks.entries()) {
      const high = (h * bytes[rank]) / (most || 1);
      g.fillStyle = faint(colours, 0.08);
      g.fillRect(x + k * each, y, each - 1, h);
      g.fillStyle = colours.load[2];
      g.fillRect(x + k * each, y + h - high, each - 1, high);
    }
  }

  #paintLoad({ g, colours, loads, room, waits }, links, [x, y, w, h], way) {
    const [carried, most] = links.reduce(([a, b], link) => [a + loads[link], b + room[link]], [0, 0]);
    const share = most > 0 ? carried / most : 0;
    const level = links.some(waits) ? RED : loadLevel(share);
    const isTold = h >= LEAST - 1 && w > 1.6 * WORDS;
    const [from, long] = isTold ? [x + LEAST, w - LEAST - WORDS] : [x, w];
    g.fillStyle = faint(colours, 0.08);
    g.fillRect(from, y + h * 0.2, long, h * 0.6);
    if (level) {
      g.fillStyle = loadColour(level, colours);
      g.fillRect(from, y + h * 0.2, long * Math.min(1, share), h * 0.6);
    }
    if (!isTold) return;
    g.font = `500 ${LEAST}px ${colours.font}`;
    g.textBaseline = "middle";
    g.fillStyle = colours.quiet;
    g.textAlign = "left";
    g.fillText(WAYS[way], x, y + h / 2);
    g.textAlign = "right";
    g.fillText(percent(share), x + w, y + h / 2);
  }
}
