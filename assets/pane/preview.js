// What would be, in place of what a run shows, while somebody drags.

import { make } from "../player/elements.js";

export class Preview {
  #ghost = null; // what the run shows itself, while it shows what would be
  #host;
  #pane;

  constructor(pane, host) {
    [this.#pane, this.#host] = [pane, host];
  }

  get isOn() {
    return this.#ghost !== null;
  }

  // Show what would be with a what-if, or without one the run itself; returns both times, in s.
  show(spec) {
    if (!this.#ghost && !spec) return null;
    const { timeline } = this.#pane;
    if (this.#ghost) timeline.exchange(this.#ghost);
    this.#ghost = spec ? this.#worked(spec) : null;
    if (this.#ghost) timeline.exchange(this.#ghost);
    this.#host.ghost(this.#ghost && timeline.time);
    this.#host.draw();
    return this.#ghost && { before: this.#ghost.time, after: timeline.time };
  }

  #worked(spec) {
    const { first, whatIf } = this.#host;
    return first() === this.#pane ? (whatIf?.preview(spec) ?? null) : null;
  }
}

// Call a run by its title, with a button that takes it back where it can be.
export function entitled({ root, title }, { title: name = "", undo }, text) {
  title.textContent = name;
  root.classList.toggle("rs-titled", Boolean(name));
  if (!undo) return;
  const button = make("button", "rs-button", title, { type: "button" });
  button.textContent = text["player.whatif.undo"];
  button.addEventListener("click", undo);
}
