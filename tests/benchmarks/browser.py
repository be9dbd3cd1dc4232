"""How the dashboard feels, measured in a real browser: frames per second, payload, and times to a new picture.

Run `python -m tests.benchmarks.browser`; every line says what is wanted beside what was found. With `--first` it tells
only how long first pictures and new frames take, beside a page that has nothing on it but Streamlit and a slider; with
`--hands` how long it takes from a hand that lets go on the stage until both futures are drawn, beside the same page;
with `--goals` the three times that a visitor notices most, beside the same page.
"""

import json
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from ops.plan import Plan
from tests.browser.visit import DESK, FLAGS, PLAYER, Visit, chromium_path, serve
from ui.plan.picture import carried_out
from ui.player.payload import pack

FRAMES = """async seconds => {
  const ticks = [];
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) ticks.push(await new Promise(requestAnimationFrame));
  return ticks;
}"""
SECONDS = 5
FRAME = 1 / 60
TIMES, STARTS = 20, 5
"""Measurements whose median is told; and of servers that have just been started."""
BARE = """import streamlit as st

value = st.slider("n", 0, 1000, 500)
st.html(f'<p class="shown" data-n="{value}">{value}</p>')
"""
"""As little as a page with a slider can be."""
SHIFTS = """globalThis.shifts = 0;
new PerformanceObserver((list) => { for (const { value } of list.getEntries()) globalThis.shifts += value; })
  .observe({ type: "layout-shift", buffered: true });"""
"""Adds up how much of a window moved how far (web.dev's layout shift score)."""
HANDS = {
    "a bandwidth is dragged": ("SW → GPU3", "range", "bandwidth"),
    "a rank is late": ("rank 3 · GPU3", "range", "late"),
    "a rank is slow": ("rank 3 · GPU3", "range", "slower"),
    "ranks change places": ("GPU3", "GPU40"),
    "a cable is put in": ("GPU3", "GPU40", "Shift"),
    "a cable is cut": ("H0.GPU0 → H0.NVS0", "Remove link"),
    "a NIC is lost": ("H3.NIC3", "Fail now"),
}
"""What a hand does, on the switch or, where hosts are named, on hosts: what it chooses and asks, or carries where."""
SWITCH, HOSTS = "?machine=switch:ranks=64&view=machine&t=0.001", "?machine=dgx_h100:hosts=8&view=machine&t=0.0005"
LET_GO = """([act]) => {
  globalThis.both = new Promise((resolve) => {
    let begun = null;
    const begin = () => { begun ??= performance.now(); };
    const old = () => [...document.querySelectorAll("*")].some(({ shadowRoot }) =>
      shadowRoot?.querySelector(".rs-old:not([hidden])"));
    document.addEventListener(act, begin, { capture: true, once: true });
    document.addEventListener("ringside-instant", function drawn() {
      if (begun === null || !old()) return;
      document.removeEventListener("ringside-instant", drawn);
      requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - begun) / 1000)));
    });
  });
}"""
"""Seconds from the end of an act until a frame with an old run in it has been handed over."""
DRAG = """(e, share) => {
  e.value = share;
  e.dispatchEvent(new Event("input"));
  e.dispatchEvent(new Event("change", { bubbles: true, composed: true }));
}"""
SPOT = """(e, name) => {
  const [canvas, tip] = [e.querySelector(".rs-stage"), e.querySelector(".rs-tip")];
  const { left, top, width, height } = canvas.getBoundingClientRect();
  for (let y = 4; y < height; y += 8)
    for (let x = 4; x < width; x += 8) {
      const place = { clientX: left + x, clientY: top + y };
      canvas.dispatchEvent(new PointerEvent("pointermove", place));
      const isIt = tip.style.display === "block" && tip.textContent.startsWith(`${name} · `);
      if (isIt) return [place.clientX + 2, place.clientY + 2];
    }
  return null;
}"""
"""Where on the stage a device is."""
KEYED = """([where, name, before]) => {
  globalThis.next = new Promise((resolve) => {
    let begun = null;
    const begin = () => { begun = performance.now(); };
    document.addEventListener("keydown", begin, { capture: true, once: true });
    requestAnimationFrame(function look() {
      const now = (typeof where === "string" ? document.querySelector(where) : where)?.dataset[name] ?? before;
      if (begun === null || now === before) requestAnimationFrame(look);
      else setTimeout(() => resolve((performance.now() - begun) / 1000));
    });
  });
}"""
"""Seconds from a key until a frame has been handed over in which something says another thing by a name than before."""


