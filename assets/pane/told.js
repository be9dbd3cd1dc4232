// How high a run's longest sentence stands: room for it is kept all the time, so that no picture moves while it plays.

import { longest } from "./sentence.js";

export class Told {
  #high = 0;
  #of = [];

  // In pixels, in the place of `head`, the elements of a sentence.
  height(head, timeline, text) {
    const of = [timeline, text, head.clientWidth];
    if (of.every((one, k) => one === this.#of[k])) return this.#high;
    this.#of = of;
    const copy = head.cloneNode(true); // what is read out stays as it is
    copy.style.cssText = `position: absolute; visibility: hidden; min-height: 0; width: ${head.clientWidth}px`;
    const { plain, exact } = longest(timeline, text);
    [copy.children[0].textContent, copy.children[1].textContent] = [plain, exact];
    head.after(copy);
    this.#high = Math.ceil(copy.getBoundingClientRect().height);
    copy.remove();
    return this.#high;
  }
}
