// What comes of a what-if, in words.

import { make } from "../player/elements.js";
import { TimeScale, fill } from "../trace/words.js";

export class Answer {
  #text;
  #words;

  constructor(parent, text) {
    this.#text = text;
    this.#words = make("p", "rs-answer", parent, { role: "status", hidden: "" });
  }

  // Seconds `before` and `after`; nothing where none are known.
  show(times) {
    this.#words.hidden = !times;
    if (!times) return;
    const { before, after } = times;
    const scale = TimeScale.of(Math.max(before, after));
    const counts = scale.counts([before, after]);
    const difference = counts[1] - counts[0];
    const change = `${difference < 0 ? "−" : "+"}${scale.text(Math.abs(difference))}`;
    const share = `×${Number((after / before).toPrecision(3))}`;
    this.#words.textContent = difference
      ? fill(this.#text["player.whatif.change"], { change, share })
      : this.#text["player.whatif.same"];
  }

  // Say why nothing comes of it; nothing where something does.
  say(why) {
    this.#words.hidden = !why;
    this.#words.textContent = why ?? "";
  }
}
