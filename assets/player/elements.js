// Elements and icons.

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  back: "M8 4v16M19 4 11 12l8 8z",
  play: "M6 3.5 20 12 6 20.5z",
  pause: "M7 4v16M17 4v16",
  forward: "M16 4v16M5 4l8 8-8 8z",
  full: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  more: "M5 12h.01M12 12h.01M19 12h.01",
};

export function make(tag, className, parent, attributes = {}) {
  const element = document.createElement(tag);
  element.className = className;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

// Put an element behind another one, unless it is there: what is moved has all of the page laid out anew.
export function follow(element, other) {
  if (other.nextElementSibling !== element) other.after(element);
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

// What it does, for those who see it and those who hear it.
export function entitle(button, words) {
  button.setAttribute("aria-label", words);
  button.title = words;
}

// Tell the page around where a clock stands, as a share of all its time.
export function tellInstant(parent, { t, time }) {
  const detail = { share: time > 0 ? t / time : 0 };
  parent.dispatchEvent(new CustomEvent("ringside-instant", { bubbles: true, composed: true, detail }));
}