MOVES = f'{PLAYER}[data-time-s]:not([data-time-s="0"])'
"""A picture that has begun to play."""
DRAGGED = """([slider, place]) => {
  const said = () => slider.getRootNode().querySelector(".rs-said-headline").textContent;
  const before = said();
  const begun = performance.now();
  slider.value = String(place);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  return new Promise((resolve) => {
    const look = () => said() === before
      ? requestAnimationFrame(look)
      : requestAnimationFrame(() => resolve((performance.now() - begun) / 1000));
    look();
  });
}"""
"""Seconds from a slider's move until a frame has been handed over in which the answer says another number."""


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
    slider = visit.open_settings().get_by_role("slider", name=visit.told("page.ranks"))
    slider.focus()
    visit.page.evaluate(KEYED, [visit.player.element_handle(), "steps", visit.data("steps")])
    slider.press("ArrowLeft")
    seconds: float = visit.page.evaluate("next")
    return seconds


def arrived(browser, address: str, shown: str) -> tuple[Page, float]:
    """A page in a new window, and the seconds from asking for it until what it is `shown` by is there."""
    page = browser.new_context(viewport=DESK).new_page()
    begun = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(shown).first.wait_for()
    return page, time.perf_counter() - begun


def first(browser, address: str, shown: str) -> float:
    """Seconds that a new visitor waits."""
    page, seconds = arrived(browser, address, shown)
    page.context.close()
    return seconds


def moved(browser, address: str) -> float:
    """How much a page moves while it comes: 0.1 and less is called good."""
    page = browser.new_context(viewport=DESK).new_page()
    page.add_init_script(SHIFTS)
    page.goto(address)
    page.locator(PLAYER).first.wait_for()
    page.wait_for_timeout(1000)
    shifts: float = page.evaluate("shifts")
    page.context.close()
    return shifts


def after_start(browser, script: str, shown: str) -> float:
    """Seconds that the first visitor of a server waits."""
    address, server = serve(script=script)
    try:
        return first(browser, address, shown)
    finally:
        server.terminate()


def bare_changed(page: Page) -> float:
    """Seconds from a key on the bare page's slider to its new number."""
    page.evaluate(KEYED, [".shown", "n", page.locator(".shown").inner_text()])
    page.get_by_role("slider").first.press("ArrowLeft")
    seconds: float = page.evaluate("next")
    page.wait_for_timeout(100)
    return seconds


def first_pictures(browser, bare: str) -> None:
    """How long a visitor waits after a start, later, and for a change at 64 ranks; by turns with `bare`."""
    scripts = {"app.py": PLAYER, bare: ".shown"}
    waits = [[after_start(browser, *script) for script in scripts.items()] for _ in range(STARTS)]
    beside("first picture right after the server's start", waits, 1.6)
    servers = {name: serve(script=name) for name in scripts}
    try:
        places = [(servers[name][0], shown) for name, shown in scripts.items()]
        for place in places:
            first(browser, *place)
        beside("first picture later", [[first(browser, *place) for place in places] for _ in range(TIMES)], 1.2)
        shifts = statistics.median(moved(browser, places[0][0]) for _ in range(STARTS))
        report("what moves while the first picture comes", shifts, "at most 0.1", "")
        visit, page = Visit(browser, places[0][0]).open("?machine=switch:ranks=64"), arrived(browser, *places[1])[0]
        page.get_by_role("slider").first.focus()
        visit.page.wait_for_timeout(2000)
        changes = [[changed(visit), bare_changed(page)] for _ in range(TIMES)]
        beside("a slider's change to the first new frame, 64 ranks", changes, 0.1)
    finally:
        for _, server in servers.values():
            server.terminate()


def forked(visit: Visit, what: str, number: int) -> float:
    """Seconds from the end of what a hand does until both futures are drawn."""
    of, to, *more = HANDS[what]
    visit.open(HOSTS if of.startswith("H") else SWITCH)
    visit.settle()
    chosen, mouse = visit.player.get_by_label("Look at"), visit.page.mouse
    if " " in to or to == "range":
        chosen.select_option(label=of)
        visit.page.evaluate(LET_GO, ["change" if to == "range" else "click"])
    if to == "range":
        visit.player.locator(f".rs-drag [data-drag={more[0]}]").first.evaluate(DRAG, 5 + number)
    elif " " in to:
        visit.player.get_by_role("button", name=to).click()
    else:
        start, end = (visit.player.evaluate(SPOT, name) for name in (of, to))
        mouse.move(*start)
        mouse.down()
        for key in more:
            visit.page.keyboard.down(key)
        mouse.move(*end, steps=3)
        visit.page.evaluate(LET_GO, ["pointerup"])
        mouse.up()
        for key in more:
            visit.page.keyboard.up(key)
    seconds: float = visit.page.evaluate("both")
    return seconds


