// The runs that are shown: each in a pane of its own, or one of two as the ghost in the picture of the other.

import { sharesPicture, sharesSchedule, toOneScale } from "./ghost.js";
import { decode } from "../trace/decode.js";

// The clock goes on to the end of an old run in the picture, and the ruler says where that is.
export function stretch(panes, clock, window, controls) {
  const [{ timeline, old }] = panes;
  const isOne = panes.length === 1;
  if (isOne) clock.stretch(timeline.time, old?.time ?? 0);
  window.follow(clock.time);
  controls.mark(timeline.time, isOne && old ? old.time : null);
}

export class Shown {
  #data = { runs: [] };
  #isApart = null; // where somebody has chosen
  #known = new Map(); // by id

  // Decode what is not shown already.
  decoded({ runs }) {
    return Promise.all(runs.map((run) => this.#known.get(run.id) ?? run.timeline ?? decode(run.tl)));
  }

  take(data, timelines) {
    this.#data = data;
    this.#known = new Map(data.runs.map(({ id }, k) => [id, timelines[k]]));
    this.#isApart = null;
  }

  // What is shown, with two runs side by side or in one picture.
  chosen(isApart) {
    this.#isApart = isApart;
    return { ...this.#data, cmd: null };
  }

  get #timelines() {
    return this.#data.runs.map(({ id }) => this.#known.get(id));
  }

  // Whether a run is held against itself, as one that has just been pinned is.
  get #isAlone() {
    const { runs } = this.#data;
    return runs.every(({ id }) => id === runs[0].id);
  }

  get #isOne() {
    if (this.#isAlone) return true;
    const timelines = this.#timelines;
    return timelines.length === 2 && sharesPicture(timelines) && !(this.#isApart ?? !sharesSchedule(timelines));
  }

  get panes() {
    return this.#isOne ? 1 : this.#data.runs.length;
  }

  // Give as many panes their runs, and each what it is held against.
  fill(panes) {
    const { runs, text } = this.#data;
    const timelines = this.#timelines;
    const isOne = this.#isOne;
    toOneScale(timelines);
    for (const [k, pane] of panes.entries()) {
      pane.load(isOne ? { ...runs[k], title: "" } : runs[k], timelines[k], text);
      if (this.#isAlone) pane.against(null);
      else if (isOne) pane.against(timelines[1], runs[1].title || text["player.whatif.before"]);
      else pane.against(timelines[0]);
    }
  }
}
