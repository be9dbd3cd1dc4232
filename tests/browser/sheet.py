"""Twenty machines at three widths on one sheet, each measured: nothing illegible, nothing on top of another.

Run `python -m tests.browser.sheet [PART OF A NAME]...`; pictures and `sheet.html` land in `tests/browser/screenshots/`.
A table says how much of the stage every drawing fills and how small its smallest words are, and what is wrong with it;
the command ends with 1 where anything is.
"""

import sys
from pathlib import Path
from urllib.parse import parse_qsl

from playwright.sync_api import sync_playwright

from ops.plan.link import from_link
from tests.browser.legible import MEASURE, REMEMBER, Look
from tests.browser.visit import FLAGS, PLAYER, Visit, chromium_path
from ui.export.exports import Shot, render
from ui.plan.picture import carried_out

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
SIZES = ((1440, 900), (1920, 1080), (390, 844))
AT = 0.31
"""How far the run has come."""
SETTLED = 500
AGAIN = "e => e.ringside.seek(Number(e.dataset.timeS))"
"""Who keeps looking has all that stands still on sheets of its own, which tells its words from those that fly."""
ROW = "{:28} {:>7} {:>9} {:>7}  {}"


def main(*parts: str) -> int:
    """Draw all whose name has one of the parts in it, or all; returns how many have a fault."""
    FOLDER.mkdir(exist_ok=True)
    faulty, shown = 0, []
    print(ROW.format("picture", "filled", "smallest", "words", "wrong"), flush=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for name, query in MACHINES.items():
            files = {f"sheet-{name}-{size[0]}": size for size in SIZES}
            chosen = {file: size for file, size in files.items() if not parts or any(part in file for part in parts)}
            if not chosen:
                continue
            page = FOLDER / "sheet-page.html"
            page.write_bytes(_played(query))
            for file, size in chosen.items():
                look, complaints = _taken(browser, page, file, size)
                wrong = [*look.faults(), *complaints]
                faulty += bool(wrong)
                shown.append((file, wrong))
                row = (file, f"{look.filled:.0%}", f"{look.smallest:.1f} px", len(look.words), len(wrong) or "")
                print(ROW.format(*row), *(f"\n    {each}" for each in wrong), flush=True)
            page.unlink()
        browser.close()
    figures = "".join(f'<figure><img src="{f}.png"><figcaption>{f}: {len(w)}</figcaption></figure>' for f, w in shown)
    style = "figure{display:inline-block;margin:4px;font:12px sans-serif}img{height:420px;border:1px solid #ccc}"
    (FOLDER / "sheet.html").write_text(f"<style>{style}</style>{figures}", encoding="utf-8")
    print(f"{faulty} of {len(shown)} pictures have a fault")
    return faulty


def _taken(browser, page, file, size):
    """A picture of a page at a size, how it looks, and what the browser complained of."""
    visit = Visit(browser, FOLDER.as_uri(), viewport=dict(zip(("width", "height"), size, strict=True)))
    visit.page.add_init_script(REMEMBER)
    visit.page.goto(page.as_uri())
    visit.page.locator(PLAYER).wait_for()
    visit.page.wait_for_timeout(SETTLED)
    visit.page.locator(PLAYER).evaluate(AGAIN)
    look = Look(**visit.page.locator(".rs-stage").evaluate(MEASURE))
    visit.page.screenshot(path=FOLDER / f"{file}.png")
    visit.context.close()
    return look, visit.complaints


def _played(query):
    """A page that plays a link's run on its machine, as far as AT."""
    trace = carried_out(from_link(dict(parse_qsl(query)))).trace
    return render(trace, "html", Shot("machine", trace.time * AT))


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
