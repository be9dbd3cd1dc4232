"""WCAG 2.2 AA on every page, as axe sees it: as it is, with all that folds open, and with each menu open.

Run `python -m tests.browser.axe [PART OF A NAME]...`; the command prints every rule that a page breaks, with the first
elements that break it, and ends with 1 where any does. Colours on canvases, which axe cannot see, are tested in
`tests/ui/test_palette.py`.
"""

import sys
from itertools import product

from axe_playwright_python.base import AXE_SCRIPT

from tests.browser.drawn_words import RULE, faint
from tests.browser.visit import painted
from tests.browser.windows import visits
from ui.pages import PAGES
from ui.text import languages

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "resultTypes": ["violations"],
    "preload": False,  # what a browser has read it cannot read again in a file, and no rule asks for it
}
THEMES = ("light", "dark")
SIZES = ((1440, 900), (390, 844))
READY = '[data-testid="stMain"] :is(h1, h3), [data-ringside]'
STYLED = "[...document.querySelectorAll('style')].some((style) => style.textContent.includes('st-key-ways'))"
"""What holds once the dashboard's own style has come, which a browser has some tenths of a second after the page."""
LESSON = '[data-ringside="lessons"]'
MENUS = '[data-testid="stPopover"] button'
COVERED = "partially obscured"
"""What axe says of something in front of which another stands."""
SHOWN = 4
"""Elements that are shown of those that break a rule."""


def broken(page):
    """The rules that a page breaks: name, what is asked, and of every element its code and what is wrong with it.

    Drawings' words, at whose colours axe does not look, are held to the same. What a bar at the window's edge covers
    scrolls out from under it: it is looked at in the window's middle.
    """
    found = [
        (rule["id"], rule["help"], [node for node in rule["nodes"] if not _covered(page, rule["id"], node)])
        for rule in _violations(page)
    ]
    rules = [
        (name, asked, [(node["html"], node.get("failureSummary", "")) for node in nodes])
        for name, asked, nodes in found
        if nodes
    ]
    words = faint(page)
    return [*rules, (*RULE, words)] if words else rules


def _violations(page):
    if not page.evaluate("'axe' in globalThis"):  # read once for all that is looked at of a page
        page.evaluate(AXE_SCRIPT)
    return page.evaluate("async options => (await axe.run(options)).violations", RULES)


def _covered(page, name, node):
    """Whether an element breaks a rule only because something stands in front of it where the page is scrolled to."""
    if COVERED not in node.get("failureSummary", ""):
        return False
    place = node["target"][0]
    page.locator(place if isinstance(place, str) else " >> ".join(place)).first.evaluate(
        "e => e.scrollIntoView({ block: 'center', behavior: 'instant' })"
    )
    return not any(
        rule["id"] == name and node["target"] in [each["target"] for each in rule["nodes"]]
        for rule in _violations(page)
    )


def states(visit):
    """Open a page's folds and menus in turn; what is open when each name comes stays so until the next."""
    page = visit.page
    yield "as it is"
    if page.get_by_test_id("stMain").count():
        _unfold(visit, "stMain")
        yield "unfolded"
    else:  # a file has no page around it
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        yield "unfolded"
    if page.get_by_test_id("stSidebar").count():
        visit.open_settings()
        _unfold(visit, "stSidebar")
        yield "sidebar"
        if page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").count():
            visit.close_settings()
            visit.settle()
    for k in range(page.locator(MENUS).count()):
        page.locator(MENUS).nth(k).click()
        visit.settle()
        yield f"menu {k}"
        page.keyboard.press("Escape")
    boxes = page.get_by_test_id("stMain").get_by_role("combobox")
    if boxes.count() and boxes.first.is_visible():
        boxes.first.click()
        visit.settle()
        yield "list"
        page.keyboard.press("Escape")
    if visit.player.count():
        visit.player.first.focus()
        page.keyboard.press("?")
        yield "keys"
    if page.locator(LESSON).count():
        yield from _answered(page)


def _answered(page):
    """A lesson in a file: every step as it asks, and once there is an answer."""
    lesson, at = page.locator(LESSON), ""
    while at != (at := lesson.get_attribute("data-step")):
        yield f"step {at}"
        form = lesson.locator("form")
        if form.is_visible():
            choices = form.get_by_role("radio")
            choices.last.check() if choices.count() else form.get_by_role("spinbutton").fill("1")
            form.get_by_role("button").click()
            painted(page)
            yield f"step {at}, answered"
        lesson.locator(".rs-lesson-bar button").last.click()  # which stays at the last
        painted(page)


def _unfold(visit, place):
    """Open what folds there."""
    folds = visit.page.get_by_test_id(place).locator("details:not([open]) > summary")
    for _ in range(folds.count()):
        if folds.count():  # one of them may have gone, or have opened with another
            folds.first.click()
            visit.settle()
    visit.page.evaluate("document.querySelector('.stMain').scrollTop = 0")


def faults_of(visit, tell=print):
    """What is wrong with a page in any of its states, a line each; told as it is found."""
    seen = set()
    for state in states(visit):
        for rule, asked, elements in broken(visit.page):
            new = [(html, why) for html, why in elements if (rule, html) not in seen]
            seen |= {(rule, html) for html, _ in new}
            for html, why in new[:SHOWN]:
                words = " ".join(why.split())
                tell(f"  {state}: {rule}: {asked} ({len(new)})\n    {' '.join(html.split())[:400]}\n    {words[:240]}")
    return seen


def main(*parts):
    """Look at all whose name has one of the parts in it, or all; returns how many pages break a rule."""
    faulty = 0
    cases = {
        f"{name}-{size[0]}-{theme}-{language}": (size, theme, f"?page={name}&lang={language}")
        for name, size, theme, language in product(PAGES, SIZES, THEMES, languages())
    }
    windows = [
        (title, {"viewport": {"width": w, "height": h}, "color_scheme": theme})
        for title, ((w, h), theme, _) in cases.items()
    ]
    for title, visit in visits(windows, parts):
        print(title, flush=True)
        visit.open(cases[title][-1], awaited=READY)
        visit.settle()
        visit.page.wait_for_function(STYLED)
        faulty += bool(faults_of(visit))
    print(f"{faulty} pages have a fault")
    return faulty


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
