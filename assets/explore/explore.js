// The list of all there is to look at: what is typed narrows it down, and a click or Enter opens an entry.

import { make } from "../player/elements.js";
import { lasting } from "../player/lasting.js";

const ICONS = {
  question: "help",
  example: "play_circle",
  lesson: "school",
  machine: "dns",
  algorithm: "account_tree",
  gallery: "apps",
};
const SEARCHED = "algorithm"; // so many that only a search shows them
const MOST = 8; // entries of a group that a search shows

// Entries in which every word that was typed occurs, in the order of the list; those whose title has it come first.
export function narrowed(groups, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = Object.entries(groups).map(([group, entries]) => {
    if (!words.length) return [group, group === SEARCHED ? [] : entries];
    const matching = entries.filter(({ find }) => words.every((word) => find.includes(word)));
    const isTitled = ({ title }) => words.every((word) => title.toLowerCase().includes(word));
    return [group, [...matching.filter(isTitled), ...matching.filter((entry) => !isTitled(entry))].slice(0, MOST)];
  });
  return shown.filter(([, entries]) => entries.length);
}

class List {
  #data = null;
  #send;
  #field;
  #entries;

  constructor(parent) {
    const root = make("div", "explore", parent);
    this.#field = make("input", "", root, { type: "search", autocomplete: "off", spellcheck: "false" });
    this.#entries = make("div", "entries", root);
    this.#field.addEventListener("input", () => this.#draw());
    root.addEventListener("keydown", (event) => this.#pressed(event));
    root.addEventListener("click", ({ target }) => this.#open(target.closest("[data-name]")));
    requestAnimationFrame(() => this.#field.focus({ preventScroll: true }));
  }

  // What there is now; `send` asks the page to open an entry.
  update(data, send) {
    const before = JSON.stringify(this.#data);
    this.#data = data;
    this.#send = send;
    const words = data.text["page.explore.field"];
    this.#field.placeholder = words;
    this.#field.setAttribute("aria-label", words);
    if (before !== JSON.stringify(data)) this.#draw();
  }

  #draw() {
    const shown = narrowed(this.#data.groups, this.#field.value);
    this.#entries.replaceChildren();
    for (const [group, entries] of shown) {
      const box = make("section", "", this.#entries, { "aria-label": this.#data.text[`page.explore.${group}`] });
      make("h3", "", box).textContent = this.#data.text[`page.explore.${group}`];
      for (const entry of entries) this.#entry(box, group, entry);
    }
    if (!shown.length)
      make("p", "", this.#entries, { role: "status" }).textContent = this.#data.text["page.explore.none"];
    if (!this.#field.value)
      this.#entry(this.#entries, "gallery", { name: "", title: this.#data.text["page.explore.gallery"] });
  }

  #entry(box, group, { name, title, about }) {
    const button = make("button", "", box, { type: "button", "data-group": group, "data-name": name });
    if (this.#data.now.includes(name)) button.setAttribute("aria-current", "true");
    make("span", "icon", button, { "aria-hidden": "true" }).textContent = ICONS[group];
    const words = make("span", "", button);
    make("strong", "", words).textContent = title;
    if (about) make("small", "", words).textContent = about;
  }

  #pressed(event) {
    const buttons = [...this.#entries.querySelectorAll("button")];
    const at = buttons.indexOf(event.target);
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key === "Enter" && at < 0) this.#open(buttons[0]);
    else if (event.key in steps) (buttons[at + steps[event.key]] ?? this.#field).focus();
    else return;
    event.preventDefault();
  }

  #open(button) {
    if (button) this.#send({ ...button.dataset, when: Date.now() });
  }
}

export default lasting(
  (root) => new List(root),
  (list, { data, setTriggerValue }) => list.update(data, (entry) => setTriggerValue("open", entry)),
);
