"""What stands above the fold of a page: `python -m tests.browser.fold [QUERY]` counts it at 1440x900.

No more than 20 controls on the first screen, no text under 11 px, no menu of the title that is clipped, and nothing
over the picture, whether the settings are open or closed.
"""

import sys
import time
from collections.abc import Iterator

from playwright.sync_api import Page

from tests.browser.visit import FLAGS, Visit, chromium_path, serve

DESK = {"width": 1440, "height": 900}
MOST, LEAST = 20, 11
"""Controls above the fold, and pixels of type."""
REST = 5
"""Seconds after which what is in the way stays there."""
SEEN = """
const all = (root) => [...root.querySelectorAll("*")].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
const isSeen = (e) => {
  const { x, y, width, height } = e.getBoundingClientRect();
  const isThere = width > 1 && height > 1 && x < innerWidth && x + width > 0 && y < innerHeight && y + height > 0;
  return isThere && e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
};"""
CONTROLS = f"""() => {{ {SEEN}
  const named = "a[href], button, input, select, textarea, summary, [role=button], [role=slider], [role=combobox]";
  const found = all(document).filter((e) => e.matches(named) && e.tabIndex >= 0 && !e.disabled && isSeen(e));
  return found
    .filter((e) => !found.some((other) => other !== e && other.contains(e)))
    .map((e) => (e.getAttribute("aria-label") || e.innerText || e.title || e.tagName).trim().replace(/\\s+/g, " "));
}}"""
SMALL = f"""least => {{ {SEEN}
  return all(document).filter((e) => isSeen(e) && !e.closest("svg, script, style")
      && [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
      && parseFloat(getComputedStyle(e).fontSize) < least)
    .map((e) => e.textContent.trim().slice(0, 60));
}}"""
CLIPPED = """() => [...document.querySelectorAll("[role=option]")]
  .filter((e) => {
    const [{ left, right }, words] = [e.getBoundingClientRect(), e.firstElementChild ?? e];
    return left < 0 || right > innerWidth || words.scrollWidth > words.clientWidth + 1;
  })
  .map((e) => e.textContent)"""
OVER = """() => {
  const picture = [...document.querySelectorAll("*")].find((e) => e.shadowRoot?.querySelector(".rs-stage"));
  const { x, y, width, height } = picture.shadowRoot.querySelector(".rs-stage").getBoundingClientRect();
  const parts = Array.from({ length: 15 }, (_, k) => (k + 0.5) / 15);
  const places = parts.flatMap((a) => parts.map((b) => [x + a * width, y + b * height]));
  const above = places.filter(([, down]) => down < innerHeight).map(([across, down]) => {
    const top = document.elementFromPoint(across, down);
    return top === picture ? picture.shadowRoot.elementFromPoint(across, down) : top;
  });
  const others = above.filter((e) => !e.closest(".rs-stage, .rs-controls"));
  return [...new Set(others.map((e) => e.className || e.tagName))];
}"""


def controls(page: Page) -> list[str]:
    """The names of all controls that can be reached by the keyboard and are in sight."""
    return page.evaluate(CONTROLS)


def small_texts(page: Page) -> list[str]:
    """Texts in sight that are set too small."""
    return page.evaluate(SMALL, LEAST)


def clipped_entries(visit: Visit) -> Iterator[str]:
    """Entries of the title's menus that do not show all of their words."""
    words = visit.page.locator(".st-key-title [role=combobox]")
    for k in range(words.count()):
        words.nth(k).click()
        visit.page.get_by_role("option").first.wait_for()
        yield from at_rest(visit.page, CLIPPED)
        visit.page.keyboard.press("Escape")


def over_the_picture(page: Page) -> list[str]:
    """What stands over the picture, of a raster of places on it."""
    return at_rest(page, OVER)


def at_rest(page: Page, look: str) -> list[str]:
    """What a look finds, once it finds nothing or what is there stays: a busy machine is late with menus."""
    seen: list[str] = page.evaluate(look)
    last = time.monotonic() + REST
    while seen and time.monotonic() < last:
        page.wait_for_timeout(100)
        seen = page.evaluate(look)
    return seen


def faults(visit: Visit) -> Iterator[str]:
    """What is wrong with a page, a sentence each; it is left with its settings open."""
    found = controls(visit.page)
    if len(found) > MOST:
        yield f"{len(found)} controls, more than {MOST}: {', '.join(found)}"
    yield from (f"smaller than {LEAST} px: {text}" for text in small_texts(visit.page))
    yield from (f"clipped: {text}" for text in clipped_entries(visit))
    yield from (f"over the picture: {name}" for name in over_the_picture(visit.page))
    visit.open_settings()
    visit.painted()
    yield from (f"over the picture, with settings: {name}" for name in over_the_picture(visit.page))


def main(query: str = "") -> int:
    """Print what is above the fold; the status is 1 where something is wrong."""
    from playwright.sync_api import sync_playwright

    address, server = serve()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            visit = Visit(browser, address, viewport=DESK).open(query)
            visit.settle()
            print(f"{len(controls(visit.page))} controls: {', '.join(controls(visit.page))}")
            wrong = [*faults(visit)]
            print(*(wrong or ["nothing is wrong"]), sep="\n")
            browser.close()
    finally:
        server.terminate()
        server.wait()
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
