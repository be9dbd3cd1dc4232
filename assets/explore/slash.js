// The key "/" opens what is found by it, unless somebody is typing.

import { lasting } from "../player/lasting.js";

const TYPED = "input, textarea, select, [contenteditable=true]";

function isTyping(event) {
  const place = event.composedPath()[0];
  return place instanceof Element && Boolean(place.closest(TYPED));
}

class Key {
  #stop = new AbortController();

  constructor() {
    document.addEventListener("keydown", (event) => this.#pressed(event), { signal: this.#stop.signal });
  }

  #pressed(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    event.preventDefault();
    document.querySelector(`[class*="st-key-${this.opens}"] button[aria-expanded="false"]`)?.click();
  }

  close() {
    this.#stop.abort();
  }
}

export default lasting(
  () => new Key(),
  (key, { data }) => (key.opens = data.opens),
);
