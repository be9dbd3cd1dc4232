// Several runs on one clock: who has arrived, in the order of arrival.

import { seconds } from "../trace/words.js";
import { sharesPicture } from "./ghost.js";
import { make } from "../player/elements.js";

export class Standings {
  #line;
  #together;

  // `together` shows two runs of one machine in one picture.
  constructor(parent, together) {
    this.#line = make("p", "rs-stands", parent, { "aria-live": "polite" });
    this.#together = make("button", "rs-button rs-together", parent, { type: "button", hidden: "" });
    this.#together.addEventListener("click", together);
  }

  // Have it stand above the pictures, whose room is what is left below it.
  seat(panes, text) {
    this.#together.hidden = panes.length !== 2 || !sharesPicture(panes.map(({ timeline }) => timeline));
    this.#together.textContent = text["player.together"];
    this.#line.style.display = panes.length > 1 ? "block" : "none";
  }

  paint(panes, t) {
    const words = [];
    if (panes.length > 1) {
      const ended = panes.filter((pane) => pane.hasEnded(t));
      const best = Math.min(...ended.map(({ timeline }) => timeline.time));
      const arrived = ended.toSorted((a, b) => a.timeline.time - b.timeline.time);
      for (const [k, pane] of arrived.entries()) words.push(`${k + 1}. ${pane.title}: ${ending(pane.timeline, best)}`);
      for (const pane of panes) pane.root.classList.toggle("rs-done", ended.includes(pane));
    }
    const line = words.join("   ");
    if (this.#line.textContent !== line) this.#line.textContent = line;
  }
}

// How a run ended, beside the best.
function ending({ time }, best) {
  const late = best > 0 ? time / best : 1;
  return late > 1 + 1e-9 ? `${seconds(time)} · ×${Number(late.toPrecision(3))}` : seconds(time);
}
