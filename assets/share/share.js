// The menu of all ways to share a run: what is text is copied here, what is a file is asked of the page.

import { make } from "../player/elements.js";
import { lasting } from "../player/lasting.js";

const FRAME = "display:block;width:100%;max-width:1280px;aspect-ratio:16/9;min-height:300px;border:0";
const STILLS = { png: "PNG", svg: "SVG", pdf: "PDF" };
const FILMS = { gif: "GIF", mp4: "MP4", "film.svg": "SVG" };
const DATA = { yaml: "YAML", json: "JSON", "perfetto.json": "Perfetto", xml: "MSCCL" };
const SHEETS = { "worksheet.pdf": "PDF", "worksheet.html": "HTML", "answers.pdf": "PDF ✓", "answers.html": "HTML ✓" };
const USUAL = { seconds: 10, width: 1280, theme: "light" };

const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

// The code of a frame that fits any width and shows what an address names.
export function frameOf(href, title) {
  const address = new URL(href);
  address.searchParams.set("embed", "true");
  address.hash = "";
  return `<iframe src="${quoted(address.href)}" title="${quoted(title)}" loading="lazy" allow="fullscreen" style="${FRAME}"></iframe>`;
}

// A cell of a notebook that shows what an address names.
export function cellOf(href) {
  const { searchParams } = new URL(href);
  for (const word of ["page", "embed"]) searchParams.delete(word);
  return `from ringside.notebook import show\n\nshow(${JSON.stringify(`?${searchParams}`)})`;
}

// A link to the steps of what an address names, for the phones of an audience.
export function stepsOf(href) {
  const address = new URL(href);
  for (const word of ["t", "camera", "window", "chosen", "brush", "against", "step"]) address.searchParams.delete(word);
  address.searchParams.set("page", "steps");
  address.searchParams.set("embed", "true");
  address.hash = "";
  return address.href;
}

class Menu {
  #data;
  #send;
  #root;
  #film = null; // the kind of film whose options are shown
  #options = { ...USUAL };

  constructor(parent) {
    this.#root = make("div", "share", parent);
    this.#root.addEventListener("click", (event) => this.#clicked(event));
    this.#root.addEventListener("change", ({ target }) => target.name && this.#set(target));
  }

  // What is shared, as the page has it now; `send(name, value)` asks the page for something.
  update(data, send) {
    const before = this.#data;
    this.#send = send;
    this.#data = data;
    if (String(before?.brush) !== String(data.brush)) this.#mark(data.brush);
    if (!before || formOf(before) !== formOf(data)) this.#draw();
    else this.#refresh();
  }

  // The part of a film is what is marked in the player.
  #mark([begin, end]) {
    Object.assign(this.#options, { begin: round(begin), end: round(end) });
    for (const name of ["begin", "end"]) {
      const input = this.#root.querySelector(`[name=${name}]`);
      if (input) input.value = this.#options[name];
    }
  }

