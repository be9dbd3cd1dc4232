// What has been chosen in the pictures stays in view until something else is, with what can be done to it.

import { make } from "../player/elements.js";
import { explain } from "../pane/explain.js";
import { Answer } from "./answer.js";
import { asked, isDragged, isMore, offersOn } from "./offers.js";
import { Place } from "./place.js";
import { slide } from "./slider.js";
import { headOf, isBrief } from "./state.js";

// Write lines, where they have changed.
export function write(parent, lines) {
  if (parent.textContent === lines.join("")) return;
  parent.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
}

export class Card {
  #focus = null;
  #head = null;
  #host;
  #lines = null;
  #place;
  #preview;
  #root;

  // `host` has `offers`, what may be asked; `whatIf.ask(spec, label)` asks it, in the words of a fault or an edit, and
  // returns why it cannot. `preview` shows what would come of it.
  constructor(parent, host, preview) {
    this.#root = make("div", "rs-card", parent);
    this.#place = new Place(parent, this.#root);
    [this.#host, this.#preview] = [host, preview];
  }

  // Show what is known about something, and what may be asked about it: the `focus` of a `timeline` at `t`, and the `old`
  // run; without a focus, nothing. `close` is what × does.
  open(about, { text, close }) {
    const { focus } = about;
    const active = this.#root.getRootNode().activeElement;
    const isAsked = this.#root.contains(active);
    const dragged = isAsked ? active.dataset.drag : "";
    this.#root.replaceChildren();
    this.#root.style.display = focus ? "block" : "none";
    this.#focus = focus;
    [this.#head, this.#lines] = [null, null];
    if (focus) this.#make(about, text, close);
    if (!isAsked) return;
    const again = dragged && this.#root.querySelector(`[data-drag=${dragged}]`); // else keys would go to nobody
    (again || this.#root.closest(".rs-player")).focus({ preventScroll: true });
  }

  #make(about, text, close) {
    const head = make("div", "rs-card-head", this.#root);
    this.#head = { name: make("b", "", head), kind: make("span", "", head) };
    Object.assign(this.#head, { state: make("p", "rs-card-state", this.#root) });
    Object.assign(this.#head, { words: make("span", "", this.#head.state), alarm: make("b", "", this.#head.state) });
    this.#offer(about, text);
    const away = make("button", "rs-away", this.#root, { type: "button", "aria-label": text["player.close"] });
    away.textContent = "×";
    away.addEventListener("click", close);
  }

  // Stand at a point of the picture, `{ x, y }`; without one in its corner.
  at(point) {
    if (this.#focus) this.#place.at(point);
  }

  // Whether it is below the picture, so that it has to be gone to.
  scrollIntoView() {
    this.#root.scrollIntoView({ block: "nearest" });
  }

  paint(timeline, text, t) {
    if (!this.#focus) return;
    const { name, kind, words, alarm } = this.#head;
    const said = headOf(timeline, text, t, this.#focus);
    for (const [element, word] of [
      [name, said.name],
      [kind, said.kind],
      [words, said.words],
      [alarm, said.alarm],
    ])
      if (element.textContent !== word) element.textContent = word;
    write(this.#lines, explain(timeline, text, t, this.#focus).slice(1));
  }

  // What if something happened to it: a slider or a button for each question, and what comes of one.
  #offer(about, text) {
    const { focus, timeline } = about;
    if (!isBrief(timeline, focus)) this.#lines = make("div", "rs-lines", this.#root);
    const main = make("div", "rs-drags", this.#root);
    const row = make("div", "rs-actions", this.#root);
    const answer = new Answer(this.#root, text);
    const more = make("details", "rs-more", this.#root);
    make("summary", "", more).textContent = text["player.card.more"];
    this.#lines ??= make("div", "rs-lines", more);
    const { host, preview } = { host: this.#host, preview: this.#preview };
    const ask = (spec, label) => answer.say(host.whatIf?.ask(spec, label));
    for (const offer of offersOn(host.offers, timeline, focus))
      if (isDragged(offer)) slide(isMore(offer) ? more : main, offer, about, { host, preview, answer, ask });
      else button(row, offer.text, () => ask(asked(offer, timeline, focus, about.t), offer.text));
    if (more.children.length < 2) more.remove();
    if (host.whatIf?.canUndo)
      button(row, text["player.whatif.undo"], () => host.whatIf.undo()).classList.add("rs-undo");
  }
}

function button(parent, words, act) {
  const made = make("button", "rs-button", parent, { type: "button" });
  made.textContent = words;
  made.addEventListener("click", act);
  return made;
}
