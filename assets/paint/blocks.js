// Blocks on their way, one by one or very many.

import { MANY, blockColour, blockNumber, inkOn, quiet } from "./ink.js";
import { LEAST, isPassed } from "./labels.js";

export const SMALL = 6; // pixels across, from which on blocks are more than marks
const DOT = 4;
const FEW = 32;
const LEAST_SIDE = 2;
const RIM = 1.5; // pixels of paper around a block, which sets it off from lines and other blocks
const TRAIL = { alpha: 0.6, least: 0.2, wide: 0.9 }; // at its block, and how wide it is, of that, farthest from it
const NAME = 0.85; // of a block's height that its name takes up
const LARGEST = 30; // pixels across the largest block
const [ASIDE, WIDEST] = [8, 3]; // pixels beside the numbers that it brings, and how many sides wide these make it

// Pixels across the largest block, at so many per device width.
export const sideAt = (scale) => Math.min(LARGEST, Math.max(SMALL, scale * 0.42));

// Pixels across a message, where the largest of all on this clock has `side`: its area is its bytes.
export function sideOf(timeline, i, side) {
  return Math.max(LEAST_SIDE, side * Math.sqrt(timeline.bytes(i) / (timeline.largest || 1)));
}

// Blocks `{ i, x, y }` in pixels: as large as their bytes, with names where there is room; very many are dots.
// Those of `lit` have a halo; those that pass one of `words` have no name there. Those of an old run are outlines alone.
export function paintBlocks(g, timeline, drawn, { side, colours, lit, chosen, words = [], isOld = false }) {
  const isMany = drawn.length > MANY || side < SMALL;
  if (isMany || (side <= SMALL && drawn.length > FEW)) {
    const paint = isOld ? outlineDots : paintDots;
    paint(g, timeline, drawn, { side: isMany ? DOT : side, colours, lit });
    return;
  }
  const sides = drawn.map(({ i }) => sideOf(timeline, i, side));
  drawn.forEach(({ i, x, y }, k) => {
    if (lit?.has(i)) paintHalo(g, x, y, sides[k], colours);
    const isBare = sides[k] > LEAST && (isCovered(drawn, sides, k) || isPassed(words, boxOf({ x, y }, sides[k])));
    paintBlock(g, timeline, i, x, y, { side: sides[k], colours, chosen: i === chosen, isBare, isOld });
  });
}

// Left, top, right and bottom of a block.
export const boxOf = ({ x, y }, side) => [x - side / 2, y - side / 2, x + side / 2, y + side / 2];

// Whether a block's name would stand below another block, or show from under it.
function isCovered(drawn, sides, k) {
  const { x, y } = drawn[k];
  for (let j = k + 1; j < drawn.length; j += 1) {
    const reach = (sides[j] + sides[k]) / 2;
    if (Math.abs(drawn[j].x - x) < reach && Math.abs(drawn[j].y - y) < reach * NAME) return true;
  }
  return false;
}

// Where blocks came from over half a hop: `trails` has for each block its points, the oldest first, in pixels. A trail is
// as wide as its block there, narrow at its end, and fades.
export function paintTrails(g, timeline, trails, { side, colours }) {
  g.globalAlpha = TRAIL.alpha;
  for (const { i, points } of trails) {
    const [[ax, ay], [bx, by]] = [points[0], points.at(-1)];
    if (Math.hypot(bx - ax, by - ay) < 1) continue;
    const colour = blockColour(timeline.c.block[timeline.moveStart[i]], colours);
    const fading = g.createLinearGradient(ax, ay, bx, by);
    fading.addColorStop(0, `${colour}00`);
    fading.addColorStop(1, colour);
    g.fillStyle = fading;
    g.beginPath();
    for (const [x, y] of outline(points, (sideOf(timeline, i, side) / 2) * TRAIL.wide)) g.lineTo(x, y);
    g.fill();
  }
  g.globalAlpha = 1;
}

// Along one side of points, and back along the other, ever farther from them.
function outline(points, half) {
  const last = points.length - 1;
  const sides = points.map(([x, y], k) => {
    const [[ax, ay], [bx, by]] = [points[Math.max(0, k - 1)], points[Math.min(last, k + 1)]];
    const away = Math.hypot(bx - ax, by - ay) || 1;
    const wide = (half * (TRAIL.least + ((1 - TRAIL.least) * k) / last)) / away;
    const [dx, dy] = [-(by - ay) * wide, (bx - ax) * wide];
    return [
      [x + dx, y + dy],
      [x - dx, y - dy],
    ];
  });
  return [...sides.map(([one]) => one), ...sides.map(([, other]) => other).toReversed()];
}

function paintHalo(g, x, y, side, colours) {
  g.beginPath();
  g.arc(x, y, side * 0.95, 0, 7);
  g.strokeStyle = colours.accent;
  g.lineWidth = 3;
  g.stroke();
}

// Very many blocks: squares, colour by colour.
export function paintDots(g, timeline, drawn, { side, colours, lit }) {
  if (lit) for (const { i, x, y } of drawn) if (lit.has(i)) paintHalo(g, x, y, side, colours);
  const { block } = timeline.c;
  const dots = colours.blocks.map(() => []);
  const wide = new Map(); // by size of message, of which there are few
  for (const dot of drawn) {
    const size = timeline.c.size[dot.i];
    if (!wide.has(size)) wide.set(size, sideOf(timeline, dot.i, side));
    dots[blockNumber(block[timeline.moveStart[dot.i]])].push(dot);
  }
  const square = ({ i, x, y }, edge) => {
    const across = wide.get(timeline.c.size[i]) + 2 * edge;
    g.fillRect(x - across / 2, y - across / 2, across, across);
  };
  if (side > DOT) {
    g.fillStyle = colours.surface;
    for (const dot of drawn) square(dot, 1);
  }
  dots.forEach((same, number) => {
    g.fillStyle = colours.blocks[number];
    for (const dot of same) square(dot, 0);
  });
}

function outlineDots(g, _, drawn, { side }) {
  for (const { x, y } of drawn) g.strokeRect(x - side / 2, y - side / 2, side, side);
}

function lookOf(block, colours, chosen) {
  const paper = blockColour(block, colours);
  return { paper, edge: chosen ? colours.ink : colours.surface, ink: inkOn(paper) };
}

function oldLook(colours) {
  return { paper: colours.paper, edge: quiet(colours), ink: quiet(colours) };
}

// Pixels across a block that its numbers may widen.
function widthOf(timeline, room, side) {
  return timeline.values ? Math.max(side, Math.min(room + ASIDE, WIDEST * side)) : side;
}

// A block with its name, or how many there are in one message.
export function paintBlock(g, timeline, i, x, y, { side, colours, chosen = false, isBare = false, isOld = false }) {
  const block = timeline.c.block[timeline.moveStart[i]];
  const { paper, edge, ink } = isOld ? oldLook(colours) : lookOf(block, colours, chosen);
  const size = Math.min(16, Math.max(LEAST, side * 0.58));
  const label = isBare || size + 1 > side ? "" : timeline.names.message(i);
  g.font = `700 ${size}px ${colours.font}`;
  const room = g.measureText(label).width;
  const wide = widthOf(timeline, room, side);
  g.beginPath();
  g.roundRect(x - wide / 2, y - side / 2, wide, side, side / 5);
  g.fillStyle = paper;
  g.fill();
  g.lineWidth = chosen ? 3 : RIM;
  g.strokeStyle = edge;
  g.stroke();
  if (!label || room + 1 > wide) return;
  g.fillStyle = ink;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(label, x, y + size * 0.06);
}
