// What is under the pointer, explained beside it.

import { write } from "../hands/card.js";
import { pointAlong, walk } from "../trace/walk.js";
import { explain } from "../pane/explain.js";

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
    const { clientWidth: width, clientHeight: height, offsetLeft: left, offsetTop: top } = this.#elements.canvas;
    const isInside = x >= 0 && y >= 0 && x <= width && y <= height;
    return isInside ? { x: left + x, y: top + y, width: left + width, height: top + height } : null;
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

// The middle of a line, or of a device, in pixels of a picture that has a camera; null where there is none.
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
