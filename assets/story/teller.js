// The first minute in the player's place: offered in the picture, opened when it is asked for, put away again.

import { icon, make } from "../player/elements.js";
import { decode } from "../trace/decode.js";
import { Board } from "./board.js";
import { Story } from "./story.js";

const KEY = "g";
const PATIENCE = 5000; // ms until it ends without the stage's run
const TYPED = "input, textarea, select, [contenteditable], [role=slider], [role=combobox]";

// A key pressed alone, that nothing else has taken.
const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented);

// Takes the player's function that mounts it, and gives one that knows of the story, too.
export function withStory(mount) {
  const tellers = new WeakMap();
  return (host) => {
    const close = mount(host);
    const { data, parentElement, setTriggerValue } = host;
    const root = parentElement.querySelector(".rs-root") ?? parentElement;
    const teller = tellers.get(root) ?? new Teller(root);
    tellers.set(root, teller);
    teller.say = (word) => setTriggerValue("story", word);
    teller.load(data.story ?? null, data.runs);
    return () => {
      teller.close();
      tellers.delete(root);
      close();
    };
  };
}

class Teller {
  #calm = globalThis.matchMedia("(prefers-reduced-motion: reduce)");
  #heard = 0; // the last telling that was put away
  #offer = null;
  #root;
  #story = null;
  #stop = new AbortController();

  // `say(word)` tells the page that it is to "open", was put away ("skip"), or came to its "end".
  constructor(root) {
    this.#root = root;
    const early = { capture: true, signal: this.#stop.signal }; // while it is told, keys are none of the player's
    document.addEventListener("keydown", (event) => this.#press(event), early);
  }

  // What the page gives: nothing, the words of an offer, or a telling with its number.
  load(story, runs) {
    this.#paintOffer(story);
    if (story?.told && story.number !== this.#heard) this.#open(story);
    else if (this.#story && (!this.#story.isEnding || runs.some(({ id }) => id === this.#story.lastId))) this.#away();
  }

  #paintOffer(story) {
    const place = this.#root.querySelector(".rs-left");
    if (!story || !place) {
      this.#offer?.remove();
      this.#offer = null;
      return;
    }
    const { text, seen } = story;
    this.#offer ??= this.#makeOffer();
    if (this.#offer.parentElement !== place) place.prepend(this.#offer);
    this.#offer.classList.toggle("rs-seen", seen);
    this.#offer.removeAttribute("aria-busy");
    const words = text[seen ? "story.offer.again" : "story.offer"];
    const span = this.#offer.querySelector("span");
    if (span.textContent !== words) span.textContent = words;
  }

  #makeOffer() {
    const offer = make("button", "rs-story-offer", this.#root, {
      type: "button",
      "aria-keyshortcuts": KEY.toUpperCase(),
    });
    offer.append(icon("play"));
    make("span", "", offer);
    make("kbd", "", offer).textContent = KEY.toUpperCase();
    offer.addEventListener("click", () => this.#ask());
    return offer;
  }

  #ask() {
    this.#offer.setAttribute("aria-busy", "true");
    this.say("open");
  }

  #press(event) {
    if (!isPlain(event)) return;
    const [target] = event.composedPath();
    if (this.#story) {
      if (target !== document.body && !event.composedPath().includes(this.#root)) return;
      event.stopPropagation();
      this.#story.press(event, target);
    } else if (this.#offer && event.key.toLowerCase() === KEY) {
      if (target.closest?.(TYPED)) return;
      event.preventDefault();
      this.#ask();
    }
  }

  async #open(story) {
    if (this.#story?.number === story.number) {
      this.#story.write(story.told);
      return;
    }
    this.#heard = story.number;
    const { chapters, runs } = story.told;
    const timelines = await Promise.all(runs.map(({ tl }) => decode(tl)));
    if (this.#stop.signal.aborted) return;
    const boards = timelines.map((timeline, k) => new Board(timeline, runs[k]));
    this.#heard = 0;
    this.#story = new Story(this.#root, { number: story.number, boards, chapters, calm: this.#calm }, (word) =>
      this.#end(word),
    );
    this.#story.lastId = runs[chapters.at(-1).run].id;
    this.#story.write(story.told);
    this.#story.begin();
  }

  // Put away by whoever listens; one that came to its end stays until the stage has its run.
  #end(word) {
    this.#heard = this.#story.number;
    this.say(word);
    if (word === "skip") this.#away();
    else setTimeout(() => this.#away(), PATIENCE);
  }

  #away() {
    if (!this.#story) return;
    this.#story.close();
    this.#story = null;
    this.#root.querySelector(".rs-player")?.focus({ preventScroll: true });
  }

  close() {
    this.#stop.abort();
    this.#story?.close();
  }
}
