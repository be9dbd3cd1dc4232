// The player: buttons, keys and the frame loop around a timeline and its pictures. One instance per mount.

import { SPEEDS, build, icon, make } from "./controls.js";
import { explain, fill, seconds } from "./explain.js";
import { LoadChart, Stage, loadColour, paintSlots, slotGrid, theme } from "./scene.js";
import { decode } from "./timeline.js";

const VERSION = 1;
const instances = new WeakMap();

class Player {
  constructor(parent, report) {
    this.report = report;
    this.speed = 1;
    this.even = false;
    this.t = 0;
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.root = make("div", "rs-player", parent, { "data-ringside": "player", tabindex: "0", role: "group" });
    this.root.ringside = {
      blocks: () => this.timeline?.blocks(this.t).map(({ dx, dy, ...block }) => block) ?? [],
      slots: (rank) => this.timeline?.slots(rank, this.t) ?? [],
      seek: (t) => this.seek(t),
    };
    build(this);
    this.watchSize = new ResizeObserver(() => this.layout());
    this.watchSize.observe(this.root);
    this.watchSight = new IntersectionObserver(([entry]) => { this.visible = entry.isIntersecting; this.wake(); });
    this.watchSight.observe(this.root);
  }

  _chartSeek(event) {
    this.pause();
    this.seek(this.chart.t(event.offsetX));
  }

  async load(data) {
    if (data.v !== VERSION) {
      this.captionLine.textContent = data.text["player.unknown"];
      return;
    }
    this.text = data.text;
    this._label();
    if (data.id !== this.id) {
      const place = this.timeline ? this.position() / Math.max(1, this.timeline.meta.steps) : null;
      const turn = (this.turn = (this.turn ?? 0) + 1);
      const timeline = await decode(data.tl);
      if (turn !== this.turn) return;
      this.id = data.id;
      this.timeline = timeline;
      this.stage = new Stage(timeline);
      this.chart = new LoadChart(timeline);
      this.focus = null;
      this.stepBox.max = String(timeline.meta.steps);
      this.stepOf.textContent = `${this.text["player.of"]} ${timeline.meta.steps}`;
      if (place === null) this.t = Math.max(0, Math.min(timeline.time, (data.start?.t ?? 0)));
      else {
        this.t = this.atPosition(place * timeline.meta.steps);
        this.tell();
      }
      this._note(data.note);
    }
    this.layout();
    this.setEven(this.even);
  }

  _note(note) {
    this.root.querySelector(".rs-note")?.remove();
    if (!note) return;
    const line = make("p", "rs-note", this.root);
    line.textContent = note;
    this.captionLine.after(line);
  }

  _label() {
    const say = (name) => this.text[`player.${name}`];
    for (const name of ["first", "back", "forward", "last", "full"]) {
      this.buttons[name].setAttribute("aria-label", say(name));
      this.buttons[name].title = say(name);
    }
    this.root.setAttribute("aria-label", this.text["page.title"]);
    this.stepWord.textContent = say("step");
    this.scrub.setAttribute("aria-label", say("scrub"));
    this.speedBox.setAttribute("aria-label", say("speed"));
    this.speedBox.title = say("speed");
    this.speedBox.value = String(this.speed);
    this.helpButton.setAttribute("aria-label", say("help"));
    this.help.textContent = say("keys");
    this.slotsTitle.textContent = say("slots");
    this.chartTitle.textContent = say("timeline");
    this.chartCanvas.setAttribute("aria-label", say("timeline"));
    this.legend.replaceChildren();
    const scale = make("span", "rs-ramp", this.legend);
    scale.style.background = `linear-gradient(90deg, ${[0.02, 0.25, 0.5, 0.75, 1].map((s) => loadColour(s, "")).join(",")})`;
    scale.before(`${say("load")}: ${say("idle")} `);
    scale.after(` ${say("full_load")}`);
    this._playLabel();
  }

