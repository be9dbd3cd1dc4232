// Where device widths come to stand on a surface: all of them at first, then as near as a person goes.

const LARGEST = 150; // pixels per device width when all is in view
const NEAREST = 240; // and as near as one may go
const EDGE = 0.25;

const within = (value, low, high) => Math.max(low, Math.min(high, value));

export class Camera {
  #frame;
  #home = 1;
  #size = [1, 1];

  // `frame` is left, top, width and height of what there is to see.
  constructor(frame) {
    const [left, top, wide, high] = frame;
    this.#frame = [left - EDGE, top - EDGE, wide + 2 * EDGE, high + 2 * EDGE];
    this.turn = 0; // changes whenever things come to stand elsewhere
    this.zoom = 1;
    this.middle = [left + wide / 2, top + high / 2];
  }

  // How high the whole is on so wide a surface.
  height(width) {
    const [, , wide, high] = this.#frame;
    return high * Math.min(width / wide, LARGEST);
  }

  // Look at what was looked at on a surface of another size.
  fit(width, height) {
    const [, , wide, high] = this.#frame;
    this.#size = [width, height];
    this.#home = Math.min(width / wide, height / high, LARGEST);
    this.#settle(this.zoom, this.middle);
  }

  // The middle of the surface, in pixels.
  get centre() {
    return this.#size.map((side) => side / 2);
  }

  get isHome() {
    return this.zoom === 1;
  }

  // The surface's left, top, right and bottom in device widths.
  get view() {
    const [width, height] = this.#size;
    const [across, down] = [width / 2 / this.scale, height / 2 / this.scale];
    const [x, y] = this.middle;
    return [x - across, y - down, x + across, y + down];
  }

  #settle(zoom, [x, y]) {
    const [left, top, wide, high] = this.#frame;
    const [width, height] = this.#size;
    this.zoom = within(zoom, 1, Math.max(1, NEAREST / this.#home));
    this.scale = this.#home * this.zoom;
    const kept = (at, from, span, room) =>
      room >= span ? from + span / 2 : within(at, from + room / 2, from + span - room / 2);
    this.middle = [kept(x, left, wide, width / this.scale), kept(y, top, high, height / this.scale)];
    this.left = width / 2 - this.middle[0] * this.scale;
    this.top = height / 2 - this.middle[1] * this.scale;
    this.turn += 1;
  }

  // So many times nearer, around a point of the surface.
  zoomAt(px, py, factor) {
    const [width, height] = this.#size;
    const [x, y] = [(px - this.left) / this.scale, (py - this.top) / this.scale];
    const zoom = within(this.zoom * factor, 1, Math.max(1, NEAREST / this.#home));
    const scale = this.#home * zoom;
    this.#settle(zoom, [x - (px - width / 2) / scale, y - (py - height / 2) / scale]);
  }

  // So many pixels aside.
  pan(dx, dy) {
    const [x, y] = this.middle;
    this.#settle(this.zoom, [x - dx / this.scale, y - dy / this.scale]);
  }

  home() {
    this.#settle(1, this.middle);
  }

  x(units) {
    return this.left + units * this.scale;
  }

  y(units) {
    return this.top + units * this.scale;
  }
}
