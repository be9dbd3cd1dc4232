// Blocks on their way, one by one or very many.

import { COLOURS, MANY, blockColour, blockNumber, inkOn } from "./ink.js";
import { LEAST } from "./labels.js";

const SMALL = 6;
const DOT = 4;
const FEW = 32;
const LEAST_SIDE = 3;

// Pixels across a message, where the largest of all on this clock has `side`: its area is its bytes.
export function sideOf(timeline, i, side) {
  return Math.max(LEAST_SIDE, side * Math.sqrt(timeline.bytes(i) / (timeline.largest || 1)));
}

// Blocks `{ i, x, y }` in pixels: as large as their bytes, with names where there is room; very many are dots.
// Those of `lit` have a halo.
export function paintBlocks(g, timeline, drawn, { side, colours, lit, chosen }) {
  if (drawn.length > MANY || side < SMALL) {
    paintDots(g, timeline, drawn, { side: DOT, colours, lit });
    return;
  }
  if (side <= SMALL && drawn.length > FEW) {
    paintDots(g, timeline, drawn, { side, colours, lit });
    return;
  }
  for (const { i, x, y } of drawn) {
    const wide = sideOf(timeline, i, side);
    if (lit?.has(i)) paintHalo(g, x, y, wide, colours);
    paintBlock(g, timeline, i, x, y, { side: wide, colours, chosen: i === chosen });
  }
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
  const dots = COLOURS.map(() => []);
  const half = Math.max(2, side / 2);
  if (half > 2) {
    g.fillStyle = colours.ink;
    for (const { x, y } of drawn) g.fillRect(x - half - 1, y - half - 1, 2 * half + 2, 2 * half + 2);
  }
  for (const dot of drawn) dots[blockNumber(block[timeline.moveStart[dot.i]])].push(dot);
  dots.forEach((same, number) => {
    g.fillStyle = COLOURS[number];
    for (const { x, y } of same) g.fillRect(x - half, y - half, 2 * half, 2 * half);
  });
}

// A block with its name, or how many there are in one message.
export function paintBlock(g, timeline, i, x, y, { side, colours, chosen = false }) {
  const block = timeline.c.block[timeline.moveStart[i]];
  const colour = blockColour(block);
  g.beginPath();
  g.roundRect(x - side / 2, y - side / 2, side, side, side / 5);
  g.fillStyle = colour;
  g.fill();
  g.lineWidth = chosen ? 3 : 1.2;
  g.strokeStyle = colours.ink;
  g.stroke();
  const count = timeline.c.moves[i];
  const label = count > 1 ? `${count}×` : timeline.blockName(block);
  const size = Math.min(16, Math.max(LEAST, side * 0.58));
  if (label.length * size * 0.56 + 2 > side || size + 1 > side) return;
  g.fillStyle = inkOn(colour);
  g.font = `700 ${size}px ${colours.font}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(label, x, y + size * 0.06);
}
