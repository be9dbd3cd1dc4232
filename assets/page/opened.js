// Tells the page once that the place it stands in has come into sight: what folds away there is made only then.

import { lasting } from "../player/lasting.js";

class Watcher {
  #watch = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    this.close();
    this.say();
  });

  constructor(root) {
    this.#watch.observe(root.host ?? root);
  }

  close() {
    this.#watch.disconnect();
  }
}

export default lasting(
  (root) => new Watcher(root),
  (watcher, { setTriggerValue }) => (watcher.say = () => setTriggerValue("seen", true)),
);
