// The second window: notes, what comes next and clocks, for whoever gives the talk.
//
// It is an empty page that the first one writes into, so that both are always in step, from a disk too, where windows
// cannot send each other anything by name.

import { make } from "../player/elements.js";
import { fill, seconds } from "../trace/words.js";
import { fillChoices } from "./elements.js";
import { passed, stopsBehind } from "./plan.js";
import { STYLE } from "./dress.js";

const NAME = "ringside-notes";
const SIZE = "popup,width=960,height=720";
const TICK = 250; // ms
const AGAIN = 100; // ms after which a window that was loaded anew is empty

export class Speaker {
  #at = 0;
  #began = Date.now();
  #data = null;
  #elements = null;
  #host;
  #listening = new AbortController();
  #state = { t: 0, playing: false };
  #window = null;

  // `host` has `press(event)`, `act(name)` for back and next, `go(k)` to a scene, and `blocked()`.
  constructor(host) {
    this.#host = host;
  }

  load(data) {
    this.#data = data;
    if (this.#isOpen) this.#write();
  }

  get #isOpen() {
    return this.#window !== null && !this.#window.closed;
  }

  open() {
    if (this.#isOpen) {
      this.#window.focus();
      return;
    }
    this.#window = globalThis.open("", NAME, SIZE);
    if (this.#window) this.#write();
    else this.#host.blocked();
  }

  // Write the page anew.
  #write() {
    const page = this.#window;
    const { document } = page;
    const { text, language, title } = this.#data;
    document.documentElement.lang = language === "zh" ? "zh-Hans" : language;
    document.head.replaceChildren();
    document.body.replaceChildren();
    document.title = `${text["talk.notes"]} · ${title}`;
    make("meta", "", document.head, { name: "color-scheme", content: "light dark" });
    make("style", "", document.head).textContent = STYLE;
    this.#elements = this.#build(document.body, text);
    this.#listening.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    document.addEventListener("keydown", (event) => this.#host.press(event), { signal });
    page.addEventListener("pagehide", () => setTimeout(() => this.#renew(), AGAIN), { signal });
    page.clearInterval(page.ringsideClock);
    page.ringsideClock = page.setInterval(() => this.#tick(), TICK);
    this.#paint();
    this.#tick();
  }

  // A window that was loaded again is empty; one that has become a stranger meanwhile, as it does on a disk, goes.
  #renew() {
    if (!this.#isOpen) return;
    try {
      this.#write();
    } catch {
      this.#window.close();
    }
  }

  #build(body, text) {
    const root = make("main", "speaker", body, { "data-ringside": "speaker" });
    const top = make("header", "", root);
    const clocks = make("p", "clocks", top);
    const named = (id) => {
      make("span", "name", clocks).textContent = text[id];
      return make("strong", "", clocks);
    };
    const elapsed = named("talk.elapsed");
    const wall = named("talk.clock");
    const restart = make("button", "", top, { type: "button" });
    restart.textContent = text["talk.restart"];
    restart.addEventListener("click", () => this.#restart());
    const title = make("h1", "", root);
    const where = make("p", "where", root);
    const notes = make("div", "notes", root, { tabindex: "0", role: "region" });
    notes.setAttribute("aria-label", text["talk.notes"]);
    const next = make("section", "next", root);
    make("h2", "", next).textContent = text["talk.upcoming"];
    const picture = make("img", "", next, { alt: "", width: "320", height: "180" });
    const coming = make("p", "coming", next);
    const bar = make("footer", "", root);
    const button = (name) => {
      const element = make("button", `to-${name}`, bar, { type: "button" });
      element.textContent = text[`talk.${name}`];
      element.addEventListener("click", () => this.#host.act(name));
    };
    button("back");
    const jump = make("select", "", bar);
    fillChoices(jump, text, this.#data.scenes);
    jump.addEventListener("change", () => this.#host.go(Number(jump.value)));
    button("next");
    return { root, elapsed, wall, title, where, notes, next, picture, coming, jump };
  }

  #restart() {
    this.#began = Date.now();
    this.#tick();
  }

  #tick() {
    const { elapsed, wall } = this.#elements;
    const now = new Date();
    elapsed.textContent = passed(now.getTime() - this.#began);
    wall.textContent = now.toLocaleTimeString(this.#data.language, { hour: "2-digit", minute: "2-digit" });
  }

  // Follow the first window.
  show(at, state) {
    [this.#at, this.#state] = [at, state];
    if (this.#isOpen) this.#paint();
  }

  #paint() {
    const { scenes, text } = this.#data;
    const { root, title, where, notes, picture, coming, jump } = this.#elements;
    const [scene, next] = [scenes[this.#at], scenes[this.#at + 1]];
    const { t, playing } = this.#state;
    write(title, `${this.#at + 1} / ${scenes.length} · ${scene.title}`);
    const told = [`${seconds(t)} / ${seconds(scene.time)}`];
    const stops = { done: stopsBehind(scene, t), stops: scene.stops.length };
    if (scene.stops.length) told.push(fill(text["talk.stops"], stops));
    if (playing) told.push(text["talk.playing"]);
    write(where, told.join(" · "));
    write(notes, scene.notes || text["talk.notes.none"]);
    notes.classList.toggle("none", !scene.notes);
    write(coming, next ? [next.title, next.lines[0]?.text].filter(Boolean).join(" – ") : text["talk.over"]);
    const source = next ? `data:image/svg+xml,${encodeURIComponent(next.picture)}` : "";
    picture.hidden = !next;
    if (source && picture.getAttribute("src") !== source) picture.src = source;
    jump.value = String(this.#at);
    Object.assign(root.dataset, { scene: String(this.#at), timeS: String(t), playing: String(playing) });
  }

  close() {
    if (!this.#isOpen) return;
    this.#listening.abort();
    this.#window.close();
    this.#window = null;
  }
}

function write(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
