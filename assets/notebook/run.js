// The player under a cell of a notebook: its instant and its view are Python's, and Python's are its.

import { dress } from "./dress.js";
import { make } from "../player/elements.js";
import mount from "../whatif/page.js";

const TRAITS = { t: "time", view: "view" }; // what the player calls them, and what Python does

function render({ model, el }) {
  const root = make("div", "rs-root", el);
  const stands = { time: model.get("time"), view: model.get("view") }; // where this player is, as far as Python knows
  let turn = 0;
  const load = (cmd) => {
    const start = { t: stands.time, view: stands.view };
    root.style.setProperty("--rs-high", `${model.get("height")}px`);
    return mount({ data: { ...model.get("data"), start, cmd }, parentElement: root, setStateValue, isGuest: true });
  };
  const setStateValue = (name, value) => {
    const trait = TRAITS[name];
    if (stands[trait] === value) return;
    stands[trait] = value;
    model.set(trait, value);
    model.save_changes();
  };
  const moved = () => {
    const next = { time: model.get("time"), view: model.get("view") };
    if (next.time === stands.time && next.view === stands.view) return; // it was this player that moved
    Object.assign(stands, next);
    turn += 1;
    load({ n: turn, from: next.time, view: next.view, play: false });
  };
  const repaint = () => load(undefined);
  const undress = dress(root, repaint);
  const close = load(undefined);
  const events = { "change:time change:view": moved, "change:data change:height": repaint };
  for (const [names, handler] of Object.entries(events)) for (const name of names.split(" ")) model.on(name, handler);
  return () => {
    for (const [names, handler] of Object.entries(events))
      for (const name of names.split(" ")) model.off(name, handler);
    undress();
    root.remove();
    close();
  };
}

export default { render };
