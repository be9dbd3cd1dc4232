// The board: pick blocks up, put them down at another rank; the page judges what is drawn and tells what came of it.

import { make } from "../player/elements.js";
import { lasting } from "../player/lasting.js";
import { fill } from "../trace/words.js";
import { become } from "./become.js";
import { Cells } from "./cells.js";
import { Drag } from "./drag.js";
import { adds, joined, parse, place, turned, write } from "./moves.js";
import { Strip } from "./strip.js";
import { Wires } from "./wires.js";

const WAYS = ["auto", "copy", "add"];

// What a button does, by what it stands for.
const PRESSED = {
  act: (board, { act }) => board.act(act),
  column: (board, { column }) => board.look(Number(column)),
  move: (board, { move }) => board.remove(move),
  fault: (board, { fault }) => board.show(Number(fault)),
  slot: (board, { rank, slot }) => board.choose(Number(rank), Number(slot)),
  to: (board, { to }) => board.send(Number(to)),
};
// Keys, whether Ctrl is held with them, and what they do; they tell whether they did.
const KEYS = [
  [/^y$/i, true, (board) => board.act("redo")],
  [/^z$/i, true, (board, event) => board.act(event.shiftKey ? "redo" : "undo")],
  [/^Escape$/, false, (board) => board.letGo()],
  [/^Page(Up|Down)$/, false, (board, { key }) => board.look(board.now + (key === "PageDown" ? 1 : -1))],
  [/^\d$/, false, (board, { key }) => board.send(Number(key))],
];

class Board {
  #document = null;
  #board = null;
  #columns = [];
  #past = [];
  #future = [];
  #now = 0;
  #picked = null;
  #focus = "0.0";
  #fault = "";
  #way = "auto";
  #alike = false;

