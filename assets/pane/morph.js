// From one view to another: what stood there fades, and what both show goes from its old place to its new one.

const LASTS = 400; // ms
const SIDE = 18;

const eased = (share) => (share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2);

const leaveOut = (drawn) => drawn.splice(0);

export class Morph {
  #begun = performance.now();
  #picture;
  #places;
  #ranks;
  #still;

  // `picture` is what `canvas` shows at t, `next` what it will.
  constructor(picture, canvas, t, next) {
    this.#places = picture.places?.(t) ?? new Map();
    this.#ranks = picture.ranks?.() ?? new Map();
    this.#picture = next;
    picture.paint(t, { focus: null, lit: null, travel: leaveOut });
    this.#still = new OffscreenCanvas(canvas.width, canvas.height);
    this.#still.getContext("2d").drawImage(canvas, 0, 0);
  }

  get share() {
    return Math.min(1, (performance.now() - this.#begun) / LASTS);
  }

  get isOver() {
    return this.share >= 1;
  }

  // What a picture takes to be painted on its way: a veil over what stands still, and places on the way for what flies.
  state(colours) {
    const part = eased(this.share);
    const between = (from, to) => ({ x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part });
    return {
      veil: (g) => this.#veil(g, part, between, colours),
      travel: (drawn) => {
        for (const block of drawn) {
          const from = this.#places.get(block.i);
          if (from) Object.assign(block, between(from, block));
        }
      },
    };
  }

  #veil(g, part, between, colours) {
    const { width, height } = g.canvas;
    const ratio = globalThis.devicePixelRatio || 1;
    g.globalCompositeOperation = "destination-in";
    g.globalAlpha = part;
    g.fillStyle = colours.ink;
    g.fillRect(0, 0, width, height);
    g.globalCompositeOperation = "source-over";
    g.globalAlpha = 1 - part;
    g.drawImage(this.#still, 0, 0, this.#still.width / ratio, this.#still.height / ratio);
    g.globalAlpha = 4 * part * (1 - part);
    for (const [rank, to] of this.#picture.ranks?.() ?? []) {
      const from = this.#ranks.get(rank);
      if (!from) continue;
      const { x, y } = between(from, to);
      g.fillStyle = colours.paper;
      g.strokeStyle = colours.ink;
      g.lineWidth = 1.4;
      g.beginPath();
      g.roundRect(x - SIDE / 2, y - SIDE / 2, SIDE, SIDE, 5);
      g.fill();
      g.stroke();
      g.fillStyle = colours.ink;
      g.font = `600 12px ${colours.font}`;
      g.textAlign = "center";
      g.textBaseline = "middle";
      g.fillText(String(rank), x, y + 0.5);
    }
    g.globalAlpha = 1;
  }
}
