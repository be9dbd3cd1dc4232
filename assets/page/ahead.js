// Watches a slider: what it stands for is shown by the player ahead of the page, which is told when the slider rests.

import { lasting } from "../player/lasting.js";

const REST = 300; // ms from the picture of a run
const LATE = 2000; // ms without a picture
const THUMB = "input[type=range]";

// The slider that stands next before an element, whatever both are in.
function before(element) {
  for (let up = element.getRootNode().host ?? element; up; up = up.parentElement) {
    const thumb = up.previousElementSibling?.querySelector(THUMB);
    if (thumb) return thumb;
  }
  return null;
}

class Slider {
  #asked = null; // the place of which a picture has been asked since the page was drawn
  #data = {};
  #element;
  #isDue = false; // whether that picture is still to come
  #stop = new AbortController();
  #thumb = null;
  #timer = 0;
  #watch = new MutationObserver(() => this.#moves());

  constructor(element) {
    this.#element = element;
    const { signal } = this.#stop;
    document.addEventListener("ringside-instant", () => this.#seen(), { signal });
  }

  // The page's own word of a slider: where it stands, nowhere where all of the page shows that, and what may be asked.
  take(data, rested) {
    this.#data = data;
    this.rested = rested;
    this.#find();
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (data.place === null) this.#asked = null;
    else {
      if (this.#asked !== data.place) this.#ask(data.place);
      this.#rest();
    }
  }

  #find() {
    const thumb = before(this.#element);
    if (thumb === this.#thumb) return;
    this.#watch.disconnect();
    this.#thumb = thumb;
    if (thumb) this.#watch.observe(thumb, { attributeFilter: ["value", "aria-valuetext"] });
  }

  // A hand moves it; else it is the page that does.
  #moves() {
    if (document.activeElement === this.#thumb) this.#ask(Number(this.#thumb.value));
  }

  #ask(place) {
    const { question, first, words } = this.#data;
    if (!question || this.#asked === place) return;
    this.#asked = place;
    const named = Object.entries(words).map(([name, texts]) => [name, texts[place - first]]);
    if (named.some(([, text]) => text === undefined)) return;
    const plan = { ...question.plan, ...Object.fromEntries(named) };
    const detail = { question: { ...question, plan }, taken: false };
    document.dispatchEvent(new CustomEvent("ringside-ahead", { detail }));
    this.#isDue = detail.taken;
    if (this.#timer) this.#rest(); // on its way again: the page would be in its way
  }

  #seen() {
    this.#isDue = false;
    if (!this.#thumb?.isConnected) this.#find();
    if (this.#timer) this.#rest();
  }

  // Once its picture has been seen, and it has gone to no other place for a while, it rests.
  #rest() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#timer = 0;
        this.rested();
      },
      this.#isDue ? LATE : REST,
    );
  }

  close() {
    clearTimeout(this.#timer);
    this.#watch.disconnect();
    this.#stop.abort();
  }
}

export default lasting(
  (root) => new Slider(root),
  (slider, { data, setTriggerValue }) => slider.take(data, () => setTriggerValue("rested", true)),
);
