// Runs again, in the page, what a payload shows, with other rates, sizes, late ranks and slow links.

import { Rows } from "./arena.js";
import { derived } from "./derived.js";
import { carriedOut } from "./run.js";
import { Plan, isKnown } from "./words.js";
import { Timeline } from "../trace/timeline.js";

export class Runner {
  #kernel;
  #rows;
  #timeline;

  // `timeline` is a run that `canRun`.
  constructor(kernel, timeline) {
    [this.#kernel, this.#timeline] = [kernel, timeline];
    this.#rows = new Rows(timeline);
  }

  static canRun({ c, faults }) {
    return Boolean(c.waiters) && faults.every(isKnown);
  }

  // What happens with these what-ifs, in order. Throws NeedsPythonError.
  raw(specs) {
    const plan = new Plan(this.#timeline, specs);
    return { plan, run: carriedOut(this.#kernel, this.#rows, plan) };
  }

  // The run with these what-ifs, in order, decoded; `isFurther` where the last one only goes on with the one before. Throws
  // NeedsPythonError.
  run(specs) {
    const { plan, run } = this.raw(specs);
    const { header, columns } = derived(this.#timeline, plan, run);
    return { timeline: new Timeline(header, columns), isFurther: plan.isFurther };
  }
}
