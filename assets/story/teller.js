// The story in place of the whole page: opened when the page has it, and put away again.

import { lasting } from "../player/lasting.js";
import { decode } from "../trace/decode.js";
import { Board } from "./board.js";
import { Story } from "./story.js";

const PATIENCE = 5000; // ms until it ends without what the page shows next

// A key pressed alone, that nothing else has taken.
const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented);

// Takes the player's function that mounts it, and gives one that knows of the story, too.
export function withStory(mount) {
  return lasting(
    (root) => new Teller(root),
    (teller, host) => {
      teller.end = mount(host);
      teller.say = (word) => host.setTriggerValue("story", word);
      teller.load(host.data.story ?? null);
    },
  );
}

class Teller {
  #calm = globalThis.matchMedia("(prefers-reduced-motion: reduce)");
  #heard = 0; // the last telling that was put away
  #root;
  #story = null;
  #stop = new AbortController();

  // `say(word)` tells the page that it was put away ("skip"), or that somebody wants a machine of their own ("own").
  constructor(root) {
    this.#root = root;
    const early = { capture: true, signal: this.#stop.signal }; // while it is told, keys are none of the player's
    document.addEventListener("keydown", (event) => this.#press(event), early);
  }

  // What the page gives: nothing, or a telling with its number.
  load(story) {
    if (story?.told && story.number !== this.#heard) this.#open(story);
    else if (this.#story) this.#away();
  }

  #press(event) {
    if (!this.#story || !isPlain(event)) return;
    const [target] = event.composedPath();
    if (target !== document.body && !event.composedPath().includes(this.#root)) return;
    event.stopPropagation();
    this.#story.press(event, target);
  }

  async #open(story) {
    if (this.#story?.number === story.number) {
      this.#story.write(story.told);
      return;
    }
    this.#heard = story.number;
    const { chapters, runs, guesses } = story.told;
    const timelines = await Promise.all(runs.map(({ tl }) => decode(tl)));
    if (this.#stop.signal.aborted) return;
    const boards = timelines.map((timeline, k) => new Board(timeline, runs[k]));
    this.#heard = 0;
    this.#story = new Story(this.#root, { number: story.number, boards, chapters, guesses, calm: this.#calm }, (word) =>
      this.#end(word),
    );
    this.#story.write(story.told);
    this.#story.begin(story.chapter);
  }

  // Put away by whoever listens; one that led on stays until the page shows what it led to.
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
    this.end();
  }
}
