"""Frames per second while blocks fly, in every view and at several numbers of ranks, beside a page where nothing moves.

Run `python -m tests.benchmarks.frames [RANKS]...`. Both are measured in turns of a second or two and in the same
minute, so that what else the machine does bears on both; `cpu` is the processor time that all of the browser takes for
a frame on top of an idle page's, which says something on a busy machine, too. The command ends with 1 where a view has
less than WANTED of the frames of the idle page, or its slow frames take longer to draw than LONGEST.
"""

import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from playwright.sync_api import sync_playwright

from ops.plan.link import from_link
from sim.trace import Trace
from tests.browser.conftest import FLAGS, PLAYER, Visit, chromium_path
from ui.export.exports import Shot, played
from ui.plan.picture import carried_out
from ui.player.views import VIEWS

RUNS = {
    8: "machine=dgx_h100",
    64: "machine=switch:ranks=64",
    256: "machine=dgx_h100:hosts=32",
    1024: "machine=fat_tree:pods=16,leaves=4,gpus=16&algorithm=allreduce.recursive_doubling",
}
WANTED, LONGEST = 0.95, 8.0
"""Of the idle page's frames, and milliseconds of drawing in nineteen frames of twenty."""
TURNS, SECONDS = 3, 1.5
IDLE = "<!doctype html><title>idle</title><p>Nothing moves here."
CLOCKED = """globalThis.drawn = [];
const ask = globalThis.requestAnimationFrame.bind(globalThis);
globalThis.requestAnimationFrame = act => ask(now => {
  const begun = performance.now(); act(now); globalThis.drawn.push(performance.now() - begun); });
globalThis.plainFrame = ask;"""
FRAMES = """async seconds => {
  const ticks = [], end = performance.now() + seconds * 1000;
  globalThis.drawn = [];
  while (performance.now() < end) ticks.push(await new Promise(globalThis.plainFrame));
  return [ticks, globalThis.drawn, document.querySelector("[data-ringside]")?.ringside.blocks().length ?? 0];
}"""
ROW = "{:>5} ranks, {:8} {:>9} {:>7} {:>7} {:>6} {:>9} {:>9}  {}"


def main(*ranks: str) -> int:
    """Measure all runs, or those of so many ranks; returns how many views are too slow."""
    slow = 0
    print(
        ROW.format(
            "", "view", "in flight", "idle/s", "/s", "share", "draw p95", "cpu", f"wanted {WANTED:g}, {LONGEST:g} ms"
        )
    )
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for number, query in RUNS.items():
            if ranks and str(number) not in ranks:
                continue
            trace = carried_out(from_link(dict(parse_qsl(query)))).trace
            for view in VIEWS:
                slow += _measured(browser, Path(folder), trace, view)
        browser.close()
    return slow


def _measured(browser: Any, folder: Path, trace: Trace, view: str) -> bool:
    """One line; whether it is too slow."""
    idle, page = _page(browser, folder, IDLE.encode()), _page(browser, folder, played([trace], Shot(view)))
    if page.data("view") != view:
        print(ROW.format(trace.schedule.n, view, "-", "", "", "", "", "", "it is refused"), flush=True)
        return False
    page.player.evaluate("(e, t) => e.ringside.seek(t)", trace.time * 0.4)
    page.player.locator(".rs-speed").select_option("0.25")
    rates: dict[str, list[float]] = {"idle": [], "played": []}
    drawn: list[float] = []
    flying: list[int] = []
    spent = {"idle": 0.0, "played": 0.0}
    for _ in range(TURNS):
        idle.page.bring_to_front()
        before = _spent(browser)
        rates["idle"] += _gaps(idle.page.evaluate(FRAMES, SECONDS)[0])
        spent["idle"] += _spent(browser) - before
        page.page.bring_to_front()
        page.press("Play")
        before = _spent(browser)
        ticks, took, count = page.page.evaluate(FRAMES, SECONDS)
        spent["played"] += _spent(browser) - before
        page.press("Pause")
        rates["played"] += _gaps(ticks)
        drawn += took
        flying.append(count)
    still, moving = (len(gaps) / sum(gaps) * 1000 for gaps in rates.values())
    p95 = statistics.quantiles(drawn, n=20)[-1]
    bad = moving < WANTED * still or p95 > LONGEST
    lone, whole = (1000 * seconds / len(rates[name]) for name, seconds in spent.items())
    row = (f"{still:.1f}", f"{moving:.1f}", f"{moving / still:.2f}", f"{p95:.2f} ms", f"{whole - lone:.2f} ms")
    print(ROW.format(trace.schedule.n, view, max(flying), *row, "too slow" if bad else ""), flush=True)
    for one in (idle, page):
        one.context.close()
    return bad


def _page(browser: Any, folder: Path, content: bytes) -> Visit:
    file = folder / "frames.html"
    file.write_bytes(content)
    visit = Visit(browser, folder.as_uri())
    visit.page.add_init_script(CLOCKED)
    visit.page.goto(file.as_uri())
    if content != IDLE.encode():
        visit.page.locator(PLAYER).wait_for()
    return visit


def _spent(browser: Any) -> float:
    """Seconds of processor time that all processes of a browser have taken."""
    session = browser.new_browser_cdp_session()
    took = sum(each["cpuTime"] for each in session.send("SystemInfo.getProcessInfo")["processInfo"])
    session.detach()
    return float(took)


def _gaps(ticks: list[float]) -> list[float]:
    return [b - a for a, b in pairwise(ticks)]


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
