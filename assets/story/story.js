// The story under the control of whoever listens: keys, buttons, wheel and fingers move through it.

import { theme } from "../paint/ink.js";
import { Surface } from "../paint/surface.js";
import { heightFor } from "../pane/frame.js";
import { entitle, icon, make } from "../player/elements.js";
import { bytesLike, fill, timeLike } from "../trace/words.js";
import { elementsOf } from "./elements.js";
import { Reel } from "./reel.js";

const FINE = 100; // parts of a stretch on the slider
const PER_PIXEL = 1 / 600; // of a stretch per pixel of the wheel or a finger
const LONGEST_FRAME = 0.1; // s
const HIGH = { most: 600, least: 380, edge: 24 };
const PHONE_HEAD = 48; // pixels above it there
const PHONE = 720; // pixels up to which the story has the whole screen

const pixels = ({ deltaY, deltaMode }) => deltaY * (deltaMode === 1 ? 16 : 1);

export class Story {
  #boards;
  #calm;
  #elements;
  #frame = 0;
  #guess = "";
  #guesses;
  #last = null;
  #most;
  #moves = false;
  #reel;
  #root;
  #say;
  #text = {};
  #touch = null;
  #watch;

  constructor(root, { number, boards, chapters, guesses, calm }, say) {
    Object.assign(this, { number, isEnding: false });
    this.#root = root;
    this.#boards = boards;
    this.#calm = calm;
    this.#say = say;
    this.#guesses = guesses;
    this.#reel = new Reel(chapters);
    this.#most = Math.max(...boards.map(({ sent, least }) => Math.max(sent.most, least)));
    this.#elements = elementsOf(root);
    this.#listen();
    this.#watch = new ResizeObserver(() => this.#layout());
    this.#watch.observe(this.#elements.story);
  }