  _playLabel() {
    const name = this.playing ? "pause" : "play";
    this.buttons.play.replaceChildren(icon(name));
    this.buttons.play.setAttribute("aria-label", this.text?.[`player.${name}`] ?? name);
    this.buttons.play.title = this.text?.[`player.${name}`] ?? name;
    this.captionLine.setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  layout() {
    if (!this.timeline || !this.root.clientWidth) return;
    const colours = theme(this.root);
    const width = this.stageCanvas.parentElement.clientWidth;
    this.stage.resize(this.stageCanvas, width, this.stage.height(width), colours);
    this.chart.resize(this.chartCanvas, this.root.clientWidth, colours);
    this.colours = colours;
    this.draw();
  }

  // How many steps are done, with a fraction: the scale of even steps.
  position(t = this.t) {
    const { bounds } = this.timeline;
    const k = this.timeline.step(t);
    if (k === 0) return 0;
    const span = bounds[k] - bounds[k - 1];
    return k - 1 + (span > 0 ? Math.min(1, (t - bounds[k - 1]) / span) : 1);
  }

  atPosition(position) {
    const { bounds } = this.timeline;
    const k = Math.max(0, Math.min(bounds.length - 1, Math.floor(position)));
    const next = bounds[Math.min(bounds.length - 1, k + 1)];
    return bounds[k] + (next - bounds[k]) * (position - k > 0 ? position - k : 0);
  }

  // Real seconds that the whole run takes on screen at speed 1.
  length() {
    return Math.max(6, Math.min(40, this.timeline.meta.steps * 1.2));
  }

  seek(t, quiet = false) {
    this.t = Math.max(0, Math.min(this.timeline.time, Number.isFinite(t) ? t : 0));
    this.draw();
    if (!quiet && !this.playing) this.tell();
  }

  jump(step) {
    const k = Math.max(0, Math.min(this.timeline.meta.steps, Math.round(step) || 0));
    this.seek(this.timeline.bounds[k]);
  }

  stepBy(by) {
    const { bounds } = this.timeline;
    const now = this.timeline.step(this.t);
    let k = now;
    if (by > 0) {
      k = this.t < bounds[now] * (1 - 1e-12) ? now : now + 1;
      while (k < bounds.length - 1 && bounds[k] <= this.t) k += 1;
    } else {
      k = now - 1;
      while (k > 0 && bounds[k] >= this.t) k -= 1;
    }
    this.jump(k);
  }

  phaseBy(by) {
    const firsts = [0, ...this.timeline.steps.phases.map(([first]) => first), this.timeline.meta.steps];
    const now = this.timeline.step(this.t);
    const next = by > 0 ? firsts.find((k) => k > now) : firsts.findLast((k) => k < now);
    this.jump(next ?? (by > 0 ? this.timeline.meta.steps : 0));
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (!this.timeline) return;
    if (this.t >= this.timeline.time) this.t = 0;
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
    else if (this.even) this.t = this.atPosition(this.position() + (passed * this.timeline.meta.steps) / this.length());
    else this.t += (passed * this.timeline.time) / this.length();
    if (this.t >= this.timeline.time * (1 - 1e-12)) {
      this.t = this.timeline.time;
      this.pause();
      return;
    }
    this.draw();
    this.wake();
  }

  // Reduced motion: from step to step, no travelling.
  _calmTick(passed) {
    this.rest = (this.rest ?? 0) + passed;
    if (this.rest < this.length() / Math.max(1, this.timeline.meta.steps)) return;
    this.rest = 0;
    const { bounds } = this.timeline;
    this.t = bounds[Math.min(bounds.length - 1, this.timeline.step(this.t) + 1)];
  }

  setSpeed(speed) {
    this.speed = speed;
    this.speedBox.value = String(speed);
    this.setEven(this.even);
  }

  setEven(even) {
    this.even = even;
    if (!this.timeline) return;
    this.pace.setAttribute("aria-pressed", String(!even));
    const there = seconds((this.timeline.time / this.length()) * this.speed);
    this.pace.textContent = this.text[even ? "player.paced" : "player.true"];
    this.pace.title = even ? this.text["player.paced"] : fill(this.text["player.scale"], { sim: there });
    this.scaleText = even ? "" : this.pace.title;
    this.draw();
  }

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
    this.helpButton.setAttribute("aria-expanded", String(!this.help.hidden));
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.root.requestFullscreen?.();
  }

