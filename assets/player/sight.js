// Watches the panes: whether they are in sight, and whether something else has made them larger or smaller.

export class Sight {
  #grid;
  #laid = "";
  #size;
  #view;

  // `resized()` is called where they are not as large as they were last laid out, `seen()` where they come into sight
  // or leave it.
  constructor(grid, { resized, seen }) {
    this.#grid = grid;
    this.isSeen = true;
    this.#size = new ResizeObserver(() => {
      if (this.#now !== this.#laid) resized();
    });
    this.#size.observe(grid);
    this.#view = new IntersectionObserver(([entry]) => {
      this.isSeen = entry.isIntersecting;
      seen();
    });
    this.#view.observe(grid);
  }

  get #now() {
    return `${this.#grid.offsetWidth} ${this.#grid.offsetHeight}`;
  }

  // They have just been laid out: a page that has kept room for them need not any more.
  settle() {
    this.#laid = this.#now;
    this.#grid.getRootNode().host?.toggleAttribute("data-ringside-stage", true);
  }

  close() {
    this.#size.disconnect();
    this.#view.disconnect();
  }
}
