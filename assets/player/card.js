// What has been chosen in the pictures stays in view until something else is, with what can be done to it.

import { make } from "./elements.js";
import { explain } from "./explain.js";

const LEAST = 5; // per cent of a bandwidth that can be dragged to

// Write lines, where they have changed.
export function write(parent, lines) {
  if (parent.textContent === lines.join("")) return;
  parent.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
}

export class Card {
  #fork;
  #lines = null;
  #root;

  // `fork(spec)` asks what if, in the words of a trouble; null where nobody can answer.
  constructor(parent, fork) {
    this.#root = make("div", "rs-card", parent);
    this.#fork = fork;
  }

  // Show what is known about `focus`; without one, nothing. `now` gives the instant; `close` is what × does.
  open(focus, { timeline, text, now, close }) {
    this.#root.replaceChildren();
    this.#root.style.display = focus ? "block" : "none";
    this.#lines = null;
    if (!focus) return;
    this.#lines = make("div", "rs-lines", this.#root);
    if (this.#fork) this.#offer(focus, timeline, text, now);
    const away = make("button", "rs-away", this.#root, { type: "button", "aria-label": text["player.close"] });
    away.textContent = "×";
    away.addEventListener("click", close);
  }

  scrollIntoView() {
    this.#root.scrollIntoView({ block: "nearest" }); // what was clicked may stand far above it
  }

  paint(timeline, text, t, focus) {
    if (this.#lines) write(this.#lines, explain(timeline, text, t, focus));
  }

  // Buttons that ask what if something happened to a link or a rank.
  #offer(focus, timeline, text, now) {
    const row = make("div", "rs-actions", this.#root);
    const button = (name, spec) => {
      const made = make("button", "rs-button", row, { type: "button" });
      made.textContent = text[`player.${name}`];
      made.addEventListener("click", () => this.#fork(spec()));
    };
    const { devices, links, time } = timeline;
    if (focus.kind === "link") {
      const ends = `src=${devices.name[links.src[focus.index]]},dst=${devices.name[links.dst[focus.index]]}`;
      const start = () => (now() > 0 && now() < time ? `,start=${Number((now() * 1e6).toPrecision(6))}us` : "");
      const left = Math.round((100 * timeline.capacities(now())[focus.index]) / links.bandwidth[focus.index]);
      const slowed = (share) => `slow_link:${ends},share=${share}${start()}`;
      if (left > LEAST) this.#drag(row, text["player.bandwidth"], left, (share) => this.#fork(slowed(share)));
      button("half", () => slowed(0.5));
      button("cut", () => `dead_link:${ends},reroute=yes${start()}`);
    } else if (focus.kind === "device" && devices.rank[focus.index] >= 0) {
      const rank = devices.rank[focus.index];
      button("slow", () => `straggler:rank=${rank},slower=2`);
      button("late", () => `straggler:rank=${rank},late=${Number((time * 2.5e5).toPrecision(2))}us`);
    }
  }

  // A link's bandwidth to be dragged; let go, and the run is done again.
  // Troubles multiply, so what is dragged to is told as a share of what is left.
  #drag(row, words, left, set) {
    const label = make("label", "rs-drag", row);
    label.textContent = `${words} `;
    const range = { type: "range", min: String(LEAST), max: String(left), step: "1", value: String(left) };
    const slider = make("input", "", label, range);
    const shown = make("output", "", label);
    const show = () => {
      shown.textContent = ` ${slider.value} %`;
    };
    show();
    slider.addEventListener("input", show);
    slider.addEventListener("change", () => {
      if (Number(slider.value) < left) set(Number((slider.value / left).toPrecision(4)));
    });
  }
}
