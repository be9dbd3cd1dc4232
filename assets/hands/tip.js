// What is under the pointer, explained beside it.

import { write } from "../hands/card.js";
import { pointAlong, walk } from "../trace/walk.js";
import { explain } from "../pane/explain.js";

const FAR = 6; // pixels that a click may move

export class Tip {
  #at = [0, 0];
  #draw;
  #elements;
  #kept = null;

  // `draw()` paints what is pointed at.
  constructor(elements, draw) {
    [this.#elements, this.#draw] = [elements, draw];
    this.focus = null; // what the pointer is on
  }

  // Explain what is under the pointer on a canvas that shows `picture()`. What is clicked is chosen, by `pin(focus)`; a press
  // that goes on elsewhere drags something, and one on a mark of folded devices, or on a tile, has them `opened(what)`.
  watch(canvas, picture, { pin, opened }) {
    const under = (event) => picture()?.pick(event.offsetX, event.offsetY) ?? null;
    let pressed = null;
    canvas.addEventListener("pointermove", (event) => this.point(event, under(event)));
    canvas.addEventListener("pointerleave", () => this.point(null, null));
    canvas.addEventListener("pointerdown", (event) => {
      const what = picture()?.press?.(event.offsetX, event.offsetY);
      if (what) opened(what);
      pressed = { x: event.clientX, y: event.clientY, focus: under(event) };
      this.point(event, pressed.focus);
    });
    canvas.addEventListener("pointerup", ({ clientX: x, clientY: y }) => {
      if (pressed && Math.hypot(x - pressed.x, y - pressed.y) < FAR) pin(pressed.focus);
      pressed = null;
    });
    canvas.addEventListener("pointercancel", () => (pressed = null));
  }

  // Point at something, or at nothing.
  point(event, focus) {
    const { main, canvas } = this.#elements;
    if (event) {
      const box = main.getBoundingClientRect();
      this.#at = [event.clientX - box.left, event.clientY - box.top];
    }
    this.focus = focus;
    canvas.style.cursor = focus ? "pointer" : "";
    this.#draw();
  }

  // Where the pointer was when something was chosen stays known: not everything has a place of its own.
  keep() {
    this.#kept = this.focus ? this.#at : null;
  }

  // Where in a picture something stands, with the room there is around it; null where nobody knows.
  anchor(picture, focus) {
    const [x, y] = (focus && (standsAt(picture, focus) ?? this.#kept)) ?? [];
    const { style } = this.#elements.canvas; // what has been laid out need not be asked for
    const [width, height] = [parseFloat(style.width), parseFloat(style.height)];
    return x >= 0 && y >= 0 && x <= width && y <= height ? { x, y, width, height } : null;
  }

  show(timeline, text, t) {
    const { tip, main } = this.#elements;
    tip.style.display = this.focus ? "block" : "none";
    if (!this.focus) return;
    write(tip, explain(timeline, text, this.focus.t ?? t, this.focus));
    const [x, y] = this.#at;
    tip.style.left = `${Math.max(0, Math.min(x + 14, main.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 14}px`;
  }
}

// Return the middle of a line or device in pixels, or null if the picture has no camera or does not draw it.
function standsAt({ scene, camera }, { kind, index }) {
  if (!scene) return null;
  const { devices, lines } = scene;
  if (kind === scene.focus) {
    const { x, y } = pointAlong(walk(lines[index]), 0.5);
    return [camera.x(x), camera.y(y)];
  }
  const drawn = kind === "device" ? devices.x.findIndex((_, d) => scene.device(d) === index) : -1;
  return drawn < 0 ? null : [camera.x(devices.x[drawn]), camera.y(devices.y[drawn])];
}
