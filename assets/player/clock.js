// The instant that is shown, how time passes and where one may go from here; of one run, or of several at once.

import { firstFrom } from "../trace/walk.js";

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10];
const SHORTEST = 6;
const LONGEST = 40;
const PER_STEP = 1.2;

const within = (value, most) => Math.max(0, Math.min(most, value));

export class Clock {
  #timelines = [];
  #rested = 0;

  constructor() {
    this.t = 0;
    this.time = 0; // of the longest run
    this.own = 0; // of the run whose picture it is, where that holds an older one
    this.half = 0; // of a tick: what lies within it is the same instant
    this.bounds = [0]; // where steps end
    this.speed = 1;
    this.even = false; // steps all take as long, however long they are
    this.until = null; // where playing stops before the end
    this.stops = []; // where it stops each time that it comes there
    this.loop = null; // from where to where it is played over and over
  }

  // Other runs: a single one's steps, or of several every instant at which one of them ends a step. A stretch that is
  // played over and over stays where they are the same ones, drawn once more. An `old` run may end later, in s.
  follow(timelines, isSame = false, old = 0) {
    this.#timelines = timelines;
    if (!isSame) this.loop = null;
    this.own = Math.max(...timelines.map(({ time }) => time));
    this.time = Math.max(this.own, old);
    this.half = Math.max(...timelines.map(({ half }) => half));
    if (timelines.length === 1) this.bounds = timelines[0].bounds;
    else this.bounds = [...new Set(timelines.flatMap(({ bounds }) => bounds))].toSorted((a, b) => a - b);
    this.seek(this.t);
  }

  // Go on to the end of an old run, too.
  stretch(own, old) {
    [this.own, this.time] = [own, Math.max(own, old)];
    this.seek(this.t);
  }

  get steps() {
    return this.bounds.length - 1;
  }

  // Whether the last run is over.
  get over() {
    return this.t + this.half >= this.time;
  }

  // The step under way.
  get step() {
    const { bounds } = this;
    return Math.min(
      this.steps,
      firstFrom(bounds.length, (k) => bounds[k], this.t - this.half),
    );
  }

  // How many steps are done, with a fraction: the scale of even steps.
  get position() {
    const k = this.step;
    if (k === 0) return 0;
    const span = this.bounds[k] - this.bounds[k - 1];
    return k - 1 + (span > 0 ? Math.min(1, (this.t - this.bounds[k - 1]) / span) : 1);
  }

  // The instant of a position.
  instant(position) {
    const k = within(Math.floor(position), this.steps);
    const next = this.bounds[Math.min(this.steps, k + 1)];
    return this.bounds[k] + (next - this.bounds[k]) * Math.max(0, position - k);
  }

  // Real seconds that the whole takes on screen at speed 1.
  get length() {
    return Math.max(SHORTEST, Math.min(LONGEST, this.steps * PER_STEP));
  }

  // Simulated seconds that pass in one on screen at a speed.
  paceAt(speed) {
    return (this.time / this.length) * speed;
  }

  seek(t) {
    this.t = Number.isFinite(t) ? within(t, this.time) : 0;
  }

  // The end of a step.
  endOf(step) {
    return this.bounds[within(Math.round(step) || 0, this.steps)];
  }

  // The end of this step or the next, or of the one before.
  stepFrom(by) {
    const { bounds, t, half, step } = this;
    if (by < 0) {
      let k = step - 1;
      while (k > 0 && bounds[k] >= t - half) k -= 1;
      return this.endOf(k);
    }
    let k = t + half < bounds[step] ? step : step + 1;
    while (k < this.steps && bounds[k] <= t + half) k += 1;
    return this.endOf(k);
  }

  // Where the next or the last phase of the first run begins.
  phaseFrom(by) {
    const [timeline] = this.#timelines;
    const { steps } = timeline.meta;
    const firsts = [0, ...timeline.steps.phases.map(([first]) => first), steps];
    const now = timeline.step(this.t);
    const next = by > 0 ? (firsts.find((k) => k > now) ?? steps) : (firsts.findLast((k) => k < now) ?? 0);
    return timeline.bounds[next];
  }

  // The next end of a transfer in any run, or the last before.
  eventFrom(by) {
    const events = this.#timelines.map((timeline) => timeline.event(this.t, by));
    if (by > 0) return Math.min(...events.filter((t) => t > this.t), this.time);
    return Math.max(...events.filter((t) => t < this.t), 0);
  }

  // Let real seconds pass; true when that led to where playing stops. The calm go from step to step and rest there.
  pass(seconds, calm = false) {
    const passed = seconds * this.speed;
    const before = this.t + this.half;
    if (calm) this.#rest(passed);
    else if (this.even) this.t = this.instant(this.position + (passed * this.steps) / this.length);
    else this.t += (passed * this.time) / this.length;
    if (this.loop && (this.t >= this.loop[1] || this.t < this.loop[0])) [this.t] = this.loop;
    const stop = this.stops.find((t) => t > before) ?? this.time;
    const end = Math.min(this.time, this.until ?? this.time, stop);
    if (this.t + this.half < end) return false; // what lies within it would be passed by unseen
    this.t = end;
    this.until = null;
    return true;
  }

  #rest(passed) {
    this.#rested += passed;
    if (this.#rested < this.length / Math.max(1, this.steps)) return;
    this.#rested = 0;
    this.t = this.bounds[Math.min(this.steps, this.step + 1)];
  }
}
