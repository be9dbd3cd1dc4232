// What has been chosen in the pictures stays in view until something else is, with what can be done to it.

import { make } from "../player/elements.js";
import { explain } from "../pane/explain.js";
import { Answer } from "./answer.js";
import { asked, dragOf, isDragged, offersOn } from "./offers.js";

const KEYED = 600; // milliseconds after a slider's last key until what it came to is asked

// Write lines, where they have changed.
export function write(parent, lines) {
  if (parent.textContent === lines.join("")) return;
  parent.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
}

export class Card {
  #host;
  #lines = null;
  #preview;
  #root;

  // `host` has `offers`, what may be asked; `whatIf.ask(spec, label)` asks it, in the words of a fault or an edit, and
  // returns why it cannot. `preview` shows what would come of it.
  constructor(parent, host, preview) {
    this.#root = make("div", "rs-card", parent);
    [this.#host, this.#preview] = [host, preview];
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
    this.#offer(focus, timeline, text, now);
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

  // What if something happened to it: a button or a slider for each question, and what comes of one.
  #offer(focus, timeline, text, now) {
    const row = make("div", "rs-actions", this.#root);
    const answer = new Answer(this.#root, text);
    for (const offer of offersOn(this.#host.offers, timeline, focus)) {
      if (isDragged(offer)) this.#drag(row, offer, answer, { focus, timeline, t: now() });
      else {
        const button = make("button", "rs-button", row, { type: "button" });
        button.textContent = offer.text;
        button.addEventListener("click", () => this.#ask(asked(offer, timeline, focus, now()), offer.text, answer));
      }
    }
  }

  #ask(spec, label, answer) {
    answer.say(this.#host.whatIf?.ask(spec, label));
  }

  // Something to be dragged: what comes of it is shown meanwhile, and let go, it is asked.
  #drag(row, offer, answer, { focus, timeline, t }) {
    const drag = dragOf(offer, timeline, focus, t);
    if (!drag) return;
    const label = make("label", "rs-drag", row);
    make("span", "", label).textContent = offer.text;
    const range = {
      type: "range",
      min: String(drag.least),
      max: String(drag.most),
      step: "1",
      value: String(drag.start),
    };
    const slider = make("input", "", label, { ...range, "data-drag": drag.key });
    const shown = make("output", "", label);
    const place = () => Number(slider.value);
    const spec = () =>
      place() === drag.start ? "" : asked(offer, timeline, focus, t, { [drag.key]: drag.word(place()) });
    const show = () => {
      shown.textContent = drag.shown(place());
      slider.setAttribute("aria-valuetext", shown.textContent);
    };
    show();
    slider.addEventListener("input", () => {
      show();
      answer.show(this.#preview.show(spec()));
    });
    let last = drag.start; // what is let go where it stands already asks nothing more
    const done = () => {
      if (place() === last) return;
      last = place();
      if (spec()) this.#ask(spec(), `${offer.text}: ${drag.shown(place())}`, answer);
    };
    let [rest, waiting] = [0, 0]; // keys move by one step each: what they come to is meant
    slider.addEventListener("keydown", () => (rest = KEYED));
    slider.addEventListener("pointerdown", () => (rest = 0));
    slider.addEventListener("change", () => {
      clearTimeout(waiting);
      waiting = setTimeout(done, rest);
    });
  }
}
