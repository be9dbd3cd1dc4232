// A training step under a cell of a notebook: the instant that is looked at is Python's, and Python's is looked at here.

import { dress } from "./dress.js";
import { make } from "../player/elements.js";
import { seconds } from "../trace/words.js";

const FINE = 1e4;

function render({ model, el }) {
  const root = make("div", "rs-training", el, { "data-ringside": "training" });
  const undress = dress(root, () => {});
  const { html, spans, text, end } = model.get("data");
  const picture = make("div", "", root);
  picture.innerHTML = html; // made by Python from escaped words
  const lines = [...picture.querySelectorAll("[data-rank], [data-memory]")].map((lane) => make("u", "rs-now", lane));
  const bar = make("label", "rs-training-bar", root);
  make("span", "", bar).textContent = text.time;
  const slider = make("input", "", bar, { type: "range", min: "0", max: String(FINE), step: "1" });
  const clock = make("output", "", bar);
  const doing = make("ul", "rs-doing", root, { "aria-live": "polite" });
  const paint = () => {
    const t = model.get("time");
    const share = end > 0 ? t / end : 0;
    for (const line of lines) line.style.left = `${100 * share}%`;
    slider.value = String(Math.round(share * FINE));
    clock.textContent = `${seconds(t)} / ${seconds(end)}`;
    slider.setAttribute("aria-valuetext", clock.textContent);
    doing.replaceChildren();
    for (const { rank, under } of spans) {
      const now = under.filter(([from, to]) => from <= t && t < to).map(([, , name]) => name);
      make("li", "", doing).textContent = `${rank}: ${now.join(", ") || text.nothing}`;
    }
  };
  slider.addEventListener("input", () => model.set("time", (Number(slider.value) / FINE) * end));
  slider.addEventListener("change", () => model.save_changes());
  paint();
  model.on("change:time", paint);
  return () => {
    model.off("change:time", paint);
    undress();
  };
}

export default { render };
