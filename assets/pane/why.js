// Why a run took as long as it did: the parts of its time, each beginning where the one before ends, and the messages
// they come from.

import { make } from "../player/elements.js";
import { TimeScale, bytesText, fill, rateText, seconds, sum } from "../trace/words.js";

export class Why {
  #base = null; // undefined until it is known whether there is one: of two lists one would be made in vain
  #body;
  #chosen = null;
  #host;
  #isCompared = false;
  #isNew = false;
  #legend;
  #note;
  #root;
  #summary;
  #text = {};
  #timeline = null;

  // `host.draw()` draws the pictures again when other messages are lit.
  constructor(parent, host) {
    this.#host = host;
    this.lit = null; // the messages of the chosen part, or null
    this.#root = make("details", "rs-why", parent);
    this.#summary = make("summary", "", this.#root);
    this.#legend = make("p", "rs-part-note", this.#root);
    this.#body = make("div", "rs-parts", this.#root);
    this.#note = make("p", "rs-part-note", this.#root, { "aria-live": "polite" });
  }

  // Take a run; one that never ended has no parts.
  load(timeline, text) {
    this.#chosen = null;
    this.lit = null;
    this.#isNew = true;
    this.#timeline = timeline;
    this.#base = undefined;
    this.label(text);
  }

  // Write it in the language of `text`.
  label(text) {
    this.#text = text;
    this.#root.style.display = this.#timeline?.why ? "block" : "none";
    if (!this.#timeline?.why) return;
    this.#summary.textContent = fill(text["player.why"], { time: seconds(this.#timeline.time) });
    if (this.#base !== undefined) this.#list();
  }

  // Hold it against another run, or against none; every run that is taken is.
  against(timeline) {
    this.#isCompared = Boolean(timeline);
    const base = timeline?.why && timeline !== this.#timeline ? timeline : null;
    if (base === this.#base || !this.#timeline?.why) return;
    this.#base = base;
    this.#list();
  }

  // The pixels that it needs below the picture.
  under(isBelow) {
    return isBelow && this.#timeline.why ? this.#summary.offsetHeight : 0;
  }

  // A new run's parts are in sight from the beginning, but not those of a single run that stand below its picture.
  settle(isBelow) {
    if (this.#isNew) this.#root.open = !isBelow || this.#isCompared;
    this.#isNew = false;
  }

  // Choose a part, or none.
  choose(part) {
    this.#chosen = part;
    this.lit = part ? this.#timeline.spentOn(part) : null;
    for (const row of this.#body.querySelectorAll("button"))
      row.setAttribute("aria-pressed", String(row.dataset.part === part));
    this.#note.textContent = part ? this.#noteOf(part) : "";
  }

  // Have it in sight, with a part chosen or all of them.
  reveal(part) {
    this.#root.open = true;
    this.choose(part || null);
    this.#root.scrollIntoView({ block: "nearest" });
    this.#host.draw();
  }

  #list() {
    const { parts } = this.#timeline.why;
    this.#legend.textContent = this.#base ? this.#text["player.why.both"] : "";
    const base = this.#base?.why.parts.map(([, time]) => time) ?? parts.map(() => 0);
    const scale = TimeScale.of(Math.max(this.#timeline.time, this.#base?.time ?? 0));
    const counts = scale.counts(parts.map(([, time]) => time));
    const others = scale.counts(base);
    const most = Math.max(1, sum(counts), sum(others));
    const rows = document.createDocumentFragment(); // a page looks around for every element that comes into it
    let [before, old] = [0, 0];
    parts.forEach(([part, time], k) => {
      if (!(time || base[k])) return;
      const bars = [{ from: before / most, share: counts[k] / most }];
      if (this.#base) bars.push({ from: old / most, share: others[k] / most });
      this.#row(rows, part, { scale, count: counts[k], difference: this.#base ? counts[k] - others[k] : null, bars });
      before += counts[k];
      old += others[k];
    });
    const difference = this.#base ? sum(counts) - sum(others) : null;
    this.#row(rows, "", { scale, count: sum(counts), difference, bars: [] });
    this.#body.replaceChildren(rows);
    this.choose(this.#chosen);
  }

  // A part with its bar, the outline of what that was, and its seconds, and by how much they differ; without a part, the sum
  // of all.
  #row(rows, part, { scale, count, difference, bars }) {
    const row = make(part ? "button" : "div", "rs-part", rows, part ? { type: "button" } : {});
    make("span", "", row).textContent = this.#text[`player.why.${part || "sum"}`];
    const place = make("span", "rs-part-bar", row);
    for (const [k, { from, share }] of bars.entries()) {
      const { style } = make(k ? "s" : "i", "", place);
      style.left = `${100 * from}%`;
      style.width = `${100 * share}%`;
    }
    make("span", "rs-part-time", row).textContent = scale.text(count);
    if (difference !== null)
      make("span", "rs-part-time", row).textContent = `${difference < 0 ? "" : "+"}${scale.text(difference)}`;
    if (!part) return;
    row.dataset.part = part;
    row.addEventListener("click", () => {
      this.choose(this.#chosen === part ? null : part);
      this.#host.draw();
    });
  }

  // What stands behind a part.
  #noteOf(part) {
    const { parts, messages, bytes } = this.#timeline.why;
    const flowing = parts.find(([name]) => name === "bytes")[1];
    const values = { messages, bytes: bytesText(Math.round(bytes)), rate: flowing ? rateText(bytes / flowing) : "–" };
    const about = fill(this.#text[`player.why.${part}.is`], values);
    const count = this.lit.size;
    return count ? `${about} ${fill(this.#text["player.why.lit"], { count })}` : about;
  }
}
