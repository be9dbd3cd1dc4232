// Paper at the resolution of the screen: a canvas of the page, and layers as large for what seldom changes.

const sheets = new WeakMap(); // of a canvas, by name
const ratio = () => globalThis.devicePixelRatio || 1;

function scaled(canvas, width, height) {
  const [w, h] = [Math.max(1, Math.round(width * ratio())), Math.max(1, Math.round(height * ratio()))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d");
  context.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  return context;
}

export class Surface {
  #canvas;

  // `colours` are those of `theme`.
  constructor(canvas, colours) {
    this.#canvas = canvas;
    this.colours = colours;
    [this.width, this.height, this.context] = [0, 0, null];
  }

  get ratio() {
    return ratio();
  }

  // Make it so large, in CSS pixels, in which all painting is done: whole ones, or layers would be laid a little smaller.
  resize(width, height) {
    [this.width, this.height] = [Math.round(width), Math.round(height)];
    this.context = scaled(this.#canvas, this.width, this.height);
    Object.assign(this.#canvas.style, { width: `${this.width}px`, height: `${this.height}px` });
  }

  // An empty sheet of the same size to paint on once and lay on the surface often. Of a name a canvas has but one: it is
  // that of the picture which was laid out last, and fresh ones for every run would be most of what its first frame takes.
  layer(name) {
    if (!sheets.has(this.#canvas)) sheets.set(this.#canvas, new Map());
    const own = sheets.get(this.#canvas);
    const old = own.get(name);
    if (old) {
      old.setTransform(1, 0, 0, 1, 0, 0);
      old.clearRect(0, 0, old.canvas.width, old.canvas.height);
      old.reset?.();
    } else own.set(name, new OffscreenCanvas(1, 1).getContext("2d"));
    return scaled(own.get(name).canvas, this.width, this.height);
  }

  // The surface as it came: nothing is on it, and nothing said of how to paint.
  blank() {
    const { context } = this;
    context.reset();
    context.setTransform(ratio(), 0, 0, ratio(), 0, 0);
    return context;
  }

  lay(layer, context = this.context) {
    context.drawImage(layer.canvas, 0, 0, this.width, this.height);
  }

  // Show again what a sheet has from one edge to another.
  mend(layer, left, wide) {
    const { context, height } = this;
    context.clearRect(left, 0, wide, height);
    const [x, w, h] = [left, wide, height].map((length) => length * ratio());
    context.drawImage(layer.canvas, x, 0, w, h, left, 0, wide, height);
  }

  clear(context = this.context) {
    context.clearRect(0, 0, this.width, this.height);
  }
}
