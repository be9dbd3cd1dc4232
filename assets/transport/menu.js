// What is needed seldom, behind one button: a step's number, equal steps, the critical path, full screen, and keys.

import { entitle, icon, make } from "../player/elements.js";

export class Menu {
  #button;
  #full;
  #keys;
  #lit;
  #of;
  #pace;
  #panel;
  #root;
  #step;
  #word;

  // The button stands in `bar`, the panel in `root`, over the picture.
  constructor(bar, root, act) {
    this.#root = root;
    this.#button = make("button", "rs-button rs-more", bar, { type: "button", "aria-expanded": "false" });
    this.#button.append(icon("more"));
    this.#button.addEventListener("click", () => this.toggle());
    this.#panel = make("div", "rs-menu", root, { hidden: "" });
    const jump = make("label", "rs-jump", this.#panel);
    this.#word = make("span", "", jump);
    this.#step = make("input", "rs-step", jump, { type: "number", min: "0", inputmode: "numeric" });
    this.#step.addEventListener("change", () => act.jump(Number(this.#step.value)));
    this.#of = make("span", "", jump);
    this.#pace = this.#entry("rs-pace", act.pace);
    this.#lit = this.#entry("rs-lit", act.light);
    this.#full = this.#entry("rs-full", () => {
      this.toggle(false);
      act.full();
    });
    this.#keys = make("p", "rs-keys", this.#panel);
  }

  #entry(className, act) {
    const button = make("button", `rs-button ${className}`, this.#panel, { type: "button" });
    button.addEventListener("click", act);
    return button;
  }

  label(text) {
    entitle(this.#button, text["player.more"]);
    this.#full.textContent = text["player.full"];
    this.#lit.textContent = text["player.critical"];
    this.#lit.title = text["player.critical.help"];
    this.#keys.textContent = text["player.keys"];
  }

  offer(steps, of, word) {
    this.#word.textContent = word;
    this.#step.max = String(steps);
    this.#of.textContent = `${of} ${steps}`;
  }

  choose({ lit, even, pace }) {
    this.#lit.setAttribute("aria-pressed", String(lit));
    this.#pace.setAttribute("aria-pressed", String(even));
    this.#pace.textContent = pace;
  }

  show(step) {
    const box = this.#step;
    if (box.value !== String(step) && this.#root.getRootNode().activeElement !== box) box.value = String(step);
  }

  toggle(shown = this.#panel.hidden) {
    this.#panel.hidden = !shown;
    this.#button.setAttribute("aria-expanded", String(shown));
  }
}
