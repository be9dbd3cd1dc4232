// What keys do while the player has the focus.

import { SPEEDS } from "./clock.js";

const NEARER = 1.25; // per key
const ASIDE = 60; // pixels per key

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
