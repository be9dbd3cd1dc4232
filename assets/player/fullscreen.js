// The whole screen for a stage, or for a talk around it; where a browser has no such thing, the whole window.

const FILLING = "rs-filling";

// Whether what an element is in fills the screen.
export const isFull = (element) => element.closest(`.${FILLING}`) !== null;

export class FullScreen {
  #changed;
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
    return this.#root.classList.contains(FILLING);
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
    if (is === this.is) return;
    this.#root.classList.toggle(FILLING, is);
    this.#changed();
  }

  close() {
    this.#stop.abort();
  }
}
