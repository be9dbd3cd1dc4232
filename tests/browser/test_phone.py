"""Every page on a telephone: its heading, the way to the others, and nothing beyond the edge."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import STYLED, broken
from tests.browser.test_lab import ASKED, CELLS
from tests.browser.test_train import DDP, TIMELINE
from ui.pages import PAGES
from ui.text import languages

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}
LINKS = {"stage": "?machine=switch:ranks=8", "train": DDP, "lab": ASKED}
"""Of pages that a visitor asks something; all others are opened as they are."""
AWAITED = {"stage": '[data-ringside="player"][data-steps]', "train": TIMELINE, "lab": CELLS}
PARTS = {
    "stage": (".rs-stage", ".rs-slots", ".rs-chart", ".rs-scrub"),
    "train": (f'{TIMELINE} [data-rank="0"] [data-lane="compute"]',),
}
"""What reaches from one side to the other."""
UNASKED = [name for name in PAGES if PAGES[name].listed and name not in LINKS]
"""Pages that are opened as they are: every day two of them."""
SPOKEN = {("train", "zh"): "单步时间", ("lab", "zh"): "一千个"}


def fits(page, parts):
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for part in parts:
        boxes = [element.bounding_box() for element in page.locator(part).all()]
        assert boxes, part
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] + 1 for box in boxes), part


@pytest.mark.turns("language", "name")
@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize(
    "group, name", [*((name, name) for name in LINKS), *((k % 2, name) for k, name in enumerate(UNASKED))]
)
def test_a_page_begins_with_its_heading_shows_the_way_to_the_others_and_fits(visit, language, group, name):
    query = f"{LINKS.get(name, f'?page={name}')}&lang={language}"
    scheme = {"color_scheme": "dark"} if language == "zh" else {}
    entered = visit(query, AWAITED.get(name, "h1"), viewport=PHONE, **scheme)
    page = entered.page
    entered.settle()  # what is on its way to be drawn again is faint
    page.wait_for_function(STYLED)
    expect(page.locator("h1, h2, h3, h4").first).to_have_js_property("tagName", "H1")
    entered.soon(fits, page, PARTS.get(name, ()))
    assert broken(page) == []
    if (name, language) in SPOKEN:
        page.get_by_text(SPOKEN[name, language]).first.wait_for()


def test_a_header_and_a_title_keep_to_their_lines_at_every_width(visit):
    words = "algorithm=allreduce.recursive_doubling&machine=dgx_a100:hosts=1&size=1024KiB"
    page = visit(f"?{words}", viewport={"width": 1440, "height": 900})
    page.settle()

    def box(part):
        return page.page.locator(f".st-key-{part}").bounding_box()

    def in_line():
        brand, actions, settings, nav = (box(part) for part in ("brand", "actions", "settings", "page"))
        assert brand["x"] + brand["width"] <= actions["x"]
        assert actions["x"] + actions["width"] <= settings["x"] + 1
        assert actions["y"] + actions["height"] <= 48
        assert nav["y"] >= 48 or nav["x"] + nav["width"] <= actions["x"]
        title, beside = box("title"), box("beside")
        assert title["height"] < 130
        is_below = beside["y"] >= title["y"] + title["height"] - 1
        assert is_below or title["x"] + title["width"] <= beside["x"] + 1

    for width in (390, *range(780, 1441, 60)):
        page.page.set_viewport_size({"width": width, "height": 900})
        page.painted()
        page.soon(in_line)
    assert box("title")["height"] < 48
    assert 48 <= box("title")["y"] < 72  # what is mounted above it draws nothing
