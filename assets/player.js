// The player: one clock for one run or several, its buttons and keys, and the frame loop.

import { SPEEDS, VIEWS, build, icon, make } from "./controls.js";
import { fill, seconds } from "./explain.js";
import { Pane } from "./pane.js";
import { firstFrom } from "./timeline.js";

const VERSION = 2;
const SHORTEST = 6;
const LONGEST = 40;
const instances = new WeakMap();

class Player {
  constructor(parent, report, fork) {
    Object.assign(this, { parent, report, fork, speed: 1, even: false, lit: false, view: "machine", t: 0, panes: [] });
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    build(this);
    this.stands = make("p", "rs-stands", parent, { "aria-live": "polite" });
    this.grid = make("div", "rs-panes", parent);
    parent.addEventListener("keydown", (event) => this._key(event));
    this.watchSize = new ResizeObserver(() => this.layout());
    this.watchSize.observe(this.grid);
    this.watchSight = new IntersectionObserver(([entry]) => { this.visible = entry.isIntersecting; this.wake(); });
    this.watchSight.observe(this.grid);
  }

  async load(data) {
    this.text = data.text;
    while (this.panes.length > data.runs.length) this.panes.pop().root.remove();
    while (this.panes.length < data.runs.length) this.panes.push(new Pane(this, this.grid));
    if (this.panes.length > 1) this.parent.prepend(this.controls);
    else this.panes[0].root.prepend(this.controls);
    this.grid.dataset.count = String(this.panes.length);
    if (data.v !== VERSION) {
      for (const pane of this.panes) pane.captionLine.textContent = data.text["player.unknown"];
      return;
    }
    this._label();
    const place = this.bounds ? this.position() / Math.max(1, this.bounds.length - 1) : null;
    const before = this.ids;
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const loaded = await Promise.all(this.panes.map((pane, k) => pane.load(data.runs[k], data.text)));
    if (turn !== this.turn || loaded.includes(false)) return;
    this.ids = data.runs.map((run) => run.id).join();
    this.time = Math.max(...this.panes.map((pane) => pane.timeline.time));
    this.half = Math.max(...this.panes.map((pane) => pane.timeline.half));
    this.bounds = this._bounds();
    this.stepBox.max = String(this.bounds.length - 1);
    this.stepOf.textContent = `${this.text["player.of"]} ${this.bounds.length - 1}`;
    if (place === null) this._begin(data.start ?? {});
    else if (before !== this.ids) this._keep(place, data);
    for (const view of VIEWS) this.viewButtons[view].disabled = !this.panes.some((pane) => pane.pictures[view]);
    this._obey(data.cmd);
    this.setView(this.view, true);
    this.setEven(this.even);
  }

  _begin(start) {
    this.t = Math.max(0, Math.min(this.time, start.t ?? 0));
    if (VIEWS.includes(start.view)) this.view = start.view;
    this.commanded = 0;
  }

  // Other runs have come: stay at the same share of the way, or at the same instant where the future forked.
  _keep(place, data) {
    this.t = data.start?.keep ? Math.min(this.time, this.t) : this.atPosition(place * (this.bounds.length - 1));
    this.tell();
  }

  // Something the page asks for, once per number.
  _obey(command) {
    if (!command || command.n === this.commanded) return;
    this.commanded = command.n;
    if (command.view) this.view = command.view;
    if (command.from !== undefined) this.t = Math.max(0, Math.min(this.time, command.from));
    this.until = command.to ?? null;
    if (command.play) this.play();
    else this.pause(true);
  }

  // Where steps end: a single run's own, or of several runs every instant at which one of them ends a step.
  _bounds() {
    if (this.panes.length === 1) return this.panes[0].timeline.bounds;
    return [...new Set(this.panes.flatMap((pane) => pane.timeline.bounds))].sort((a, b) => a - b);
  }

  _label() {
    const say = (name) => this.text[`player.${name}`];
    for (const name of ["first", "back", "forward", "last", "full"]) {
      this.buttons[name].setAttribute("aria-label", say(name));
      this.buttons[name].title = say(name);
    }
    this.stepWord.textContent = say("step");
    this.scrub.setAttribute("aria-label", say("scrub"));
    this.speedBox.setAttribute("aria-label", say("speed"));
    this.speedBox.title = say("speed");
    this.speedBox.value = String(this.speed);
    this.helpButton.setAttribute("aria-label", say("help"));
    this.help.textContent = say("keys");
    this.viewGroup.setAttribute("aria-label", say("view"));
    for (const view of VIEWS) this.viewButtons[view].textContent = say(`view.${view}`);
    this.litButton.textContent = say("critical");
    this.litButton.title = say("critical.help");
    this._playLabel();
  }

