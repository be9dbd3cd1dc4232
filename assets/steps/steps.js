// The steps of a run for phones in a lecture: picture, caption, back and forward.

import { theme } from "../paint/ink.js";
import { Surface } from "../paint/surface.js";
import { Pictures } from "../pane/pictures.js";
import { icon, make } from "../player/elements.js";
import { lasting } from "../player/lasting.js";
import { decode } from "../trace/decode.js";
import { fill } from "../trace/words.js";

const MOVING = 900; // ms from one step to the next
const SWIPE = 40; // pixels
const LEAST = 160; // pixels of a picture
const ADDRESS = "step";
const KEYS = {
  ...Object.fromEntries(["ArrowRight", "ArrowDown", "PageDown", " ", "Enter"].map((key) => [key, 1])),
  ...Object.fromEntries(["ArrowLeft", "ArrowUp", "PageUp", "Backspace"].map((key) => [key, -1])),
};

function keep(step) {
  const address = new URL(globalThis.location.href);
  if (step) address.searchParams.set(ADDRESS, String(step));
  else address.searchParams.delete(ADDRESS);
  globalThis.history.replaceState(globalThis.history.state, "", address);
}

class Steps {
  #at = 0;
  #calm = globalThis.matchMedia("(prefers-reduced-motion: reduce)");
  #elements;
  #frame = 0;
  #id = "";
  #picture = null;
  #stop = new AbortController();
  #t = 0;
  #text = {};
  #timeline = null;
  #touch = null;
  #watch;

  constructor(parent) {
    const root = make("section", "rs-steps", parent, { "data-ringside": "steps" });
    const room = make("div", "rs-steps-room", root);
    const canvas = make("canvas", "rs-steps-picture", room, { role: "img" });
    const words = make("p", "rs-steps-words", root, { role: "status" });
    const bar = make("div", "rs-steps-bar", root);
    const back = make("button", "rs-button rs-steps-way", bar, { type: "button" });
    back.append(icon("back"));
    const where = make("span", "rs-steps-where", bar);
    const on = make("button", "rs-button rs-steps-way", bar, { type: "button" });
    on.append(icon("forward"));
    this.#elements = { root, room, canvas, words, back, where, on };
    this.#listen();
    this.#watch = new ResizeObserver(() => this.#layout());
    this.#watch.observe(room);
  }

  #listen() {
    const { room, back, on } = this.#elements;
    const { signal } = this.#stop;
    back.addEventListener("click", () => this.go(this.#at - 1));
    on.addEventListener("click", () => this.go(this.#at + 1));
    room.addEventListener("pointerdown", (event) => {
      this.#touch = event.clientX;
    });
    room.addEventListener("pointerup", (event) => this.#lifted(event));
    const press = (event) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      if (ctrlKey || metaKey || altKey || (target.tagName === "BUTTON" && [" ", "Enter"].includes(key))) return;
      const ends = { Home: 0, End: Infinity };
      if (!(key in KEYS) && !(key in ends)) return;
      event.preventDefault();
      this.go(ends[key] ?? this.#at + KEYS[key]);
    };
    document.addEventListener("keydown", press, { signal });
  }

  // A tap on the right goes on, on the left back; a finger that pulls to the left goes on.
  #lifted({ clientX }) {
    if (this.#touch === null) return;
    const [by, { left, width }] = [clientX - this.#touch, this.#elements.room.getBoundingClientRect()];
    this.#touch = null;
    if (Math.abs(by) > SWIPE) this.go(this.#at - Math.sign(by));
    else this.go(this.#at + (clientX < left + width / 2 ? -1 : 1));
  }

  async load({ runs, text, start, at }) {
    this.#text = text;
    const [{ id, tl }] = runs;
    if (id !== this.#id) {
      this.#id = id;
      this.#timeline = await decode(tl);
      this.#picture = new Pictures(this.#timeline).of(start.view);
      this.#at = Math.max(0, Math.min(this.#last, at));
      this.#t = this.#timeline.bounds[this.#at];
    }
    const { root, back, on } = this.#elements;
    root.setAttribute("aria-label", text["player.steps.label"]);
    back.setAttribute("aria-label", text["player.steps.back"]);
    on.setAttribute("aria-label", text["player.steps.on"]);
    this.#layout();
  }

  get #last() {
    return this.#timeline.bounds.length - 1;
  }

  // To a step, which moves if it is the next one.
  go(step) {
    if (!this.#timeline) return;
    const before = this.#at;
    this.#at = Math.max(0, Math.min(this.#last, step));
    cancelAnimationFrame(this.#frame);
    keep(this.#at);
    const { bounds } = this.#timeline;
    const [from, to] = [bounds[before], bounds[this.#at]];
    this.#t = to;
    if (this.#at === before + 1 && !this.#calm.matches) this.#move(from, to, performance.now());
    else this.#draw();
  }

  #move(from, to, begun) {
    const share = Math.min(1, Math.max(0, (performance.now() - begun) / MOVING));
    this.#t = from + share * (to - from);
    this.#draw();
    if (share < 1) this.#frame = requestAnimationFrame(() => this.#move(from, to, begun));
  }

  #layout() {
    const { room, canvas, root } = this.#elements;
    if (!this.#picture || !room.clientWidth) return;
    const most = Math.max(LEAST, room.clientHeight);
    this.#picture.layout(new Surface(canvas, theme(root)), { width: room.clientWidth, most, least: most, span: 0 });
    this.#draw();
  }

  #draw() {
    const { root, canvas, words, where, back, on } = this.#elements;
    const timeline = this.#timeline;
    this.#picture.paint(this.#t, {});
    const { opening, caption, closing } = timeline.steps;
    const isLast = this.#at === this.#last;
    const says = this.#at ? caption[this.#at - 1] : opening;
    const line = isLast && this.#at ? `${says} · ${timeline.meta.stalled || closing}` : says;
    if (words.textContent !== line) words.textContent = line;
    canvas.setAttribute("aria-label", line);
    where.textContent = fill(this.#text["player.steps.where"], { step: this.#at, steps: this.#last });
    back.disabled = !this.#at;
    on.disabled = isLast;
    Object.assign(root.dataset, { step: String(this.#at), steps: String(this.#last), timeS: String(this.#t) });
  }

  close() {
    cancelAnimationFrame(this.#frame);
    this.#stop.abort();
    this.#watch.disconnect();
    this.#elements.root.remove();
  }
}

export default lasting(
  (root) => new Steps(root),
  (steps, { data }) => steps.load(data),
);