  constructor(root, report, text) {
    this.root = root;
    this.report = report;
    this.text = text;
    this.#build();
    this.drag = new Drag(this.stage, {
      begin: (cell) => this.#pick(Number(cell.dataset.rank), Number(cell.dataset.slot), true),
      over: (card) => this.#light(card),
      drop: (cell, card, at) => this.#dropped(card, at),
    });
    this.root.addEventListener("click", (event) => this.#clicked(event));
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.watch = new ResizeObserver(() => this.#drawWires());
    this.watch.observe(this.stage);
  }

  #build() {
    const { root, text } = this;
    this.said = make("p", "rb-said", root, { "aria-live": "polite", "data-ringside": "referee" });
    this.bar = make("div", "rb-bar", root);
    this.stage = make("div", "rb-stage", root);
    this.cells = new Cells(this.stage);
    this.wires = new Wires(this.stage);
    this.strip = new Strip(root, text);
    this.list = make("ul", "rb-faults", root);
    this.help = make("details", "rb-hints", root);
    make("summary", "", this.help).textContent = text["board.hints"];
    this.hints = make("ul", "", this.help);
    make("p", "rb-keys", root).textContent = text["board.keys"];
    this.#buttons();
  }

  #buttons() {
    const button = (name, act) => {
      const made = make("button", "rb-button", this.bar, { type: "button", "data-act": name });
      made.textContent = this.text[`board.${name}`];
      this.acts[name] = act;
      return made;
    };
    this.acts = {};
    const ways = make("span", "rb-ways", this.bar, { role: "group", "aria-label": this.text["board.way"] });
    this.ways = WAYS.map((way) => {
      const made = make("button", "rb-button", ways, { type: "button", "data-act": `way.${way}` });
      made.textContent = this.text[`board.way.${way}`];
      this.acts[`way.${way}`] = () => (this.#way = way);
      return made;
    });
    this.alike = button("alike", () => (this.#alike = !this.#alike));
    this.undo = button("undo", () => this.#step(this.#past, this.#future));
    this.redo = button("redo", () => this.#step(this.#future, this.#past));
    this.next = button("next", () => this.look(this.#now + 1));
    button("clear", () => this.#change([], 0));
  }

  load({ board, document, steps, text }) {
    this.text = text;
    this.#board = board;
    if (document !== this.#document) {
      this.#document = document;
      this.#columns = parse(steps);
      [this.#past, this.#future, this.#picked, this.#fault] = [[], [], null, ""];
      this.#now = 0;
    }
    this.#draw();
  }

  // What is shown: places before the current column and after it, as far as they have been judged.
  #view() {
    const { held } = this.#board;
    const before = held[Math.min(this.#now, held.length - 1)];
    const after = this.#now + 1 < held.length ? held[this.#now + 1] : before;
    return { before, after, picked: this.#picked, focus: this.#focus, fault: this.#fault };
  }

  #draw() {
    const board = this.#board;
    const active = this.root.getRootNode().activeElement?.dataset?.key;
    this.cells.draw(board, this.text, this.#view());
    const judged = board.judged === write(this.#columns);
    const faults = judged ? board.faults : [];
    this.strip.draw({ board, columns: this.#columns, now: this.#now, faults, text: this.text });
    this.#tell(judged, faults);
    this.undo.disabled = !this.#past.length;
    this.redo.disabled = !this.#future.length;
    this.alike.setAttribute("aria-pressed", this.#alike);
    for (const [k, way] of this.ways.entries()) way.setAttribute("aria-pressed", WAYS[k] === this.#way);
    if (active) this.root.querySelector(`[data-key="${active}"]`)?.focus({ preventScroll: true });
    this.#drawWires();
  }

  #tell(judged, faults) {
    const { headline, clock, verdict, hints } = this.#board;
    this.root.dataset.judged = judged ? "yes" : "no";
    this.root.dataset.verdict = judged ? verdict : "";
    this.root.dataset.steps = write(this.#columns);
    if (judged) {
      this.said.replaceChildren();
      make("strong", "", this.said).textContent = headline;
      make("span", "rb-clock", this.said).textContent = clock;
    }
    const list = this.list.cloneNode(false);
    for (const [k, fault] of faults.entries()) {
      const line = make("li", "", list);
      const button = make("button", "rb-fault-line", line, { type: "button", "data-key": `f${k}`, "data-fault": k });
      button.textContent = fault.text;
    }
    become(this.list, list);
    this.hints.replaceChildren();
    for (const hint of hints) make("li", "", this.hints).textContent = hint;
  }

  #drawWires() {
    if (this.#board) this.wires.draw(this.#board, this.#columns[this.#now] ?? []);
  }

  #light(card) {
    for (const each of this.stage.querySelectorAll(".rb-card")) each.classList.toggle("rb-over-me", each === card);
  }

  // Take a block up, beside those of the same rank that are; says whether there is one.
  #pick(rank, slot, afresh = false) {
    const { before } = this.#view();
    if (before[rank][slot][0] === -1) return false;
    const same = this.#picked?.rank === rank ? this.#picked.slots : [];
    const has = same.includes(slot);
    const slots = has && !afresh ? same.filter((other) => other !== slot) : [...same.filter((s) => s !== slot), slot];
    this.#picked = slots.length ? { rank, slots } : null;
    this.#draw();
    return true;
  }

  #dropped(card, at) {
    const rank = Number(card.dataset.rank);
    const slot = at && at.dataset.rank === card.dataset.rank ? Number(at.dataset.slot) : undefined;
    if (rank === this.#picked?.rank && slot === undefined) return;
    this.#put(rank, slot);
  }

  // Put down what is picked: one message, and with it those of all other ranks where all do alike.
  #put(rank, dropped) {
    const board = this.#board;
    const { before } = this.#view();
    const { rank: src, slots } = this.#picked;
    const one = slots.length === 1 ? dropped : undefined;
    const pairs = slots.map((slot) => {
      const block = before[src][slot][0];
      return [slot, src === rank ? (one ?? slot) : place(board, before, { block, slot, rank, dropped: one })];
    });
    this.#picked = null;
    if (src === rank && pairs.every(([from, to]) => from === to)) {
      this.#draw();
      return;
    }
    let column = this.#columns[this.#now] ?? [];
    for (const [from, to] of pairs) {
      const add = this.#way === "auto" ? adds(board, before, { src, from, dst: rank, to }) : this.#way === "add";
      const move = { add, src, dst: rank, slots: [[from, to]] };
      const moves = this.#alike ? turned(move, board.ranks, board.turn) : [move];
      for (const each of moves) column = joined(column, each);
    }
    this.#change(this.#with(this.#now, column), this.#now);
  }

  #with(k, column) {
    const columns = [...this.#columns];
    while (columns.length <= k) columns.push([]);
    return columns.with(k, column);
  }

  #change(columns, now) {
    if (write(columns) === write(this.#columns)) {
      this.#draw();
      return;
    }
    this.#past.push([this.#columns, this.#now]);
    this.#future = [];
    this.#set(columns, now);
  }

  #set(columns, now) {
    [this.#columns, this.#now, this.#picked, this.#fault] = [columns, now, null, ""];
    this.report({ document: this.#document, steps: write(columns) });
    this.#draw();
  }

  #step(from, to) {
    const state = from.pop();
    if (!state) return;
    to.push([this.#columns, this.#now]);
    this.#set(...state);
  }

  look(k) {
    this.#now = Math.max(0, Math.min(k, this.#columns.length));
    this.#picked = null;
    this.#draw();
    return true;
  }

  remove(word) {
    const [k, m] = word.split(".").map(Number);
    this.#change(this.#with(k, this.#columns[k].toSpliced(m, 1)), k);
  }

  #clicked(event) {
    const button = event.target.closest?.("button");
    if (!button || this.drag.dragged) return;
    const { dataset } = button;
    const does = Object.keys(PRESSED).find((name) => dataset[name] !== undefined);
    if (does) PRESSED[does](this, dataset);
  }

  act(name) {
    this.acts[name]();
    this.#draw();
    return true;
  }

  // Put down what is picked at a rank; says whether that can be.
  send(rank) {
    if (!this.#picked || this.#picked.rank === rank || rank >= this.#board.ranks) return false;
    this.#put(rank);
    return true;
  }

  letGo() {
    this.#picked = null;
    this.#draw();
    return true;
  }

  get now() {
    return this.#now;
  }

  // A place: another one of the same rank is picked too, one of another rank is where it goes.
  choose(rank, slot) {
    this.#focus = `${rank}.${slot}`;
    const own = this.#picked?.rank === rank;
    if (this.#picked && (!own || this.#view().before[rank][slot][0] === -1)) this.#put(rank, slot);
    else if (!this.#pick(rank, slot)) {
      this.said.replaceChildren();
      make("strong", "", this.said).textContent = fill(this.text["board.nothing"], { rank });
    }
  }

  // Where a fault is: its column, or the end where something is still to be done, and its place.
  show(number) {
    const fault = this.#board.faults[number];
    this.#fault = `${fault.rank}.${fault.slot}`;
    this.#now = fault.column >= 0 ? fault.column : Math.min(this.#columns.length, this.#board.held.length - 1);
    this.#draw();
  }

  #key(event) {
    event.stopPropagation(); // Streamlit has keys of its own
    const command = event.ctrlKey || event.metaKey;
    const does = KEYS.find(([keys, held]) => keys.test(event.key) && held === command);
    if (does?.[2](this, event)) event.preventDefault();
    else if (!command && event.target.dataset.slot !== undefined) this.#walk(event);
  }

  // Arrows go from place to place: along a rank's, and from rank to rank.
  #walk(event) {
    const { ranks, held } = this.#board;
    const count = held[0][0].length;
    const [rank, slot] = [Number(event.target.dataset.rank), Number(event.target.dataset.slot)];
    const ways = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    const next = `${(rank + way[0] + ranks) % ranks}.${(slot + way[1] + count) % count}`;
    this.#focus = next;
    for (const cell of this.stage.querySelectorAll(".rb-cell")) cell.tabIndex = cell.dataset.key === next ? 0 : -1;
    this.stage.querySelector(`[data-key="${next}"]`)?.focus();
  }

  close() {
    this.watch.disconnect();
    this.root.remove();
  }
}

// What Streamlit calls when the board appears and whenever its data changes.
export default lasting(
  (parent, { data, setStateValue }) => {
    const root = make("div", "rb-root", parent);
    return new Board(root, (drawn) => setStateValue("drawn", drawn), data.text);
  },
  (board, { data }) => board.load(data),
  (board, { data }) => board.text["board.columns"] !== data.text["board.columns"],
);