  // What changes while the menu is open: buttons stay the same elements, under a hand that is about to click.
  #refresh() {
    const { scenes, is_full: isFull, code } = this.#data;
    this.#root.querySelector('[data-do="add"]').disabled = isFull;
    const open = this.#root.querySelector('[data-do="open"]');
    open.hidden = !scenes;
    open.textContent = this.#text("talk.open").replace("{count}", scenes);
    const image = this.#root.querySelector(".code button img");
    if (image) image.src = code;
  }

  #text(name) {
    return this.#data.text[`page.share.${name}`];
  }

  // Where the page is, at the instant of its player; or another plan's address.
  get #href() {
    return this.#data.is_here ? globalThis.location.href : this.#data.link;
  }

  #draw() {
    this.#root.replaceChildren();
    this.#drawRows(Boolean(this.#data.link));
    if (this.#data.code) this.#drawCode();
    make("p", "said", this.#root, { role: "status" });
    this.#refresh();
  }

  #drawRows(hasLink) {
    const frame = this.#data.frames ? "frame" : "hint";
    this.#row("link", "link", hasLink ? "link" : "", this.#text(hasLink ? "link.hint" : "link.long"));
    this.#row("image", "picture").append(...this.#chips(STILLS, "file"));
    this.#row("movie", "film").append(...this.#chips(FILMS, "film"));
    if (this.#film) this.#drawOptions();
    this.#row("web", "page", "file html", this.#text("page.hint"));
    this.#row("code", "embed", frame === "hint" ? "file embed" : frame, this.#text(`embed.${frame}`));
    this.#row("menu_book", "cell", hasLink ? "cell" : "file ipynb", "Jupyter");
    this.#row("touch_app", "steps", hasLink ? "steps" : "", this.#text("steps.hint"));
    this.#row("print", "worksheet").append(...this.#chips(SHEETS, "file"));
    this.#row("data_object", "data").append(...this.#chips(DATA, "file"));
    this.#chip(this.#row("co_present", "talk", "add").parentElement, "open", "");
  }

  // A row with a name; what does one thing is a button as a whole.
  #row(icon, name, action = null, hint = "") {
    const line = make("div", "line", this.#root);
    const row = make(action === null ? "div" : "button", "row", line, action ? { "data-do": action } : {});
    if (action !== null) row.type = "button";
    row.disabled = action === "";
    make("span", "icon", row, { "aria-hidden": "true" }).textContent = icon;
    make("span", "name", row).textContent = this.#text(name);
    if (hint) make("span", "hint", row).textContent = hint;
    return row;
  }

  #chips(kinds, action) {
    const group = document.createElement("span");
    group.className = "chips";
    for (const [kind, label] of Object.entries(kinds)) {
      const chip = this.#chip(group, `${action} ${kind}`, label);
      chip.setAttribute("aria-label", this.#data.text[`export.${kind}`]);
      chip.title = this.#data.text[`export.${kind}`];
      if (action === "film") chip.setAttribute("aria-pressed", String(kind === this.#film));
    }
    return [group];
  }

  #chip(parent, action, label) {
    const chip = make("button", "chip", parent, { type: "button", "data-do": action });
    chip.textContent = label;
    return chip;
  }

  #drawOptions() {
    const box = make("div", "options", this.#root);
    const field = (name, attributes) => {
      const label = make("label", "", box);
      make("span", "", label).textContent = this.#text(`film.${name}`);
      const input = make("input", "", label, { type: "number", name, ...attributes });
      input.value = this.#options[name];
    };
    const choice = (name, entries) => {
      const label = make("label", "", box);
      make("span", "", label).textContent = this.#text(`film.${name}`);
      const select = make("select", "", label, { name });
      for (const [entry, words] of entries) make("option", "", select, { value: entry }).textContent = words;
      select.value = this.#options[name];
    };
    field("begin", { min: 0, max: 99.9, step: "any" });
    field("end", { min: 0.1, max: 100, step: "any" });
    field("seconds", { min: 1, max: 60, step: "any" });
    choice(
      "width",
      this.#data.widths.map((width) => [width, `${width} px`]),
    );
    choice(
      "theme",
      ["light", "dark"].map((theme) => [theme, this.#text(`film.${theme}`)]),
    );
    make("button", "make", box, { type: "button", "data-do": `file ${this.#film}` }).textContent =
      this.#text("film.make");
  }

  #drawCode() {
    const line = make("div", "code", this.#root);
    const button = make("button", "", line, { type: "button", "data-do": "fill", "aria-label": this.#text("code") });
    make("img", "", button, { alt: "" });
    const words = make("p", "", line);
    make("strong", "", words).textContent = this.#text("code");
    make("span", "", words).textContent = this.#text(this.#data.is_local ? "code.local" : "code.hint");
    const screen = make("dialog", "screen", line, { "aria-label": this.#text("code"), "data-do": "leave" });
    make("img", "", screen);
  }

  #set({ name, value }) {
    this.#options[name] = name === "theme" ? value : Number(value);
  }

  #clicked(event) {
    const [action, kind] = event.target.closest("[data-do]")?.dataset.do.split(" ") ?? [];
    if (action === "file") this.#ask(kind);
    else if (action === "film") this.#choose(kind);
    else if (action === "add" || action === "open") this.#send(action, Date.now());
    else if (action === "fill") this.#fill(this.#data.code, this.#data.link);
    else if (action === "leave") this.#root.querySelector("dialog").close();
    else if (action) this.#copy(action);
  }

  #ask(kind) {
    this.#send("file", { kind, ...(kind in FILMS ? this.#options : {}), when: Date.now() });
    this.#say(this.#text("making"));
  }

  #choose(kind) {
    this.#film = this.#film === kind ? null : kind;
    this.#draw();
    this.#root.querySelector(`[data-do="film ${kind}"]`).focus({ preventScroll: true });
  }

  async #copy(action) {
    const texts = {
      link: (href) => href,
      frame: (href) => frameOf(href, document.title),
      cell: cellOf,
      steps: stepsOf,
    };
    const text = texts[action](this.#href);
    if (await copied(text, this.#root)) this.#say(this.#text("copied"));
    if (action === "steps") this.#fill(this.#data.steps_code, text);
  }

  // Fill the screen with a code for an audience.
  #fill(code, words) {
    const screen = this.#root.querySelector("dialog");
    const image = screen.querySelector("img");
    [image.src, image.alt] = [code, words];
    screen.showModal();
  }

  #say(words) {
    const said = this.#root.querySelector(".said");
    said.textContent = "";
    said.textContent = words;
  }
}

// What the rows of a menu depend on.
function formOf({ link, code, frames, is_local: isLocal, text }) {
  return JSON.stringify([!link, !code, frames, isLocal, text]);
}

const round = (percent) => Number(percent.toFixed(1));

// Whether a text is on the clipboard; pages without a secure address may still copy what is selected.
async function copied(text, parent) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    parent.querySelector("textarea")?.remove();
    const field = make("textarea", "text", parent, { readonly: "", rows: 3 });
    field.value = text;
    field.select();
    return document.execCommand("copy");
  }
}

export default lasting(
  (root) => new Menu(root),
  (menu, { data, setTriggerValue }) => menu.update(data, setTriggerValue),
);
