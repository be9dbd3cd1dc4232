"""Words of drawings on a page that stand out too little from what is behind them, which axe does not look at."""

from ui.layout.palette import contrast

LEAST = 4.5
RULE = ("svg-contrast", f"words of drawings stand out at {LEAST}:1")
WORDS = """() => {
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const over = (ground, paint, share) => {
  canvas.globalAlpha = 1;
  canvas.fillStyle = ground;
  canvas.fillRect(0, 0, 1, 1);
  canvas.globalAlpha = share;
  canvas.fillStyle = paint;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
  return `#${[r, g, b].map(part => part.toString(16).padStart(2, "0")).join("")}`;
};
const fades = e => e && e.nodeType === 1 ? getComputedStyle(e).opacity * fades(e.parentNode) : 1;
const paper = e => {
  const behind = [];
  for (let at = e; at && at.nodeType === 1; at = at.parentNode ?? at.host) behind.unshift(at);
  return behind.reduce((ground, at) => over(ground, getComputedStyle(at).backgroundColor, 1), "#ffffff");
};
const covers = (shape, x, y) => {
  const place = shape.getScreenCTM();
  return Boolean(place) && shape.isPointInFill(new DOMPoint(x, y).matrixTransform(place.inverse()));
};
const middle = e => {
  const box = e.getBoundingClientRect();
  return box.width && [box.x + box.width / 2, box.y + box.height / 2];
};
const rimmed = (ground, { stroke, strokeOpacity, strokeWidth }) =>
  stroke === "none" || !parseFloat(strokeWidth) ? ground : over(ground, stroke, strokeOpacity);
const found = [];
for (const svg of document.querySelectorAll("svg")) {
  const shapes = [...svg.querySelectorAll("path, rect, circle, ellipse, polygon, text")];
  for (const [k, text] of shapes.entries()) {
    const [at, style, words] = [middle(text), getComputedStyle(text), text.textContent.trim()];
    const share = style.fillOpacity * fades(text);
    if (text.tagName !== "text" || !words || !at || !share || style.visibility === "hidden") continue;
    let ground = paper(svg);
    for (const shape of shapes.slice(0, k)) {
      const drawn = getComputedStyle(shape);
      const { fill, fillOpacity } = drawn;
      if (shape.tagName === "text") { // the same words below are their rim
        const [x, y] = middle(shape) || [];
        const isRim = shape.textContent.trim() === words && Math.hypot(x - at[0], y - at[1]) < 1;
        if (isRim) ground = rimmed(ground, drawn);
      } else if (fill !== "none" && !fill.startsWith("url") && covers(shape, ...at))
        ground = over(ground, fill, fillOpacity * fades(shape));
    }
    ground = rimmed(ground, style);
    found.push([text.outerHTML, over(ground, style.fill, share), ground]);
  }
}
return found;
}"""


def faint(page):
    """The words that are too faint: the code of each, and what is wrong with it."""
    return [
        (html, f"{ink} on {ground} is {contrast(ink, ground):.2f}:1")
        for html, ink, ground in page.evaluate(WORDS)
        if contrast(ink, ground) < LEAST
    ]
