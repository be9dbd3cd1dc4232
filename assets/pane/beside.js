// What stands beside a picture: who holds what, and how much every rank has sent.

import { Slots } from "../paint/slots.js";
import { Surface } from "../paint/surface.js";
import { follow } from "../player/elements.js";
import { registered } from "../player/registry.js";
import { Counters } from "./counters.js";

const BESIDE = 64; // ranks of which what each holds is legible beside the picture

export class Beside {
  #counters = null;
  #elements;
  #seen = { slots: false, sent: false }; // what is in sight
  #slots = null;

  constructor(elements) {
    this.#elements = elements;
  }

  load(timeline) {
    this.#slots = new Slots(timeline);
    this.#counters = timeline.meta.full ? new Counters(timeline) : null;
    this.#seen = { slots: false, sent: false };
  }

  // Stand below the buttons where the picture takes all of the width, without what the picture itself shows or nobody
  // could read.
  seat({ meta }, view) {
    const { root, main, column, side } = this.#elements;
    const isWide = Boolean(registered().find(({ name }) => name === view).wide) || !meta.full || meta.ranks > BESIDE;
    main.classList.toggle("rs-wide", isWide);
    side.classList.toggle("rs-below", isWide);
    side.classList.toggle("rs-none", isWide && !meta.full);
    const bar = root.querySelector(".rs-controls");
    if (isWide && bar) follow(side, bar);
    else if (side.parentElement !== column) column.append(side);
  }

  // The room there is: how wide, what of it is in sight, and whether nothing of it is beside the picture.
  measure() {
    const { main, side, slotsCanvas, sentCanvas } = this.#elements;
    const isBelow =
      main.classList.contains("rs-wide") || side.offsetWidth === 0 || side.offsetWidth === main.clientWidth;
    return {
      isBelow,
      width: side.clientWidth || 1,
      seen: { slots: slotsCanvas.clientWidth > 0, sent: sentCanvas.clientWidth > 0 },
    };
  }

  // What nobody sees needs no room.
  layout(colours, { width, seen }) {
    const { slotsCanvas, sentCanvas } = this.#elements;
    this.#seen = seen;
    if (seen.slots) this.#slots.layout(new Surface(slotsCanvas, colours), { width });
    if (seen.sent) this.#counters?.layout(new Surface(sentCanvas, colours), { width });
  }

  paint(t, text) {
    if (this.#seen.slots) this.#slots.refresh(t);
    if (this.#seen.sent) this.#counters?.paint(t, text);
  }

  // The picture of who holds what, in which something may be pointed at.
  get picture() {
    return this.#seen.slots ? this.#slots : null;
  }
}
