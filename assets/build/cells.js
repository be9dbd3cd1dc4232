// Ranks as cards, with a button for every place: what it holds before a column, what arrives in it, what it is owed.

import { blockColour, inkOn, theme } from "../paint/ink.js";
import { make } from "../player/elements.js";
import { fill } from "../trace/words.js";
import { become } from "./become.js";

const SIGNS = { "-1": "", "-2": "≠", "-3": "2×", "-4": "!" };

const numberOf = (name) => {
  const first = name.codePointAt(0);
  return first >= 65 ? first - 65 : first - 48;
};

const members = (bits, ranks) => Array.from({ length: ranks }, (_, r) => r).filter((r) => bits & (1 << r));

// What a place holds, in words.
export function described(board, text, rank, slot, [block, bits]) {
  const [owed, due] = board.owed[rank][slot];
  const name = block < 0 ? text[`board.holds${block}`] : board.names[block];
  const from =
    board.reduces && block >= 0 ? fill(text["board.from"], { ranks: members(bits, board.ranks).join(", ") }) : "";
  const parts = [fill(text["board.place"], { rank, slot, holds: `${name}${from}` })];
  if (owed >= 0 && (owed !== block || due !== bits)) parts.push(fill(text["board.owed"], { block: board.names[owed] }));
  return parts.join(" ");
}

export class Cells {
  #colours;

  constructor(parent) {
    this.element = make("div", "rb-ranks", parent);
  }

  // Draw all places; `view` tells what is picked, which place has the focus, and where a fault is looked at.
  draw(board, text, view) {
    this.#colours = theme(this.element);
    const across = board.ranks > 4 ? 4 : 2;
    const drawn = this.element.cloneNode(false);
    drawn.style.setProperty("--rb-across", across);
    for (let k = 0; k < board.ranks; k += 1) {
      const row = Math.floor(k / across);
      const last = Math.min(board.ranks, (row + 1) * across) - 1;
      const rank = row % 2 ? row * across + last - k : k; // to and fro, so that a ring closes
      const card = this.#card(drawn, board, text, view, rank);
      if (row % 2) card.style.gridColumn = `${across - (rank - row * across)}`;
    }
    become(this.element, drawn);
  }

  #card(parent, board, text, view, rank) {
    const label = fill(text["board.rank"], { rank });
    const card = make("div", "rb-card", parent, { role: "group", "aria-label": label, "data-rank": rank });
    const head = make("button", "rb-head", card, { type: "button", "data-key": `r${rank}`, "data-to": rank });
    head.textContent = label;
    const takes = view.picked && view.picked.rank !== rank;
    head.setAttribute("aria-label", takes ? fill(text["board.send"], { rank }) : label);
    card.classList.toggle("rb-takes", Boolean(takes));
    for (const [name, from, to] of board.rows) {
      const row = make("div", "rb-row", card);
      if (name) make("span", "rb-what", row).textContent = text[`board.row.${name}`];
      for (let slot = from; slot < to; slot += 1) this.#cell(row, board, text, view, rank, slot);
    }
    return card;
  }

  #cell(row, board, text, view, rank, slot) {
    const before = view.before[rank][slot];
    const after = view.after?.[rank][slot] ?? before;
    const arrives = after[0] !== before[0] || after[1] !== before[1];
    const shown = arrives ? after : before;
    const key = `${rank}.${slot}`;
    const cell = make("button", "rb-cell", row, {
      type: "button",
      "data-key": key,
      "data-rank": rank,
      "data-slot": slot,
    });
    cell.tabIndex = view.focus === key ? 0 : -1;
    cell.setAttribute("aria-label", described(board, text, rank, slot, before));
    cell.setAttribute("aria-pressed", Boolean(view.picked?.rank === rank && view.picked.slots.includes(slot)));
    const [owed, due] = board.owed[rank][slot];
    cell.classList.toggle("rb-full", before[0] >= 0);
    cell.classList.toggle("rb-arrives", arrives);
    cell.classList.toggle("rb-done", owed >= 0 && shown[0] === owed && shown[1] === due);
    cell.classList.toggle("rb-bad", shown[0] < -1);
    cell.classList.toggle("rb-fault", view.fault === key);
    this.#label(cell, board, shown, owed);
  }

  #label(cell, board, [block, bits], owed) {
    if (block < 0) {
      cell.textContent = SIGNS[block] || (owed >= 0 ? board.names[owed] : "");
      return;
    }
    const name = board.names[block];
    const colour = blockColour(numberOf(name), this.#colours);
    cell.style.setProperty("--rb-block", colour);
    cell.style.setProperty("--rb-ink", inkOn(colour));
    make("span", "rb-name", cell).textContent = name;
    if (!board.reduces) return;
    const pips = make("span", "rb-pips", cell, { "aria-hidden": "true" });
    for (let r = 0; r < board.ranks; r += 1) make("i", bits & (1 << r) ? "rb-in" : "", pips);
  }
}
