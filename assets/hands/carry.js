// Hands on the machine: a device is dragged onto another, and what the two are for is asked. With Shift it is the least
// particular question, a cable between them.

import { make } from "../player/elements.js";
import { between, dragsOn } from "./offers.js";

const FAR = 6; // pixels before a press is a drag

export class Carry {
  #ask;
  #at = [0, 0];
  #canvas;
  #from = null;
  #line = null;
  #main;
  #tip = null;
  #view;

  // `view()` gives the `timeline`, the `offers` and the `picture` of now; `ask(spec)` is called with the words of an edit
  // where a device is let go over one it can be dragged onto. Nothing else hears of the pointer meanwhile.
  constructor(canvas, main, { view, ask }) {
    [this.#canvas, this.#main, this.#view, this.#ask] = [canvas, main, view, ask];
    canvas.addEventListener("pointerdown", (event) => this.#press(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#release(event));
    canvas.addEventListener("pointercancel", () => this.#end());
  }

  // Whether a press would take something; fingers move the page.
  takes(event) {
    return event.pointerType !== "touch" && !event.button && dragsOn(this.#view(), this.#under(event)).length > 0;
  }

  #under({ offsetX, offsetY }) {
    const focus = this.#view().picture?.pick(offsetX, offsetY);
    return focus?.kind === "device" ? focus : null;
  }

  #press(event) {
    if (!this.takes(event)) return;
    this.#from = this.#under(event);
    this.#at = [event.clientX, event.clientY];
  }

  // What letting go here would ask, or nothing.
  #offer(event) {
    const to = this.#under(event);
    const drags = to ? dragsOn(this.#view(), this.#from, to) : [];
    return event.shiftKey ? drags.at(-1) : drags[0];
  }

  #move(event) {
    if (!this.#from) return;
    const [dx, dy] = [event.clientX - this.#at[0], event.clientY - this.#at[1]];
    const far = Math.hypot(dx, dy);
    if (!this.#line && far < FAR) return;
    event.stopImmediatePropagation();
    if (!this.#line) this.#begin(event);
    const { left, top } = this.#main.getBoundingClientRect();
    const [x, y] = [this.#at[0] - left, this.#at[1] - top];
    this.#line.style.cssText = `left: ${x}px; top: ${y}px; width: ${far}px; rotate: ${Math.atan2(dy, dx)}rad`;
    const offer = this.#offer(event);
    const { timeline } = this.#view();
    const [from, to] = [this.#from, this.#under(event)].map((focus) => focus && timeline.devices.name[focus.index]);
    this.#tip.textContent = offer ? `${offer.text}: ${from}, ${to}` : from;
    this.#tip.style.cssText = `display: block; left: ${x + dx + 14}px; top: ${y + dy + 14}px`;
    this.#canvas.style.cursor = offer ? "copy" : "grabbing";
  }

  #begin(event) {
    this.#line = make("div", "rs-carry", this.#main);
    this.#tip = make("div", "rs-tip", this.#main, { role: "status" });
    this.#canvas.dispatchEvent(new Event("pointerleave")); // what it was pointing at is no longer explained
    this.#canvas.setPointerCapture(event.pointerId);
    globalThis.addEventListener("keydown", this.#escape, true);
  }

  #escape = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    this.#end();
  };

  #release(event) {
    const offer = this.#line && this.#offer(event);
    const spec = offer && between(offer, this.#view().timeline, this.#from, this.#under(event));
    this.#end();
    if (spec) this.#ask(spec);
  }

  #end() {
    globalThis.removeEventListener("keydown", this.#escape, true);
    this.#line?.remove();
    this.#tip?.remove();
    this.#canvas.style.cursor = "";
    [this.#from, this.#line, this.#tip] = [null, null, null];
  }
}
