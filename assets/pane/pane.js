// One run as a person sees it: its sentence, its pictures, and a card about what was chosen in them.

import { theme } from "../paint/ink.js";
import { Surface } from "../paint/surface.js";
import { Card } from "../hands/card.js";
import { Carry } from "../hands/carry.js";
import { found } from "../hands/choices.js";
import { Beside } from "./beside.js";
import { elementsOf, entitled, keepRoom, roomOf } from "./frame.js";
import { Ghost, sharesPicture } from "../runs/ghost.js";
import { handle } from "./handling.js";
import { Legend } from "./legend.js";
import { Morph } from "./morph.js";
import { Opened } from "./opened.js";
import { Links } from "../time/links.js";
import { Pictures, blocksOf } from "./pictures.js";
import { Preview } from "../runs/preview.js";
import { focusOf } from "../answer/reveal.js";
import { instantOf, said } from "../answer/sentence.js";
import { Tip } from "../hands/tip.js";
import { Why } from "./why.js";

export class Pane {
  #beside;
  #card;
  #elements;
  #ghost = null; // of the run that it is held against
  #ghostName = "";
  #host;
  #id;
  #isFresh = false; // what is around its picture is still another run's
  #laid; // the picture that has its room
  #legend;
  #links;
  #morph = null;
  #near = null; // how near a picture of another run of this machine was looked at
  #opened; // a tile
  #notes = ["", ""]; // what the run says of itself, and what was wrong with its link
  #sentence = "";
  #picture = null;
  #pictures = null;
  #pinned = null;
  #preview;
  #room = null;
  #t = 0;
  #text = {};
  #timeline = null;
  #tip;
  #told = 0; // pixels of its sentences
  #why;

  // `host` can `seek(t)`, `pause()` and `draw()` all anew; its `whatIf` answers where it has `offers` to ask what if.
  constructor(parent, host) {
    this.#host = host;
    this.#elements = elementsOf(document.createDocumentFragment());
    this.#elements.note.style.display = "none";
    this.#beside = new Beside(this.#elements);
    this.#tip = new Tip(this.#elements, () => host.draw());
    this.#legend = new Legend(this.#elements.legend, { pin: (focus) => this.pin(focus), apart: host.apart });
    this.#preview = new Preview(this, host);
    this.#card = new Card(this.#elements.margin, host, this.#preview);
    this.#why = new Why(this.#elements.reasons, host);
    this.#elements.root.ringside = {
      blocks: () => blocksOf(this.#timeline, this.#picture, this.#t),
      slots: (rank) => this.#timeline?.slots(rank, this.#t) ?? [],
      loads: () => this.#timeline?.carried(this.#t) ?? [],
      run: () => this.#timeline,
      old: () => this.old,
      seek: (t) => host.seek(t),
    };
    this.#listen();
    parent.append(this.root); // whole: a page looks around for every element that comes into it
  }

  // The decoded run, or null as long as there is none.
  get timeline() {
    return this.#timeline;
  }