  draw() {
    if (!this.timeline || !this.stage.context) return;
    const { timeline, t, root } = this;
    const step = timeline.step(t);
    const caption = timeline.caption(t, this.text);
    this.stage.paint(t, this.focus);
    this.chart.paint(t);
    paintSlots(this.slotsCanvas, timeline, t, this.slotsCanvas.parentElement.clientWidth, this.colours);
    if (this.captionLine.textContent !== caption) this.captionLine.textContent = caption;
    this.clock.textContent = `${seconds(t)} / ${seconds(timeline.time)}${this.scaleText ? ` · ${this.scaleText}` : ""}`;
    if (this.root.getRootNode().activeElement !== this.stepBox) this.stepBox.value = String(step);
    this.scrub.value = String(Math.round((timeline.time > 0 ? t / timeline.time : 0) * 1e6));
    this.scrub.setAttribute("aria-valuetext", `${seconds(t)}: ${caption}`);
    this.stageCanvas.setAttribute("aria-label", caption);
    this.slotsCanvas.setAttribute("aria-label", `${this.text["player.slots"]}: ${caption}`);
    Object.assign(root.dataset, {
      timeS: String(t), step: String(step), steps: String(timeline.meta.steps),
      playing: String(Boolean(this.playing)), caption,
    });
    this._showTip();
  }

  _hover(event) {
    if (!this.stage) return;
    this._point(event);
    this.focus = this.stage.pick(event.offsetX, event.offsetY);
    if (!this.playing) this.draw();
    else this._showTip();
  }

  _hoverSlot(event) {
    if (!this.timeline) return;
    const { gutter, cell, row } = slotGrid(this.timeline.meta, this.slotsCanvas.parentElement.clientWidth);
    const [rank, slot] = [Math.floor(event.offsetY / row), Math.floor((event.offsetX - gutter) / cell)];
    const inside = rank >= 0 && rank < this.timeline.meta.ranks && slot >= 0 && slot < this.timeline.meta.slots;
    this._point(event);
    this.focus = inside ? { kind: "place", rank, index: slot } : null;
    this._showTip();
  }

  _point(event) {
    const box = this.tip.parentElement.getBoundingClientRect();
    this.pointer = [event.clientX - box.left, event.clientY - box.top];
  }

  _showTip() {
    this.tip.style.display = this.focus ? "block" : "none";
    if (!this.focus) return;
    const lines = explain(this.timeline, this.text, this.t, this.focus);
    this.tip.replaceChildren(...lines.map((line) => Object.assign(document.createElement("div"), { textContent: line })));
    const [x, y] = this.pointer;
    const room = this.tip.parentElement.clientWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, room - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${y + 14}px`;
  }

  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.timeline) return;
    const typing = event.composedPath()[0] === this.stepBox || event.composedPath()[0] === this.speedBox;
    event.stopPropagation();
    if (typing) return;
    const still = (act) => () => { this.pause(true); act(); };
    const faster = (by) => this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(this.speed) + by))]);
    const acts = {
      " ": () => this.toggle(), k: () => this.toggle(),
      ArrowRight: still(() => (event.shiftKey ? this.phaseBy(1) : this.stepBy(1))),
      ArrowLeft: still(() => (event.shiftKey ? this.phaseBy(-1) : this.stepBy(-1))),
      Home: still(() => this.seek(0)), End: still(() => this.seek(this.timeline.time)),
      "-": () => faster(-1), "+": () => faster(1), "=": () => faster(1),
      t: () => this.setEven(!this.even), f: () => this.fullScreen(), "?": () => this.toggleHelp(),
      Escape: () => { this.focus = null; this.help.hidden = true; this.draw(); },
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // Tell the page where we stand, never more than twice a second.
  tell() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.report(this.t), 400);
  }

  close() {
    this.pause(true);
    clearTimeout(this.telling);
    this.watchSize.disconnect();
    this.watchSight.disconnect();
  }
}

export default function mount({ data, parentElement, setStateValue }) {
  let player = instances.get(parentElement);
  if (!player) {
    const report = (t) => setStateValue?.("t", t);
    player = new Player(parentElement.querySelector(".rs-root") ?? parentElement, report);
    instances.set(parentElement, player);
  }
  player.load(data);
  return () => {
    player.close();
    instances.delete(parentElement);
  };
}
