// What comes of a what-if: the time before and with it, as bars and in words.

import { make } from "../player/elements.js";
import { TimeScale, fill } from "../trace/words.js";

const BARS = { before: "player.whatif.before", after: "player.whatif.after" };

export class Answer {
  #bars = {};
  #root;
  #rows = {};
  #said = {};
  #text;
  #words;

  constructor(parent, text) {
    this.#text = text;
    this.#root = make("div", "rs-answer", parent, { hidden: "" });
    for (const [name, said] of Object.entries(BARS)) {
      const row = make("div", `rs-answer-${name}`, this.#root);
      this.#rows[name] = row;
      make("span", "", row).textContent = text[said];
      this.#bars[name] = make("i", "", make("span", "rs-part-bar", row));
      this.#said[name] = make("b", "", row);
    }
    this.#words = make("p", "", this.#root, { role: "status" });
  }

  // Seconds `before` and `after`; nothing where none are known.
  show(times) {
    this.#root.hidden = !times;
    if (!times) return;
    const { before, after } = times;
    const most = Math.max(before, after);
    const scale = TimeScale.of(most);
    const counts = scale.counts([before, after]);
    Object.keys(BARS).forEach((name, k) => {
      this.#rows[name].hidden = false;
      this.#bars[name].style.width = `${(100 * times[name]) / most}%`;
      this.#said[name].textContent = scale.text(counts[k]);
    });
    const difference = counts[1] - counts[0];
    const change = `${difference < 0 ? "−" : "+"}${scale.text(Math.abs(difference))}`;
    const share = `×${Number((after / before).toPrecision(3))}`;
    this.#words.textContent = difference
      ? fill(this.#text["player.whatif.change"], { change, share })
      : this.#text["player.whatif.same"];
  }

  // Say why nothing comes of it; nothing where something does.
  say(why) {
    if (!why) return;
    this.#root.hidden = false;
    for (const row of Object.values(this.#rows)) row.hidden = true;
    this.#words.textContent = why;
  }
}
