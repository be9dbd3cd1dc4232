// The old run in the picture of the new one: what is on its way at the same instant, and links as wide as they were, dashed.

import { paintBlocks, sideAt } from "../paint/blocks.js";
import { Groups, Level } from "../scene/groups.js";
import { quiet } from "../paint/ink.js";
import { Ways } from "../trace/ways.js";
import { Pictures } from "../pane/pictures.js";

const DASH = [4, 3];
const BESIDE = 2.5; // pixels between a link and the outline of what it was
const MOST = 64; // links that are outlined
const SIDE = 18; // pixels across the largest block where time runs across

// Whether runs are of one machine, so that one picture shows both: devices and where they stand, and who is which rank.
export function sharesPicture([a, b]) {
  const same = (name) => a.devices[name].every((each, k) => each === b.devices[name][k]);
  return a.devices.name.length === b.devices.name.length && ["name", "rank", "x", "y"].every(same);
}

// Whether they send the same messages, too.
export function sharesSchedule([a, b]) {
  const same = (name) => a.meta[name] === b.meta[name];
  return sharesPicture([a, b]) && ["collective", "algorithm", "ranks", "transfers"].every(same);
}

// Draw runs to one scale: blocks by their bytes, links by what they carry.
export function toOneScale(timelines) {
  const largest = Math.max(...timelines.map(({ largestOwn }) => largestOwn));
  const rates = timelines.flatMap(({ links }) => extent(links.bandwidth));
  for (const timeline of timelines) Object.assign(timeline, { largest, rates: extent(rates) });
}

function extent(values) {
  return values.reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [Infinity, 0]);
}

// The same link in another run, by its ends; -1 where it has none.
const twin = ({ links: { src, dst } }, from, to) => src.findIndex((each, k) => each === from && dst[k] === to);

export class Ghost {
  #level;
  #others = null; // the links that were otherwise, with what they are now
  #pictures;
  #seen = null;
  #turn = null;
  #ways;

  constructor(timeline) {
    this.timeline = timeline;
    this.#pictures = new Pictures(timeline);
  }

  // The old run's blocks that are on their way at t, `{ i, x, y }` in pixels of a `picture` of the new one.
  standing(picture, view, t) {
    if (picture.moved) return picture.moved(this.timeline, t);
    if (!picture.scene) return []; // what every rank holds is shown, not where things are
    const scene = this.#scene(picture, view);
    if (!scene) return [];
    const { camera } = picture;
    if (this.#turn !== camera.turn || this.#seen !== scene) this.#look(scene, camera);
    return this.timeline.moving(t).flatMap((i) => {
      const path = this.#level.path(i);
      if (!path) return [];
      const { x, y } = this.#ways.standing(i, path, this.timeline.progress(i, t));
      return [{ i, x: camera.x(x), y: camera.y(y) }];
    });
  }

  // Its own picture's scene where that has everything stand as the other's does, or none.
  #scene({ scene }, view) {
    const own = this.#pictures.of(view);
    return (own.scenes ?? [own.scene]).find((each) => each?.focus === scene.focus && stands(each, scene));
  }

  #look(scene, camera) {
    [this.#turn, this.#seen] = [camera.turn, scene];
    const groups = new Groups(scene.devices);
    this.#level = new Level(this.timeline, scene, groups, camera.scale);
    this.#ways = new Ways(this.timeline, groups, this.#level);
  }

  // What paints it below the blocks of a picture.
  veil(picture, view, t, colours) {
    return (g) => {
      const drawn = this.standing(picture, view, t);
      const side = picture.scene ? sideAt(picture.camera.scale) : SIDE;
      g.save();
      g.setLineDash(DASH);
      g.strokeStyle = quiet(colours);
      g.lineWidth = 1.3;
      if (picture.scene?.focus === "link" && this.#seen) this.#paintLinks(g, picture);
      if (picture.moved) picture.end(this.timeline.time);
      paintBlocks(g, this.timeline, drawn, { side, colours, lit: null, chosen: -1, isOld: true });
      g.restore();
    };
  }

  #paintLinks(g, { camera, timeline }) {
    const scene = this.#seen;
    const at = ([x, y]) => [camera.x(x), camera.y(y)];
    for (const { link, isGone } of this.#changed(timeline)) {
      const points = scene.lines[link].map(at);
      const off = scene.widths[link] / 2 + BESIDE;
      for (const aside of isGone ? [0] : [off, -off])
        for (let k = 1; k < points.length; k += 1) line(g, ...shifted(points[k - 1], points[k], aside));
    }
  }

  #changed(now) {
    if (this.#others?.of === now.links.bandwidth) return this.#others.all;
    const { src, dst, bandwidth } = this.timeline.links;
    const isSame = src.length === now.links.src.length;
    const all = [];
    for (let link = 0; link < src.length && all.length < MOST; link += 1) {
      const k = isSame ? link : twin(now, src[link], dst[link]);
      if (now.links.bandwidth[k] !== bandwidth[link]) all.push({ link, isGone: k < 0 });
    }
    this.#others = { of: now.links.bandwidth, all };
    return all;
  }
}

// Whether two scenes have their devices at the same places.
function stands(a, b) {
  const same = (name) => a.devices[name].every((each, k) => each === b.devices[name][k]);
  return a.devices.x.length === b.devices.x.length && same("x") && same("y");
}

function line(g, from, to) {
  g.beginPath();
  g.moveTo(...from);
  g.lineTo(...to);
  g.stroke();
}

// A line so many pixels to its left.
function shifted([ax, ay], [bx, by], off) {
  const away = Math.hypot(bx - ax, by - ay) || 1;
  const [dx, dy] = [((by - ay) / away) * off, (-(bx - ax) / away) * off];
  return [
    [ax + dx, ay + dy],
    [bx + dx, by + dy],
  ];
}
