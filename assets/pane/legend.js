// What stands below a picture: what its colours mean, what is dashed, and a list of what may be looked at.

import { choicesOf, offerChoices } from "../hands/choices.js";
import { ramp } from "../paint/ink.js";
import { make } from "../player/elements.js";
import { fill } from "../trace/words.js";

export class Legend {
  #act;
  #apart;
  #lookAt;
  #old;
  #root;
  #step = "";
  #text = {};

  // `act.pin(focus)` has something looked at, `act.apart(true)` shows both runs side by side.
  constructor(root, act) {
    [this.#root, this.#act] = [root, act];
  }

  label(text, hasOffers) {
    this.#text = text;
    const root = this.#root;
    root.replaceChildren();
    const scale = make("span", "rs-ramp", root);
    scale.style.background = ramp();
    scale.before(`${text["player.load"]}: ${text["player.idle"]} `);
    scale.after(` ${text["player.full_load"]}`);
    const look = make("label", "rs-look", root);
    look.textContent = `${text["player.look"]} `;
    this.#lookAt = make("select", "rs-pick", look);
    this.#lookAt.addEventListener("change", () =>
      this.#act.pin(this.#lookAt.value ? JSON.parse(this.#lookAt.value) : null),
    );
    if (hasOffers) make("span", "rs-hint", root).textContent = text["player.hint"];
    this.#old = make("span", "rs-old", root, { hidden: "" });
    make("span", "", this.#old);
    this.#step = "";
    this.#apart = make("button", "rs-button", this.#old, { type: "button" });
    this.#apart.textContent = text["player.apart"];
    this.#apart.addEventListener("click", () => this.#act.apart(true));
  }

  choices(timeline, offers, focus) {
    offerChoices(this.#lookAt, choicesOf(timeline, offers), focus);
  }

  // Say what is dashed: a run of this name, at an instant; nothing without one.
  dashed(old, name, t) {
    this.#old.hidden = !old;
    if (!old) return;
    const { steps } = old.meta;
    const word = fill(this.#text["player.old"], { name, step: old.step(t), steps });
    if (this.#step === word) return;
    this.#old.firstChild.textContent = this.#step = word;
  }
}
