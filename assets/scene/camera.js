// Where device widths come to stand on a surface: all of them at first, then as near as a person goes.

const LARGEST = 150; // pixels per device width when all is in view
const NEAREST = 240; // and as near as one may go
const EDGE = 0.25;
const NEXT_TO = 0.8; // of a surface for a box that is shown
const TALL = 1.3; // times as high a surface may be as things take that stand as far apart down as across
const STRETCH = { across: 2.4, down: 2 }; // times farther apart things may stand that way than the other

const within = (value, low, high) => Math.max(low, Math.min(high, value));

export class Camera {
  #across = 1;
  #down = 1;
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

  // How high the whole may be on so wide a surface.
  height(width) {
    const [, , wide, high] = this.#frame;
    return TALL * high * Math.min(width / wide, LARGEST);
  }

  // Look at what was looked at on a surface of another size. Things are as large as fits both ways, and stand farther
  // apart the way where there is room to spare.
  fit(width, height) {
    const [, , wide, high] = this.#frame;
    this.#size = [width, height];
    this.#home = Math.min(width / wide, height / high, LARGEST);
    this.#across = within(width / wide / this.#home, 1, STRETCH.across);
    this.#down = within(height / high / this.#home, 1, STRETCH.down);
    this.#settle(this.zoom, this.middle);
  }

  // Pixels per device width from one thing to the next, across and down; `scale` is how large things are.
  get wide() {
    return this.scale * this.#across;
  }

  get high() {
    return this.scale * this.#down;
  }

  // The middle of the surface, in pixels.
  get centre() {
    return this.#size.map((side) => side / 2);
  }

  // Left, top, width and height of all there is to see, in device widths.
  get whole() {
    return this.#frame;
  }

  get isHome() {
    return this.zoom === 1;
  }

  // The surface's left, top, right and bottom in device widths.
  get view() {
    const [width, height] = this.#size;
    const [across, down] = [width / 2 / this.wide, height / 2 / this.high];
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
    this.middle = [kept(x, left, wide, width / this.wide), kept(y, top, high, height / this.high)];
    this.left = width / 2 - this.middle[0] * this.wide;
    this.top = height / 2 - this.middle[1] * this.high;
    this.turn += 1;
  }

  // So many times nearer, around a point of the surface.
  zoomAt(px, py, factor) {
    const [width, height] = this.#size;
    const [x, y] = [(px - this.left) / this.wide, (py - this.top) / this.high];
    const zoom = within(this.zoom * factor, 1, Math.max(1, NEAREST / this.#home));
    const [wide, high] = [this.#home * zoom * this.#across, this.#home * zoom * this.#down];
    this.#settle(zoom, [x - (px - width / 2) / wide, y - (py - height / 2) / high]);
  }

  // So many pixels aside.
  pan(dx, dy) {
    const [x, y] = this.middle;
    this.#settle(this.zoom, [x - dx / this.wide, y - dy / this.high]);
  }

  // Have a box in the middle, as large as leaves its neighbours' edges in sight.
  show([, , left, top, wide, high]) {
    const [width, height] = this.#size;
    const zoom =
      NEXT_TO * Math.min(width / (wide * this.#home * this.#across), height / (high * this.#home * this.#down));
    this.#settle(zoom, [left + wide / 2, top + high / 2]);
  }

  home() {
    this.#settle(1, this.middle);
  }

  // How many times nearer, and the middle of what is looked at; null where all is in view.
  get nearness() {
    return this.isHome ? null : [this.zoom, ...this.middle];
  }

  look([zoom, ...middle]) {
    this.#settle(zoom, middle);
  }

  x(units) {
    return this.left + units * this.wide;
  }

  y(units) {
    return this.top + units * this.high;
  }
}
