// The elements of a pane, and where they stand.

import { make } from "../player/elements.js";
import { isFull } from "../player/fullscreen.js";
import { longest } from "../answer/sentence.js";

const HEAD = { least: 44, edge: 12 }; // pixels of sentences below a picture, and above them
const HIGH = { several: 420, least: 220, full: 96, edge: 10 };

// How high a picture and what stands below it may be: what the page says, or what is left of the window.
export function heightFor(canvas) {
  return parseFloat(getComputedStyle(canvas).getPropertyValue("--rs-high")) || globalThis.innerHeight - topOf(canvas);
}

// The room of a picture above all that is `under` it and its sentences, `told` pixels high; `isInside` where it says in its
// middle what they say.
export function roomOf({ canvas, head }, picture, { several, full, under, told, leaves }) {
  const free = roomFor(canvas, { several, full, under, leaves });
  const isInside = !full && Boolean(picture.tells?.(free));
  head.classList.toggle("rs-inside", isInside);
  if (isInside) return { ...free, isInside };
  const beneath = full ? head.offsetHeight : Math.max(HEAD.least, told) + HEAD.edge;
  return { ...roomFor(canvas, { several, full, under: under + beneath, leaves }), isInside };
}

// How wide a picture is, and how high it may be above all that is `under` it.
function roomFor(canvas, { several, full, under, leaves }) {
  const room = Math.min(several && !full ? HIGH.several : Infinity, heightFor(canvas) - under - HIGH.edge);
  const most = Math.max(full ? HIGH.full : HIGH.least, room);
  const whole = canvas.parentElement.clientWidth;
  return { whole, width: leaves(whole), most, least: full ? most : 0 };
}

// Keep room for sentences `told` pixels high, and have what stands over all else be so much above what is `below`. Style
// sheets are told right where they ask: of what is said farther up all below is looked through.
export function keepRoom({ head, margin }, { below, told }) {
  for (const [{ style }, name, pixels] of [
    [head, "--rs-told", told],
    [margin, "--rs-below", below],
  ])
    if (style.getPropertyValue(name) !== `${pixels}px`) style.setProperty(name, `${pixels}px`);
}

// Call a run by its title where it has one.
export function entitled({ root, title }, name = "") {
  title.textContent = name;
  root.classList.toggle("rs-titled", Boolean(name));
}

// How far below the window's top an element stands when nothing is scrolled.
function topOf(element) {
  let top = element.getBoundingClientRect().top;
  for (let up = element; up; up = up.parentElement ?? up.getRootNode().host) {
    top += up.scrollTop ?? 0;
    if (up === document.fullscreenElement || isFull(up)) break;
  }
  return top;
}

// The elements of a pane, in their order on the page.
export function elementsOf(parent) {
  const root = make("div", "rs-player", parent, { "data-ringside": "player", tabindex: "0", role: "group" });
  const title = make("h3", "rs-title", root);
  const note = make("p", "rs-note", root);
  const main = make("div", "rs-main", make("div", "rs-stand", root));
  const left = make("div", "rs-left", main);
  const canvas = make("canvas", "rs-stage", left, { role: "img", "aria-label": "Ringside" });
  const head = make("div", "rs-head", left);
  const caption = make("p", "rs-caption", head);
  const field = make("p", "rs-field", head);
  const legend = make("div", "rs-legend", left);
  const tip = make("div", "rs-tip", main, { role: "status" });
  const column = make("div", "rs-column", main);
  const margin = make("div", "rs-margin", column);
  const reasons = make("div", "rs-reasons", column);
  const side = make("div", "rs-side", column);
  const slotsTitle = make("h4", "", side);
  const slotsCanvas = make("canvas", "rs-slots", side, { role: "img", "aria-label": "Ringside" });
  const sentTitle = make("h4", "", side);
  const sentCanvas = make("canvas", "rs-sent", side, { role: "img", "aria-label": "Ringside" });
  return {
    root,
    title,
    head,
    caption,
    field,
    note,
    main,
    margin,
    reasons,
    left,
    column,
    canvas,
    legend,
    tip,
    side,
    slotsTitle,
    slotsCanvas,
    sentTitle,
    sentCanvas,
  };
}

// How high a run's longest sentence stands: room for it is kept all the time, so that no picture moves while it plays.
// Futures of one run say the same and stand in rooms of one width: that is measured once.
export class Told {
  #high = new Map(); // pixels, by what is said in how wide a place
  #said = new WeakMap(); // by run

  // The highest of several, in pixels: of each a run with its text, and in `head` the elements of a sentence. All stand
  // there before one is measured.
  highest(several) {
    const asked = several.map(({ head, timeline, text }) => {
      if (this.#said.get(timeline)?.text !== text) this.#said.set(timeline, { text, ...longest(timeline, text) });
      const [{ plain, exact }, width] = [this.#said.get(timeline), head.clientWidth];
      return { head, width, words: [plain, exact], key: [width, plain, exact].join("\n") };
    });
    const copies = new Map();
    for (const one of asked) if (!this.#high.has(one.key) && !copies.has(one.key)) copies.set(one.key, copied(one));
    for (const [key, copy] of copies) this.#high.set(key, Math.ceil(copy.getBoundingClientRect().height));
    for (const copy of copies.values()) copy.remove();
    return Math.max(...asked.map(({ key }) => this.#high.get(key)));
  }
}

function copied({ head, width, words }) {
  const copy = head.cloneNode(true); // what is read out stays as it is
  copy.style.cssText = `position: absolute; visibility: hidden; min-height: 0; width: ${width}px`;
  [copy.children[0].textContent, copy.children[1].textContent] = words;
  head.after(copy);
  return copy;
}
