// Runs again, in the page, what a payload shows, with other rates, sizes, late ranks and slow links.

import { factsOf } from "../answer/facts.js";
import { Rows } from "./arena.js";
import { derived } from "./derived.js";
import { carriedOut } from "./run.js";
import { Plan, isKnown } from "./words.js";
import { Timeline } from "../trace/timeline.js";

export class Runner {
  #facts;
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

  // The run with these what-ifs, in order, decoded; `isFurther` where the last one only goes on with the one before, and
  // `facts()` are what an answer needs to know. Throws NeedsPythonError.
  run(specs) {
    const raw = this.raw(specs);
    const { header, columns } = derived(this.#timeline, raw.plan, raw.run);
    const facts = () => factsOf(this.#timeline, raw);
    return { timeline: new Timeline(header, columns), isFurther: raw.plan.isFurther, facts };
  }

  // What an answer needs to know of the run itself.
  get facts() {
    this.#facts ??= factsOf(this.#timeline, this.raw([]));
    return this.#facts;
  }

  // What a reader's changes are changes of.
  get about() {
    return { faults: this.#timeline.faults, size: this.#timeline.meta.size };
  }
}
