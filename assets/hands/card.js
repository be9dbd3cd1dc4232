// What has been chosen in the pictures stays in view until something else is, with what can be done to it.

import { make } from "../player/elements.js";
import { explain } from "../pane/explain.js";
import { asked, isDragged, offersOn, span } from "./offers.js";
import { percent } from "../trace/words.js";

const KEYED = 600; // milliseconds after a slider's last key until what it came to is asked

// Write lines, where they have changed.
export function write(parent, lines) {
  if (parent.textContent === lines.join("")) return;
  parent.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
}

export class Card {
  #host;
  #lines = null;
  #root;

  // `host` has `offers`, what may be asked; `fork(spec)` asks it, in the words of a fault.
  constructor(parent, host) {
    this.#root = make("div", "rs-card", parent);
    this.#host = host;
  }

  // Show what is known about `focus`; without one, nothing. `now` gives the instant; `close` is what × does.
  open(focus, { timeline, text, now, close }) {
    const isAsked = this.#root.matches(":focus-within");
    this.#root.replaceChildren();
    if (isAsked) this.#root.closest(".rs-player").focus({ preventScroll: true }); // else keys would go to nobody
    this.#root.style.display = focus ? "block" : "none";
    this.#lines = null;
    if (!focus) return;
    this.#lines = make("div", "rs-lines", this.#root);
    this.#offer(focus, timeline, now);
    const away = make("button", "rs-away", this.#root, { type: "button", "aria-label": text["player.close"] });
    away.textContent = "×";
    away.addEventListener("click", close);
  }

  scrollIntoView() {
    this.#root.scrollIntoView({ block: "nearest" }); // what was clicked may stand far above it
  }

  paint(timeline, text, t, focus) {
    if (this.#lines) write(this.#lines, explain(timeline, text, t, focus));
  }

  // What if something happened to it: a button or a slider for each question.
  #offer(focus, timeline, now) {
    const row = make("div", "rs-actions", this.#root);
    for (const offer of offersOn(this.#host.offers, timeline, focus)) {
      const ask = (share) => this.#host.fork(asked(offer, timeline, focus, now(), share));
      if (isDragged(offer)) this.#drag(row, offer.text, span(timeline, focus, now()), ask);
      else {
        const button = make("button", "rs-button", row, { type: "button" });
        button.textContent = offer.text;
        button.addEventListener("click", () => ask());
      }
    }
  }

  // Per cent to be dragged; let go, and the run is done again.
  // Faults multiply, so what is dragged to is told as a share of what is left.
  #drag(row, words, [least, most], set) {
    if (most <= least) return;
    const label = make("label", "rs-drag", row);
    label.textContent = `${words} `;
    const range = { type: "range", min: String(least), max: String(most), step: "1", value: String(most) };
    const slider = make("input", "", label, range);
    const shown = make("output", "", label);
    const show = () => {
      shown.textContent = ` ${percent(slider.value / 100)}`;
    };
    show();
    slider.addEventListener("input", show);
    let last = most; // what is let go where it stands already asks nothing more
    const done = () => {
      if (Number(slider.value) === last) return;
      last = Number(slider.value);
      if (last < most) set(last / most);
    };
    let [rest, waiting] = [0, 0]; // keys move by one per cent each: what they come to is meant
    slider.addEventListener("keydown", () => (rest = KEYED));
    slider.addEventListener("pointerdown", () => (rest = 0));
    slider.addEventListener("change", () => {
      clearTimeout(waiting);
      waiting = setTimeout(done, rest);
    });
  }
}
