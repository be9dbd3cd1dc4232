// The elements of the story, in their order on the page.

import { icon, make } from "../player/elements.js";

export function elementsOf(root) {
  const story = make("section", "rs-story", root, { "data-ringside": "story", tabindex: "-1" });
  const top = make("div", "rs-story-top", story);
  const head = make("h3", "rs-story-head", top);
  const skip = make("button", "rs-button rs-story-skip", top, { type: "button" });
  make("span", "", skip);
  make("kbd", "", skip).textContent = "Esc";
  const words = make("p", "rs-story-words", story, { "aria-live": "polite" });
  const board = make("canvas", "rs-story-board", story, { role: "img" });
  const legend = make("p", "rs-story-legend", story);
  const ask = make("div", "rs-bar rs-story-ask", story, { role: "group" });
  const bar = make("div", "rs-bar rs-story-bar", story);
  const back = make("button", "rs-button rs-back", bar, { type: "button" });
  back.append(icon("back"));
  const main = make("button", "rs-button rs-play rs-story-main", bar, { type: "button" });
  const send = make("button", "rs-button rs-story-send", bar, { type: "button", hidden: "" });
  const slider = make("input", "rs-scrub", bar, { type: "range", min: "0", step: "1" });
  const clock = make("span", "rs-clock rs-story-clock", bar);
  const keys = make("p", "rs-story-keys", story);
  return { story, head, words, board, legend, ask, bar, back, main, send, slider, clock, skip, keys };
}
