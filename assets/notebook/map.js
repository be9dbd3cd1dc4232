// A map of winners under a cell of a notebook: the cell that is chosen is Python's, and Python's is chosen here.

import { dress } from "./dress.js";
import { make } from "../player/elements.js";

const same = (a, b) => a?.ranks === b?.ranks && a?.bytes === b?.bytes;

// The cells of a row of the map as buttons, each with its place.
function rowOf(table, { ranks, cells }, choose) {
  const row = make("tr", "", table);
  make("th", "", row, { scope: "row" }).textContent = String(ranks);
  return cells.map((cell) => {
    const place = { ranks, bytes: cell.bytes };
    const button = make("button", "rs-cell", make("td", "", row), { type: "button", "aria-pressed": "false" });
    button.setAttribute("aria-label", cell.said);
    button.title = cell.said;
    button.style.background = cell.colour;
    button.style.color = cell.ink;
    button.textContent = cell.margin;
    button.addEventListener("click", () => choose(place));
    return { button, place, said: cell.said };
  });
}

function legendOf(root, winners) {
  const legend = make("p", "rs-map-key", root);
  for (const { name, colour } of winners) {
    const entry = make("span", "", legend);
    make("i", "", entry).style.background = colour;
    entry.append(name);
  }
}

function render({ model, el }) {
  const root = make("div", "rs-map", el, { "data-ringside": "map" });
  const undress = dress(root, () => {});
  const { head, rows, winners, text } = model.get("data");
  legendOf(root, winners);
  const table = make("table", "", root, { "aria-label": text.winner });
  const top = make("tr", "", make("thead", "", table));
  for (const word of [text.ranks, ...head]) make("th", "", top, { scope: "col" }).textContent = word;
  const line = make("p", "rs-map-said", root, { "aria-live": "polite" });
  const choose = (place) => {
    model.set("cell", place);
    model.save_changes();
  };
  const body = make("tbody", "", table);
  const buttons = rows.flatMap((row) => rowOf(body, row, choose));
  const paint = () => {
    const chosen = model.get("cell");
    for (const { button, place } of buttons) button.setAttribute("aria-pressed", String(same(place, chosen)));
    line.textContent = buttons.find(({ place }) => same(place, chosen))?.said ?? text.choose;
  };
  paint();
  model.on("change:cell", paint);
  return () => {
    model.off("change:cell", paint);
    undress();
  };
}

export default { render };
