// Ink: colours that tell blocks and loads apart, the theme of the page, canvases at the resolution of the screen.

const OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8A8A8A"];
const DARK_INK = new Set(["#E69F00", "#56B4E9", "#F0E442", "#CC79A7"]);

export const blockColour = (block) => OKABE_ITO[((block % 8) + 8) % 8];
export const inkOn = (colour) => (DARK_INK.has(colour) ? "#111" : "#fff");

function mix(a, b, share) {
  const part = (k) => Math.round(parseInt(a.slice(k, k + 2), 16) * (1 - share) + parseInt(b.slice(k, k + 2), 16) * share);
  return `rgb(${part(1)},${part(3)},${part(5)})`;
}

// Idle, half, full: readable without telling red from green.
export function loadColour(share, idle) {
  if (share <= 0.001) return idle;
  return share < 0.5 ? mix("#9ec9e8", "#E69F00", share * 2) : mix("#E69F00", "#C03A00", share * 2 - 1);
}

export function theme(element) {
  const style = getComputedStyle(element);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const dark = window.matchMedia?.("(prefers-color-scheme: dark)").matches;
  return {
    ink: read("--st-text-color", dark ? "#fafafa" : "#31333f"),
    paper: read("--st-background-color", dark ? "#0e1117" : "#ffffff"),
    panel: read("--st-secondary-background-color", dark ? "#262730" : "#f0f2f6"),
    accent: read("--st-primary-color", "#0072B2"),
    font: read("--st-font", "system-ui, sans-serif"),
  };
}

// A canvas as large as its box at the screen's own resolution; returns its context in CSS pixels.
export function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

export function faint(colours, share) {
  return `color-mix(in srgb, ${colours.ink} ${Math.round(share * 100)}%, ${colours.paper})`;
}
