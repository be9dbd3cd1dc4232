"""Twenty machines at three widths on one sheet, each looked over: nothing illegible, nothing on top of another.

Run `python -m tests.browser.sheet [PART OF A NAME]`; pictures and `sheet.html` land in `tests/browser/screenshots/`.
What is wrong with a picture is told, and the command ends with 1.
"""

import sys
from pathlib import Path
from urllib.parse import parse_qsl

from playwright.sync_api import sync_playwright

from ops.request.link import from_link
from tests.browser.conftest import FLAGS, PLAYER, Visit, chromium_path
from ui.files.exports import Shot
from ui.scene.picture import export

FOLDER = Path(__file__).parent / "screenshots"
MACHINES = {
    "dgx_a100": "machine=dgx_a100",
    "dgx_h100": "machine=dgx_h100",
    "dgx_h100-4": "machine=dgx_h100:hosts=4",
    "gb200_nvl72": "machine=gb200_nvl72",
    "dgx1v": "machine=dgx1v&algorithm=alltoall.linear",
    "dgx2": "machine=dgx2",
    "mi300x": "machine=mi300x&algorithm=alltoall.linear",
    "mi250x": "machine=mi250x",
    "a40_pairs": "machine=a40_pairs",
    "dual_socket_pcie": "machine=dual_socket_pcie",
    "numa": "machine=numa",
    "geforce_4090": "machine=geforce_4090",
    "nodes-4": "machine=nodes:nodes=4",
    "dgx_h100-32": "machine=dgx_h100:hosts=32",
    "fat_tree": "machine=fat_tree",
    "fat_tree-1024": "machine=fat_tree:pods=16,leaves=4,gpus=16",
    "torus-8x8x8": "machine=torus:dims=8x8x8",
    "dragonfly": "machine=dragonfly:groups=9,routers=4,gpus=4",
    "switch-64": "machine=switch:ranks=64",
    "hgx-h100-capture": "capture=example-hgx-h100",
}
SIZES = ((1440, 900), (1280, 720), (390, 844))
LEAST = 11
"""Pixels below which nobody reads."""
FILLED = 2 / 3
"""The share of the stage that what is drawn on it takes up, from edge to edge."""
SETTLED = 500
WRITTEN = """
globalThis.written = [];
for (const kind of [CanvasRenderingContext2D, OffscreenCanvasRenderingContext2D]) {
  const plain = kind.prototype.fillText;
  kind.prototype.fillText = function (text, x, y, ...room) {
    const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right, actualBoundingBoxAscent: up,
      actualBoundingBoxDescent: down } = this.measureText(text);
    const squeeze = Math.min(1, (room[0] ?? Infinity) / (left + right));
    const size = (parseFloat(this.font.match(/([\\d.]+)px/)[1]) * this.getTransform().a) / devicePixelRatio;
    written.push({ text, size, wide: this.canvas.width, high: this.canvas.height,
      box: [x - left * squeeze, y - up, x + right * squeeze, y + down] });
    return plain.call(this, text, x, y, ...room);
  };
}
"""
LOOK = """canvas => {
  written.length = 0;
  dispatchEvent(new Event("resize"));
  const player = canvas.getRootNode().querySelector('[data-ringside="player"]');
  player.ringside.redraw?.();
  const g = canvas.getContext("2d"), { width, height } = canvas;
  const { data } = g.getImageData(0, 0, width, height);
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) if (data[4 * (y * width + x) + 3]) {
    left = Math.min(left, x); right = Math.max(right, x + 1); top = Math.min(top, y); bottom = Math.max(bottom, y + 1);
  }
  return { width, height, filled: Math.max(0, right - left) * Math.max(0, bottom - top) / (width * height),
    texts: written.filter(({ wide, high }) => wide === width && high === height) };
}"""


def faults(look):
    """What is wrong with a drawing, a line each."""
    texts = look["texts"]
    for entry in texts:
        if entry["size"] < LEAST - 0.01:
            yield f"{entry['text']!r} stands in {entry['size']:.1f} px"
    for k, one in enumerate(texts):
        for other in texts[k + 1 :]:
            if one["text"] != other["text"] and _overlap(one["box"], other["box"]):
                yield f"{one['text']!r} and {other['text']!r} overlap"
    if look["filled"] < FILLED:
        yield f"it fills {look['filled']:.0%} of the stage"


def _overlap(one, other):
    return all(one[k] + 1 < other[k + 2] and other[k] + 1 < one[k + 2] for k in (0, 1))


def main(part: str = "") -> int:
    """Draw all whose name has the part in it; returns how many have a fault."""
    FOLDER.mkdir(exist_ok=True)
    faulty, shown = 0, []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for name, query in MACHINES.items():
            names = {size: f"sheet-{name}-{size[0]}" for size in SIZES}
            if not any(part in file for file in names.values()):
                continue
            page = FOLDER / "sheet-page.html"
            page.write_bytes(_played(query))
            for (width, height), file in names.items():
                if part not in file:
                    continue
                visit = Visit(browser, FOLDER.as_uri(), viewport={"width": width, "height": height})
                visit.page.add_init_script(WRITTEN)
                visit.page.goto(page.as_uri())
                visit.page.locator(PLAYER).wait_for()
                visit.page.wait_for_timeout(SETTLED)
                told = list(faults(visit.page.locator(".rs-stage").evaluate(LOOK))) + visit.complaints
                visit.page.screenshot(path=FOLDER / f"{file}.png")
                visit.context.close()
                faulty += bool(told)
                shown.append((file, told))
                sys.stdout.write("".join([f"{file}: {'fine' if not told else ''}\n", *(f"  {t}\n" for t in told[:8])]))
            page.unlink()
        browser.close()
    figures = "".join(f'<figure><img src="{f}.png"><figcaption>{f}: {len(t)}</figcaption></figure>' for f, t in shown)
    style = "figure{display:inline-block;margin:4px;font:12px sans-serif}img{height:420px;border:1px solid #ccc}"
    (FOLDER / "sheet.html").write_text(f"<style>{style}</style>{figures}", encoding="utf-8")
    return faulty


def _played(query):
    """A page that plays a link's run on its machine, a third of the way through."""
    words = dict(parse_qsl(query))
    scene = from_link(words)
    time = scene.run().trace.time
    return export(scene, "html", Shot("machine", time * 0.31))


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:2]) else 0)
