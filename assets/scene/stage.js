// Blocks on their way between devices: over the machine's links, or along the algorithm's own shape.

import { offLine, pointAlong, walk } from "../trace/walk.js";
import { Ways } from "../trace/ways.js";
import { percent, rateText } from "../trace/words.js";
import { SMALL, boxOf, paintBlocks, paintTrails, sideAt, sideOf } from "../paint/blocks.js";
import { Camera } from "./camera.js";
import { Devices } from "./devices.js";
import { Frames } from "./frames.js";
import { Groups, Level } from "./groups.js";
import { MANY } from "../paint/ink.js";
import { Lines } from "./lines.js";
import { LEAST, Labels, lift } from "../paint/labels.js";
import { hasRoom, paintTelling } from "../paint/telling.js";
import { Tiles } from "./tiles.js";

const SUM = 13; // pixels of type of what becomes of numbers
const RATES = 32;
const TRAILED = 64; // blocks in flight, up to which they have trails
const RATED = 34; // pixels per device width from which on rates are written
const LEAST_HIGH = 180;
const INNER = 0.58; // of what is between the devices of a ring, across and down, that is clear of all others

// `scene` says what stands where:
// `devices` with `x`, `y`, `kind`, `name`, `rank`, `boxes`; `lines` as points and their `widths` in pixels;
// `shares(t)` how full every line is, `waitedFor(t)` says which are red, `faulty(t)` which cannot carry what they
// should, `path(i)` a transfer's way, `isRing` whether its middle is free, `isHidden(d)` what is folded away, `focus` what a line is called when it is chosen, `device(d)` which of the machine's devices a drawn one is.
export class Stage {
  #backdrop = null; // where the camera has stood for longer than a frame
  #devices;
  #drawn = [];
  #flow;
  #frames;
  #front;
  #groups;
  #labels;
  #level;
  #levels = null;
  #line = -1;
  #lines;
  #seen = [];
  #shares = null;
  #shown = null; // the columns of the run on the backdrop
  #still = null;
  #surface;
  #tiles;
  #turn = -1;
  #ways;

  constructor(timeline, scene) {
    this.timeline = timeline;
    this.scene = scene;
    const { devices, lines } = scene;
    const [low, high] = [
      [0, 0],
      [devices.width, devices.height],
    ];
    for (const [x, y] of lines.flat()) {
      [low[0], low[1]] = [Math.min(low[0], x), Math.min(low[1], y)];
      [high[0], high[1]] = [Math.max(high[0], x), Math.max(high[1], y)];
    }
    this.camera = new Camera([...low, high[0] - low[0], high[1] - low[1]]);
    this.#devices = new Devices(timeline, scene, this.camera);
    this.#lines = new Lines(timeline, scene, this.camera);
    this.#groups = new Groups(devices);
    this.#frames = new Frames(devices.boxes, this.#groups, this.camera);
  }

