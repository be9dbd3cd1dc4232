// The whole screen for a stage, or for a talk around it; where a browser has no such thing, the whole window.

const FILLING = "rs-filling";
const BARE = "rs-bare";
const FRAME = "rs-frame"; // what fills a frame in another page, and always does

// Whether what an element is in fills the screen.
export const isFull = (element) => element.closest(`.${FILLING}`) !== null;

export class FullScreen {
  #changed;
  #is = false;
  #root;
  #stop = new AbortController();

  // `changed` is called when the screen has been taken or left.
  constructor(root, changed) {
    this.#root = root;
    this.#changed = changed;
    const { signal } = this.#stop;
    document.addEventListener("fullscreenchange", () => this.#show(this.#isTaken), { signal });
  }

  get #isTaken() {
    return this.#root.getRootNode().fullscreenElement === this.#root;
  }

  get is() {
    return this.#is;
  }

  // Fill what the page is shown in, whether or not the screen is; what plays by itself has nothing around its picture.
  frame({ fills, start }) {
    const is = Boolean(fills);
    this.#root.classList.toggle(BARE, Boolean(start?.plays));
    if (is === this.#root.classList.contains(FRAME)) return;
    this.#root.classList.toggle(FRAME, is);
    this.#root.classList.toggle(FILLING, is || this.#is);
    this.#changed();
  }

  toggle() {
    if (this.is) this.leave();
    else this.#enter();
  }

  async #enter() {
    try {
      await this.#root.requestFullscreen?.();
    } catch {
      // A frame that may not: then the window has to do.
    }
    this.#show(true);
  }

  // Whether there was anything to leave.
  leave() {
    if (!this.is) return false;
    if (this.#isTaken) document.exitFullscreen();
    this.#show(false);
    return true;
  }

  #show(is) {
    if (is === this.#is) return;
    this.#is = is;
    this.#root.classList.toggle(FILLING, is || this.#root.classList.contains(FRAME));
    this.#changed();
  }

  close() {
    this.#stop.abort();
  }
}
