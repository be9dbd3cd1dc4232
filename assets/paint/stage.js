// Blocks on their way between devices: over the machine's links, or along the algorithm's own shape.

import { offLine, pointAlong, walk } from "../trace/walk.js";
import { Ways } from "../trace/ways.js";
import { percent, rateText } from "../trace/words.js";
import { boxOf, paintBlocks, sideAt, sideOf } from "./blocks.js";
import { Camera } from "./camera.js";
import { Devices } from "./devices.js";
import { Frames } from "./frames.js";
import { Groups, Level } from "./groups.js";
import { MANY, faint, loadColour, loadLevel } from "./ink.js";
import { LEAST, Labels, lift } from "./labels.js";
import { Marks } from "./marks.js";

const RATES = 32;
const RATED = 34; // pixels per device width from which on rates are written
const LEAST_HIGH = 180;
const HAIR = 0.6; // pixels of a line that no message of this run takes
const ROOM = 70; // pixels of a bundle beside which its number stands

// `scene` says what stands where:
// `devices` with `x`, `y`, `kind`, `name`, `rank`, `boxes`; `lines` as points and their `widths` in pixels;
// `shares(t)` how full every line is, `faulty(t)` which cannot carry what they should, `path(i)` a transfer's way,
// `focus` what a line is called when it is chosen, `device(d)` which of the machine's devices a drawn one is.
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
  #marks;
  #seen = [];
  #shares = null;
  #shown = null; // the columns of the run on the backdrop
  #still = null;
  #surface;
  #thin;
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
    this.#groups = new Groups(devices);
    this.#frames = new Frames(devices.boxes, this.#groups, this.camera);
  }

  layout(surface, { width, most, least = 0 }) {
    surface.resize(width, least || Math.max(LEAST_HIGH, Math.min(this.camera.height(width), most)));
    this.#surface = surface;
    this.camera.fit(width, surface.height);
    this.#turn = -1;
  }

  // Find what is seen from where the camera stands.
  #look() {
    const { camera, scene } = this;
    [this.#turn, this.#shown] = [camera.turn, this.timeline.c];
    this.#thin = Math.min(1, 0.3 + camera.scale / 80);
    this.#level = new Level(this.timeline, scene, this.#groups, camera.scale);
    const [left, top, right, bottom] = camera.view;
    const { x, y } = scene.devices;
    this.#seen = [...x.keys()].filter(
      (d) => this.#level.in[d] < 0 && x[d] > left - 6 && x[d] < right + 6 && y[d] > top - 1 && y[d] < bottom + 1,
    );
    this.#ways = new Ways(this.timeline, this.#groups, this.#level);
    this.#backdrop = null;
  }

  // Frames and lines, behind all else.
  #paintBackdrop(g) {
    const { scene } = this;
    const { colours } = this.#surface;
    const [plain, pale] = [faint(colours, 0.22), faint(colours, 0.12)];
    this.#frames.paint(g, colours);
    const { used } = scene;
    for (const k of this.#level.alone) {
      const isIdle = used && !used[k];
      g.strokeStyle = isIdle ? pale : plain;
      this.#stroke(g, scene.lines[k], isIdle ? HAIR : scene.widths[k] * this.#thin);
    }
    g.strokeStyle = plain;
    for (const bundle of this.#level.bundles) this.#stroke(g, bundle.points, this.#width(bundle));
  }

  // Devices and names, over lines.
  #paintFront(g) {
    const { colours } = this.#surface;
    this.#labels = new Labels(g, colours.font);
    this.#devices.paint(g, this.#seen, this.#labels, colours);
    this.#frames.paintTitles(g, this.#level, this.#labels, colours);
    this.#marks = new Marks(this.timeline, this.scene, this.#level, this.#frames.rooms);
    this.#marks.paint(g, colours);
  }

  paint(t, { focus, lit, veil, travel }) {
    const { scene } = this;
    const { context: g, colours } = this.#surface;
    this.#paintStill(t, focus?.kind === scene.focus ? focus.index : -1);
    g.lineCap = "round";
    const framed = focus?.kind === "device" ? this.#drawnAs(focus.index) : -1;
    if (framed >= 0) this.#devices.frame(g, framed, { colour: colours.accent, width: 3 });
    veil?.(g);
    this.#paintBlocks(g, t, { focus, lit, travel });
    this.#paintSigns(g, scene.faulty(t));
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
    const g = surface.blank();
    const apart = (paint) => {
      g.save();
      paint();
      g.restore();
    };
    apart(() => this.#paintBackdrop(g));
    apart(() => this.#strokeLoads(g, this.#loads(t)));
    apart(() => this.#paintLine(g, line));
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
    this.#paintLine(g, this.#line);
    surface.lay(this.#front, g);
    return g;
  }

  #paintLine(g, line) {
    if (line < 0) return;
    g.lineCap = "round";
    g.strokeStyle = this.#surface.colours.accent;
    this.#stroke(g, this.scene.lines[line], this.scene.widths[line] + 3);
  }

  // A line through points in device widths.
  #follow(g, points) {
    const { camera } = this;
    g.moveTo(camera.x(points[0][0]), camera.y(points[0][1]));
    for (let j = 1; j < points.length; j += 1) g.lineTo(camera.x(points[j][0]), camera.y(points[j][1]));
  }

  #stroke(g, points, width) {
    g.lineWidth = width;
    g.beginPath();
    this.#follow(g, points);
    g.stroke();
  }

  // Pixels across a bundle: wider the more it can carry beside the others.
  #width({ links }) {
    const { bandwidth } = this.timeline.links;
    const carried = links.reduce((sum, link) => sum + bandwidth[link], 0);
    return 1.5 + 1.1 * Math.log2(1 + carried / Math.max(...links.map((link) => bandwidth[link])));
  }

  // Loads stay as they are while no flow begins, ends or changes: only then are lines painted again. Whether they were.
  #paintLoads(t) {
    const shares = this.scene.shares(t);
    if (this.#levels && shares === this.#shares) return false;
    this.#shares = shares;
    const loads = this.#loads(t);
    if (this.#levels?.every((level, k) => level === loads.levels[k])) return false;
    this.#levels = loads.levels;
    this.#surface.clear(this.#flow);
    this.#strokeLoads(this.#flow, loads);
    return true;
  }

  // How full every line is drawn, and how full bundles are.
  #loads(t) {
    const { scene, timeline } = this;
    const { alone, bundles } = this.#level;
    const shares = scene.shares(t);
    const [loads, room] = bundles.length ? [timeline.loads(t), timeline.capacities(t)] : [];
    const full = bundles.map(({ links }) => {
      const [carried, most] = links.reduce(([a, b], link) => [a + loads[link], b + room[link]], [0, 0]);
      return most > 0 ? carried / most : 0;
    });
    return { full, levels: Uint8Array.from([...alone.map((k) => shares[k]), ...full], loadLevel) };
  }

  // Lines of one colour and width at a stroke.
  #strokeLoads(g, { full, levels }) {
    const [{ scene }, { alone, bundles }] = [this, this.#level];
    g.lineCap = "round";
    const strokes = new Map();
    levels.forEach((level, k) => {
      if (!level) return;
      const bundle = bundles[k - alone.length];
      const width = bundle ? this.#width(bundle) : (scene.widths[alone[k]] + 0.8) * this.#thin;
      const key = level * 1000 + width;
      if (!strokes.has(key)) strokes.set(key, { level, width, lines: [] });
      strokes.get(key).lines.push(bundle ? bundle.points : scene.lines[alone[k]]);
    });
    for (const { level, width, lines } of strokes.values()) {
      g.strokeStyle = loadColour(level);
      g.lineWidth = width;
      g.beginPath();
      for (const points of lines) this.#follow(g, points);
      g.stroke();
    }
    this.#paintNumbers(g, full);
  }

  // How many cables a bundle is, how fast each, and how full all are; where there is room.
  #paintNumbers(g, full) {
    const { camera, timeline } = this;
    const { colours } = this.#surface;
    const labels = this.#besideDevices(g);
    this.#level.bundles.forEach(({ links, points: [[ax, ay], [bx, by]] }, k) => {
      if (Math.hypot(bx - ax, by - ay) * camera.scale < ROOM) return;
      const rate = rateText(timeline.links.bandwidth[links[0]]);
      const word = `${links.length > 1 ? `${links.length} × ` : ""}${rate}${full[k] > 0 ? `, ${percent(full[k])}` : ""}`;
      const [x, y] = [camera.x((ax + bx) / 2), camera.y((ay + by) / 2)];
      labels.write(word, x, y, { size: LEAST, weight: 600, fill: colours.ink, paper: colours.paper });
    });
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

  #paintBlocks(g, t, { focus, lit, travel }) {
    const { camera, timeline } = this;
    const { colours } = this.#surface;
    const side = sideAt(camera.scale);
    this.#drawn = [];
    const within = [];
    for (const i of timeline.moving(t)) {
      const path = this.#level.path(i);
      if (!path) {
        within.push(i);
        continue;
      }
      const { x, y } = this.#ways.standing(i, path, timeline.progress(i, t));
      this.#drawn.push({ i, x: camera.x(x), y: camera.y(y) });
    }
    this.#marks.paintFlights(g, within, t);
    travel?.(this.#drawn);
    const chosen = focus?.kind === "block" ? focus.index : -1;
    const boxes =
      this.#drawn.length > MANY ? [] : this.#drawn.map((each) => boxOf(each, sideOf(timeline, each.i, side)));
    const words = this.#labels.passed(boxes);
    paintBlocks(g, timeline, this.#drawn, { side, colours, lit, chosen, words });
    lift(g, words, colours.panel);
    if (this.#drawn.length <= RATES && camera.scale > RATED) this.#paintRates(g, t, side);
  }

  // The rates of blocks that others slow down, below them, where there is room.
  #paintRates(g, t, side) {
    const { timeline } = this;
    const { colours } = this.#surface;
    const labels = new Labels(g, colours.font);
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
