// The instant in the middle of a ring: its time, of how much, the step, and what happens, as far as there is room.

import { LEAST } from "./labels.js";

const LARGE = { share: 0.2, least: 20, most: 46 }; // pixels of the time, of the room's height
const SMALL = { of: 14, exact: 15, plain: 14 };
const HEIGHT = 1.4; // of a line, by its letters
const ROOM = { width: 200, height: 150 }; // pixels from which on sentences stand there
const LINES = 4;

const font = (weight, size, colours) => `${weight} ${size}px ${colours.font}`;

// A sentence in lines no wider than a room; where that ends, the last one has an ellipsis.
function wrapped(g, sentence, width) {
  const lines = [""];
  for (const word of sentence.split(/(?<=[\s，。；])/u)) {
    const longer = lines.at(-1) + word;
    if (g.measureText(longer.trimEnd()).width <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  if (lines.length <= LINES) return lines;
  return [...lines.slice(0, LINES - 1), `${lines[LINES - 1].trimEnd()} …`];
}

const high = ({ size, above = 0 }) => size * HEIGHT + above;

// Whether there is room for sentences, too.
export const hasRoom = ({ width, height }) => width >= ROOM.width && height >= ROOM.height;

// Paint the time and the sentences into a free rectangle. Without `exact` and `plain` it is the time alone.
export function paintTelling(g, { x, y, width, height }, { now, of, exact, plain }, colours) {
  const large = Math.max(LARGE.least, Math.min(LARGE.most, height * LARGE.share));
  const lines = [{ words: now, weight: 600, size: large, fill: colours.ink }];
  lines.push({ words: of, weight: 400, size: SMALL.of, fill: colours.quiet });
  if (exact) lines.push({ words: exact, weight: 600, size: SMALL.exact, fill: colours.ink, above: 10 });
  g.font = font(400, SMALL.plain, colours);
  if (plain)
    for (const words of wrapped(g, plain, width))
      lines.push({ words, weight: 400, size: SMALL.plain, fill: colours.quiet });
  while (lines.length > 1 && lines.reduce((sum, line) => sum + high(line), 0) > height) lines.pop();
  let top = y - lines.reduce((sum, line) => sum + high(line), 0) / 2;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const line of lines) {
    top += high(line);
    g.font = font(line.weight, Math.max(LEAST, line.size), colours);
    g.fillStyle = line.fill;
    g.fillText(line.words.trimEnd(), x, top - (line.size * HEIGHT) / 2, width);
  }
}
