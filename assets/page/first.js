// The first picture of a visit: drawn while the page around it is still being read, which takes it over as it stands.

import { make } from "../player/elements.js";

const SHELL = "ringside-first"; // the server puts it into a page whose plan it can run at once
const DRAWN = "drawn";
const SOON = 500; // ms
const PICTURE = ".st-key-picture"; // what the page has it in
const RUN = "[data-test-script-state=notRunning]"; // a page that has been drawn, or not begun to be
const CHOSEN = `stActiveTheme-${globalThis.location?.pathname}-v2`;

class First {
  #shadow = null;
  #shell = document.querySelector(`#${SHELL}`);
  #waiting = 0;
  #watch = new MutationObserver(() => this.#wait());

  // Ask for the runs, and `mount` a player for them; `dress` gives it its look.
  async draw(mount, dress) {
    if (!this.#shell) return;
    const [data] = await Promise.all([this.#ask(), document.fonts.load('1rem "Source Sans"').catch(() => null)]);
    if (!this.#shell) return; // the page was quicker
    if (!data || isOtherTheme()) {
      this.#leave();
      return;
    }
    this.#shadow = this.#shell.attachShadow({ mode: "open" });
    dress(this.#shadow);
    make("div", "rs-root", this.#shadow);
    mount({ parentElement: this.#shadow, data });
    this.#shell.classList.add(DRAWN);
    this.#watch.observe(document.body, { attributeFilter: ["data-test-script-state"], subtree: true });
  }

  async #ask() {
    try {
      const answer = await fetch(new URL(this.#shell.dataset.from + globalThis.location.search, document.baseURI));
      return answer.ok ? await answer.json() : null;
    } catch {
      return null; // no connection: the page tells
    }
  }

  // A page that has no picture says why, and nothing may stand above that; its last words are yet to be drawn.
  #wait() {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => {
      if (document.querySelector(RUN) && !document.querySelector(PICTURE)) this.#leave();
    }, SOON);
  }

  #leave() {
    clearTimeout(this.#waiting);
    this.#watch.disconnect();
    this.#shell?.remove();
    this.#shell = null;
  }

  // The page has its place for the player: what is drawn stands there from now on, with the focus where it was.
  give(parentElement) {
    if (!this.#shell || parentElement === this.#shadow) return;
    const drawn = this.#shadow?.querySelector(".rs-root");
    const focused = this.#shadow?.activeElement;
    if (drawn) parentElement.querySelector(".rs-root").replaceWith(drawn);
    focused?.focus({ preventScroll: true });
    this.#leave();
  }
}

// Somebody has chosen to have it dark where the machine is light, or light where it is dark.
function isOtherTheme() {
  const chosen = globalThis.localStorage?.getItem(CHOSEN) ?? "";
  const isDark = globalThis.matchMedia("(prefers-color-scheme: dark)").matches;
  return chosen.includes(isDark ? "Light" : "Dark");
}

// A player whose first picture comes before its page: `mount` is as Streamlit calls it, and `first(dress)` draws that.
export function withFirst(mount) {
  const first = new First();
  const mounted = (options) => {
    first.give(options.parentElement);
    return mount(options);
  };
  mounted.first = (dress) => first.draw(mount, dress);
  return mounted;
}
