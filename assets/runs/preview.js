// What would be, in place of what a run shows, while somebody drags; the run itself is its ghost meanwhile.

import { guessBottlenecks } from "../paint/load.js";
import { Ghost, toOneScale } from "./ghost.js";

export class Preview {
  #host;
  #pane;

  // Calls `host.stretch()` when the end of a run changes, and `host.say(spec)` with the change.
  constructor(pane, host) {
    [this.#pane, this.#host] = [pane, host];
    this.ghost = null; // of what the run shows itself, while it shows what would be
  }

  get isOn() {
    return this.ghost !== null;
  }

  // Show what would be with a what-if, or without one the run itself; returns both times, in s.
  show(spec) {
    if (!this.ghost && !spec) return null;
    const { timeline } = this.#pane;
    const worked = spec ? this.#worked(spec) : null;
    const itself = this.ghost?.timeline;
    if (worked) {
      toOneScale([itself ?? timeline, worked]);
      guessBottlenecks(worked);
      timeline.exchange(worked);
      this.ghost ??= new Ghost(worked);
    } else if (itself) {
      timeline.exchange(itself);
      this.ghost = null;
    }
    this.#host.say(spec);
    this.#host.stretch();
    this.#host.draw();
    return worked && { before: this.#pane.old.time, after: timeline.time };
  }

  // Seconds that the run would take with a what-if, or null.
  timeOf(spec) {
    return this.#here?.timeOf(spec) ?? null;
  }

  #worked(spec) {
    return this.#here?.preview(spec) ?? null;
  }

  // What is asked is asked about the first run.
  get #here() {
    const { first, whatIf } = this.#host;
    return first() === this.#pane ? whatIf : null;
  }
}
