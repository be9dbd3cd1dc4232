// Ink: colours that tell blocks and loads apart, the theme of the page, canvases at the resolution of the screen.

import PALETTE from "./palette.json" with { type: "json" };

const LEVELS = 64;
const channel = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);

function luminance(hex) {
  const [r, g, b] = [0, 1, 2]
    .map((k) => channel(hex, k) / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Black or white, whichever reads better on each block's colour.
const INKS = new Map(
  PALETTE.blocks.map((hex) => [hex, (luminance(hex) + 0.05) ** 2 > 1.05 * 0.0556 ? "#111111" : "#ffffff"]),
);
const LOADS = Array.from({ length: LEVELS + 1 }, (_, level) => {
  const at = (level / LEVELS) * (PALETTE.load.length - 1);
  const k = Math.min(PALETTE.load.length - 2, Math.floor(at));
  const part = (j) =>
    Math.round(channel(PALETTE.load[k], j) * (k + 1 - at) + channel(PALETTE.load[k + 1], j) * (at - k));
  return `rgb(${part(0)},${part(1)},${part(2)})`;
});

export const COLOURS = PALETTE.blocks;
export const MANY = PALETTE.many; // blocks in flight, beyond which they are dots
export const SIGN = PALETTE.sign; // how far along a line the sign of its fault stands
export const blockNumber = (block) => ((block % PALETTE.blocks.length) + PALETTE.blocks.length) % PALETTE.blocks.length;
export const blockColour = (block) => PALETTE.blocks[blockNumber(block)];
export const inkOn = (colour) => INKS.get(colour);

// How full a link is drawn: 0 for idle, else a step of the ramp from next to nothing to full.
export const loadLevel = (share) => (share > PALETTE.idle ? Math.max(1, Math.round(Math.min(1, share) * LEVELS)) : 0);
export const loadColour = (level) => LOADS[level];
export const ramp = () => `linear-gradient(90deg, ${LOADS.filter((_, k) => k % 8 === 0).join(",")})`;

// Any colour of a style sheet as red, green and blue, 0 to 255.
export function channels(colour) {
  const g = new OffscreenCanvas(1, 1).getContext("2d");
  g.fillStyle = colour;
  g.fillRect(0, 0, 1, 1);
  return g.getImageData(0, 0, 1, 1).data.slice(0, 3);
}

// Ink, paper and font of the page around an element.
export function theme(element) {
  const style = getComputedStyle(element);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const dark = globalThis.matchMedia("(prefers-color-scheme: dark)").matches;
  return {
    ink: read("--st-text-color", dark ? "#fafafa" : "#31333f"),
    paper: read("--st-background-color", dark ? "#0e1117" : "#ffffff"),
    panel: read("--st-secondary-background-color", dark ? "#262730" : "#f0f2f6"),
    accent: read("--st-primary-color", "#0072B2"),
    font: read("--st-font", "system-ui, sans-serif"),
  };
}

// Paint that is no text: as much ink as `share` on paper.
export function faint(colours, share) {
  return `color-mix(in srgb, ${colours.ink} ${Math.round(share * 100)}%, ${colours.paper})`;
}

// Words beside the main thing: quieter than ink, and still 4.5 : 1 on paper and on boxes in both themes.
export const quiet = (colours) => faint(colours, 0.82);