  _playLabel() {
    const name = this.playing ? "pause" : "play";
    this.buttons.play.replaceChildren(icon(name));
    this.buttons.play.setAttribute("aria-label", this.text?.[`player.${name}`] ?? name);
    this.buttons.play.title = this.text?.[`player.${name}`] ?? name;
    for (const pane of this.panes) pane.captionLine.setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  // Whether every pane has something to show: a new one is empty until its run is decoded.
  get ready() {
    return Boolean(this.bounds) && this.panes.every((pane) => pane.timeline);
  }

  layout() {
    if (!this.ready) return;
    for (const pane of this.panes) pane.layout();
    this.draw();
  }

  step(t = this.t) {
    return Math.min(this.bounds.length - 1, firstFrom(this.bounds.length, (k) => this.bounds[k], t - this.half));
  }

  // How many steps are done, with a fraction: the scale of even steps.
  position(t = this.t) {
    const k = this.step(t);
    if (k === 0) return 0;
    const span = this.bounds[k] - this.bounds[k - 1];
    return k - 1 + (span > 0 ? Math.min(1, (t - this.bounds[k - 1]) / span) : 1);
  }

  atPosition(position) {
    const k = Math.max(0, Math.min(this.bounds.length - 1, Math.floor(position)));
    const next = this.bounds[Math.min(this.bounds.length - 1, k + 1)];
    return this.bounds[k] + (next - this.bounds[k]) * Math.max(0, position - k);
  }

  // Real seconds that the whole run takes on screen at speed 1.
  length() {
    return Math.max(SHORTEST, Math.min(LONGEST, (this.bounds.length - 1) * 1.2));
  }

  seek(t, quiet = false) {
    this.t = Math.max(0, Math.min(this.time, Number.isFinite(t) ? t : 0));
    this.draw();
    if (!quiet && !this.playing) this.tell();
  }

  jump(step) {
    this.seek(this.bounds[Math.max(0, Math.min(this.bounds.length - 1, Math.round(step) || 0))]);
  }

  stepBy(by) {
    const { bounds } = this;
    const now = this.step();
    let k = now;
    if (by > 0) {
      k = this.t + this.half < bounds[now] ? now : now + 1;
      while (k < bounds.length - 1 && bounds[k] <= this.t + this.half) k += 1;
    } else {
      k = now - 1;
      while (k > 0 && bounds[k] >= this.t - this.half) k -= 1;
    }
    this.jump(k);
  }

  phaseBy(by) {
    const { timeline } = this.panes[0];
    const firsts = [0, ...timeline.steps.phases.map(([first]) => first), timeline.meta.steps];
    const now = timeline.step(this.t);
    const next = by > 0 ? firsts.find((k) => k > now) : firsts.findLast((k) => k < now);
    this.seek(timeline.bounds[next ?? (by > 0 ? timeline.meta.steps : 0)]);
  }

  eventBy(by) {
    const next = this.panes.map((pane) => pane.timeline.event(this.t, by));
    this.seek(by > 0 ? Math.min(...next.filter((t) => t > this.t), this.time) : Math.max(...next.filter((t) => t < this.t), 0));
  }

  toggle() {
    this.until = null;
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (!this.bounds) return;
    if (this.t + this.half >= this.time) this.t = 0;
    this.playing = true;
    this.last = null;
    this._playLabel();
    this.wake();
  }

  pause(quiet = false) {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this._playLabel();
    this.draw();
    if (!quiet) this.tell();
  }

  wake() {
    if (this.playing && this.visible !== false && !this.frame) this.frame = requestAnimationFrame((now) => this._tick(now));
  }

  _tick(now) {
    this.frame = 0;
    if (!this.playing) return;
    const passed = this.last === null ? 0 : Math.min(0.1, (now - this.last) / 1000) * this.speed;
    this.last = now;
    if (this.calm.matches) this._calmTick(passed);
    else if (this.even) this.t = this.atPosition(this.position() + (passed * (this.bounds.length - 1)) / this.length());
    else this.t += (passed * this.time) / this.length();
    const end = Math.min(this.time, this.until ?? this.time);
    if (this.t >= end) {
      this.t = end;
      this.until = null;
      this.pause();
      return;
    }
    this.draw();
    this.wake();
  }

  // Reduced motion: from step to step, no travelling.
  _calmTick(passed) {
    this.rest = (this.rest ?? 0) + passed;
    if (this.rest < this.length() / Math.max(1, this.bounds.length - 1)) return;
    this.rest = 0;
    this.t = this.bounds[Math.min(this.bounds.length - 1, this.step() + 1)];
  }

  setSpeed(speed) {
    this.speed = speed;
    this.speedBox.value = String(speed);
    this.setEven(this.even);
  }

  setEven(even) {
    this.even = even;
    if (!this.bounds) return;
    this.pace.setAttribute("aria-pressed", String(!even));
    const there = seconds((this.time / this.length()) * this.speed);
    this.pace.textContent = this.text[even ? "player.paced" : "player.true"];
    this.pace.title = even ? this.text["player.paced"] : fill(this.text["player.scale"], { sim: there });
    this.scaleText = even ? "" : this.pace.title;
    this.draw();
  }

  setView(view, quiet = false) {
    this.view = this.viewButtons[view]?.disabled ? "machine" : view;
    for (const name of VIEWS) this.viewButtons[name].setAttribute("aria-pressed", String(name === this.view));
    for (const pane of this.panes) pane.focus = null;
    this.layout();
    if (!quiet) this.tell();
  }

  _nextView() {
    const there = VIEWS.filter((view) => !this.viewButtons[view].disabled);
    return there[(there.indexOf(this.view) + 1) % there.length];
  }

  setLit(lit) {
    this.lit = lit;
    this.litButton.setAttribute("aria-pressed", String(lit));
    this.draw();
  }

  toggleHelp(shown = this.help.hidden) {
    this.help.hidden = !shown;
    this.helpButton.setAttribute("aria-expanded", String(!this.help.hidden));
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.parent.requestFullscreen?.();
  }

  draw() {
    if (!this.ready) return;
    for (const pane of this.panes) pane.draw(this.t);
    const caption = this.panes[0].captionLine.textContent;
    this.clock.textContent = `${seconds(this.t)} / ${seconds(this.time)}${this.scaleText ? ` · ${this.scaleText}` : ""}`;
    if (this.controls.getRootNode().activeElement !== this.stepBox) this.stepBox.value = String(this.step());
    this.scrub.value = String(Math.round((this.time > 0 ? this.t / this.time : 0) * 1e6));
    this.scrub.setAttribute("aria-valuetext", `${seconds(this.t)}: ${caption}`);
    this._standings();
  }

  // Several runs: who has arrived, in the order of arrival.
  _standings() {
    const words = [];
    if (this.panes.length > 1) {
      const ending = this.panes.filter((pane) => !pane.timeline.meta.stalled);
      const there = ending.filter((pane) => pane.timeline.over(this.t));
      const best = Math.min(...ending.map((pane) => pane.timeline.time));
      there.sort((a, b) => a.timeline.time - b.timeline.time);
      there.forEach((pane, k) => words.push(`${k + 1}. ${pane.title.textContent}: ${pane.ended(best)}`));
      for (const pane of this.panes) pane.root.classList.toggle("rs-done", there.includes(pane));
    }
    const line = words.join("   ");
    if (this.stands.textContent !== line) this.stands.textContent = line;
    this.stands.style.display = this.panes.length > 1 ? "block" : "none";
  }

  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.ready) return;
    const at = event.composedPath()[0];
    event.stopPropagation();
    if (at.tagName === "SELECT" || (at.tagName === "INPUT" && at !== this.scrub)) return;
    if (at.tagName === "BUTTON" && [" ", "Enter"].includes(event.key) && at !== this.buttons.play) return;
    const still = (act) => () => { this.pause(true); act(); };
    const faster = (by) => this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(this.speed) + by))]);
    const acts = {
      " ": () => this.toggle(), k: () => this.toggle(),
      ArrowRight: still(() => (event.shiftKey ? this.phaseBy(1) : this.stepBy(1))),
      ArrowLeft: still(() => (event.shiftKey ? this.phaseBy(-1) : this.stepBy(-1))),
      ",": still(() => this.eventBy(-1)), ".": still(() => this.eventBy(1)),
      PageDown: still(() => this.stepBy(1)), PageUp: still(() => this.stepBy(-1)),
      Home: still(() => this.seek(0)), End: still(() => this.seek(this.time)),
      "-": () => faster(-1), "+": () => faster(1), "=": () => faster(1),
      t: () => this.setEven(!this.even), f: () => this.fullScreen(), "?": () => this.toggleHelp(),
      v: () => this.setView(this._nextView()),
      m: () => this.setView(this.view === "matrix" ? "machine" : "matrix"), c: () => this.setLit(!this.lit),
      Escape: () => { this.toggleHelp(false); for (const pane of this.panes) { pane.focus = null; pane.pin(null); } this.draw(); },
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // Tell the page where we stand, never more than twice a second.
  tell() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.report(this.t, this.view), 400);
  }

  close() {
    this.pause(true);
    clearTimeout(this.telling);
    this.watchSize.disconnect();
    this.watchSight.disconnect();
  }
}

export default function mount({ data, parentElement, setStateValue, setTriggerValue }) {
  let player = instances.get(parentElement);
  if (!player) {
    const report = (t, view) => { setStateValue?.("t", t); setStateValue?.("view", view); };
    const fork = data.fork && setTriggerValue ? (spec) => setTriggerValue("fork", spec) : null;
    player = new Player(parentElement.querySelector(".rs-root") ?? parentElement, report, fork);
    instances.set(parentElement, player);
  }
  player.load(data);
  return () => {
    player.close();
    instances.delete(parentElement);
  };
}
