// The elements of a talk, in their order on the page.

import { entitle, icon, make } from "../player/elements.js";

export function elementsOf(parent) {
  const root = make("section", "rs-talk", parent, { "data-ringside": "talk", tabindex: "-1" });
  const bar = make("div", "rs-bar rs-talk-bar", root);
  const button = (name, drawn) => {
    const element = make("button", `rs-button rs-talk-${name}`, bar, { type: "button" });
    if (drawn) element.append(icon(drawn));
    return element;
  };
  const back = button("back");
  const where = make("select", "rs-pick rs-talk-where", bar);
  const next = button("next");
  const said = make("span", "rs-talk-said", bar, { role: "status" });
  const second = button("second");
  const full = button("full", "full");
  const words = make("p", "rs-talk-words", root, { "aria-live": "polite" });
  const stage = make("div", "rs-root rs-talk-stage", root);
  const keys = make("p", "rs-talk-keys", root);
  return { root, bar, back, where, next, said, second, full, words, stage, keys };
}

// Write every word in the language of `text`; `scenes` are those to jump to.
export function label({ back, where, next, second, full, keys }, text, scenes) {
  back.textContent = text["talk.back"];
  next.textContent = text["talk.next"];
  entitle(full, text["player.full"]);
  second.textContent = text["talk.notes"];
  second.title = text["talk.notes.help"];
  keys.textContent = text["talk.keys"];
  fillChoices(where, text, scenes);
}

export function fillChoices(select, text, scenes) {
  select.setAttribute("aria-label", text["talk.scene"]);
  select.replaceChildren();
  for (const [k, { title }] of scenes.entries()) {
    make("option", "", select, { value: String(k) }).textContent = `${k + 1} / ${scenes.length} · ${title}`;
  }
}
