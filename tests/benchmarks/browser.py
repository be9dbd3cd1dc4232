"""How the dashboard feels, measured in a real browser: frames per second, payload, and times to a new picture.

Run `python -m tests.benchmarks.browser`; every line says what is wanted beside what was found.
"""

import json
import statistics
import time
from itertools import pairwise

from playwright.sync_api import sync_playwright

from ops.request import Request
from tests.browser.conftest import FLAGS, Visit, chromium_path, serve
from ui.player.payload import pack
from ui.scene.picture import carried_out

FRAMES = """async seconds => {
  const ticks = [];
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) ticks.push(await new Promise(requestAnimationFrame));
  return ticks;
}"""
SECONDS = 5
NEW = "([e, steps]) => e.dataset.steps !== steps && e.dataset.steps !== undefined"


def rate(visit: Visit) -> float:
    """Median frames per second over some seconds of playing."""
    visit.player.locator(".rs-speed").select_option("0.25")
    visit.press("Play")
    ticks = visit.page.evaluate(FRAMES, SECONDS)
    visit.press("Pause")
    return 1000 / statistics.median(b - a for a, b in pairwise(ticks))


def opened(browser, address: str, query: str) -> tuple[Visit, float]:
    """A page, and the seconds from asking for it to its first picture."""
    visit = Visit(browser, address)
    begun = time.perf_counter()
    visit.open(query)
    return visit, time.perf_counter() - begun


def changed(visit: Visit) -> float:
    """Seconds from a key on the slider of ranks to the first frame of the new run."""
    slider = visit.open_drawer().get_by_role("slider").first
    slider.focus()
    steps = visit.data("steps")
    begun = time.perf_counter()
    slider.press("ArrowLeft")
    visit.page.wait_for_function(NEW, arg=[visit.player.element_handle(), steps], polling=10)
    return time.perf_counter() - begun


def report(what: str, found: float, wanted: str, unit: str) -> None:
    """One line."""
    print(f"{what:52} {found:9.3g} {unit:4} wanted {wanted}", flush=True)


def main() -> None:
    """Measure all of it."""
    ring = carried_out(Request(machine="switch:ranks=64"))
    report("payload of the 64-rank ring", len(json.dumps(pack(ring.trace))) / 1e6, "under 1", "MB")
    address, server = serve()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            opened(browser, address, "")[0].context.close()
            visit, seconds = opened(browser, address, "")
            report("first picture of the first scene", seconds, "under 2", "s")
            visit.context.close()
            for what, query in (
                ("ring, 64 ranks", "?machine=switch:ranks=64"),
                ("who holds what, 64 ranks", "?machine=switch:ranks=64&view=matrix"),
                ("messages over time, 64 ranks", "?machine=switch:ranks=64&view=time"),
                ("272 blocks in flight", "?machine=switch:ranks=17&algorithm=alltoall.linear"),
                ("two runs of 64 ranks", "?machine=switch:ranks=64&against=algorithm=allreduce.rabenseifner"),
            ):
                visit, _ = opened(browser, address, query)
                visit.page.wait_for_timeout(1000)
                frames = rate(visit) if "against" not in query else rate_of_several(visit)
                report(f"playing: {what}", frames, "60, 30 at least", "/s")
                visit.context.close()
            visit, _ = opened(browser, address, "?machine=switch:ranks=17")
            changes = [changed(visit) for _ in range(5)]
            report("a slider's change to the first new frame, 16 ranks", statistics.median(changes), "under 1", "s")
            visit.context.close()
            visit, seconds = opened(browser, address, "?machine=switch:ranks=1024")
            report("1,024 ranks opened", seconds, "under 6", "s")
            visit.context.close()
            browser.close()
    finally:
        server.terminate()


def rate_of_several(visit: Visit) -> float:
    """As `rate`, where one bar moves several runs."""
    bar = visit.page.locator(".rs-controls")
    bar.get_by_role("button", name="Play", exact=True).click()
    ticks = visit.page.evaluate(FRAMES, SECONDS)
    return 1000 / statistics.median(b - a for a, b in pairwise(ticks))


if __name__ == "__main__":
    main()
