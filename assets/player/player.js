// The player: one clock for one run or several, what a person may do, and the frame loop.

import { about, fill } from "../trace/words.js";
import { Clock, SPEEDS } from "./clock.js";
import { Controls } from "../transport/controls.js";
import { follow, make, tellInstant } from "./elements.js";
import { FullScreen } from "./fullscreen.js";
import { Keyboard, keysOf } from "./keys.js";
import { lasting } from "./lasting.js";
import { lay, moveCameras } from "../pane/laid.js";
import { Marker } from "./marker.js";
import { Pane } from "../pane/pane.js";
import { Told } from "../pane/frame.js";
import { canShow, registered, viewAfter } from "./registry.js";
import { Shown, stretch } from "../runs/shown.js";
import { Sight } from "./sight.js";
import { Standings } from "../runs/standings.js";
import { Strip } from "../answer/strip.js";
import { TimeWindow } from "../time/window.js";

const VERSION = 4;
const FIRST = "machine";
const LONGEST_FRAME = 0.1; // s: a page that slept does not jump
const TELL_AFTER = 400; // ms

class Player {
  #clock = new Clock();
  #commanded = 0;
  #controls;
  #frame = 0;
  #full;
  #grid;
  #host;
  #ids = null;
  #keyboard;
  #keys;
  #last = null;
  #lit = false;
  #marker;
  #panes = [];
  #parent;
  #playing = false;
  #shown = new Shown();
  #sight;
  #standings;
  #strip;
  #telling = 0;
  #text = {};
  #turn = 0;
  #view = FIRST;
  #window = new TimeWindow();
  #changing = false; // several things change, and what comes of it is drawn once
  #calm = globalThis.matchMedia("(prefers-reduced-motion: reduce)");

