// What keys do while the player has the focus, or nothing on the page has.

import { SPEEDS } from "./clock.js";

const NEARER = 1.25; // per key
const ASIDE = 60; // pixels per key
const PAGES = new Set(["PageUp", "PageDown", "Home", "End", "c"]); // scroll a page, and empty Streamlit's memory
const listening = new Set();

// By key; `act` has what the buttons do, and besides `go(instant)`, `pace(speed)`, `turn(view)` for the next view or one
// and back, `look(move)` for the cameras, `help` and `clear`; `views` are those there are.
export function keysOf(clock, act, views) {
  const step = (by) => (event) => act.go(event.shiftKey ? clock.phaseFrom(by) : clock.stepFrom(by));
  const speed = (by) => () => {
    const k = SPEEDS.indexOf(clock.speed) + by;
    act.speed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, k))]);
  };
  const keys = {
    " ": act.play,
    k: act.play,
    ArrowRight: step(1),
    ArrowLeft: step(-1),
    PageDown: () => act.go(clock.stepFrom(1)),
    PageUp: () => act.go(clock.stepFrom(-1)),
    ",": () => act.go(clock.eventFrom(-1)),
    ".": () => act.go(clock.eventFrom(1)),
    Home: () => act.go(0),
    End: () => act.go(clock.time),
    "-": speed(-1),
    "+": speed(1),
    "=": speed(1),
    t: act.pace,
    f: act.full,
    c: act.light,
    v: () => act.turn(),
    w: () => act.look((camera, x, y) => camera.zoomAt(x, y, NEARER)),
    s: () => act.look((camera, x, y) => camera.zoomAt(x, y, 1 / NEARER)),
    a: () => act.look((camera) => camera.pan(ASIDE, 0)),
    d: () => act.look((camera) => camera.pan(-ASIDE, 0)),
    0: () => act.look((camera) => camera.home()),
    "?": act.help,
    Escape: act.clear,
  };
  for (const { name, key } of views) if (key) keys[key] ??= () => act.turn(name);
  return keys;
}

// Hears keys pressed in the player; and, unless it is the guest of a page with keys of its own, those pressed where the
// page as a whole has the focus: of several players the first in sight is meant.
export class Keyboard {
  #act;
  #isSeen;
  #place;
  #stop = new AbortController();

  // `act(key, target)` gives what a key does that is pressed in an element, or nothing; `isSeen()` is asked of the
  // player at `place`.
  constructor(place, { act, isSeen, isGuest }) {
    this.#act = act;
    this.#place = place;
    this.#isSeen = isSeen;
    const { signal } = this.#stop;
    place.addEventListener("keydown", (event) => this.#press(event), { signal });
    if (isGuest) return;
    listening.add(this);
    document.addEventListener("keydown", (event) => this.#stray(event), { signal });
  }

  #press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.#act(event.key, event.composedPath()[0]);
    if (act !== undefined) event.stopPropagation();
    if (!act) return;
    event.preventDefault();
    act(event);
  }

  #stray(event) {
    const [target] = event.composedPath();
    const place = this.#place.getRootNode().host ?? this.#place;
    if (event.defaultPrevented || PAGES.has(event.key) || target === place || !target.contains(place)) return;
    if ([...listening].find((one) => one.#isSeen()) === this) this.#press(event);
  }

  close() {
    listening.delete(this);
    this.#stop.abort();
  }
}
