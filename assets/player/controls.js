// Buttons and fields that move through time and between views; what they do is the player's.

import { fill, seconds } from "../trace/words.js";
import { SPEEDS } from "./clock.js";
import { entitle, icon, make } from "./elements.js";
import { labelOf, registered } from "./registry.js";

const FINE = 1e6;
const TRANSPORT = ["first", "back", "play", "forward", "last"];

export class Controls {
  #buttons = {};
  #clock;
  #endWords = "";
  #ends = {};
  #help;
  #helpButton;
  #litButton;
  #pace;
  #scale;
  #scrub;
  #space = "";
  #speed;
  #stepBox;
  #stepOf;
  #stepWord;
  #views = new Map();
  #viewGroup;

  // `act` has a function for whatever a person may want: see `Player`.
  constructor(act) {
    this.root = document.createElement("div");
    this.root.className = "rs-controls";
    const bar = make("div", "rs-bar rs-transport", this.root);
    for (const name of TRANSPORT) this.#makeButton(name, bar, act[name]);
    const ruler = make("span", "rs-ruler", bar);
    for (const name of ["now", "old"]) {
      this.#ends[name] = make("i", `rs-end rs-end-${name}`, ruler, { hidden: "" });
      make("span", "", this.#ends[name]);
    }
    this.#scrub = make("input", "rs-scrub", ruler, { type: "range", min: "0", max: String(FINE), step: "1" });
    this.#scrub.addEventListener("input", () => act.scrub(Number(this.#scrub.value) / FINE));
    this.#scrub.addEventListener("change", () => act.tell());
    this.#clock = make("span", "rs-clock", bar);
    this.#scale = make("span", "rs-clock rs-scale", bar);
    const views = make("div", "rs-bar rs-views", this.root);
    this.#makeViews(views, act);
    this.#makePace(make("div", "rs-right", views), act);
    this.#help = make("p", "rs-keys", this.root, { hidden: "" });
  }

  #makePace(bar, act) {
    const jump = make("label", "rs-jump", bar);
    this.#stepWord = make("span", "", jump);
    this.#stepBox = make("input", "rs-step", jump, { type: "number", min: "0", inputmode: "numeric" });
    this.#stepBox.addEventListener("change", () => act.jump(Number(this.#stepBox.value)));
    this.#stepOf = make("span", "", jump);
    this.#pace = make("button", "rs-button rs-pace", bar, { type: "button" });
    this.#pace.addEventListener("click", act.pace);
    this.#speed = make("select", "rs-speed", bar);
    for (const speed of SPEEDS) make("option", "", this.#speed, { value: String(speed) }).textContent = `${speed}×`;
    this.#speed.addEventListener("change", () => act.speed(Number(this.#speed.value)));
    this.#helpButton = make("button", "rs-button rs-help", bar, { type: "button", "aria-expanded": "false" });
    this.#helpButton.textContent = "?";
    this.#helpButton.addEventListener("click", () => this.toggleHelp());
    this.#makeButton("full", bar, act.full);
  }

  #makeButton(name, bar, act) {
    const button = make("button", `rs-button rs-${name}`, bar, { type: "button" });
    button.append(icon(name));
    button.addEventListener("click", act);
    this.#buttons[name] = button;
  }

  #makeViews(bar, act) {
    this.#viewGroup = make("div", "rs-tabs", bar, { role: "group" });
    for (const view of registered()) {
      const button = make("button", "rs-tab", this.#viewGroup, { type: "button" });
      button.addEventListener("click", () => act.view(view.name));
      this.#views.set(view, button);
    }
    this.#litButton = make("button", "rs-tab rs-lit", bar, { type: "button", "aria-pressed": "false" });
    this.#litButton.addEventListener("click", act.light);
  }

  // Write every word in the language of `text`.
  label(text) {
    const say = (name) => text[`player.${name}`];
    for (const name of [...TRANSPORT, "full"]) entitle(this.#buttons[name], say(name));
    this.#space = say("space");
    this.#endWords = say("ends");
    this.#stepWord.textContent = say("step");
    this.#scrub.setAttribute("aria-label", say("scrub"));
    entitle(this.#speed, say("speed"));
    this.#helpButton.setAttribute("aria-label", say("help"));
    this.#help.textContent = say("keys");
    this.#viewGroup.setAttribute("aria-label", say("view"));
    for (const [view, button] of this.#views) button.textContent = labelOf(view, text);
    this.#litButton.textContent = say("critical");
    this.#litButton.title = say("critical.help");
  }

  // Other runs: how many steps there are, and for every view why none of them can be shown so, or "".
  offer(steps, of, refusals, word) {
    this.#stepWord.textContent = word;
    this.#stepBox.max = String(steps);
    this.#stepOf.textContent = `${of} ${steps}`;
    for (const [view, button] of this.#views) {
      button.disabled = Boolean(refusals[view.name]);
      button.title = refusals[view.name];
    }
  }

  // What changes seldom: the view, lit or not, playing or not, and the pace in words.
  choose({ view, lit, speed, even, pace, scale }) {
    for (const [{ name }, button] of this.#views) button.setAttribute("aria-pressed", String(name === view));
    this.#litButton.setAttribute("aria-pressed", String(lit));
    this.#speed.value = String(speed);
    this.#pace.setAttribute("aria-pressed", String(!even));
    this.#pace.textContent = pace;
    this.#pace.title = scale || pace;
    this.#scale.textContent = scale;
  }

  // The button that plays or pauses.
  offerPlay(name, words) {
    const { play } = this.#buttons;
    const title = `${words} (${this.#space})`;
    if (play.title === title) return; // what is made anew is laid out anew
    play.replaceChildren(icon(name));
    entitle(play, words);
    play.title = title;
  }

  // Mark where on the ruler a run and the old one end, both in s; nothing without an old one.
  mark(now, old) {
    for (const [name, time] of [
      ["now", now],
      ["old", old],
    ]) {
      const end = this.#ends[name];
      end.hidden = old === null;
      if (old === null) continue;
      const share = time / Math.max(now, old);
      end.style.setProperty("--rs-share", String(share));
      end.classList.toggle("rs-late", share > 0.6);
      end.firstChild.textContent = name === "old" ? fill(this.#endWords, { time: seconds(time) }) : "";
    }
  }

  // What changes with every frame.
  show({ t, time, own, step }, caption) {
    const told = `${seconds(t)} / ${seconds(own)}`;
    if (this.#clock.textContent !== told) this.#clock.textContent = told;
    const box = this.#stepBox;
    if (box.value !== String(step) && this.root.getRootNode().activeElement !== box) box.value = String(step);
    const place = String(Math.round((time > 0 ? t / time : 0) * FINE));
    if (this.#scrub.value !== place) this.#scrub.value = place;
    this.#scrub.setAttribute("aria-valuetext", `${seconds(t)}: ${caption}`);
  }

  toggleHelp(shown = this.#help.hidden) {
    this.#help.hidden = !shown;
    this.#helpButton.setAttribute("aria-expanded", String(shown));
  }

  // Whether a key pressed in an element is that element's own.
  keeps(element, key) {
    if (element.tagName === "SELECT") return true;
    if (element.tagName === "INPUT") return element !== this.#scrub;
    return element.tagName === "BUTTON" && [" ", "Enter"].includes(key) && element !== this.#buttons.play;
  }
}
