// Ink: colours that tell blocks apart, and the theme of the page.

import PALETTE from "./palette.json" with { type: "json" };

const channel = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
const lightOf = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);

// Relative luminance of red, green and blue, 0 to 255 each (WCAG 2.2).
function luminance([r, g, b]) {
  return 0.2126 * lightOf(r / 255) + 0.7152 * lightOf(g / 255) + 0.0722 * lightOf(b / 255);
}

const brightness = (hex) => luminance([0, 1, 2].map((k) => channel(hex, k)));
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
const [BLACK, WHITE] = PALETTE.inks;

// Black or white, whichever reads better on a block's colour.
const INKS = new Map(
  [...PALETTE.light.blocks, ...PALETTE.dark.blocks].map((hex) => {
    const [black, white] = [BLACK, WHITE].map((ink) => contrast(brightness(hex), brightness(ink)));
    return [hex, black > white ? BLACK : WHITE];
  }),
);
const MIDDLE = 0.18; // luminance of paper, below which it is dark
const COUNT = PALETTE.light.blocks.length;

export const MANY = PALETTE.many; // blocks in flight, beyond which they are dots
export const SIGN = PALETTE.sign; // how far along a line the sign of its fault stands
export const paints = (isDark) => (isDark ? PALETTE.dark : PALETTE.light);
export const blockNumber = (block) => ((block % COUNT) + COUNT) % COUNT;
export const blockColour = (block, { blocks }) => blocks[blockNumber(block)];
export const inkOn = (colour) => INKS.get(colour);

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
  const own = paints(globalThis.matchMedia("(prefers-color-scheme: dark)").matches);
  const paper = read("--st-background-color", own.paper);
  const now = paints(luminance(channels(paper)) < MIDDLE);
  const ink = read("--st-text-color", now.ink);
  return {
    ...now,
    ink,
    paper,
    panel: read("--st-secondary-background-color", now.panel),
    accent: read("--st-primary-color", ink),
    font: read("--st-font", "system-ui, sans-serif"),
  };
}

// Paint that is no text: as much ink as `share` on paper.
export function faint(colours, share) {
  return `color-mix(in srgb, ${colours.ink} ${Math.round(share * 100)}%, ${colours.paper})`;
}

// Words beside the main thing: quieter than ink, and still 4.5 : 1 on paper and on boxes in both themes.
export const quiet = (colours) => faint(colours, 0.82);
