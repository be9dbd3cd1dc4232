// Cables behind the ranks, as wide as they are and marked with how full they were; arrows of a column above them.

import { percent } from "../trace/words.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 620; // CSS pixels from which there is room for figures at cables

function shape(name, parent, attributes, className = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (className) element.setAttribute("class", className);
  parent.append(element);
  return element;
}

// Where the straight way from a box's middle leaves it.
function edge(box, towards) {
  const dx = towards.x - box.x;
  const dy = towards.y - box.y;
  const share = Math.min(box.w / 2 / Math.max(1e-6, Math.abs(dx)), box.h / 2 / Math.max(1e-6, Math.abs(dy)), 1);
  return { x: box.x + dx * share, y: box.y + dy * share };
}

export class Wires {
  constructor(parent) {
    this.under = document.createElementNS(SVG, "svg");
    this.over = document.createElementNS(SVG, "svg");
    this.under.setAttribute("class", "rb-under");
    this.over.setAttribute("class", "rb-over");
    for (const svg of [this.under, this.over]) svg.setAttribute("aria-hidden", "true");
    parent.prepend(this.under);
    parent.append(this.over);
    this.parent = parent;
  }

  draw(board, column) {
    const boxes = this.#boxes(board);
    this.under.replaceChildren();
    this.over.replaceChildren();
    for (const cable of board.cables) this.#cable(cable, boxes, board.use);
    for (const [k, hub] of board.hubs.entries()) {
      const { x, y } = boxes.get(`h${k}`);
      shape("rect", this.under, { x: x - 9, y: y - 9, width: 18, height: 18, rx: 4 }, "rb-hub");
      shape("title", this.under.lastChild, {}).textContent = hub.name;
    }
    for (const move of column) this.#arrow(move, boxes);
  }

  // Middles and sizes of cards, and of hubs, which stand in the band between rows of cards.
  #boxes(board) {
    const boxes = new Map();
    const home = this.parent.getBoundingClientRect();
    for (const card of this.parent.querySelectorAll(".rb-card")) {
      const box = card.getBoundingClientRect();
      const x = box.x - home.x + box.width / 2;
      boxes.set(`r${card.dataset.rank}`, { x, y: box.y - home.y + box.height / 2, w: box.width, h: box.height });
    }
    const cards = [...boxes.values()];
    const top = Math.min(...cards.map((box) => box.y + box.h / 2));
    const bottom = Math.max(...cards.map((box) => box.y - box.h / 2));
    const taken = new Set();
    for (const [k, { near }] of board.hubs.entries()) {
      const around = near.map((rank) => boxes.get(`r${rank}`));
      const mean = (name) => around.reduce((sum, box) => sum + box[name], 0) / around.length;
      const y = bottom > top ? Math.min(bottom - 12, Math.max(top + 12, mean("y"))) : mean("y");
      let x = mean("x");
      while (taken.has(`${Math.round(x)},${Math.round(y)}`)) x += 28;
      taken.add(`${Math.round(x)},${Math.round(y)}`);
      boxes.set(`h${k}`, { x, y, w: 18, h: 18 });
    }
    return boxes;
  }

  #cable({ ends, ways, share, rate }, boxes, use) {
    const [a, b] = ends.map((end) => boxes.get(end));
    const full = Math.max(0, ...ways.flat().map((link) => use[link] ?? 0));
    const line = { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-width": 2 + 5 * Math.sqrt(share) };
    const wire = shape("line", this.under, line, "rb-cable");
    wire.style.setProperty("--rb-use", `${Math.round(100 * full)}%`);
    shape("title", wire, {}).textContent = `${rate}, ${percent(full)}`;
    const room = this.parent.clientWidth >= WIDE;
    const words = [share < 1 ? rate : "", room && full > 0 ? percent(full) : ""].filter(Boolean);
    if (!words.length) return;
    const [p, q] = [edge(a, b), edge(b, a)];
    const text = shape("text", this.under, { x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 + 4 }, "rb-rate");
    text.textContent = words.join(" · ");
  }

  #arrow({ src, dst, add }, boxes) {
    const [a, b] = [boxes.get(`r${src}`), boxes.get(`r${dst}`)];
    if (!a || !b || a === b) return;
    const [p, q] = [edge(a, b), edge(b, a)];
    const [dx, dy] = [q.x - p.x, q.y - p.y];
    const length = Math.max(1, Math.hypot(dx, dy));
    const bow = Math.min(26, 8 + length / 12); // there and back are two arrows
    const [mx, my] = [(p.x + q.x) / 2 - (dy / length) * bow, (p.y + q.y) / 2 + (dx / length) * bow];
    const way = Math.atan2(q.y - my, q.x - mx);
    const size = Math.min(10, length / 3);
    const tip = (turn) => `${q.x - size * Math.cos(way + turn)},${q.y - size * Math.sin(way + turn)}`;
    shape("path", this.over, { d: `M${p.x},${p.y}Q${mx},${my} ${q.x},${q.y}` }, add ? "rb-move rb-add" : "rb-move");
    shape("path", this.over, { d: `M${tip(0.45)}L${q.x},${q.y}L${tip(-0.45)}` }, "rb-tip");
  }
}
