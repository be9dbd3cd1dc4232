// Where blocks stand on their ways between devices.

import { pointAlong } from "./walk.js";

const CLEAR = 0.26; // device widths that a block keeps from the edges of the devices at its ends
const HALF = 1.4; // device widths, about half a hop, for which a block is seen to have come
const PIECES = 6;
const MOST_CLEAR = 0.42; // and at most so much of its way at either end

export class Ways {
  #groups;
  #level;
  #timeline;

  constructor(timeline, groups, level) {
    [this.#timeline, this.#groups, this.#level] = [timeline, groups, level];
  }

  // Where a block stands on its way: from the edge of the device it leaves to that of the one it goes to.
  standing(i, path, progress) {
    const whole = path.along.at(-1);
    if (!(whole > 0)) return pointAlong(path, 0);
    path.clear ??= [this.#reach(i, path.points, "src"), this.#reach(i, path.points.toReversed(), "dst")].map((reach) =>
      Math.min(reach, whole * MOST_CLEAR),
    );
    const [before, after] = path.clear;
    return pointAlong(path, (before + progress * (whole - before - after)) / whole);
  }

  // Points of the last half hop of a block, the oldest first.
  trail(i, path, progress) {
    const from = Math.max(0, progress - HALF / (path.along.at(-1) || HALF));
    return Array.from({ length: PIECES + 1 }, (_, k) =>
      this.standing(i, path, from + ((progress - from) * k) / PIECES),
    );
  }

  // How wide and high a device is drawn: as itself, or as the tile that it is in.
  #extent(device) {
    const { devices, kinds } = this.#timeline;
    const tile = this.#level.closed.size ? this.#level.in[device] : -1;
    return tile < 0 ? kinds[devices.kind[device]] : this.#groups.boxes[tile].slice(4, 6);
  }

  // How far it is along a line from the middle of a device until a block beside it would be clear of it.
  #reach(i, [[ax, ay], [bx, by]], end) {
    const [wide, high] = this.#extent(this.#timeline.places.device[this.#timeline.c[end][i]]);
    const away = Math.hypot(bx - ax, by - ay) || 1;
    const [dx, dy] = [Math.abs(bx - ax) / away, Math.abs(by - ay) / away];
    return Math.min(dx > 0 ? (wide / 2 + CLEAR) / dx : Infinity, dy > 0 ? (high / 2 + CLEAR) / dy : Infinity);
  }
}