def hands(browser, bare: str, times: int = TIMES) -> None:
    """How long a new future takes at 64 ranks, for all that a hand may do; by turns with `bare`."""
    (address, server), (other, bare_server) = serve(), serve(script=bare)
    try:
        visit, page = Visit(browser, address), arrived(browser, other, ".shown")[0]
        page.get_by_role("slider").first.focus()
        for what in HANDS:
            forked(visit, what, 0)  # whose machine nobody has looked at yet
            waits = [[forked(visit, what, number), bare_changed(page)] for number in range(1, times + 1)]
            beside(f"{what}, both futures drawn, 64 ranks", waits, 0.1)
    finally:
        server.terminate()
        bare_server.terminate()


def dragged(visit: Visit, number: int) -> float:
    """Seconds until a dragged bandwidth has its new number in the answer."""
    slider = visit.player.locator(".rs-drag [data-drag=bandwidth]").first
    seconds: float = visit.page.evaluate(DRAGGED, [slider.element_handle(), -1 - number % 15])
    return seconds


def goals(browser, bare: str) -> None:
    """How long the first moving picture takes, a dragged number, and 1,024 ranks; by turns with `bare`."""
    (address, server), (other, bare_server) = serve(), serve(script=bare)
    try:
        first(browser, address, PLAYER)
        waits = [[first(browser, address, MOVES), first(browser, other, ".shown")] for _ in range(STARTS)]
        beside("first moving picture", waits, 1.5)
        visit, page = Visit(browser, address).open(SWITCH), arrived(browser, other, ".shown")[0]
        page.get_by_role("slider").first.focus()
        visit.settle()
        visit.player.get_by_label("Look at").select_option(label="SW → GPU3")
        visit.page.wait_for_timeout(2000)
        beside(
            "a link is dragged to a new number, 64 ranks",
            [[dragged(visit, k), bare_changed(page)] for k in range(TIMES)],
            FRAME,
        )
        visit.context.close()
        many = f"{address}/?machine=switch:ranks=1024"
        beside("first picture of 1,024 ranks", [[first(browser, many, PLAYER), first(browser, other, ".shown")]], 5)
    finally:
        server.terminate()
        bare_server.terminate()


def beside(what: str, seconds: list[list[float]], wanted: float) -> None:
    """One line: the medians of ours and of what is bare."""
    ours, bare = map(statistics.median, zip(*seconds, strict=True))
    report(what, ours, f"{wanted:g}; bare {bare:.3g}, ours {ours / bare:.2f} times as long", "s")


def report(what: str, found: float, wanted: str, unit: str) -> None:
    """One line."""
    print(f"{what:52} {found:9.3g} {unit:4} wanted {wanted}", flush=True)


def everything(browser, bare: str) -> None:
    """How fast pictures come, play and change, and then what `goals` tells."""
    ring = carried_out(Plan(machine="switch:ranks=64"))
    report("payload of the 64-rank ring", len(json.dumps(pack(ring.trace))) / 1e6, "under 1", "MB")
    address, server = serve()
    try:
        opened(browser, address, "")[0].context.close()
        visit, seconds = opened(browser, address, "")
        report("first picture of the first plan", seconds, "under 2", "s")
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
    finally:
        server.terminate()
    goals(browser, bare)


def main() -> None:
    """Measure all of it, or how long one waits."""
    asked = {"--first": first_pictures, "--hands": hands, "--goals": goals}.get(" ".join(sys.argv[1:]), everything)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        script = Path(folder) / "bare.py"
        script.write_text(BARE, encoding="utf-8")
        asked(browser, str(script))
        browser.close()


def rate_of_several(visit: Visit) -> float:
    """As `rate`, where one bar moves several runs."""
    bar = visit.page.locator(".rs-controls")
    bar.get_by_role("button", name="Play", exact=True).click()
    ticks = visit.page.evaluate(FRAMES, SECONDS)
    return 1000 / statistics.median(b - a for a, b in pairwise(ticks))


if __name__ == "__main__":
    main()
