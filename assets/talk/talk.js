// A talk: scenes one after the other in one player, led through by keys, with a second window for whoever gives it.

import mountPlayer from "../player/player.js";
import { FullScreen } from "../player/fullscreen.js";
import { lasting } from "../player/lasting.js";
import { elementsOf, label } from "./elements.js";
import { backward, lineAt, numbered, onward } from "./plan.js";
import { Speaker } from "./speaker.js";

const PLAYERS = '[data-ringside="player"]';
const FORGET = 2000; // ms after a digit
const FIELDS = "input, select, textarea, [contenteditable=true]";
const PRESSED = new Set([" ", "Enter"]); // keys that press a button

class Talk {
  #at = 0;
  #commands = 0;
  #data = null;
  #digits = "";
  #elements;
  #entered = 0;
  #full;
  #speaker;
  #stop = new AbortController();
  #typed = 0;
  #watch;

  constructor(parent) {
    this.#elements = elementsOf(parent);
    const { root, back, next, where, second, full } = this.#elements;
    this.#full = new FullScreen(root, () => this.#refresh());
    this.#speaker = new Speaker({
      press: (event) => this.#press(event),
      go: (k) => this.#enter(k),
      act: (name) => this.#act(name),
      blocked: () => this.#say("talk.blocked"),
    });
    const { signal } = this.#stop;
    back.addEventListener("click", () => this.#act("back"));
    next.addEventListener("click", () => this.#act("next"));
    full.addEventListener("click", () => this.#full.toggle());
    second.addEventListener("click", () => this.#speaker.open());
    where.addEventListener("change", () => this.#enter(Number(where.value)));
    globalThis.addEventListener("keydown", (event) => this.#press(event), { signal, capture: true });
    globalThis.addEventListener("pagehide", () => this.#speaker.close(), { signal });
    this.#watch = new MutationObserver(() => this.#refresh());
    root.ringside = { state: () => this.#state };
  }

  load(data) {
    const before = this.#data;
    if (before && JSON.stringify(before) === JSON.stringify(data)) return;
    this.#data = data;
    const { scenes, text } = data;
    label(this.#elements, text, scenes);
    this.#elements.root.dataset.scenes = String(scenes.length);
    this.#elements.root.setAttribute("aria-label", data.title);
    this.#speaker.load(data);
    this.#enter(before ? Math.min(this.#at, scenes.length - 1) : this.#linked);
  }

  // The scene that the page's own address names, where it is a page of its own.
  get #linked() {
    const { hash } = globalThis.location;
    return this.#data.is_linked ? (numbered(hash.slice(1), this.#data.scenes.length) ?? 0) : 0;
  }

  get #scene() {
    return this.#data.scenes[this.#at];
  }

  // Where the player stands: of several runs, where the longest one does.
  get #state() {
    const players = [...this.#elements.stage.querySelectorAll(PLAYERS)];
    const t = Math.max(0, ...players.map(({ dataset }) => Number(dataset.timeS) || 0));
    return { scene: this.#at, t, playing: players.some(({ dataset }) => dataset.playing === "true") };
  }

  #enter(k) {
    const { scenes } = this.#data;
    this.#at = Math.max(0, Math.min(scenes.length - 1, k));
    this.#entered += 1;
    this.#say("");
    if (this.#data.is_linked) globalThis.history.replaceState(null, "", `#${this.#at + 1}`);
    this.#mount();
    const players = this.#elements.stage.querySelectorAll(PLAYERS);
    this.#watch.disconnect();
    const attributeFilter = ["data-time-s", "data-playing"];
    for (const player of players) this.#watch.observe(player, { attributes: true, attributeFilter });
    this.#refresh({ t: Math.min(this.#scene.start.t, this.#scene.time), playing: false });
  }

  // Show the scene in the player, which obeys a command where there is one.
  #mount(command) {
    const { v, text, all } = this.#data;
    const { runs, start, stops, answer } = this.#scene;
    const played = runs.map(({ id, title }) => Object.assign(Object.create(null), all[id], { title }));
    const begin = { usual: "", is_linked: false, keep: false, ...start, number: this.#entered };
    const data = { v, text, runs: played, start: begin, stops, answer, cmd: command };
    mountPlayer({ data, parentElement: this.#elements.stage });
  }

  #command(order) {
    this.#commands += 1;
    this.#mount({ n: this.#commands, ...order });
  }

  // Do what a key of the talk asks for.
  #act(name) {
    const step = (name === "next" ? onward : backward)(this.#scene, this.#state);
    if (step.play) this.#command({ play: true });
    else if (step.seek !== undefined) this.#command({ from: step.seek, play: false });
    else this.#goBy(step.by);
  }

  #goBy(by) {
    const k = this.#at + by;
    if (k < 0) return;
    if (k >= this.#data.scenes.length) this.#say("talk.over");
    else this.#enter(k);
  }

  #say(id) {
    this.#elements.said.textContent = id ? this.#data.text[id] : "";
  }

  // Clickers' keys lead through the talk wherever the focus is; arrows, the space bar and others where it is nowhere else.
  #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !this.#data) return;
    const act = this.#keyOf(event.key, event.composedPath()[0]);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  #keyOf(key, target) {
    const clicker = { PageDown: "next", PageUp: "back" }[key];
    if (clicker) return () => this.#act(clicker);
    if (key === "Escape" && this.#full.is) return () => this.#full.leave();
    const isPressed = PRESSED.has(key) && !this.#digits && target.closest?.("button");
    if (isPressed || isElsewhere(target, this.#elements)) return null;
    return /^\d$/.test(key) ? () => this.#type(key) : this.#keys[key];
  }

  get #keys() {
    return {
      ArrowRight: () => this.#act("next"),
      ArrowLeft: () => this.#act("back"),
      " ": () => this.#act("next"),
      Home: () => this.#enter(0),
      End: () => this.#enter(this.#data.scenes.length - 1),
      f: () => this.#full.toggle(),
      n: () => this.#speaker.open(),
      Enter: this.#digits ? () => this.#jump() : null,
    };
  }

  // A scene is called by its number: digits, then Enter.
  #type(digit) {
    const now = Date.now();
    this.#digits = now - this.#typed < FORGET ? this.#digits + digit : digit;
    this.#typed = now;
    this.#elements.said.textContent = this.#digits;
  }

  #jump() {
    const k = numbered(this.#digits, this.#data.scenes.length);
    this.#digits = "";
    if (k === null) this.#say("talk.nowhere");
    else this.#enter(k);
  }

  #refresh(state = this.#state) {
    if (!this.#data) return;
    const { root, words, where } = this.#elements;
    const line = lineAt(this.#scene, state.t);
    if (words.textContent !== line) words.textContent = line;
    words.hidden = !this.#scene.lines.length;
    where.value = String(this.#at);
    Object.assign(root.dataset, { scene: String(this.#at), words: line });
    this.#speaker.show(this.#at, state);
  }

  close() {
    this.#stop.abort();
    this.#watch.disconnect();
    this.#full.close();
    this.#speaker.close();
  }
}

// Whether a key is meant for a field, or for the player, which has keys of its own.
function isElsewhere(target, { stage, root }) {
  if (!(target instanceof target.ownerDocument.defaultView.Element)) return false;
  return (
    stage.contains(target) ||
    Boolean(target.closest(FIELDS)) ||
    (target !== target.ownerDocument.body && !root.contains(target))
  );
}

// What Streamlit calls when the talk appears and whenever its data changes, and a page of its own once.
export default lasting(
  (root) => new Talk(root),
  (talk, { data }) => talk.load(data),
);
