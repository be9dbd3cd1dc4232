// What stands beside the picture: what is wrong, the chosen part, and the classes of links with their rates.

import { become } from "../build/become.js";
import { make } from "../player/elements.js";
import { fill } from "../trace/words.js";
import { find } from "./document.js";

const ALL = { NVS: "GPU", PCI: "GPU", NET: "NIC" };
const COPIES = 16;

export class Panel {
  #typed = null; // a field with letters that the document has not yet

  constructor(parent, text) {
    this.text = text;
    parent.addEventListener("input", ({ target }) => (this.#typed = target));
    for (const name of ["change", "focusout"]) parent.addEventListener(name, () => (this.#typed = null));
    this.checks = make("section", "rd-checks", parent, { "aria-label": text["draw.checks"] });
    this.chosen = make("section", "rd-chosen", parent);
    this.classes = make("section", "rd-classes", parent);
  }

  draw(drawn, view, said) {
    this.#swap(this.checks, (section) => this.#checks(section, said));
    this.#swap(this.chosen, (section) => this.#part(section, drawn, view));
    this.#swap(this.classes, (section) => this.#groups(section, drawn));
  }

  // Draw a section again, and have its fields hold what the document says, but for one that somebody types into.
  #swap(section, draw) {
    const next = section.cloneNode(false);
    draw(next);
    become(section, next);
    for (const field of section.querySelectorAll("input, select"))
      if (field !== this.#typed && field.value !== field.dataset.value) field.value = field.dataset.value;
  }

  #checks(section, { judged, problems, summary, nothing }) {
    make("h2", "", section).textContent = this.text["draw.checks"];
    section.classList.toggle("rd-old", !judged);
    section.dataset.state = problems.length ? "wrong" : nothing ? "nothing" : "right";
    const list = make(problems.length ? "ul" : "p", "rd-said", section, { "aria-live": "polite" });
    if (!problems.length) list.textContent = summary;
    for (const { text, devices } of problems) {
      const line = make("li", "", list);
      if (!devices.length) line.textContent = text;
      else this.#button(line, text, "look", { devices: devices.join(" ") }).className = "rd-problem";
    }
  }

  #part(section, drawn, { list, id }) {
    const part = list && find(drawn[list], id);
    if (!part) {
      make("h2", "", section).textContent = this.text["draw.machine"];
      this.#field(section, "draw.name", { field: "machine", value: drawn.name }, this.text["draw.name.none"]);
      make("p", "rd-keys", section).textContent = this.text["draw.keys"];
      return;
    }
    if (list !== "links") make("h2", "", section).textContent = this.text[`draw.kind.${part.kind ?? "host"}`];
    if (list === "hosts") this.#host(section, part.name);
    else if (list === "devices") this.#device(section, drawn, part);
    else this.#link(section, drawn, part);
  }

  #host(section, name) {
    this.#field(section, "draw.name", { field: "name", value: name });
    const row = make("div", "rd-row", section);
    const copies = this.#field(row, "draw.copies", { field: "copies", value: this.copies ?? "3" });
    for (const [key, value] of Object.entries({ type: "number", min: 1, max: COPIES })) copies.setAttribute(key, value);
    this.#button(row, this.text["draw.copy"], "copy");
    this.#ends(section, ["tidy", "remove"]);
  }

  #device(section, drawn, device) {
    this.#field(section, "draw.name", { field: "name", value: device.name });
    const hosts = [[0, this.text["draw.outside"]], ...drawn.hosts.map((host) => [host.id, host.name])];
    this.#choice(section, "draw.kind.host", { field: "host", value: device.host }, hosts);
    const others = ALL[device.kind];
    if (others) this.#button(section, this.text[`draw.all.${others}`], "all", { kind: others });
    const own = drawn.links.filter(({ from, to }) => from === device.id || to === device.id);
    if (own.length) make("p", "rd-label", section).textContent = this.text["draw.links"];
    const list = make("ul", "rd-list", section, { "aria-label": this.text["draw.links"] });
    for (const link of own) {
      const other = find(drawn.devices, link.from === device.id ? link.to : link.from);
      const words = `${other.name} · ${find(drawn.classes, link.class).name}`;
      this.#button(make("li", "", list), words, "select", { list: "links", id: link.id });
    }
    this.#ends(section, ["remove"]);
  }

  #link(section, drawn, link) {
    const [src, dst] = [link.from, link.to].map((id) => find(drawn.devices, id).name);
    make("h2", "", section).textContent = fill(this.text["draw.link"], { src, dst });
    const groups = drawn.classes.map((group) => [group.id, group.name]);
    this.#choice(section, "draw.class", { field: "class", value: link.class }, groups);
    this.#ends(section, ["remove"]);
  }

  #ends(section, acts) {
    const row = make("div", "rd-row", section);
    for (const act of acts) this.#button(row, this.text[`draw.${act}`], act);
  }

  #groups(section, drawn) {
    make("h2", "", section).textContent = this.text["draw.classes"];
    make("p", "rd-keys", section).textContent = this.text["draw.classes.help"];
    for (const group of drawn.classes) this.#group(section, drawn, group);
    const row = make("div", "rd-row", section);
    for (const kind of ["NVL", "PCI", "SYS", "NET"])
      this.#button(row, `+ ${this.text[`draw.line.${kind}`]}`, "class", { kind });
  }

  #group(section, drawn, group) {
    const count = drawn.links.filter((link) => link.class === group.id).length;
    const row = make("fieldset", "rd-group", section, { "data-key": `group${group.id}`, "data-group": group.id });
    const legend = make("legend", "", row);
    make("span", `rd-swatch rd-line-${group.kind}`, legend);
    make("span", "", legend).textContent = fill(this.text["draw.class.count"], { name: group.name, count });
    this.#field(row, "draw.name", { field: "group.name", value: group.name });
    this.#field(row, "draw.bandwidth", { field: "group.bandwidth", value: group.bandwidth }, "25GBps");
    this.#field(row, "draw.latency", { field: "group.latency", value: group.latency }, "1.5us");
    if (group.kind === "NVL") {
      const lanes = this.#field(row, "draw.lanes", { field: "group.lanes", value: group.lanes });
      for (const [key, value] of Object.entries({ type: "number", min: 1, max: 99 })) lanes.setAttribute(key, value);
    }
    if (!count) this.#button(row, this.text["draw.remove"], "removeClass", { id: group.id });
  }

  #field(parent, label, data, placeholder = "") {
    const frame = make("label", "rd-field", parent);
    make("span", "", frame).textContent = this.text[label];
    const input = make("input", "", frame, { autocomplete: "off", spellcheck: "false", maxlength: 60, placeholder });
    Object.assign(input.dataset, data);
    return input;
  }

  #choice(parent, label, data, options) {
    const frame = make("label", "rd-field", parent);
    make("span", "", frame).textContent = this.text[label];
    const select = make("select", "", frame);
    Object.assign(select.dataset, data);
    for (const [value, name] of options) make("option", "", select, { value }).textContent = name;
  }

  #button(parent, words, act, data = {}) {
    const button = make("button", "rd-button", parent, { type: "button" });
    Object.assign(button.dataset, { act, ...data });
    button.textContent = words;
    return button;
  }
}
