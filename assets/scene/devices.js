// Devices as they stand on a picture: frames, names where they can be read, and what ranks hold, in small.

import { paintIcon } from "../paint/icons.js";
import { blockColour, faint } from "../paint/ink.js";
import { LEAST } from "../paint/labels.js";

const BAR = 6; // times as wide as high: its name stands at its end
const STRIP = 14; // pixels of height, beside its name, from which on a rank's slots are drawn on it

// Pixels of type, and of what is above a rank's slots.
const sizeOf = (wanted) => Math.max(LEAST, Math.min(15, wanted));
const headOf = (high) => sizeOf(high * 0.24) + 7;
const hasStrip = (high) => high > STRIP + LEAST;

export class Devices {
  #camera;
  #scene;
  #shown = -1;
  #timeline;

  constructor(timeline, scene, camera) {
    this.#timeline = timeline;
    this.#scene = scene;
    this.#camera = camera;
  }

  // Left, top, width and height of a device, in pixels.
  box(d) {
    const { devices } = this.#scene;
    const camera = this.#camera;
    const [wide, high] = this.#timeline.kinds[devices.kind[d]];
    const bar = devices.wide?.[d];
    const [w, h] = [bar ? bar * camera.wide : wide * camera.scale, high * camera.scale];
    return [camera.x(devices.x[d]) - w / 2, camera.y(devices.y[d]) - h / 2, w, h];
  }

  frame(g, d, { colour, width, fill }) {
    const [x, y, w, h] = this.box(d);
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

  // Those of `list` with their names, on a picture whose camera has moved.
  paint(g, list, labels, colours) {
    const { devices } = this.#scene;
    this.#shown = -1;
    const rankLook = {
      frame: { colour: faint(colours, 0.5), width: 1.2, fill: colours.surface },
      fill: colours.ink,
      weight: 600,
    };
    const otherLook = {
      frame: { colour: faint(colours, 0.3), width: 1, fill: colours.surface },
      fill: colours.quiet,
      weight: 500,
    };
    for (const d of list) {
      const look = devices.rank[d] >= 0 ? rankLook : otherLook;
      this.frame(g, d, { ...look.frame, width: Math.min(look.frame.width, this.#camera.scale / 8) });
      const isNamed = devices.rank[d] >= 0 ? this.#rankName(d, look, labels) : this.#name(d, look, labels);
      if (!isNamed) paintIcon(g, devices.kind[d], this.box(d), look.fill);
      const [x, y, w, h] = this.box(d);
      labels.take([x, y, x + w, y + h]);
    }
  }

  // A rank's name, or the shorter: its number; nothing of it is below its line.
  #rankName(d, { fill, weight }, labels) {
    const [x, y, w, h] = this.box(d);
    const size = sizeOf(h * 0.24);
    if (h < size - 1) return false;
    const word = labels.fitting(this.#scene.devices.label[d], w - 2, { size, weight });
    const down = hasStrip(h) ? headOf(h) / 2 + 2 : h / 2;
    return labels.write(word, x + w / 2, y + down, { size, weight, fill, above: true });
  }

  // The name of any other device: above what passes it, at the end of a bar, whose middle messages cross.
  #name(d, { fill, weight }, labels) {
    const { label, wide } = this.#scene.devices;
    const [x, y, w, h] = this.box(d);
    const size = sizeOf(h * 0.5);
    if (h < size + 1) return false;
    const word = labels.fitting(label[d], w - 2, { size, weight });
    const look = { size, weight, fill, above: true };
    if (wide?.[d] && w > BAR * h) return labels.write(word, x + h / 2, y + h / 2, { ...look, align: "left" });
    return labels.write(word, x + w / 2, y + h / 2, look);
  }

  // What ranks hold, in small: only of those where something has landed since the last picture. Whether any was painted.
  paintContents(g, list, t, colours) {
    const timeline = this.#timeline;
    const held = timeline.held(t);
    if (!held || held.done === this.#shown) return false;
    const changed = new Set();
    const { slots } = timeline.meta;
    const some =
      this.#shown >= 0 && timeline.landed(this.#shown, held.done, (place) => changed.add(Math.floor(place / slots)));
    this.#shown = held.done;
    const { rank } = this.#scene.devices;
    for (const d of list) if (rank[d] >= 0 && (!some || changed.has(rank[d]))) this.#strip(g, held, d, colours);
    return true;
  }

  // A rank's slots in small: colour is the block, height is how many contributions are in.
  #strip(g, held, d, colours) {
    const rank = this.#scene.devices.rank[d];
    const [left, top, wide, tall] = this.box(d);
    if (!hasStrip(tall)) return;
    const [edge, head] = [wide * 0.08, headOf(tall)];
    const [x, y, w, room] = [left + edge, top + head, wide - 2 * edge, tall - head - edge];
    g.fillStyle = colours.surface;
    g.fillRect(x - 0.5, y, w + 1, room);
    const { slots, whole } = this.#timeline.meta;
    const shown = Math.min(slots, Math.floor(w / 2));
    const cell = w / shown;
    const hasNumbers = this.#hasNumbers(g, cell, room, colours);
    const h = hasNumbers ? room - LEAST : room;
    for (let s = 0; s < shown; s += 1) {
      const place = rank * slots + s;
      if (held.block[place] < 0) continue;
      const { count } = this.#timeline.contributors(held.set[place]);
      g.fillStyle = colours.panel;
      g.fillRect(x + s * cell, y, Math.max(1, cell - 1), h);
      g.fillStyle = blockColour(held.block[place], colours);
      const high = Math.max(1.5, (h * Math.min(count, whole)) / whole);
      g.fillRect(x + s * cell, y + h - high, Math.max(1, cell - 1), high);
      if (!hasNumbers) continue;
      g.fillStyle = colours.ink;
      g.fillText(this.#timeline.names.place(place, held), x + (s + 0.5) * cell - 0.5, y + room - LEAST / 2 + 1);
    }
  }

  // Whether there is room for the number of every slot below it; if so, they can be written.
  #hasNumbers(g, cell, room, colours) {
    const { values } = this.#timeline;
    if (!values || room < 2 * LEAST) return false;
    g.font = `600 ${LEAST}px ${colours.font}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    return g.measureText(values.longest).width + 2 <= cell;
  }

  // The one of `list` under a point, or -1.
  pick(list, px, py) {
    return (
      list.find((d) => {
        const [x, y, w, h] = this.box(d);
        return px > x && px < x + w && py > y && py < y + h;
      }) ?? -1
    );
  }
}
