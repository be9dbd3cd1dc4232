// The transport: a row to move through time in, and a menu of what is needed seldom. What they do is the player's.

import { seconds } from "../trace/words.js";
import { SPEEDS } from "../player/clock.js";
import { entitle, icon, make } from "../player/elements.js";
import { Menu } from "./menu.js";
import { labelOf, refusals, registered } from "../player/registry.js";
import { Ruler } from "./scrubber.js";

const TRANSPORT = ["back", "play", "forward"];

export class Controls {
  #buttons = {};
  #clock;
  #menu;
  #ruler;
  #space = "";
  #speed;
  #view;

  // `act` has a function for whatever a person may want: see `Player`.
  constructor(act) {
    this.root = document.createElement("div");
    this.root.className = "rs-controls";
    const bar = make("div", "rs-bar rs-transport", this.root);
    for (const name of TRANSPORT) this.#makeButton(name, bar, act[name]);
    this.#ruler = new Ruler(bar, act);
    this.#clock = make("span", "rs-clock", bar);
    this.#speed = make("select", "rs-speed", bar);
    for (const speed of SPEEDS) make("option", "", this.#speed, { value: String(speed) });
    this.#speed.addEventListener("change", () => act.speed(Number(this.#speed.value)));
    this.#view = make("select", "rs-view", bar);
    for (const { name } of registered()) make("option", "", this.#view, { value: name });
    this.#view.addEventListener("change", () => act.view(this.#view.value));
    this.#menu = new Menu(bar, this.root, act);
  }

  #makeButton(name, bar, act) {
    const button = make("button", `rs-button rs-${name}`, bar, { type: "button" });
    button.append(icon(name));
    button.addEventListener("click", act);
    this.#buttons[name] = button;
  }

  // Write every word in the language of `text`.
  label(text) {
    const say = (name) => text[`player.${name}`];
    for (const name of TRANSPORT) entitle(this.#buttons[name], say(name));
    this.#space = say("space");
    this.#ruler.label(say("scrub"), say("ends"));
    entitle(this.#speed, say("speed"));
    entitle(this.#view, say("view"));
    for (const [k, view] of registered().entries()) this.#view.options[k].textContent = labelOf(view, text);
    this.#menu.label(text);
  }

  // Other runs on a clock: views that none of them can be shown in say why; of several runs no steps are one.
  offer(clock, timelines, text) {
    const reasons = refusals(timelines, text);
    for (const option of this.#view.options) {
      option.disabled = Boolean(reasons[option.value]);
      option.title = reasons[option.value];
    }
    const isOne = timelines.length === 1;
    this.#ruler.offer(clock, isOne ? timelines[0].steps.phases : []);
    this.#menu.offer(clock.steps, text["player.of"], text[isOne ? "player.step" : "player.moment"]);
  }

  // What changes seldom: the view, lit or not, and the pace: how fast time passes at each speed, in words.
  choose({ view, lit, speed, even, pace, scales }) {
    this.#view.value = view;
    for (const [k, option] of [...this.#speed.options].entries())
      if (option.textContent !== scales[k]) option.textContent = scales[k];
    this.#speed.value = String(speed);
    this.#menu.choose({ lit, even, pace });
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
    this.#ruler.mark(now, old);
  }

  // What changes with every frame.
  show({ t, time, own, step }, caption) {
    const told = `${seconds(t)} / ${seconds(own)}`;
    if (this.#clock.textContent !== told) this.#clock.textContent = told;
    this.#menu.show(step);
    this.#ruler.show(time > 0 ? t / time : 0, `${seconds(t)}: ${caption}`);
  }

  toggleHelp(shown) {
    this.#menu.toggle(shown);
  }

  // Whether a key pressed in an element is that element's own.
  keeps(element, key) {
    if (element.tagName === "SELECT") return true;
    if (element.tagName === "INPUT") return !this.#ruler.is(element);
    return element.tagName === "BUTTON" && [" ", "Enter"].includes(key) && element !== this.#buttons.play;
  }
}
