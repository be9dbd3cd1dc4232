"""How long a drag takes from the input event to the painted frame, in the page, and the same question to the server.

Run `python -m tests.benchmarks.whatif [RANKS]...`. An exported page is opened from disk, a bandwidth is dragged, and
each step is timed until the frame after it has been handed over. `idle` is what an empty step takes. The server
is asked for the same run, and timed until its answer is read; nothing is decoded or drawn.
"""

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from ops.plan import Plan
from ops.plan.link import to_link
from tests.browser.visit import FLAGS, PLAYER, Visit, chromium_path, serve
from ui.export.exports import Shot, played
from ui.plan.picture import carried_out

RANKS = (8, 64, 256, 512)
WANTED = {8: 60, 64: 60, 256: 10, 512: 10}
"""Frames per second that are wanted."""
STEPS, ASKED = 20, 5
"""Steps of a drag, and questions to the server."""
PAINTED = """async ([slider, places]) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const timed = async (act) => {
    await painted();
    const begun = performance.now();
    act();
    const worked = performance.now() - begun;
    await painted();
    return [worked, performance.now() - begun];
  };
  const drag = (place) => () => { slider.value = place; slider.dispatchEvent(new Event("input")); };
  const drags = [], idle = [];
  for (const place of places) {
    idle.push((await timed(() => {}))[1]);
    drags.push(await timed(drag(place)));
  }
  return { drags, idle };
}"""
ASK = """async ([plan, asked]) => {
  const begun = performance.now();
  const body = JSON.stringify({ plan, language: "en", asked });
  const answer = await fetch("ahead/future", { method: "POST", headers: { "content-type": "application/json" }, body });
  return [performance.now() - begun, await answer.json() !== null];
}"""
ROW = "{:>5} ranks  {:>10} {:>10} {:>8} {:>10}  {:>10}  {}"


LINKS = 256
"""Ranks up to which links can be chosen from the list; beyond, all links of a rank are dragged."""


def dragged(browser: Any, file: Path, n: int) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of work, until a frame, and until one of an idle page, for each step of a drag."""
    visit = Visit(browser, file.parent.as_uri())
    visit.page.goto(file.as_uri())
    visit.page.locator(PLAYER).wait_for()
    visit.player.evaluate("e => e.ringside.seek(e.ringside.run().time / 2)")
    label, key = ("SW → GPU3", "bandwidth") if n <= LINKS else ("rank 3 · GPU3", "slower")
    visit.player.get_by_label("Look at").select_option(label=label)
    slider = visit.player.locator(f"[data-drag={key}]").first.element_handle()
    visit.player.locator(".rs-curve:visible").first.wait_for()
    places = [-k if key == "bandwidth" else 20 + k for k in range(1, STEPS + 1)]
    visit.page.evaluate(PAINTED, [slider, places[:2]])
    said = visit.page.evaluate(PAINTED, [slider, places])
    if not visit.player.locator(".rs-answer").is_visible():
        raise AssertionError("nothing was answered")
    visit.context.close()
    worked, painted = zip(*said["drags"], strict=True)
    return list(worked), list(painted), said["idle"]


def answered(visit: Visit, plan: Plan) -> str:
    """Milliseconds until the server has answered the same question."""
    times = []
    for k in range(ASKED):
        took, is_there = visit.page.evaluate(ASK, [to_link(plan), f"set_link:src=SW,dst=GPU3,bandwidth={11 + k}GBps"])
        if not is_there:
            return "over 1 s"
        times.append(took)
    return f"{statistics.median(times):.0f} ms"


def main(*ranks: str) -> None:
    """Print a line for each number of ranks."""
    print(ROW.format("", "work", "to frame", "idle", "worst", "server", "wanted"), flush=True)
    address, server = serve()
    try:
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            visit = Visit(browser, address).open("?machine=switch:ranks=4")
            for n in map(int, ranks or RANKS):
                plan = Plan(machine=f"switch:ranks={n}", algorithm="allreduce.ring", size="64MiB")
                file = Path(folder) / f"{n}.html"
                file.write_bytes(played([carried_out(plan).trace], Shot()))
                worked, painted, idle = dragged(browser, file, n)
                medians = (f"{statistics.median(times):.1f} ms" for times in (worked, painted, idle))
                wanted = f"{WANTED.get(n, 10)} frames a second"
                print(ROW.format(n, *medians, f"{max(painted):.1f} ms", answered(visit, plan), wanted), flush=True)
            browser.close()
    finally:
        server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
