// The chart of links with its head: what it shows and how finely, in which order, and which rows stay on top.

import { make } from "../player/elements.js";
import { Surface } from "../paint/surface.js";
import { handle } from "../pane/handling.js";
import { fill, seconds } from "../trace/words.js";
import { brushing } from "./brushing.js";
import { LoadChart } from "./chart.js";
import { ORDERS } from "./rows.js";

export class Links {
  #canvas;
  #cell = 0;
  #chart = null;
  #chosen = [];
  #due = null; // what is to be painted once it is in sight
  #isSeen = false;
  #note;
  #old = null;
  #order;
  #pinned = [];
  #sight;
  #text = {};
  #title;

  // `host` is the pane's: it can `seek(t)`, `pause()`, `brush(range)` and `draw()`; `isFocused()` says whether plain
  // wheels are meant for it, `hover(event, focus)` is told what is under the pointer, `changed()` that rows are others.
  constructor(parent, host, { isFocused, hover, changed }) {
    const head = make("div", "rs-chart-head", parent);
    this.#title = make("h4", "", head);
    this.#order = make("select", "rs-pick", head);
    this.#note = make("span", "rs-chart-note", head);
    this.#canvas = make("canvas", "rs-chart", parent, { role: "img" });
    const arrange = () => {
      this.#arrange();
      changed();
    };
    this.#order.addEventListener("change", arrange);
    brushing(this.#canvas, {
      chart: () => this.#chart,
      seek: (t) => {
        host.pause();
        host.seek(t);
      },
      brush: (range) => host.brush(range),
      hover,
      pin: (link) => {
        const isPinned = this.#pinned.includes(link);
        this.#pinned = isPinned ? this.#pinned.filter((k) => k !== link) : [...this.#pinned, link];
        arrange();
      },
    });
    const isRuler = (event) => this.#chart.isRuler(event.offsetY);
    handle(this.#canvas, { picture: () => this.#chart, isFocused, moved: () => host.draw(), drags: isRuler });
    this.#sight = new IntersectionObserver((entries) => this.#comes(entries.at(-1).isIntersecting));
  }

  // It mostly stands below the picture and is as large: nobody waits for it who does not see it.
  #comes(isSeen) {
    this.#isSeen = isSeen;
    if (isSeen && this.#due) this.paint(...this.#due);
  }

  load(timeline) {
    [this.#chosen, this.#pinned] = [[], []];
    this.#chart = new LoadChart(timeline);
    this.#chart.against(this.#old);
    this.#arrange();
  }

  label(text) {
    this.#text = text;
    this.#title.textContent = text["player.timeline"];
    this.#canvas.setAttribute("aria-label", text["player.timeline"]);
    this.#order.setAttribute("aria-label", text["player.order"]);
    const now = this.#order.value || "machine";
    this.#order.replaceChildren();
    for (const name of Object.keys(ORDERS))
      make("option", "", this.#order, { value: name }).textContent = text[`player.order.${name}`];
    this.#order.value = now;
    this.#tell();
  }

  // The link that is chosen elsewhere has a row on top as long as it is; whether that changes anything.
  choose(link) {
    if (link === (this.#chosen[0] ?? null)) return false;
    this.#chosen = link === null ? [] : [link];
    this.#arrange();
    return true;
  }

  #arrange() {
    if (!this.#chart) return;
    this.#chart.arrange(this.order, [...new Set([...this.#chosen, ...this.#pinned])]);
    this.#tell();
  }

  // Of how many links it shows how many, where not all, over how much time a cell is an average, and what one may do.
  #tell() {
    if (!this.#chart) return;
    this.#cell = this.#chart.cell;
    const [shown, count] = this.#chart.shown;
    const words = [
      ...(shown < count ? [fill(this.#text["player.timeline.some"], { shown, count })] : []),
      fill(this.#text["player.timeline.cell"], { time: seconds(this.#chart.cell) }),
      this.#text["player.timeline.hint"],
    ];
    this.#note.textContent = words.join(" · ");
  }

  // Mark where an old run ended, in s; nothing without one.
  against(time) {
    this.#old = time;
    this.#chart?.against(time);
  }

  layout(colours, room) {
    this.#chart.layout(new Surface(this.#canvas, colours), room);
    this.#isSeen = false; // it comes a frame after the pictures, which are waited for
    this.#sight.unobserve(this.#canvas);
    this.#sight.observe(this.#canvas); // not before: as long as the picture has no room, this stands where it will be
  }

  // The stretch of time that is played over and over, or null.
  brush(range) {
    this.#chart?.brush(range);
  }

  paint(t, lit) {
    this.#due = this.#isSeen ? null : [t, lit];
    if (this.#due) return;
    this.#chart.paint(t, lit);
    if (this.#chart.cell !== this.#cell) this.#tell();
  }

  // The order of rows, which is that of ranks over time, too.
  get order() {
    return this.#order.value || "machine";
  }
}