  // The run that it is held against, or null.
  get old() {
    return (this.#ghost ?? this.#preview.ghost)?.timeline ?? null;
  }

  get id() {
    return this.#id;
  }

  get root() {
    return this.#elements.root;
  }

  get title() {
    return this.#elements.title.firstChild?.textContent ?? "";
  }

  get caption() {
    return this.#sentence;
  }

  get picture() {
    return this.#picture;
  }

  // Where it says what about which run.
  get spoken() {
    return { head: this.#elements.head, timeline: this.#timeline, text: this.#text };
  }

  // Where the buttons belong when there is but one run: right below its picture.
  get main() {
    return this.#elements.main;
  }

  #listen() {
    const { canvas, slotsCanvas } = this.#elements;
    const isFocused = () => this.root.matches(":focus-within");
    const [pin, opened] = [(focus) => this.pin(focus), (what) => this.#open(what)];
    this.#opened = new Opened(this.#elements.left, {
      close: () => this.#open(null),
      handle: (other, picture) => this.#tip.watch(other, picture, { pin, opened: () => this.#host.layout() }),
    });
    this.#links = new Links(this.root, this.#host, {
      isFocused,
      hover: (event, focus) => this.#tip.point(event, focus),
      changed: opened,
    });
    const carry = new Carry(canvas, this.#elements.main, {
      view: () => ({ timeline: this.#timeline, offers: this.#host.offers, picture: this.#picture }),
      ask: (spec) => this.#host.whatIf?.ask(spec),
    });
    this.#tip.watch(canvas, () => this.#picture, { pin, opened });
    handle(canvas, {
      picture: () => this.#picture,
      isFocused,
      moved: () => this.#host.draw(),
      drags: (event) => !carry.takes(event),
    });
    this.#tip.watch(slotsCanvas, () => this.#beside.picture, { pin, opened });
  }

  // Open a tile beside the picture, or close it; whatever else is folded has seen to itself.
  #open(what) {
    if (Array.isArray(what)) this.#opened.open(this.#timeline, what);
    else if (!what) this.#opened.close();
    this.#host.layout();
  }

  // Show which stretch of time is played over and over.
  brush(range) {
    this.#links.brush(range);
  }

  // Take a run, decoded, and a language. What is around its picture takes it when it is to be `complete`; until then it
  // stays as it was.
  load(run, timeline, text) {
    if (this.#text !== text) {
      this.#text = text;
      this.#label();
    }
    entitled(this.#elements, run.title);
    if (run.id === this.#id) return;
    this.#preview.show("");
    this.#opened.close();
    this.#id = run.id;
    this.#near = this.#timeline && sharesPicture([this.#timeline, timeline]) ? this.nearness : null;
    this.#pinned = found(this.#pinned, this.#timeline, timeline);
    this.#tip.focus = null;
    [this.#timeline, this.#pictures, this.#picture, this.#isFresh] = [timeline, new Pictures(timeline), null, true];
    this.#why.load(timeline, text);
    this.#notes = [run.note ?? "", ""];
    this.remark("");
  }

  // Have all that is around the picture show its run, too: most of the work of a new one, and not what is looked at; whether
  // there was anything to do.
  complete() {
    if (!this.#isFresh) return false;
    this.#isFresh = false;
    this.#beside.load(this.#timeline);
    this.#links.load(this.#timeline);
    this.#legend.choices(this.#timeline, this.#host.offers, this.#pinned);
    this.#pin(this.#pinned);
    return true;
  }

  // Say what of a link has been left out.
  remark(words) {
    const { note } = this.#elements;
    this.#notes[1] = words;
    note.textContent = this.#notes.filter(Boolean).join(" ");
    note.style.display = note.textContent ? "block" : "none";
  }

  // What a person has chosen to keep in view, or null.
  get chosen() {
    return this.#pinned;
  }

  // How near they are to what, for `look`; null where all is in view.
  get nearness() {
    return this.#picture?.camera?.nearness ?? null;
  }

  // Come so near to what is shown; without such numbers all of it is in view.
  look(nearness) {
    const camera = this.#picture?.camera;
    if (nearness) camera?.look?.(nearness);
    else if (camera?.look) camera.home();
  }

  // Say a sentence in place of a run.
  say(sentence) {
    this.#sentence = sentence;
    this.#elements.caption.textContent = sentence;
  }

  // Read every new sentence out, or be quiet.
  announce(aloud) {
    this.#elements.caption.setAttribute("aria-live", aloud ? "polite" : "off");
  }

  #label() {
    const { root, slotsTitle, sentTitle, sentCanvas } = this.#elements;
    const say = (name) => this.#text[`player.${name}`];
    root.setAttribute("aria-label", this.#text["page.title"]);
    slotsTitle.textContent = say("slots");
    sentTitle.textContent = say("sent");
    sentCanvas.setAttribute("aria-label", say("sent"));
    this.#links.label(this.#text);
    this.#opened.label(this.#text);
    this.#legend.label(this.#text, this.#host.offers.length > 0);
    if (this.#timeline && !this.#isFresh) this.#legend.choices(this.#timeline, this.#host.offers, this.#pinned);
    this.#why.label(this.#text);
  }

  // Leave a view for another: what both show travels there.
  depart(view) {
    const next = this.#picture && this.#pictures.of(view);
    if (next === this.#picture) return;
    this.#morph = new Morph(this.#picture, this.#elements.canvas, this.#t, next);
  }

  get isTravelling() {
    return this.#morph !== null;
  }

  // Have a view's picture at hand, to be laid out.
  show(view) {
    this.#picture = this.#pictures?.of(view) ?? null;
  }

  // Have its elements stand where a view wants them. All panes do before one is measured, and are measured before one
  // is laid out: what is asked of a page between two changes has it laid out for the answer. Its sentences have a place
  // that is `told` pixels high, and what stands over all else is so much above what is `below`.
  seat(view, { below, told }) {
    if (!this.#timeline) return;
    keepRoom(this.#elements, { below, told });
    this.#told = told;
    this.show(view);
    this.#beside.seat(this.#timeline, this.#pictures.shown(view));
  }

  // Find the room there is: `several` when others stand beside, `below` pixels left for what has to stay in sight below,
  // and `full` where the picture takes all the room it may.
  measure({ several, below, full }) {
    const { root, legend } = this.#elements;
    this.#room = null;
    if (!this.#timeline || !root.clientWidth) return;
    const side = this.#beside.measure();
    const under = below + this.#why.under(side.isBelow) + legend.offsetHeight;
    const leaves = (width) => this.#opened.leaves(width);
    const picture = roomOf(this.#elements, this.#picture, { several, full, under, told: this.#told, leaves });
    this.#room = { colours: theme(root), side, picture, whole: root.clientWidth };
  }

  // Take that room; `span` seconds are all there is to see where time runs, and `window` what is in sight.
  layout({ span, window }) {
    if (!this.#room) return;
    const { colours, side, picture, whole } = this.#room;
    this.#why.settle(side.isBelow);
    this.#legend.paint(colours);
    const room = { ...picture, span, window, order: this.#links.order };
    this.#picture.layout(new Surface(this.#elements.canvas, colours), room);
    this.#laid = this.#picture;
    this.#opened.layout(this.#pictures.view, colours, picture.whole);
    if (this.#near) this.look(this.#near);
    this.#near = null;
    if (this.#isFresh) return;
    this.#beside.layout(colours, side);
    this.#links.layout(colours, { width: whole, span, window });
  }

  draw(t, { view, lit, playing }) {
    if (this.#laid !== this.#picture) return; // where there was no room for it yet
    const [timeline, { root, canvas, slotsCanvas }] = [this.#timeline, this.#elements];
    this.#t = Math.max(0, Math.min(timeline.time, t));
    if (this.#morph?.isOver) this.#morph = null;
    const look = { focus: this.#tip.focus ?? this.#pinned, lit: this.#why.lit ?? (lit ? timeline.critical() : null) };
    const passing = this.#morph?.state(theme(root)) ?? this.#behind(view, t);
    this.#picture.paint(this.#t, { ...look, told: this.#tell(), ...passing });
    this.#opened.draw(this.#t, look);
    const sentence = this.#sentence;
    if (canvas.getAttribute("aria-label") !== sentence) {
      canvas.setAttribute("aria-label", sentence);
      slotsCanvas.setAttribute("aria-label", `${this.#text["player.slots"]}: ${sentence}`);
    }
    Object.assign(root.dataset, {
      timeS: String(this.#t),
      step: String(timeline.step(this.#t)),
      steps: String(timeline.meta.steps),
      playing: String(playing),
      caption: sentence,
      view,
    });
    this.#tip.show(this.#timeline, this.#text, this.#t);
    this.#card.at(this.#tip.anchor(this.#picture, this.#pinned));
    this.#paintAround(timeline);
  }

  // What is painted below blocks: those of the old run.
  #behind(view, t) {
    const ghost = this.#ghost ?? this.#preview.ghost;
    this.#legend.dashed(this.old, this.#ghost ? this.#ghostName : this.#text["player.whatif.before"], t);
    return ghost && { veil: ghost.veil(this.#picture, view, t, this.#room.colours) };
  }

  #paintAround(timeline) {
    if (this.#isFresh) return;
    this.#card.paint(timeline, this.#text, this.#t);
    if (this.#preview.isOn) return;
    this.#links.paint(this.#t, this.#why.lit);
    this.#beside.paint(this.#t, this.#text);
  }

  // What happens now, and below it the same in the words of the field; returns the words for the picture's middle.
  #tell() {
    const { caption, field } = this.#elements;
    this.#sentence = this.#timeline.caption(this.#t);
    const { plain, exact } = said(this.#timeline, this.#text, this.#t);
    if (caption.textContent !== plain) caption.textContent = plain;
    if (field.textContent !== exact) field.textContent = exact;
    return { ...instantOf(this.#timeline, this.#text, this.#t), ...(this.#room?.picture.isInside && { exact, plain }) };
  }

  // Keep something in view until something else is chosen, with what can be done to it; `quiet` moves no page.
  pin(focus, quiet = false) {
    const isNew = this.complete();
    const isMoved = this.#pin(this.#timeline ? focus : null);
    if (isNew || isMoved) this.#host.layout();
    if (!this.#pinned) return;
    this.#host.draw();
    if (!quiet) this.#card.scrollIntoView();
  }

  // Show what words of an answer are about: a link, a rank, or what the time is made of.
  reveal(what, name) {
    if (what === "part" || what === "why") this.#why.reveal(name);
    else this.pin(focusOf(this.#timeline, what, name));
  }

  // Whether other rows are seen for it.
  #pin(focus) {
    this.#preview.show("");
    this.#pinned = focus;
    const tile = focus?.kind === "device" ? this.#picture?.tileOf?.(focus.index) : null;
    if (tile) this.#open(tile);
    if (focus) this.#host.whatIf?.prepare();
    const about = { focus, timeline: this.#timeline, old: this.old, t: this.#t };
    this.#card.open(about, { text: this.#text, close: () => this.pin(null) });
    this.#tip.keep();
    return this.#links.choose(focus?.kind === "link" ? focus.index : null);
  }

  // Hold the run against another one, in whose `name` an old one is seen in its picture.
  against(timeline, name = null) {
    const old = name === null ? null : timeline;
    if (this.#ghost?.timeline !== old) this.#ghost = old && new Ghost(old);
    this.#ghostName = name;
    this.#why.against(timeline);
    this.#links.against(old && old.time);
  }

  clear() {
    this.unhover();
    if (this.#opened.isOpen) this.#open(null);
    this.pin(null);
    this.#why.choose(null);
  }

  // Look at nothing that the pointer may have left behind.
  unhover() {
    this.#tip.focus = null;
  }

  // Whether the run has ended at an instant; one that stalled never does.
  hasEnded(t) {
    return !this.#timeline.meta.stalled && this.#timeline.over(t);
  }
}