  // How high it is in a room.
  #high({ width, most, least = 0 }) {
    return least || Math.max(LEAST_HIGH, Math.min(this.camera.height(width), most));
  }

  // Whether it says what happens in its middle, in a room.
  tells(room) {
    this.camera.fit(room.width, this.#high(room));
    return this.scene.isRing && hasRoom(this.#middle);
  }

  // What is free within a ring: its middle, and as much around it as is clear of all devices.
  get #middle() {
    const { camera, scene } = this;
    const half = this.timeline.kinds.GPU.map((length) => (length * camera.scale) / 2);
    const [width, height] = [scene.devices.x.map((x) => camera.x(x)), scene.devices.y.map((y) => camera.y(y))].map(
      (at, k) => INNER * (Math.max(...at) - Math.min(...at) - 2 * half[k]),
    );
    const [left, top, wide, high] = camera.whole;
    return { x: camera.x(left + wide / 2), y: camera.y(top + high / 2), width, height };
  }

  layout(surface, room) {
    const { width } = room;
    surface.resize(width, this.#high(room));
    this.#surface = surface;
    this.camera.fit(width, surface.height);
    this.#turn = -1;
  }

  // Find what is seen from where the camera stands.
  #look() {
    const { camera, scene } = this;
    [this.#turn, this.#shown] = [camera.turn, this.timeline.c];
    this.#level = new Level(this.timeline, scene, this.#groups, camera.scale);
    this.#lines.see(this.#level);
    const [left, top, right, bottom] = camera.view;
    const { x, y } = scene.devices;
    this.#seen = [...x.keys()].filter(
      (d) =>
        !scene.isHidden?.(d) &&
        this.#level.in[d] < 0 &&
        x[d] > left - 6 &&
        x[d] < right + 6 &&
        y[d] > top - 1 &&
        y[d] < bottom + 1,
    );
    this.#ways = new Ways(this.timeline, this.#groups, this.#level);
    this.#backdrop = null;
  }

  // Frames and lines, behind all else.
  #paintBackdrop(g) {
    const { colours } = this.#surface;
    this.#frames.paint(g, colours);
    this.#lines.paintIdle(g, colours);
  }

  // Devices and names, over lines.
  #paintFront(g) {
    const { colours } = this.#surface;
    this.#labels = new Labels(g, colours.font);
    this.#devices.paint(g, this.#seen, this.#labels, colours);
    this.#frames.paintTitles(g, this.#level, this.#labels, colours);
    this.#tiles = new Tiles(this.timeline, this.scene, this.#level, this.#frames.rooms);
  }

  paint(t, { focus, lit, veil, travel, told }) {
    const { scene } = this;
    const { context: g, colours } = this.#surface;
    this.#paintStill(t, focus?.kind === scene.focus ? focus.index : -1);
    g.lineCap = "round";
    const framed = focus?.kind === "device" ? this.#drawnAs(focus.index) : -1;
    if (framed >= 0) this.#devices.frame(g, framed, { colour: colours.accent, width: 3 });
    veil?.(g);
    if (told && scene.isRing && this.camera.isHome) paintTelling(g, this.#middle, told, colours);
    this.#paintBlocks(g, t, { focus, lit, travel });
    this.#paintSigns(g, scene.faulty(t));
    this.#paintSums(g, t);
  }

  // Write the last sum of every rank, like `5+2=7`, below the rank, or above it if there is no room.
  #paintSums(g, t) {
    const { values } = this.timeline;
    if (!values) return;
    const { colours } = this.#surface;
    const labels = new Labels(g, colours.font, this.#labels);
    for (const d of this.#seen) {
      const { [d]: rank } = this.scene.devices.rank;
      const happened = rank >= 0 ? values.happened(rank, t) : null;
      if (!happened) continue;
      const [x, y, w, h] = this.#devices.box(d);
      const look = { size: SUM, weight: 600, fill: colours.paper, paper: colours.ink };
      const places = [y + h + SUM, y - SUM];
      for (const place of places) if (labels.write(happened.sum, x + w / 2, place, look)) break;
    }
  }

  // Paint all that does not fly: right onto the surface where the camera has just come to stand. Who keeps looking gets
  // sheets, which are laid in no time but take longer to be made.
  #paintStill(t, line) {
    const surface = this.#surface;
    if (this.#turn !== this.camera.turn || this.#shown !== this.timeline.c) {
      this.#look();
      this.#paintAtOnce(t, line);
      return;
    }
    const isFirst = !this.#backdrop;
    if (isFirst) this.#spread();
    const isLoaded = this.#paintLoads(t);
    const isHeld = this.#devices.paintContents(this.#front, this.#seen, t, surface.colours);
    const isOther = isFirst || isLoaded || isHeld || line !== this.#line;
    this.#line = line;
    surface.clear();
    if (isOther) this.#still = null;
    else this.#still ??= this.#compose(surface.layer("still"));
    if (this.#still) surface.lay(this.#still);
    else this.#compose(surface.context);
  }

  #paintAtOnce(t, line) {
    const surface = this.#surface;
    const { colours } = surface;
    const g = surface.blank();
    const apart = (paint) => {
      g.save();
      paint();
      g.restore();
    };
    apart(() => this.#paintBackdrop(g));
    apart(() => this.#lines.paintLoads(g, this.#lines.loads(t), this.#besideDevices(g), colours));
    apart(() => this.#lines.paintChosen(g, line, colours));
    apart(() => this.#paintFront(g));
    this.#devices.paintContents(g, this.#seen, t, surface.colours);
  }

  // Have a sheet for each of what seldom changes.
  #spread() {
    const surface = this.#surface;
    this.#backdrop = surface.layer("backdrop");
    this.#paintBackdrop(this.#backdrop);
    this.#front = surface.layer("front");
    this.#paintFront(this.#front);
    this.#flow = surface.layer("flow");
    this.#levels = null;
  }

  // Lay all that does not fly, with a line that is chosen, on one sheet: where it stays as it was for a frame, that is less
  // to lay at every other one.
  #compose(g) {
    const surface = this.#surface;
    surface.lay(this.#backdrop, g);
    surface.lay(this.#flow, g);
    this.#lines.paintChosen(g, this.#line, surface.colours);
    surface.lay(this.#front, g);
    return g;
  }

  // Loads stay as they are while no flow begins, ends or changes: only then are lines painted again. Whether they were.
  #paintLoads(t) {
    const shares = this.scene.shares(t);
    if (this.#levels && shares === this.#shares) return false;
    this.#shares = shares;
    const loads = this.#lines.loads(t);
    if (this.#levels?.every((level, k) => level === loads.levels[k])) return false;
    this.#levels = loads.levels;
    this.#surface.clear(this.#flow);
    this.#lines.paintLoads(this.#flow, loads, this.#besideDevices(this.#flow), this.#surface.colours);
    return true;
  }

  // Words that keep clear of devices, and of groups that are drawn as one.
  #besideDevices(g) {
    const { camera } = this;
    const labels = new Labels(g, this.#surface.colours.font);
    for (const d of this.#seen) {
      const [x, y, w, h] = this.#devices.box(d);
      labels.take([x, y, x + w, y + h]);
    }
    for (const k of this.#level.closed) {
      const [, , x, y, w, h] = this.#groups.boxes[k];
      labels.take([camera.x(x), camera.y(y), camera.x(x + w), camera.y(y + h)]);
    }
    return labels;
  }

  // Links that cannot carry what the machine says: a sign with what is left of each, nearer to where it comes from.
  #paintSigns(g, faulty) {
    if (!faulty.length) return;
    const { camera, scene } = this;
    const labels = this.#besideDevices(g);
    for (const { link, share } of faulty) {
      const way = walk(scene.lines[link].map(([x, y]) => [camera.x(x), camera.y(y)]));
      labels.sign(share > 0 ? percent(share) : "✕", (along) => pointAlong(way, along), this.#surface.colours);
    }
  }

  // Which of the drawn devices one of the machine's is; -1 for one inside a closed group.
  #drawnAs(device) {
    return this.#seen.find((d) => this.scene.device(d) === device) ?? -1;
  }

  // Find where blocks are on their ways.
  #fly(t) {
    const { camera, timeline } = this;
    this.#drawn = [];
    for (const i of timeline.moving(t)) {
      const path = this.#level.path(i);
      if (!path) continue; // it stays within a tile
      const { x, y } = this.#ways.standing(i, path, timeline.progress(i, t));
      this.#drawn.push({ i, x: camera.x(x), y: camera.y(y) });
    }
  }

  #paintBlocks(g, t, { focus, lit, travel }) {
    const { camera, timeline } = this;
    const [{ colours }, side] = [this.#surface, sideAt(camera.scale)];
    this.#tiles.paint(g, t, colours);
    this.#fly(t);
    const trails = travel ? [] : this.#trails(t, side);
    paintTrails(g, timeline, trails, { side, colours });
    travel?.(this.#drawn);
    const chosen = focus?.kind === "block" ? focus.index : -1;
    const words = this.#labels.passed(this.#passing(trails, side));
    paintBlocks(g, timeline, this.#drawn, { side, colours, lit, chosen, words });
    this.#tiles.paintBands(g, t, camera, colours);
    lift(g, words, colours.surface);
    if (this.#drawn.length <= RATES && camera.scale > RATED) this.#paintRates(g, t, side);
  }

  // Where blocks came from, unless they are very many.
  #trails(t, side) {
    if (this.#drawn.length > TRAILED || side <= SMALL) return [];
    const { camera, timeline } = this;
    const points = (i) => this.#ways.trail(i, this.#level.path(i), timeline.progress(i, t));
    return this.#drawn.map(({ i }) => ({ i, points: points(i).map(({ x, y }) => [camera.x(x), camera.y(y)]) }));
  }

  // Boxes of all that may pass a name.
  #passing(trails, side) {
    if (this.#drawn.length > MANY) return [];
    const blocks = this.#drawn.map((each) => boxOf(each, sideOf(this.timeline, each.i, side)));
    return [...blocks, ...trails.flatMap(({ points }) => points.map(([x, y]) => boxOf({ x, y }, SMALL)))];
  }

  // The rates of blocks that others slow down, below them, where there is room.
  #paintRates(g, t, side) {
    const { timeline } = this;
    const { colours } = this.#surface;
    const labels = new Labels(g, colours.font, this.#labels);
    for (const { x, y } of this.#drawn) labels.take(boxOf({ x, y }, side));
    const look = { size: LEAST, weight: 600, fill: colours.paper, paper: colours.ink };
    for (const { i, x, y } of this.#drawn)
      if (timeline.squeeze(i, t) >= 0)
        labels.write(rateText(timeline.rate(i, t)), x, y + sideOf(timeline, i, side) / 2 + LEAST, look);
  }

  // Where everything under way is on the surface, by transfer; `bundle` names what it is drawn in where not alone.
  places(t) {
    const { camera, timeline } = this;
    const alone = new Map(this.#drawn.map(({ i, x, y }) => [i, { x, y, bundle: null }]));
    const many = alone.size > MANY;
    return new Map(
      timeline.moving(t).map((i) => {
        const place = alone.get(i);
        if (place) return [i, many ? { ...place, bundle: this.#lineOf(i, t) } : place];
        const { x, y, name } = this.#level.tile(i);
        return [i, { x: camera.x(x), y: camera.y(y), bundle: name }];
      }),
    );
  }

  // The name of the link that a message is on.
  #lineOf(i, t) {
    const { devices, links } = this.timeline;
    const along = this.timeline.linksOf(i);
    const link = along[Math.min(along.length - 1, Math.floor(this.timeline.progress(i, t) * along.length))];
    return `${devices.name[links.src[link]]} → ${devices.name[links.dst[link]]}`;
  }

  // Where ranks stand on the surface, by rank: `x`, `y`.
  ranks() {
    const { devices } = this.scene;
    return new Map(this.#seen.filter((d) => devices.rank[d] >= 0).map((d) => [devices.rank[d], this.#centre(d)]));
  }

  #centre(d) {
    const [x, y, w, h] = this.#devices.box(d);
    return { x: x + w / 2, y: y + h / 2 };
  }

  // Return the box of the tile at a point, or null.
  press(px, py) {
    const { camera } = this;
    return this.#level.tileAt((px - camera.left) / camera.wide, (py - camera.top) / camera.high);
  }

  // Return the box of the tile that contains a device of the machine, or null.
  tileOf(device) {
    const { devices } = this.scene;
    const d = devices.x.findIndex((_, k) => this.scene.device(k) === device);
    return (d < 0 ? null : this.#level?.tileAt(devices.x[d], devices.y[d])) ?? null;
  }

  // Whether a point is on the mark of idle devices.
  isMark(px, py) {
    return this.#frames.isMark(px, py);
  }

  // What is under the pointer: a block, a device or a line.
  pick(px, py) {
    const near = Math.max(9, this.camera.scale * 0.25);
    const block = this.#drawn.findLast(({ x, y }) => Math.hypot(x - px, y - py) < near);
    if (block) return { kind: "block", index: block.i };
    const device = this.#devices.pick(this.#seen, px, py);
    return device >= 0 ? { kind: "device", index: this.scene.device(device) } : this.#pickLine(px, py);
  }

  #pickLine(px, py) {
    const { camera } = this;
    let [best, near] = [null, 7];
    for (const line of this.#level.alone) {
      const points = this.scene.lines[line];
      for (let j = 1; j < points.length; j += 1) {
        const [ax, ay] = [camera.x(points[j - 1][0]), camera.y(points[j - 1][1])];
        const off = offLine(px, py, ax, ay, camera.x(points[j][0]), camera.y(points[j][1]));
        if (off < near) [best, near] = [{ kind: this.scene.focus, index: line }, off];
      }
    }
    return best;
  }
}
