// Keeps the place where a person stands in the page's address, and takes them to the one that a link names.

import { fill } from "../trace/words.js";
import { keep, read, written } from "./bookmark.js";

const AFTER = 400; // ms that a person stands still
const NOWHERE = { t: 0, number: 0, place: {}, is_ahead: false };

export class Marker {
  #begun = null; // the number of the place that was last begun at
  #isGone = false;
  #player;
  #start = NOWHERE;
  #waiting = 0;

  // `player` has a `clock`, a `window` of time, `panes()`, `view()`, `isPlaying()` and `brush(range)`.
  constructor(player) {
    this.#player = player;
    globalThis.addEventListener("popstate", this.#goes);
  }

  #goes = () => {
    this.#isGone = true;
  };

  // Whether the address is not, or not yet, that of the runs which are shown: others are on their way, and nothing may
  // hold them up.
  get isGone() {
    return this.#isGone;
  }

  // Take where runs begin; whether that is another place than the last one.
  begin(start) {
    this.#start = { ...NOWHERE, ...start };
    this.#isGone = this.#start.is_ahead;
    const isNew = this.#begun !== this.#start.number;
    this.#begun = this.#start.number;
    return isNew;
  }

  get #timelines() {
    return this.#player.panes().map(({ timeline }) => timeline);
  }

  // Stand where the words of a link say, besides instant and view; what they name that is not here is told.
  stand(text) {
    const { window, panes, brush } = this.#player;
    const place = read(this.#start.place, this.#timelines);
    const words = place.refused.length ? fill(text["player.link.refused"], { words: place.refused.join(", ") }) : "";
    for (const [k, pane] of panes().entries()) {
      pane.look(place.cameras[k] ?? null);
      pane.pin(place.chosen[k] ?? null, true);
      pane.remark(k ? "" : words);
    }
    if (place.window) window.show(place.window);
    else window.home();
    brush(place.brush);
  }

  // Where a person stands, in the words of a link.
  get words() {
    const { clock, window, panes, view } = this.#player;
    const place = {
      t: clock.t,
      view: view(),
      cameras: panes().map((pane) => pane.nearness),
      window: window.isHome ? null : [window.from, window.to],
      chosen: panes().map((pane) => pane.chosen),
      brush: clock.loop,
    };
    return written(place, this.#timelines, this.#start.usual);
  }

  // Keep the place in the address, where that is wanted, once a person stands still.
  keep() {
    clearTimeout(this.#waiting);
    if (!this.#start.is_linked) return;
    this.#waiting = setTimeout(() => this.#isGone || this.#player.isPlaying() || keep(this.words), AFTER);
  }

  close() {
    clearTimeout(this.#waiting);
    globalThis.removeEventListener("popstate", this.#goes);
  }
}
