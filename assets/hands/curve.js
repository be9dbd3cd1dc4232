// The time of a run over what a slider moves: a curve, where the run stands on it now, and where the old one does.

import { make } from "../player/elements.js";
import { TimeScale } from "../trace/words.js";

const POINTS = 9;
const SVG = "http://www.w3.org/2000/svg";
const [WIDE, HIGH] = [100, 40]; // of what the curve is drawn in, whatever room there is

export class Curve {
  #at = null;
  #drag;
  #now;
  #old;
  #path;
  #points = new Map(); // seconds, by place
  #root;
  #turn = 0;

  // `drag` is what a slider moves, from `least` to `most`.
  constructor(parent, drag) {
    this.#drag = drag;
    this.#root = make("div", "rs-curve", parent, { "aria-hidden": "true", hidden: "" });
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
    svg.setAttribute("preserveAspectRatio", "none");
    this.#path = document.createElementNS(SVG, "path");
    svg.append(this.#path);
    this.#root.append(svg);
    this.#old = this.#mark("rs-curve-old");
    this.#now = this.#mark("rs-curve-now");
  }

  #mark(name) {
    const mark = make("i", name, this.#root);
    make("span", "", mark);
    return mark;
  }

  // Have it drawn point by point, each worked out when there is time; `timeAt(place)` gives seconds, or null.
  async draw(timeAt) {
    this.#turn += 1;
    const turn = this.#turn;
    const { least, most } = this.#drag;
    for (let k = 0; k < POINTS; k += 1) {
      const place = least + ((most - least) * k) / (POINTS - 1);
      const time = timeAt(place);
      if (time === null) return;
      this.#points.set(place, time);
      // one after the other: a frame may come between
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((done) => setTimeout(done));
      if (turn !== this.#turn || !this.#root.isConnected) return;
    }
    this.#root.hidden = false;
    this.#paint();
  }

  // Show where the run is, and where the old one was: a place and seconds of each, or null.
  show(now, old) {
    this.#points.set(now.place, now.time);
    this.#at = { now, old };
    this.#paint();
  }

  #paint() {
    const most = Math.max(...this.#points.values());
    const x = (place) => (place - this.#drag.least) / (this.#drag.most - this.#drag.least);
    const y = (time) => 1 - time / (1.08 * most);
    const places = [...this.#points.keys()].toSorted((a, b) => a - b);
    const points = places.map((place) => `${WIDE * x(place)} ${HIGH * y(this.#points.get(place))}`);
    this.#path.setAttribute("d", `M${points.join("L")}`);
    if (!this.#at) return;
    const scale = TimeScale.of(most);
    for (const [mark, at] of [
      [this.#now, this.#at.now],
      [this.#old, this.#at.old],
    ]) {
      mark.hidden = !at;
      if (!at) continue;
      mark.style.left = `${100 * x(at.place)}%`;
      mark.style.setProperty("--rs-y", String(y(at.time)));
      mark.classList.toggle("rs-late", x(at.place) > 0.7);
      mark.firstChild.textContent = scale.text(scale.counts([at.time])[0]);
    }
  }
}