  // `tell(t, view, place)` tells the page where a person has stopped, and is whoever's has the player. A guest takes no
  // keys but its own.
  constructor(parent, isGuest) {
    this.#parent = parent;
    const acts = this.#acts();
    this.#controls = new Controls(acts);
    this.#keys = keysOf(this.#clock, acts, registered());
    this.#strip = new Strip(parent, acts.reveal);
    this.#standings = new Standings(parent, () => this.#host.apart(false));
    this.#grid = make("div", "rs-panes", parent);
    const [draw, brush, layout] = [() => this.#refresh(), (range) => this.#brush(range), () => this.#layout()];
    this.#marker = new Marker({
      clock: this.#clock,
      window: this.#window,
      panes: () => this.#panes,
      view: () => this.#view,
      isPlaying: () => this.#playing,
      brush,
    });
    const [seek, pause] = [(t) => this.#seek(t), () => this.#pause()];
    const [first, apart] = [() => this.#panes[0], (isApart) => this.#take(this.#shown.chosen(isApart))];
    const say = (spec) => this.#strip.preview(spec && this.#host.whatIf.answerTo(spec));
    const stretched = () => stretch(this.#panes, this.#clock, this.#window, this.#controls);
    const host = { seek, pause, draw, layout, brush, first, apart, stretch: stretched, say, told: new Told() };
    this.#host = { ...host, whatIf: null, offers: [] };
    this.#full = new FullScreen(parent.closest(".rs-talk") ?? parent, layout);
    this.#sight = new Sight(this.#grid, { resized: () => this.#layout(), seen: () => this.#wake() });
    const [act, isSeen] = [(key, target) => this.#keyed(key, target), () => this.#sight.isSeen];
    this.#keyboard = new Keyboard(parent, { act, isSeen, isGuest });
  }

  // What the controls may ask for.
  #acts() {
    const clock = this.#clock;
    const still = (act) => (value) => {
      this.#pause();
      act(value);
    };
    const go = (instant) => {
      this.#pause(true);
      this.#seek(instant);
    };
    return {
      back: still(() => this.#seek(clock.stepFrom(-1))),
      play: () => this.#toggle(),
      forward: still(() => this.#seek(clock.stepFrom(1))),
      jump: still((step) => this.#seek(clock.endOf(step))),
      scrub: (share) => {
        this.#pause(true);
        this.#seek(share * clock.time, true);
      },
      tell: () => this.#tell(),
      pace: () => this.#setPace(clock.speed, !clock.even),
      speed: (speed) => this.#setPace(speed, clock.even),
      full: () => this.#full.toggle(),
      view: (name) => this.#setView(name),
      light: () => this.#setLit(!this.#lit),
      go,
      reveal: (what, name) => (what === "t" ? go(Number(name)) : this.#panes[0].reveal(what, name)),
      turn: (name) =>
        this.#setView(name ? (this.#view === name ? FIRST : name) : viewAfter(this.#view, this.#timelines)),
      look: (move) => {
        moveCameras(this.#panes, move);
        this.#refresh();
      },
      help: () => this.#controls.toggleHelp(),
      clear: () => this.#clear(),
    };
  }

  // What a key does that is pressed in an element: null where it is the element's own, undefined where nothing is here.
  #keyed(key, target) {
    if (!this.#ready) return undefined;
    return this.#controls.keeps(target, key) ? null : (this.#keys[key] ?? this.#keys[key.toLowerCase()] ?? null);
  }

  async load(data) {
    if (this.#text !== data.text) this.#controls.label(data.text);
    this.#text = data.text;
    this.#full.frame(data);
    this.#seat(this.#panes.length || 1);
    if (data.v !== VERSION) {
      for (const pane of this.#panes) pane.say(data.text["player.unknown"]);
      return;
    }
    this.#turn += 1;
    const turn = this.#turn;
    const timelines = await this.#shown.decoded(data);
    if (turn !== this.#turn) return;
    this.#host.whatIf = data.whatIf ?? null;
    this.#host.offers = data.whatIf?.offers(data.offers ?? [], timelines[0]) ?? [];
    this.#shown.take(data, timelines);
    this.#take(data);
  }

  // Show runs that are decoded. Panes come with them: one without a run would be an empty place, laid out in vain.
  #take(data) {
    this.#changing = true;
    this.#strip.show(data.answer);
    this.#seat(this.#shown.panes);
    this.#shown.fill(this.#panes);
    const isNew = this.#begin(data);
    this.#controls.offer(this.#clock, this.#timelines, data.text);
    this.#clock.stops = data.stops ?? [];
    this.#obey(data.cmd);
    this.#setPace(this.#clock.speed, this.#clock.even);
    this.#setView(this.#view, true);
    if (isNew) this.#complete();
    if (isNew) this.#marker.stand(data.text);
    this.#changing = false;
    this.#layout();
    if (isNew) this.#start(data);
    else requestAnimationFrame(() => setTimeout(() => this.#complete()));
  }

  #start({ start }) {
    if (start?.plays && !this.#calm.matches) this.#play();
  }

  // All that is around pictures comes with the first of them, and a frame after those that come later.
  #complete() {
    if (this.#panes.filter((pane) => pane.complete()).length) this.#layout();
  }

  // As many panes as runs; the controls stand below the picture, or below all.
  #seat(count) {
    while (this.#panes.length > count) this.#panes.pop().root.remove();
    while (this.#panes.length < count) this.#panes.push(new Pane(this.#grid, this.#host));
    follow(this.#controls.root, count > 1 ? this.#grid : this.#panes[0].main);
    this.#grid.dataset.count = String(count);
    this.#offerPlay();
  }

  // Runs that come with a new place begin there, which is told. With others a person stays at the same share of the way,
  // or at the same instant where the future forked.
  #begin({ runs, start = {} }) {
    const [clock, ids] = [this.#clock, runs.map(({ id }) => id).join()];
    const [wasGone, isNew, isSame] = [this.#marker.isGone, this.#marker.begin(start), this.#ids === ids];
    const share = clock.position / Math.max(1, clock.steps);
    this.#ids = ids;
    const timelines = this.#timelines;
    clock.follow(timelines, isSame, this.#panes.length > 1 ? 0 : this.#panes[0].old?.time);
    this.#host.stretch();
    if (isNew) {
      this.#pause(true);
      clock.seek(start.t);
      if (registered().some(({ name }) => name === start.view)) this.#view = start.view;
    } else if (!isSame || wasGone) {
      if (!isSame && !start.keep) clock.seek(clock.instant(share * clock.steps));
      this.#tell();
    }
    return isNew;
  }

  get #timelines() {
    return this.#panes.map(({ timeline }) => timeline);
  }

  // Something the page asks for, once per number.
  #obey(command) {
    if (!command || command.n === this.#commanded) return;
    this.#commanded = command.n;
    if (command.view) this.#view = command.view;
    if (command.from !== undefined) this.#clock.seek(command.from);
    this.#clock.until = command.to ?? null;
    if (command.play) this.#play();
    else this.#pause(true);
  }

  // Whether every pane has something to show: a new one is empty until its run is decoded.
  get #ready() {
    return this.#ids !== null && this.#panes.every(({ timeline }) => timeline);
  }

  #layout() {
    if (!this.#ready || this.#changing) return;
    const [parent, controls, span] = [this.#parent, this.#controls.root, this.#clock.time];
    this.#strip.fit();
    this.#standings.seat(this.#panes, this.#text);
    lay(this.#panes, { parent, controls, told: this.#host.told, view: this.#view, span, window: this.#window });
    this.#draw();
    this.#sight.settle();
  }

  #draw() {
    if (!this.#ready || this.#changing) return;
    const state = { view: this.#view, lit: this.#lit, playing: this.#playing };
    for (const pane of this.#panes) pane.draw(this.#clock.t, state);
    this.#controls.show(this.#clock, this.#panes[0].caption);
    this.#standings.paint(this.#panes, this.#clock.t);
    if (!this.#playing) this.#marker.keep();
    tellInstant(this.#parent, this.#clock);
  }

  // Draw again what has changed without the clock; while playing the next frame does.
  #refresh() {
    if (!this.#playing) this.#draw();
  }

  #seek(t, quiet = false) {
    this.#clock.seek(t);
    this.#window.reach(this.#clock.t);
    this.#draw();
    if (!quiet && !this.#playing) this.#tell();
  }

  #toggle() {
    this.#clock.until = null;
    if (this.#playing) this.#pause();
    else this.#play();
  }

  #play() {
    if (!this.#ready) return;
    if (this.#clock.over) this.#clock.seek(0);
    this.#playing = true;
    this.#last = null;
    this.#offerPlay();
    this.#draw();
    this.#wake();
  }

  #pause(quiet = false) {
    if (!this.#playing) return;
    this.#playing = false;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#offerPlay();
    this.#draw();
    if (!quiet) this.#tell();
  }

  #offerPlay() {
    const name = this.#playing ? "pause" : "play";
    this.#controls.offerPlay(name, this.#text[`player.${name}`]);
    for (const pane of this.#panes) pane.announce(!this.#playing);
  }

  #wake() {
    if (!this.#playing || !this.#sight.isSeen || this.#frame) return;
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    this.#frame = 0;
    if (!this.#playing) return;
    const passed = this.#last === null ? 0 : Math.min(LONGEST_FRAME, (now - this.#last) / 1000);
    this.#last = now;
    if (this.#clock.pass(passed, this.#calm.matches)) {
      this.#pause();
      return;
    }
    this.#window.reach(this.#clock.t);
    this.#draw();
    this.#wake();
  }

  #setPace(speed, even) {
    Object.assign(this.#clock, { speed, even });
    this.#choose();
    this.#draw();
  }

  #setView(name, quiet = false) {
    const before = this.#view;
    this.#view = canShow(name, this.#timelines) ? name : FIRST;
    this.#choose();
    for (const pane of this.#panes) {
      pane.unhover();
      if (before !== this.#view && !quiet && !this.#calm.matches) pane.depart(this.#view);
    }
    if (quiet) for (const pane of this.#panes) pane.show(this.#view);
    this.#layout();
    this.#travel();
    if (!quiet) this.#tell();
  }

  // Frames as long as something is on its way from one view to another.
  #travel() {
    if (!this.#panes.some((pane) => pane.isTravelling)) return;
    this.#refresh();
    requestAnimationFrame(() => this.#travel());
  }

  // Play a stretch of time over and over, or all of it.
  #brush(range) {
    if (String(range) !== String(this.#clock.loop)) this.#tell();
    this.#clock.loop = range;
    for (const pane of this.#panes) pane.brush(range);
    this.#refresh();
  }

  #setLit(lit) {
    this.#lit = lit;
    this.#choose();
    this.#draw();
  }

  #choose() {
    const { speed, even } = this.#clock;
    const scaled = (each) => fill(this.#text["player.scale"], { sim: about(this.#clock.paceAt(each)) });
    const scales = SPEEDS.map((each) => (even ? `${each}×` : scaled(each)));
    this.#controls.choose({ view: this.#view, lit: this.#lit, speed, even, pace: this.#text["player.paced"], scales });
  }

  // Nothing chosen, nothing explained, or no longer the whole screen.
  #clear() {
    if (this.#full.leave()) return;
    this.#controls.toggleHelp(false);
    this.#brush(null);
    for (const pane of this.#panes) pane.clear();
    this.#draw();
  }

  // Tell the page where we stand, never more than twice a second.
  #tell() {
    clearTimeout(this.#telling);
    this.#telling = setTimeout(() => {
      if (!this.#marker.isGone) this.tell(this.#clock.t, this.#view, this.#marker.words);
    }, TELL_AFTER);
  }

  close() {
    this.#pause(true);
    clearTimeout(this.#telling);
    this.#marker.close();
    this.#full.close();
    this.#keyboard.close();
    this.#sight.close();
  }
}

// What Streamlit calls when the player appears and whenever its data changes, and a page of its own once.
export default lasting(
  (root, { isGuest = false }) => new Player(root, isGuest),
  (player, { data, setStateValue }) => {
    player.tell = (t, view, place) => {
      for (const [name, value] of Object.entries({ t, view, place })) setStateValue?.(name, value);
    };
    player.load(data);
  },
);
