// Columns as a strip: a button that looks at each, and its moves, each with a button that takes it away.

import { make } from "../player/elements.js";
import { fill } from "../trace/words.js";
import { become } from "./become.js";

export class Strip {
  constructor(parent, text) {
    this.element = make("div", "rb-strip", parent, { role: "group", "aria-label": text["board.columns"] });
  }

  draw({ board, columns, now, faults, text }) {
    const drawn = this.element.cloneNode(false);
    for (let k = 0; k <= columns.length; k += 1) {
      if (k === columns.length && k > 0 && !columns[k - 1].length && k !== now) break;
      const box = this.#column(drawn, text, k, k === columns.length);
      box.classList.toggle("rb-now", k === now);
      box.classList.toggle(
        "rb-wrong",
        faults.some((fault) => fault.column === k),
      );
      for (const [m, move] of (columns[k] ?? []).entries()) this.#chip(box, { board, text, k, m, move });
    }
    become(this.element, drawn);
    const current = this.element.querySelector(".rb-now");
    current?.firstChild.setAttribute("aria-current", "step");
    if (current) this.element.scrollLeft = current.offsetLeft - this.element.clientWidth / 2;
  }

  #column(parent, text, k, isNew) {
    const box = make("div", "rb-column", parent);
    const head = make("button", "rb-step", box, { type: "button", "data-key": `c${k}`, "data-column": k });
    head.textContent = isNew ? `${k + 1} +` : `${k + 1}`;
    head.setAttribute("aria-label", fill(text["board.column"], { column: k + 1 }));
    return box;
  }

  #chip(box, { board, text, k, m, move }) {
    const chip = make("div", "rb-chip", box);
    const names = move.slots.map(([from]) => {
      const [block] = board.held[Math.min(k, board.held.length - 1)][move.src]?.[from] ?? [-1];
      return block >= 0 ? board.names[block] : "?";
    });
    make("span", "", chip).textContent = `${move.src} → ${move.dst} ${move.add ? "+" : ""}${names.join(" ")}`;
    const gone = make("button", "rb-gone", chip, {
      type: "button",
      "data-key": `m${k}.${m}`,
      "data-move": `${k}.${m}`,
    });
    gone.textContent = "×";
    const what = { src: move.src, dst: move.dst, blocks: names.join(", "), column: k + 1 };
    gone.setAttribute("aria-label", fill(text["board.remove"], what));
  }
}