  #listen() {
    const { story, main, back, skip, send, slider, board } = this.#elements;
    send.addEventListener("click", () => this.#send());
    main.addEventListener("click", () => this.#act());
    back.addEventListener("click", () => this.#back());
    skip.addEventListener("click", () => this.#finish("skip"));
    slider.addEventListener("input", () => this.#seek(Number(slider.value) / FINE));
    const scroll = (event, by) => {
      const { place, count } = this.#reel;
      if ((by < 0 && place <= 0) || (by > 0 && place >= count)) return; // the page goes on
      event.preventDefault();
      this.#seek(place + by * PER_PIXEL);
    };
    story.addEventListener("wheel", (event) => event.ctrlKey || scroll(event, pixels(event)), { passive: false });
    board.addEventListener("touchstart", (event) => {
      this.#touch = event.touches.length === 1 ? event.touches[0].clientY : null;
    });
    const drag = (event) => {
      if (this.#touch === null || event.touches.length !== 1) return;
      const y = event.touches[0].clientY;
      scroll(event, 2 * (this.#touch - y));
      this.#touch = y;
    };
    board.addEventListener("touchmove", drag, { passive: false });
  }

  // The words of a language.
  write({ chapters, text }) {
    const { story, back, skip, slider } = this.#elements;
    this.#text = text;
    this.#reel.stretches.forEach((stretch) => {
      stretch.text = chapters[stretch.number].stretches[stretch.k].text;
      stretch.title = chapters[stretch.number].title;
    });
    story.setAttribute("aria-label", text["story.say.label"]);
    entitle(back, text["story.say.back"]);
    skip.querySelector("span").textContent = text["story.say.skip"];
    this.#elements.send.textContent = text["story.say.send"];
    this.#writeGuesses();
    slider.setAttribute("aria-label", text["story.say.place"]);
    this.#elements.keys.textContent = text[this.#calm.matches ? "story.say.keys.calm" : "story.say.keys"];
    this.#layout();
  }

  // The question, once there is something to guess.
  #writeGuesses() {
    const { ask } = this.#elements;
    const words = this.#text["story.say.guess"];
    ask.setAttribute("aria-label", words);
    ask.replaceChildren();
    make("span", "", ask).textContent = words;
    for (const guess of this.#guesses.all ?? []) {
      const button = make("button", "rs-button", ask, { type: "button" });
      button.textContent = `${guess}×`;
      button.addEventListener("click", () => this.#take(guess));
    }
  }

  #take(guess) {
    this.#guess = guess;
    this.#elements.main.focus({ preventScroll: true });
    this.#go(this.#reel.at + 1);
  }

  // A link to the story, to whoever the system can send it to, or to be pasted.
  async #send() {
    const link = new URL(globalThis.location.href);
    link.searchParams.set("story", "1");
    const { send } = this.#elements;
    try {
      if (navigator.share) await navigator.share({ title: document.title, url: link.href });
      else await navigator.clipboard.writeText(link.href);
      send.textContent = this.#text["story.say.sent_link"];
    } catch {
      // who changed their mind sends nothing
    }
  }

  // From a chapter on, or the first.
  begin(chapter) {
    this.#root.classList.add("rs-telling");
    this.#layout();
    this.#elements.main.focus({ preventScroll: true });
    this.#go(
      Math.max(
        0,
        this.#reel.stretches.findIndex((stretch) => stretch.chapter.name === chapter),
      ),
    );
  }

  // What a key does; those of buttons and the slider's own stay theirs.
  press(event, target) {
    const isButton = target.tagName === "BUTTON" && target !== this.#elements.main;
    if (isButton && [" ", "Enter"].includes(event.key)) return;
    if (target.tagName === "BUTTON" && event.key === "Enter") return;
    const keys = {
      " ": () => this.#act(),
      k: () => this.#act(),
      ArrowRight: () => this.#forward(),
      ArrowDown: () => this.#forward(),
      PageDown: () => this.#forward(),
      ArrowLeft: () => this.#back(),
      ArrowUp: () => this.#back(),
      PageUp: () => this.#back(),
      Home: () => this.#seek(0),
      End: () => this.#seek(this.#reel.count),
      Escape: () => this.#finish("skip"),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  // The large button: stop, go on, the next, or the end of it.
  #act() {
    if (this.#moves) this.#pause();
    else if (this.#reel.ends) this.#finish("own");
    else if (this.#calm.matches) this.#step();
    else this.#play();
  }

  #forward() {
    if (this.#calm.matches) this.#step();
    else if (this.#reel.at < this.#reel.count - 1) this.#go(this.#reel.at + 1);
    else this.#seek(this.#reel.count);
  }

  #step() {
    this.#reel.step(this.#board.timeline.bounds);
    this.#draw();
  }

  #back() {
    this.#pause();
    this.#reel.back();
    this.#draw();
  }

  // To a stretch, which begins to move.
  #go(at) {
    this.#reel.go(at);
    if (this.#calm.matches) this.#pause();
    else this.#play();
    this.#draw();
  }

  #seek(place) {
    this.#pause();
    this.#reel.seek(place);
    this.#draw();
  }

  #finish(word) {
    if (this.isEnding) return;
    this.isEnding = true;
    this.#pause();
    this.#say(word);
  }

  #play() {
    this.#moves = true;
    this.#last = null;
    this.#wake();
    this.#draw();
  }

  #pause() {
    this.#moves = false;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#draw();
  }

  #wake() {
    if (this.#moves && !this.#frame) this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    this.#frame = 0;
    const passed = this.#last === null ? 0 : Math.min(LONGEST_FRAME, (now - this.#last) / 1000);
    this.#last = now;
    if (this.#reel.pass(passed)) this.#pause();
    else this.#draw();
    this.#wake();
  }

  get #board() {
    return this.#boards[this.#reel.stretch.chapter.run];
  }

  #layout() {
    const { story, board, bar, keys, legend, ask } = this.#elements;
    if (!story.clientWidth || !this.#text["story.say.label"]) return;
    const under = bar.offsetHeight + keys.offsetHeight + legend.offsetHeight + ask.offsetHeight + HIGH.edge;
    const within = globalThis.innerHeight - (board.offsetTop - story.offsetTop + PHONE_HEAD);
    const room = (story.clientWidth < PHONE ? within : heightFor(board)) - under;
    const high = Math.max(HIGH.least, Math.min(HIGH.most, room));
    const surface = new Surface(board, theme(story));
    for (const one of this.#boards) one.layout(surface, story.clientWidth, high);
    this.#draw();
  }

  #draw() {
    const { story, head, words, board, slider, clock } = this.#elements;
    const { stretch, at, count, place, t, busy } = this.#reel;
    if (!stretch.title || !story.clientWidth) return;
    const text = this.#text;
    const shown = { ...stretch.chapter, most: this.#most, moves: stretch.to > stretch.from, busy };
    this.#elements.ask.classList.toggle("rs-asks", stretch.asks);
    this.#board.paint(t, shown, text);
    if (words.textContent !== stretch.text) words.textContent = stretch.text;
    head.textContent = stretch.title;
    clock.textContent = timeLike(t, this.#board.timeline.time);
    slider.max = String(count * FINE);
    slider.value = String(Math.round(place * FINE));
    slider.style.setProperty("--rs-share", String(place / count));
    slider.setAttribute("aria-valuetext", `${at + 1} / ${count}: ${stretch.title}`);
    this.#paintLegend(shown, stretch.answers);
    this.#offer();
    if (!this.#moves) board.setAttribute("aria-label", this.#board.describe(t, shown, text));
    Object.assign(story.dataset, {
      at: String(at),
      count: String(count),
      share: String(this.#reel.share),
      chapter: stretch.chapter.name,
      timeS: String(t),
      moves: String(this.#moves),
    });
  }

  // What bars mean, or how the guess was once it is answered.
  #paintLegend({ sent, most }, answers) {
    const { legend } = this.#elements;
    const [guess, { right }] = [this.#guess, this.#guesses];
    const verdict = guess === right ? "story.say.guess.right" : "story.say.guess.wrong";
    const bars = sent ? fill(this.#text["story.say.least"], { bytes: bytesLike(this.#board.least, most) }) : "\u00a0";
    const line = answers && guess ? fill(this.#text[verdict], { guess, right }) : bars;
    if (legend.textContent !== line) legend.textContent = line;
  }

  // What the large button does now.
  #offer() {
    const { main, back, send } = this.#elements;
    const { ends, at, share } = this.#reel;
    const name = this.#moves ? "pause" : ends ? "own" : this.#calm.matches ? "next" : "play";
    send.hidden = !ends;
    back.disabled = at === 0 && !share;
    if (main.dataset.does === name && main.title === this.#text[`story.say.${name}`]) return;
    main.dataset.does = name;
    main.replaceChildren(icon(name === "pause" ? "pause" : name === "next" ? "forward" : "play"));
    make("span", "", main).textContent = this.#text[`story.say.${name}`];
    main.title = this.#text[`story.say.${name}`];
  }

  close() {
    this.#moves = false;
    cancelAnimationFrame(this.#frame);
    this.#watch.disconnect();
    this.#root.classList.remove("rs-telling");
    this.#elements.story.remove();
  }
}
