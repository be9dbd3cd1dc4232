// Where a card stands: at what it is about, clear of it, and within the picture.

const [GAP, EDGE] = [30, 6]; // pixels

export class Place {
  #card;
  #key = null;
  #point = null;
  #root;

  constructor(root, card) {
    [this.#root, this.#card] = [root, card];
    new ResizeObserver(() => {
      this.#key = null;
      this.at(this.#point);
    }).observe(card);
  }

  // Stand at a point of the picture in pixels; without one in its upper right corner. Under a pressed pointer it stays where
  // it is: a slider that moved away would slide.
  at(point) {
    const key = point ? `${Math.round(point.x)},${Math.round(point.y)},${point.width},${point.height}` : "";
    if (this.#key === key || this.#card.matches(":active")) return;
    [this.#key, this.#point] = [key, point];
    const { style, dataset } = this.#root;
    const [wide, high] = [this.#root.offsetWidth, this.#card.offsetHeight];
    dataset.side = point ? sideOf(point, high) : "corner";
    if (!point) {
      style.translate = "";
      return;
    }
    const { x, y, width, height } = point;
    const left = Math.max(EDGE, Math.min(x - wide / 2, width - wide - EDGE));
    const under = { below: y + GAP, above: y - GAP - high, beside: Math.max(EDGE, height - high - EDGE) };
    const aside = x < width / 2 ? x + GAP : x - GAP - wide;
    const across = dataset.side === "beside" ? Math.max(EDGE, Math.min(aside, width - wide - EDGE)) : left;
    style.translate = `${Math.round(across)}px ${Math.round(under[dataset.side])}px`;
    style.setProperty("--rs-lead", `${Math.round(Math.max(12, Math.min(wide - 12, x - across)))}px`);
  }
}

function sideOf({ y, height }, high) {
  if (y + GAP + high + EDGE <= height) return "below";
  return y - GAP - high >= EDGE ? "above" : "beside";
}
