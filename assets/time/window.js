// Which stretch of time is in sight: all of it at first, then as near as a person goes. All pictures of time share it.

const NEAREST = 1e-5; // of the whole

const within = (value, low, high) => Math.max(low, Math.min(high, value));

export class TimeWindow {
  constructor() {
    this.turn = 0; // changes whenever other instants are in sight
    this.follow(1);
  }

  // Show all of so many seconds, unless it is they that are shown.
  follow(total) {
    if (total === this.total) return;
    this.total = total || 1;
    this.home();
  }

  get span() {
    return this.to - this.from;
  }

  get isHome() {
    return this.span >= this.total;
  }

  home() {
    this.#settle(0, this.total);
  }

  #settle(from, span) {
    const wide = within(span, this.total * NEAREST, this.total);
    this.from = within(from, 0, this.total - wide);
    this.to = this.from + wide;
    this.turn += 1;
  }

  // So many times nearer, around an instant that stays where it is.
  zoom(t, factor) {
    const span = within(this.span / factor, this.total * NEAREST, this.total);
    this.#settle(t - ((t - this.from) / this.span) * span, span);
  }

  show([from, to]) {
    this.#settle(from, to - from);
  }

  shift(seconds) {
    this.#settle(this.from + seconds, this.span);
  }

  // Have an instant in sight.
  reach(t) {
    if (t < this.from || t > this.to) this.#settle(t - 0.1 * this.span, this.span);
  }
}

// Where instants of a window stand between two edges of a surface, in pixels; and a camera to move it with.
export class TimeAxis {
  constructor(window, left, right) {
    Object.assign(this, { window, left, right });
  }

  x(t) {
    return this.left + ((this.right - this.left) * (t - this.window.from)) / this.window.span;
  }

  // The instant at so many pixels; at the edge beyond it.
  t(px) {
    return this.window.from + within((px - this.left) / (this.right - this.left), 0, 1) * this.window.span;
  }

  // Where a stretch of time is in sight: its ends in pixels, or null.
  seen(begin, end) {
    if (end < this.window.from || begin > this.window.to) return null;
    return [Math.max(this.left, this.x(begin)), Math.min(this.right, this.x(end))];
  }

  get camera() {
    const { window, left, right } = this;
    return {
      window,
      centre: [(left + right) / 2, 0],
      isHome: window.isHome,
      zoomAt: (px, _, factor) => window.zoom(this.t(px), factor),
      pan: (dx) => window.shift((-dx * window.span) / (right - left)),
      home: () => window.home(),
    };
  }
}
