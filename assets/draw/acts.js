// What buttons, keys and fields do to a board.

import * as drawing from "./document.js";
import { redone, undone } from "./history.js";
import { TEMPLATES } from "./templates.js";

// What a button does, by what it is called.
export const ACTS = {
  host: (board) => board.add("host"),
  add: (board, { kind }) => board.add(kind),
  join: (board) => board.turnJoining(),
  remove: (board) => board.remove(),
  undo: (board) => board.step(undone, "past"),
  redo: (board) => board.step(redone, "future"),
  clear: (board) => board.clear(),
  tidy: (board) => board.tidy(),
  nearer: (board) => board.zoom(1.25),
  farther: (board) => board.zoom(0.8),
  fit: (board) => board.zoom(0),
  copy: (board) => board.copy(),
  all: (board, { kind }) => board.change(drawing.joinAll(board.now, board.id, kind)),
  select: (board, { list, id }) => board.select(list, Number(id)),
  look: (board, { devices }) => board.look(devices.split(" ").map(Number)),
  template: (board, { name }) => board.change(TEMPLATES[name](board.empty)),
  class: (board, { kind }) => board.addClass(kind),
  removeClass: (board, { id }) => board.change(drawing.remove(board.now, "classes", Number(id))),
};
export const TOOLS = ["host", ...drawing.KINDS];
export const EDITS = ["join", "remove", "undo", "redo", "tidy", "farther", "nearer", "fit", "clear"];

// Keys on the picture, whether Ctrl is held with them, and what they do.
export const KEYS = [
  [/^y$/i, true, (board) => ACTS.redo(board)],
  [/^z$/i, true, (board, event) => (event.shiftKey ? ACTS.redo(board) : ACTS.undo(board))],
  [/^Arrow/, true, (board, { key }) => board.turnTo(key)],
  [/^Arrow/, false, (board, { key, target }) => board.nudge(key, target)],
  [/^Enter$/, false, (board, { target }) => board.enter(target)],
  [/^(Delete|Backspace)$/, false, (board) => board.remove()],
  [/^Escape$/, false, (board) => board.letGo()],
  [/^[hgvpcns]$/i, false, (board, { key }) => board.add(LETTERS[key.toLowerCase()])],
];
const LETTERS = { h: "host", g: "GPU", v: "NVS", p: "PCI", c: "CPU", n: "NIC", s: "NET" };
export const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

// What a field changes, by what it is called.
export const FIELDS = {
  machine: (board, value) => drawing.nameMachine(board.now, value),
  name: (board, value) => (board.list === "hosts" ? drawing.renameHost : drawing.rename)(board.now, board.id, value),
  host: (board, value) => board.moved(board.id, Number(value)),
  class: (board, value) => drawing.setClass(board.now, board.id, Number(value)),
  copies: (board, value) => {
    board.panel.copies = value;
    return board.now;
  },
};

function center(element) {
  const box = element.getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

// The button that is nearest to an element that way, if there is one.
export function nearest(plane, element, [dx, dy]) {
  const from = center(element);
  const far = (button) => {
    const at = center(button);
    const ahead = (at.x - from.x) * dx + (at.y - from.y) * dy;
    const aside = (at.x - from.x) * dy + (at.y - from.y) * dx;
    return ahead > 4 ? ahead + 3 * Math.abs(aside) : Infinity;
  };
  const [first] = [...plane.querySelectorAll("button")].toSorted((a, b) => far(a) - far(b));
  return first && far(first) < Infinity ? first : null;
}
