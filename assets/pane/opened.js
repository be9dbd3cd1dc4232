// One host of a large machine, shown beside the tiles at the same instant, large enough to see its devices.

import { Surface } from "../paint/surface.js";
import { entitle, make } from "../player/elements.js";
import { Pictures } from "./pictures.js";

const NARROW = 720; // pixels of a picture, below which it stands under it
const SHARE = { picture: 0.58, gap: 12 }; // of the width that is left to the picture, and pixels between the two
const HIGH = 320; // pixels, where it stands below

export class Opened {
  #box = null;
  #elements;
  #isNew = false;
  #pictures = null;
  #picture = null;
  #timeline = null;

  // `close()` is asked for by its button; `handle(canvas, picture)` lets a person point at what it shows.
  constructor(parent, { close, handle }) {
    const root = make("section", "rs-opened", parent);
    parent.querySelector("canvas").after(root);
    const head = make("div", "rs-opened-head", root);
    const title = make("strong", "", head);
    const button = make("button", "rs-button", head, { type: "button" });
    button.textContent = "✕";
    button.addEventListener("click", close);
    const canvas = make("canvas", "rs-opened-picture", root, { role: "img" });
    this.#elements = { parent, root, head, title, button, canvas };
    handle(canvas, () => this.#picture);
    root.hidden = true;
  }

  get isOpen() {
    return this.#box !== null;
  }

  label(text) {
    entitle(this.#elements.button, text["player.opened.close"]);
  }

  // Open a box of a run's picture: its name, its kind, and where it is.
  open(timeline, box) {
    if (this.#timeline !== timeline) [this.#timeline, this.#pictures] = [timeline, new Pictures(timeline)];
    [this.#box, this.#isNew] = [box, true];
    const { root, title, canvas } = this.#elements;
    root.hidden = false;
    [title.textContent] = box;
    canvas.setAttribute("aria-label", box[0]);
  }

  close() {
    if (!this.isOpen) return false;
    this.#box = null;
    this.#picture = null;
    this.#elements.root.hidden = true;
    return true;
  }

  // How wide the picture beside it may be, of so many pixels.
  leaves(width) {
    return this.isOpen && width >= NARROW ? Math.round(SHARE.picture * width) : width;
  }

  // Beside the picture, and as high; `whole` pixels wide are both.
  layout(view, colours, whole) {
    if (!this.isOpen) return;
    const { parent, root, head, canvas } = this.#elements;
    const high = parent.querySelector("canvas").clientHeight;
    const isBelow = whole < NARROW;
    root.classList.toggle("rs-under", isBelow);
    const width = isBelow ? whole : whole - this.leaves(whole) - SHARE.gap;
    root.style.width = `${width}px`;
    const most = isBelow ? HIGH : Math.max(HIGH, high - head.offsetHeight);
    const picture = this.#pictures.of(view);
    this.#isNew ||= picture !== this.#picture;
    this.#picture = picture;
    picture.layout(new Surface(canvas, colours), { width: width - 2, most, least: most });
    if (this.#isNew) picture.camera.show(this.#box);
    this.#isNew = false;
  }

  draw(t, look) {
    this.#picture?.paint(t, look);
  }
}
