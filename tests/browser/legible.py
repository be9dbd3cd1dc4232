"""Whether what a page has drawn can be read: all words that stand on its canvases, and how much of the stage is used.

`REMEMBER` runs before a page's own scripts, `MEASURE` on the stage's canvas; a `Look` is made of what it returns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LEAST = 11
"""Pixels below which nobody reads."""
ROUNDED = 0.05
"""Pixels of type by which canvases, which are whole pixels wide, may differ from their place on the page."""
FILLED = 2 / 3
"""The share of the stage that what is drawn on it takes up, from edge to edge."""
TOUCH = 1
"""Pixels by which boxes of words may meet: a letter's box is larger than its ink."""

REMEMBER = """(() => {
const written = new WeakMap();
globalThis.wordsOn = canvas => written.get(canvas) ?? [];
const at = (m, [x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f];
const place = (m, [l, t, r, b]) => [...at(m, [l, t]), ...at(m, [r, b])];
const covered = (canvas, [l, t, r, b]) => written.set(canvas, wordsOn(canvas).filter(({ box }) =>
  !((box[0] + box[2]) / 2 > l && (box[0] + box[2]) / 2 < r && (box[1] + box[3]) / 2 > t && (box[1] + box[3]) / 2 < b)));
for (const kind of [CanvasRenderingContext2D, OffscreenCanvasRenderingContext2D]) {
  const { fillText, clearRect, drawImage, putImageData } = kind.prototype;
  kind.prototype.fillText = function (text, x, y, ...room) {
    const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right, actualBoundingBoxAscent: up,
      actualBoundingBoxDescent: down } = this.measureText(text);
    const squeeze = Math.min(1, (room[0] ?? Infinity) / (left + right));
    const m = this.getTransform();
    const size = parseFloat(this.font.match(/([\\d.]+)px/)[1]) * m.d;
    const box = place(m, [x - left * squeeze, y - up, x + right * squeeze, y + down]);
    const layer = !this.canvas.isConnected;
    written.set(this.canvas, [...wordsOn(this.canvas), { text: String(text), size, box, layer }]);
    return fillText.call(this, text, x, y, ...room);
  };
  kind.prototype.clearRect = function (x, y, w, h) {
    covered(this.canvas, place(this.getTransform(), [x, y, x + w, y + h]));
    return clearRect.call(this, x, y, w, h);
  };
  kind.prototype.putImageData = function (data, x, y, l = 0, t = 0, w = data.width, h = data.height) {
    covered(this.canvas, [x + l, y + t, x + l + w, y + t + h]);
    return putImageData.call(this, data, x, y, l, t, w, h);
  };
  kind.prototype.drawImage = function (image, x, y, w = image.width, h = image.height, ...rest) {
    const m = this.getTransform(), [sx, sy] = [w / image.width, h / image.height];
    if (!rest.length) written.set(this.canvas, [...wordsOn(this.canvas), ...wordsOn(image).map(one => ({ ...one,
      size: one.size * sy * m.d,
      box: place(m, one.box.map((v, k) => k % 2 ? y + v * sy : x + v * sx)) }))]);
    return drawImage.call(this, image, x, y, w, h, ...rest);
  };
}
})()"""
MEASURE = """stage => {
  const { width, height } = stage;
  const { data } = stage.getContext("2d").getImageData(0, 0, width, height);
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) if (data[4 * (y * width + x) + 3]) {
    left = Math.min(left, x); right = Math.max(right, x + 1); top = Math.min(top, y); bottom = Math.max(bottom, y + 1);
  }
  const words = [...stage.getRootNode().querySelectorAll("canvas")].flatMap((canvas, number) => {
    const { width: wide, height: high } = canvas.getBoundingClientRect();
    const [x, y] = [wide / canvas.width, high / canvas.height];
    return wide ? wordsOn(canvas).map(({ text, size, box, layer }) => ({ text, size: size * y, layer,
      canvas: canvas.className, box: box.map((v, k) => v * (k % 2 ? y : x)), room: [wide, high] })) : [];
  });
  const lines = [...stage.closest("body").querySelectorAll("*")].flatMap(e => {
    const own = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim()).map(n => n.data.trim()).join(" ");
    const { width: wide, height: high } = e.getBoundingClientRect();
    return own && wide && high ? [{ text: own, size: parseFloat(getComputedStyle(e).fontSize) }] : [];
  });
  const { scrollWidth, clientWidth } = document.documentElement;
  return { beyond: scrollWidth - clientWidth,
    filled: Math.max(0, right - left) * Math.max(0, bottom - top) / (width * height), words, lines };
}"""


@dataclass(frozen=True)
class Look:
    """What a page shows: the share of its stage that is filled, pixels by which it is wider than its window, `words` on
    canvases, `lines` of text beside them.

    A word has its `text`, `size` in pixels, `box` (left, top, right, bottom) and `room` (width, height) on its
    `canvas`, and `layer`, whether it stands still; a line `text` and `size`.
    """

    filled: float
    beyond: float
    words: list[dict[str, Any]]
    lines: list[dict[str, Any]]

    @property
    def smallest(self) -> float:
        """The size of the smallest words anywhere, in pixels."""
        return float(min(entry["size"] for entry in [*self.words, *self.lines]))

    def faults(self) -> Iterator[str]:
        """What is wrong, a line each."""
        for entry in [*self.words, *self.lines]:
            if entry["size"] < LEAST - ROUNDED:
                yield f"{entry['text']!r} stands in {entry['size']:.1f} px"
        for word in self.words:
            if _leaves(word):
                yield f"{word['text']!r} is cut off at the edge of {word['canvas']}"
        for k, one in enumerate(self.words):
            for other in self.words[k + 1 :]:
                if _overlap(one, other):
                    yield f"{one['text']!r} and {other['text']!r} overlap on {one['canvas']}"
        if self.beyond > 0:
            yield f"the page is {self.beyond:.0f} px wider than its window"
        if self.filled < FILLED:
            yield f"it fills {self.filled:.0%} of the stage"


def _leaves(word: dict[str, Any]) -> bool:
    left, top, right, bottom = word["box"]
    wide, high = word["room"]
    return bool(left < -TOUCH or top < -TOUCH or right > wide + TOUCH or bottom > high + TOUCH)


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Words that stand still on one canvas, or both fly, in each other's place; a block in flight may pass a name."""
    a, b = one["box"], other["box"]
    same = one["canvas"] == other["canvas"] and one["layer"] == other["layer"]
    return same and all(a[k] + TOUCH < b[k + 2] and b[k] + TOUCH < a[k + 2] for k in (0, 1))
