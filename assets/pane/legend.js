// What stands below a picture: what its colours mean, what is dashed, and a list of what may be looked at.

import { choicesOf, listOf, offerChoices } from "../hands/choices.js";
import { make } from "../player/elements.js";
import { fill } from "../trace/words.js";

export class Legend {
  #act;
  #apart;
  #lookAt;
  #old;
  #red;
  #root;
  #scale;
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
    root.append(`${text["player.load"]}: ${text["player.idle"]} `);
    this.#scale = make("span", "rs-ramp", root);
    root.append(` ${text["player.full_load"]} `);
    this.#red = make("span", "rs-red", root);
    root.append(` ${text["player.full_wait"]} `);
    this.#lookAt = listOf(root, text["player.look"], hasOffers ? text["player.hint"] : "");
    this.#lookAt.addEventListener("change", () =>
      this.#act.pin(this.#lookAt.value ? JSON.parse(this.#lookAt.value) : null),
    );
    this.#old = make("span", "rs-old", root, { hidden: "" });
    make("span", "", this.#old);
    this.#step = "";
    this.#apart = make("button", "rs-button", this.#old, { type: "button" });
    this.#apart.textContent = text["player.apart"];
    this.#apart.addEventListener("click", () => this.#act.apart(true));
  }

  // In the page's colours.
  paint({ load, red }) {
    const steps = load.map((grey, k) => `${grey} ${(100 * k) / load.length}% ${(100 * (k + 1)) / load.length}%`);
    this.#scale.style.background = `linear-gradient(90deg, ${steps.join(", ")})`;
    this.#red.style.background = red;
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
