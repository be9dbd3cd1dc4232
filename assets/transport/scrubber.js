// The slider of time: phases stand named above it, and every step ends at a notch.

import { make } from "../player/elements.js";
import { fill, seconds } from "../trace/words.js";

const FINE = 1e6;
const MOST_NOTCHES = 64;
const NARROWEST = 0.07; // of the run: a shorter phase has no room for its name
const LATE = 0.6; // of the ruler: what ends later is named to the left of its mark

export class Ruler {
  #clock;
  #endWords = "";
  #ends = {};
  #named = [];
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
    for (const name of ["now", "old"]) {
      this.#ends[name] = make("i", `rs-end rs-end-${name}`, this.#root, { hidden: "" });
      make("span", "", this.#ends[name]);
    }
  }

  label(words, endWords) {
    this.#scrub.setAttribute("aria-label", words);
    this.#endWords = endWords;
  }

  // Other runs, with the `phases` of the first: each the step before it and its name.
  offer(clock, phases) {
    [this.#clock, this.#named] = [clock, phases];
    this.#spread();
  }

  #spread() {
    const { bounds, time, steps } = this.#clock;
    const phases = this.#named;
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

  mark(now, old) {
    if (this.#clock) this.#spread();
    for (const [name, time] of [
      ["now", now],
      ["old", old],
    ]) {
      const end = this.#ends[name];
      end.hidden = old === null;
      if (old === null) continue;
      const share = time / Math.max(now, old);
      end.style.setProperty("--rs-share", String(share));
      end.classList.toggle("rs-late", share > LATE);
      end.firstChild.textContent = name === "old" ? fill(this.#endWords, { time: seconds(time) }) : "";
    }
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
