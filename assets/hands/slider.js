// Something to be dragged: what comes of it is shown meanwhile, and let go, it is asked.

import { make } from "../player/elements.js";
import { seconds } from "../trace/words.js";
import { Curve } from "./curve.js";
import { asked, dragOf } from "./offers.js";

const KEYED = 600; // milliseconds after a slider's last key until what it came to is asked

class Slider {
  #about;
  #answer;
  #ask;
  #curve;
  #drag;
  #host;
  #last;
  #offer;
  #preview;
  #shown;

  // `about` is what was chosen: its `focus`, `timeline` and `time` in s, the `old` run and the instant `t`.
  // `answer` says what comes of it, `ask(spec, label)` asks it. Nothing is made where there is nothing to drag.
  constructor(parent, offer, about, { host, preview, answer, ask }) {
    this.#drag = dragOf(offer, about);
    if (!this.#drag) return;
    [this.#about, this.#host, this.#offer] = [{ time: about.timeline.time, ...about }, host, offer];
    [this.#preview, this.#answer, this.#ask] = [preview, answer, ask];
    this.#make(make("div", "rs-drag", parent));
  }

  #make(root) {
    const { least, most, start, key, marks } = this.#drag;
    const label = make("label", "", root);
    make("span", "", label).textContent = this.#offer.text;
    this.#shown = make("output", "", label);
    this.#curve = new Curve(root, this.#drag);
    const range = { type: "range", min: String(least), max: String(most), step: "1", value: String(start) };
    const slider = make("input", "", root, { ...range, "data-drag": key, "aria-label": this.#offer.text });
    const scale = make("div", "rs-drag-scale", root, { "aria-hidden": "true" });
    for (const [place, word] of marks) {
      const mark = make("span", "", scale);
      mark.textContent = word;
      mark.style.left = `${(100 * (place - least)) / (most - least)}%`;
    }
    this.#last = start; // what is let go where it stands already asks nothing more
    this.#say(slider, null);
    this.#listen(slider);
    this.#host.whatIf?.prepare?.().then(() => this.#curve.draw((place) => this.#timeAt(place)));
    this.#point(start, this.#about.time);
  }

  #spec(place) {
    const { key, start, word } = this.#drag;
    const { timeline, focus, t } = this.#about;
    return place === start ? "" : asked(this.#offer, timeline, focus, t, { [key]: word(place) });
  }

  #timeAt(place) {
    if (Math.abs(place - this.#drag.start) < 0.5) return this.#about.time;
    return this.#preview.timeOf(this.#spec(place));
  }

  #point(place, time) {
    const { old } = this.#about;
    this.#curve.show({ place, time }, { place: this.#drag.usual, time: old?.time ?? this.#about.time });
  }

  #say(slider, times) {
    const word = this.#drag.shown(Number(slider.value));
    this.#shown.textContent = word;
    slider.setAttribute("aria-valuetext", times ? `${word}, ${seconds(times.after)}` : word);
  }

  #listen(slider) {
    const place = () => Number(slider.value);
    slider.addEventListener("input", () => {
      const times = this.#preview.show(this.#spec(place()));
      this.#answer.show(times);
      this.#point(place(), times?.after ?? this.#about.time);
      this.#say(slider, times);
    });
    const done = () => {
      if (place() === this.#last) return;
      this.#last = place();
      const spec = this.#spec(place());
      if (spec) this.#ask(spec, `${this.#offer.text}: ${this.#drag.shown(place())}`);
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

// Make one: see `Slider`.
export function slide(...all) {
  return new Slider(...all);
}
