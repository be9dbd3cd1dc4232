// Lines between devices and bundles between tiles, as wide as they are fast and as dark as they are full.

import { percent, rateText } from "../trace/words.js";
import { faint } from "../paint/ink.js";
import { LEAST } from "../paint/labels.js";
import { RED, loadColour, loadLevel } from "../paint/load.js";

const HAIR = 0.6; // pixels of a line that no message of this run takes
const ROOM = 70; // pixels of a bundle beside which its number stands
const THICK = { least: 0.3, each: 1 / 80, most: 1.8 }; // of a line's width, by pixels per device width

const levelOf = (isRed, share) => (isRed ? RED : loadLevel(share));

export class Lines {
  #camera;
  #level;
  #scene;
  #thick = 1;
  #timeline;

  constructor(timeline, scene, camera) {
    [this.#timeline, this.#scene, this.#camera] = [timeline, scene, camera];
  }

  // What there is to be painted from where the camera stands.
  see(level) {
    this.#level = level;
    this.#thick = Math.min(THICK.most, THICK.least + this.#camera.scale * THICK.each);
  }

  // All of them, as if none carried anything.
  paintIdle(g, colours) {
    const { lines, used, widths } = this.#scene;
    const [plain, pale] = [faint(colours, 0.2), faint(colours, 0.12)];
    for (const k of this.#level.alone) {
      const isIdle = used && !used[k];
      g.strokeStyle = isIdle ? pale : plain;
      this.#stroke(g, lines[k], isIdle ? HAIR : widths[k] * this.#thick);
    }
    g.strokeStyle = plain;
    for (const bundle of this.#level.bundles) this.#stroke(g, bundle.points, this.#width(bundle));
  }

  // One that is chosen.
  paintChosen(g, line, colours) {
    if (line < 0) return;
    g.lineCap = "round";
    g.strokeStyle = colours.accent;
    this.#stroke(g, this.#scene.lines[line], this.#scene.widths[line] * this.#thick + 3);
  }

  // A line through points in device widths.
  #follow(g, points) {
    const camera = this.#camera;
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
    const { bandwidth } = this.#timeline.links;
    const carried = links.reduce((sum, link) => sum + bandwidth[link], 0);
    return 1.5 + 1.1 * Math.log2(1 + carried / Math.max(...links.map((link) => bandwidth[link])));
  }

  // How full every line is drawn, and how full bundles are.
  loads(t) {
    const [scene, timeline] = [this.#scene, this.#timeline];
    const { alone, bundles } = this.#level;
    const [shares, waits] = [scene.shares(t), scene.waitedFor(t)];
    const [loads, room] = bundles.length ? [timeline.loads(t), timeline.capacities(t)] : [];
    const full = bundles.map(({ links }) => {
      const [carried, most] = links.reduce(([a, b], link) => [a + loads[link], b + room[link]], [0, 0]);
      return most > 0 ? carried / most : 0;
    });
    const single = alone.map((k) => levelOf(waits(k), shares[k]));
    const together = bundles.map(({ links }, k) => levelOf(links.some(waits), full[k]));
    return { full, levels: Uint8Array.from([...single, ...together]) };
  }

  // Those that carry something, of one colour and width at a stroke; numbers stand where `labels` have room.
  paintLoads(g, { full, levels }, labels, colours) {
    const { widths, lines: points } = this.#scene;
    const { alone, bundles } = this.#level;
    g.lineCap = "round";
    const strokes = new Map();
    levels.forEach((level, k) => {
      if (!level) return;
      const bundle = bundles[k - alone.length];
      const width = bundle ? this.#width(bundle) : (widths[alone[k]] + 0.8) * this.#thick;
      const key = level * 1000 + width;
      if (!strokes.has(key)) strokes.set(key, { level, width, lines: [] });
      strokes.get(key).lines.push(bundle ? bundle.points : points[alone[k]]);
    });
    for (const { level, width, lines } of [...strokes.values()].toSorted((a, b) => a.level - b.level)) {
      g.strokeStyle = loadColour(level, colours);
      g.lineWidth = width;
      g.beginPath();
      for (const line of lines) this.#follow(g, line);
      g.stroke();
    }
    this.#paintNumbers(full, labels, colours);
  }

  // How many links a bundle is, how fast each, and how full all are.
  #paintNumbers(full, labels, colours) {
    const [camera, timeline] = [this.#camera, this.#timeline];
    this.#level.bundles.forEach(({ links, points: [[ax, ay], [bx, by]] }, k) => {
      if (Math.hypot(bx - ax, by - ay) * camera.scale < ROOM) return;
      const rate = rateText(timeline.links.bandwidth[links[0]]);
      const word = `${links.length > 1 ? `${links.length} × ` : ""}${rate}${full[k] > 0 ? `, ${percent(full[k])}` : ""}`;
      const [x, y] = [camera.x((ax + bx) / 2), camera.y((ay + by) / 2)];
      labels.write(word, x, y, { size: LEAST, weight: 600, fill: colours.ink, paper: colours.surface });
    });
  }
}
