// A machine that is drawn: the page checks every document and says what is wrong with it.

import { make } from "../player/elements.js";
import { lasting } from "../player/lasting.js";
import { fill } from "../trace/words.js";
import { ACTS, EDITS, FIELDS, KEYS, TOOLS, WAYS, nearest } from "./acts.js";
import * as drawing from "./document.js";
import { Hands } from "./hands.js";
import { begun, done } from "./history.js";
import { Panel } from "./panel.js";
import { Scene } from "./scene.js";

const PAUSE = 120; // milliseconds after a change until the page is asked about it
const COPIES = 16;

class Board {
  #history = null;
  #token = null;
  #revision = 0;
  #said = { judged: 0, problems: [], summary: "" };
  #selected = { list: "", id: 0 };
  #home = 0;
  #source = null; // of links that are being drawn: a device, or 0 before one is chosen
  #held = null; // a document while something is dragged
  #rubber = null;
  #tag = "";
  #timer = 0;

  constructor(root, report, text) {
    Object.assign(this, { root, report, text });
    this.#build();
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("keydown", (event) => this.#key(event));
    root.addEventListener("change", (event) => this.#filled(event));
    this.watch = new ResizeObserver(() => this.#history && this.#draw());
    this.watch.observe(this.scene.box);
  }

  #build() {
    const { root, text } = this;
    const bar = make("div", "rd-bar", root, { role: "toolbar", "aria-label": text["draw.tools"] });
    const tools = make("span", "rd-tools", bar);
    for (const kind of TOOLS) {
      const act = kind === "host" ? { act: "host" } : { act: "add", kind };
      this.#button(tools, `+ ${text[`draw.kind.${kind}`]}`, act).classList.add(`rd-tool-${kind}`);
    }
    const edits = make("span", "rd-tools", bar);
    this.acts = Object.fromEntries(EDITS.map((act) => [act, this.#button(edits, text[`draw.${act}`], { act })]));
    this.hint = make("p", "rd-hint", root, { "aria-live": "polite" });
    const body = make("div", "rd-body", root);
    const left = make("div", "rd-left", body);
    this.scene = new Scene(left, text);
    this.#start(left);
    this.panel = new Panel(make("div", "rd-side", body), text);
    this.hands = new Hands(this.scene, {
      drag: (list, id, start, at) => this.#drag(list, id, start, at),
      drop: (list, id, other) => this.#drop(list, id, other),
      end: () => this.#letLoose(),
    });
  }

  // What an empty page offers.
  #start(parent) {
    this.start = make("div", "rd-start", parent);
    make("p", "", this.start).textContent = this.text["draw.start"];
    for (const name of ["switched", "dgx"])
      this.#button(this.start, this.text[`draw.template.${name}`], { act: "template", name });
    make("p", "rd-keys", this.start).textContent = this.text["draw.start.or"];
  }

  #button(parent, words, data) {
    const button = make("button", "rd-button", parent, { type: "button" });
    Object.assign(button.dataset, data);
    button.textContent = words;
    return button;
  }

  load({ document, token, judged, problems, summary, empty }) {
    this.empty = empty;
    this.#said = { judged, problems, summary };
    if (token !== this.#token) {
      this.#token = token;
      this.#revision = judged;
      this.#history = this.#history ? done(this.#history, document) : begun(document);
      this.#selected = { list: "", id: 0 };
    }
    this.#draw();
  }

  get now() {
    return this.#history.document;
  }

  get list() {
    return this.#selected.list;
  }

  get id() {
    return this.#selected.id;
  }

  // Show another document, which can be undone; changes of one tag in a row are one.
  change(next, tag = "") {
    if (next === this.now) return this.#draw();
    const again = tag && tag === this.#tag;
    this.#history = again ? { ...this.#history, document: next, future: [] } : done(this.#history, next);
    this.#tag = tag;
    this.#changed();
    return true;
  }

  step(way, from) {
    if (!this.#history[from].length) return;
    this.#history = way(this.#history);
    this.#tag = "";
    this.#changed();
  }

  #changed() {
    this.#revision += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#report(), PAUSE);
    if (!drawing.find(this.now[this.list] ?? [], this.id)) this.#selected = { list: "", id: 0 };
    if (this.#source && !drawing.find(this.now.devices, this.#source)) this.#source = null;
    const had = this.#active();
    this.#draw();
    if (had && (!this.#active() || had.disabled)) this.scene.box.focus({ preventScroll: true });
  }

  // What has the focus, if it is on the board.
  #active() {
    const active = this.root.getRootNode().activeElement;
    return this.root.contains(active) ? active : null;
  }

  #report() {
    this.report({ token: this.#token, revision: this.#revision, document: this.now });
  }

  #draw() {
    const drawn = this.#held ?? this.now;
    const judged = this.#said.judged === this.#revision;
    const wrong = new Set(judged ? this.#said.problems.flatMap(({ devices }) => devices) : []);
    const is = (list, id) => this.list === list && this.id === id;
    const view = { ...this.#selected, is, wrong, source: this.#source, rubber: this.#rubber, held: this.#held };
    this.scene.draw(drawn, view);
    this.panel.draw(drawn, view, { ...this.#said, judged, nothing: !drawn.devices.length });
    this.start.hidden = Boolean(drawn.hosts.length || drawn.devices.length);
    this.#mark(drawn, judged);
    return true;
  }

  // Buttons that cannot be used, what the next step is, and what a test may ask.
  #mark(drawn, judged) {
    const { past, future } = this.#history;
    this.acts.undo.disabled = !past.length;
    this.acts.redo.disabled = !future.length;
    this.acts.remove.disabled = !this.list;
    this.acts.join.setAttribute("aria-pressed", this.#source !== null);
    this.root.dataset.judged = judged ? "yes" : "no";
    this.root.dataset.problems = this.#said.problems.length;
    this.root.dataset.devices = drawn.devices.length;
    this.root.dataset.links = drawn.links.length;
    this.hint.textContent = this.#next();
  }

  #next() {
    if (this.#source === null) return this.text[this.list ? `draw.hint.${this.list}` : "draw.hint"];
    if (!this.#source) return this.text["draw.hint.join"];
    return fill(this.text["draw.hint.from"], { name: drawing.find(this.now.devices, this.#source).name });
  }

  select(list, id) {
    this.#selected = { list, id };
    if (list === "hosts") this.#home = id;
    if (list === "devices") this.#home = drawing.find(this.now.devices, id).host || this.#home;
    this.#draw();
  }

  look(devices) {
    this.select("devices", devices[0]);
    this.scene.show(`devices${devices[0]}`);
    this.#focus();
  }

  // The host that a new device comes into: the one that was used last.
  #host() {
    return drawing.find(this.now.hosts, this.#home)?.id ?? this.now.hosts.at(-1)?.id ?? 0;
  }

  add(kind) {
    const next = kind === "host" ? drawing.addHost(this.now) : drawing.add(this.now, kind, this.#host());
    const list = kind === "host" ? "hosts" : "devices";
    const { id } = next[list].at(-1);
    this.#selected = { list, id };
    if (kind === "host") this.#home = id;
    this.change(next);
    if (this.#isOnPicture()) this.#focus();
    else this.scene.show(`${list}${id}`);
    return true;
  }

  addClass(kind) {
    const count = this.now.classes.filter((group) => group.kind === kind).length + 1;
    this.change(drawing.addClass(this.now, kind, `${this.text[`draw.line.${kind}`]} ${count}`));
  }

  #isOnPicture() {
    return this.scene.box.contains(this.#active());
  }

  #focus() {
    this.scene.plane.querySelector(`[data-key="${this.list}${this.id}"]`)?.focus();
  }

  remove() {
    if (!this.list) return false;
    return this.change(drawing.remove(this.now, this.list, this.id));
  }

  clear() {
    const { devices, hosts } = this.now;
    if (devices.length || hosts.length) this.change(this.empty);
  }

  tidy() {
    const hosts = this.list === "hosts" ? [this.id] : [0, ...this.now.hosts.map((host) => host.id)];
    this.change(hosts.reduce((next, host) => drawing.tidy(next, host), this.now));
  }

  copy() {
    const times = Math.round(Number(this.panel.copies ?? 3));
    if (times >= 1) this.change(drawing.copyHost(this.now, this.id, Math.min(COPIES, times)));
  }

  zoom(factor) {
    this.scene.zoom(factor);
    this.#draw();
  }

  turnJoining() {
    this.#source = this.#source === null ? (this.list === "devices" ? this.id : 0) : null;
    this.#draw();
  }

  letGo() {
    const busy = this.#source !== null || this.list;
    [this.#source, this.#selected] = [null, { list: "", id: 0 }];
    this.#draw();
    return Boolean(busy);
  }

  // A device is chosen while links are drawn: the first is where they begin, each other one gets a link.
  #joinTo(id) {
    if (!this.#source) this.#source = id;
    else if (this.#source === id) this.#source = null;
    else return this.change(drawing.join(this.now, this.#source, id));
    this.select("devices", id);
    return true;
  }

  enter(target) {
    const { list, id } = target.dataset;
    if (list !== "devices") return false;
    if (this.#source === null) this.#source = 0;
    return this.#joinTo(Number(id));
  }

  nudge(key, target) {
    const { list, id } = target.dataset;
    const part = list && drawing.find(this.now[list], Number(id));
    if (!part) return false;
    const [x, y] = WAYS[key].map((way, k) => part[k ? "y" : "x"] + way * drawing.GRID);
    const moved = list === "hosts" ? drawing.moveHost : drawing.move;
    this.#selected = { list, id: part.id };
    return this.change(moved(this.now, part.id, x, y), `${list}${id}`);
  }

  // Turn to the nearest device that way.
  turnTo(key) {
    nearest(this.scene.plane, this.root.getRootNode().activeElement, WAYS[key])?.focus();
    return true;
  }

  // A document in which a device is in another host, at the first free place of it.
  moved(id, host) {
    const { kind } = drawing.find(this.now.devices, id);
    const place = drawing.add(this.now, kind, host).devices.at(-1);
    const { x, y } = drawing.corner(this.now, { ...place, host });
    return drawing.put(this.now, id, host, x, y);
  }

  #drag(list, id, start, at) {
    const part = drawing.find(this.now[list], id);
    const [dx, dy] = [at.x - start.x, at.y - start.y];
    if (list === "hosts") this.#held = drawing.moveHost(this.now, id, part.x + dx, part.y + dy);
    else if (this.#source === null) this.#held = this.#carried(part, dx, dy);
    else [this.#source, this.#rubber, this.#held] = [id, at, this.now];
    this.#selected = { list, id };
    this.#draw();
  }

  // A device comes into the host above whose frame, as it was, its middle is; switches and whatever leaves go outside.
  #carried(device, dx, dy) {
    const { x, y } = drawing.corner(this.now, device);
    const [left, top] = [x + dx, y + dy];
    const [mx, my] = [left + drawing.widthOf(device) / 2, top + drawing.HEIGHT / 2];
    const host = this.now.hosts.find((each) => {
      const box = drawing.frame(this.now, each);
      return mx > box.x && mx < box.x + box.width && my > box.y && my < box.y + box.height;
    });
    return drawing.put(this.now, device.id, host?.id ?? 0, left, top);
  }

  #drop(list, id, other) {
    const [held, rubber] = [this.#held, this.#rubber];
    [this.#held, this.#rubber] = [null, null];
    if (rubber) this.change(other ? drawing.join(this.now, id, other) : this.now);
    else if (held) this.change(held);
    this.select(list, id);
  }

  #letLoose() {
    [this.#held, this.#rubber] = [null, null];
    this.#draw();
  }

  #clicked(event) {
    const part = event.target.closest?.("[data-act], [data-list]");
    if (this.hands.dragged) return;
    const { act, list, id } = part?.dataset ?? {};
    if (act) ACTS[act](this, part.dataset);
    else if (list === "devices" && this.#source !== null) this.#joinTo(Number(id));
    else if (list) this.select(list, Number(id));
    else if (this.scene.box.contains(event.target)) this.select("", 0);
  }

  #key(event) {
    event.stopPropagation(); // Streamlit has keys of its own
    const command = event.ctrlKey || event.metaKey;
    if (event.target.matches("input, select") || event.altKey) return;
    const undoes = command && /^[yz]$/i.test(event.key);
    if (!undoes && !this.#isOnPicture()) return;
    const does = KEYS.find(([keys, held]) => keys.test(event.key) && held === command);
    if (does && does[2](this, event) !== false) event.preventDefault();
  }

  #filled({ target }) {
    const { field, value } = target.dataset;
    if (!field || target.value === value) return;
    const group = target.closest("[data-group]");
    if (group) this.#changeClass(Number(group.dataset.group), field.split(".")[1], target.value);
    else this.change(FIELDS[field](this, target.value));
  }

  #changeClass(id, key, text) {
    const value = key === "lanes" ? Math.max(1, Math.min(99, Math.round(Number(text)) || 1)) : text;
    this.change(drawing.changeClass(this.now, id, { [key]: value }));
  }

  close() {
    this.watch.disconnect();
    this.root.remove();
  }
}

// What Streamlit calls when the board appears and whenever its data changes.
export default lasting(
  (parent, { data, setStateValue }) => {
    const root = make("div", "rd-root", parent);
    return new Board(root, (drawn) => setStateValue("drawn", drawn), data.text);
  },
  (board, { data }) => board.load(data),
  (board, { data }) => board.text["draw.tools"] !== data.text["draw.tools"],
);
