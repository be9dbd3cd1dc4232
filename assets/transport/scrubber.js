// The slider of time: phases stand named above it, and every step ends at a notch.

import { make } from "../player/elements.js";

const FINE = 1e6;
const MOST_NOTCHES = 64;
const NARROWEST = 0.07; // of the run: a shorter phase has no room for its name

export class Ruler {
  #ghost;
  #notches;
  #phases;
  #root;
  #scrub;

  constructor(bar, act) {
    this.#root = make("span", "rs-ruler", bar);
    this.#phases = make("span", "rs-phases", this.#root, { "aria-hidden": "true" });
    this.#scrub = make("input", "rs-scrub", this.#root, { type: "range", min: "0", max: String(FINE), step: "1" });
    this.#scrub.addEventListener("input", () => act.scrub(Number(this.#scrub.value) / FINE));
    this.#scrub.addEventListener("change", () => act.tell());
    this.#notches = make("span", "rs-notches", this.#root, { "aria-hidden": "true" });
    this.#ghost = make("i", "rs-ghost", this.#root, { hidden: "" });
  }

  label(words) {
    this.#scrub.setAttribute("aria-label", words);
  }

  // Other runs, with the `phases` of the first: each the step before it and its name.
  offer({ bounds, time, steps }, phases) {
    const share = (step) => (time > 0 ? (bounds[Math.min(step, steps)] ?? time) / time : 0);
    const spans = phases.map(([first, name], k) => ({
      from: share(first),
      to: share(phases[k + 1]?.[0] ?? steps),
      name,
    }));
    const shown = spans.filter(({ from, to }) => to - from > NARROWEST);
    this.#phases.replaceChildren();
    for (const { from, to, name } of shown) this.#place("rs-phase", this.#phases, from, to).textContent = name;
    this.#notches.replaceChildren();
    if (steps > MOST_NOTCHES) return;
    for (let step = 1; step < steps; step += 1) this.#place("rs-notch", this.#notches, share(step), share(step));
  }

  #place(className, parent, from, to) {
    const part = make("span", className, parent);
    part.style.setProperty("--rs-from", String(from));
    part.style.setProperty("--rs-to", String(to));
    return part;
  }

  mark(share) {
    this.#ghost.hidden = share === null;
    this.#ghost.classList.toggle("rs-later", share > 1);
    this.#ghost.style.setProperty("--rs-share", String(Math.min(1, share ?? 0)));
  }

  show(share, words) {
    const place = String(Math.round(share * FINE));
    if (this.#scrub.value !== place) {
      this.#scrub.value = place;
      this.#scrub.style.setProperty("--rs-share", String(share));
    }
    this.#scrub.setAttribute("aria-valuetext", words);
  }

  is(element) {
    return element === this.#scrub;
  }
}
