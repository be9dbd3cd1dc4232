// The elements of a pane, and where they stand.

import { make } from "../player/elements.js";
import { isFull } from "../player/fullscreen.js";
import { longest } from "./sentence.js";

// How high a picture and what stands below it may be: what the page says, or what is left of the window.
export function roomFor(canvas) {
  return parseFloat(getComputedStyle(canvas).getPropertyValue("--rs-high")) || globalThis.innerHeight - topOf(canvas);
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
  const head = make("div", "rs-head", root);
  const caption = make("p", "rs-caption", head);
  const field = make("p", "rs-field", head);
  const note = make("p", "rs-note", root);
  const main = make("div", "rs-main", root);
  const left = make("div", "rs-left", main);
  const canvas = make("canvas", "rs-stage", left, { role: "img" });
  const legend = make("div", "rs-legend", left);
  const tip = make("div", "rs-tip", main, { role: "status" });
  const column = make("div", "rs-column", main);
  const margin = make("div", "rs-margin", column);
  const reasons = make("div", "rs-reasons", column);
  const side = make("div", "rs-side", column);
  const slotsTitle = make("h4", "", side);
  const slotsCanvas = make("canvas", "rs-slots", side, { role: "img" });
  const sentTitle = make("h4", "", side);
  const sentCanvas = make("canvas", "rs-sent", side, { role: "img" });
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
export class Told {
  #high = 0;
  #of = [];

  // In pixels, in the place of `head`, the elements of a sentence.
  height(head, timeline, text) {
    const of = [timeline, text, head.clientWidth];
    if (of.every((one, k) => one === this.#of[k])) return this.#high;
    this.#of = of;
    const copy = head.cloneNode(true); // what is read out stays as it is
    copy.style.cssText = `position: absolute; visibility: hidden; min-height: 0; width: ${head.clientWidth}px`;
    const { plain, exact } = longest(timeline, text);
    [copy.children[0].textContent, copy.children[1].textContent] = [plain, exact];
    head.after(copy);
    this.#high = Math.ceil(copy.getBoundingClientRect().height);
    copy.remove();
    return this.#high;
  }
}
