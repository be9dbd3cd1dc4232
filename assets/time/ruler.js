// What all pictures that time runs across have in common: a ruler, phases as bands, and marks where something changed.

import { ticks } from "../trace/words.js";
import { faint, quiet } from "../paint/ink.js";

export const RULER = 18; // pixels of the words above
const APART = 90; // pixels between the words of a ruler

// Words above, hairlines down through the picture.
export function paintRuler(g, axis, { bottom, colours }) {
  const { left, right, window } = axis;
  g.font = `500 12px ${colours.font}`;
  g.textBaseline = "middle";
  for (const [t, word] of ticks(window.from, window.to, (right - left) / APART)) {
    const x = axis.x(t);
    g.fillStyle = faint(colours, 0.14);
    g.fillRect(x - 0.5, RULER - 4, 1, bottom - RULER + 4);
    g.fillStyle = quiet(colours);
    const wide = g.measureText(word).width;
    g.textAlign = x - wide / 2 < 0 ? "left" : x + wide / 2 > right ? "right" : "center";
    g.fillText(word, g.textAlign === "left" ? Math.max(0, x) : Math.min(right, x), RULER / 2);
  }
}

// From where to where phases are in sight, with their names.
function phasesOf(axis, { bounds, steps, time }) {
  return steps.phases.flatMap(([first, name], k) => {
    const seen = axis.seen(bounds[first], steps.phases[k + 1] ? bounds[steps.phases[k + 1][0]] : time);
    return seen ? [{ name, k, from: seen[0], to: seen[1] }] : [];
  });
}

// Phases as bands, every other one a shade darker.
export function paintBands(g, axis, timeline, { top, bottom, colours }) {
  g.fillStyle = faint(colours, 0.035);
  for (const { k, from, to } of phasesOf(axis, timeline)) if (k % 2) g.fillRect(from, top, to - from, bottom - top);
}

// Their names where they begin: one that would run into the one before it is left out.
export function paintPhases(g, axis, timeline, { y, colours }) {
  g.fillStyle = quiet(colours);
  g.textAlign = "left";
  let free = 0;
  for (const { name, from } of phasesOf(axis, timeline)) {
    if (from + 2 < free) continue;
    g.fillText(name, from + 2, y);
    free = from + 2 + g.measureText(name).width + 6;
  }
}

// A dashed line where an old run ended.
export function paintEnd(g, axis, t, { top, bottom, colours }) {
  if (!axis.seen(t, t)) return;
  g.save();
  g.setLineDash([4, 3]);
  g.lineWidth = 1.5;
  g.strokeStyle = quiet(colours);
  g.beginPath();
  g.moveTo(axis.x(t), top);
  g.lineTo(axis.x(t), bottom);
  g.stroke();
  g.restore();
}

// A mark on an axis of time: something changed here.
export function notch(g, x, y) {
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x - 4, y + 6);
  g.lineTo(x + 4, y + 6);
  g.fill();
}

// Where links could carry other than their own bandwidth: a bar at `y`, and a notch at either end that is in sight.
export function paintSpell(g, axis, { begin, end }, { y, mark, time }) {
  const seen = axis.seen(begin, end);
  if (!seen) return;
  g.fillRect(seen[0], y, Math.max(2, seen[1] - seen[0]), 2);
  if (begin >= axis.window.from) notch(g, axis.x(begin), mark);
  if (end < time && end <= axis.window.to) notch(g, axis.x(end), mark);
}
