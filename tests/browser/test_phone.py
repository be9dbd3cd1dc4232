"""Every page on a telephone: its heading, the way to the others, and nothing beyond the edge."""

from io import BytesIO

import pytest
from PIL import Image

from tests.browser.axe import broken
from tests.browser.test_lab import ASKED, CELLS
from tests.browser.test_train import DDP, TIMELINE
from ui.pages import PAGES
from ui.text import catalogue, languages, say

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}
PAPER = 255
LINKS = {"stage": "?machine=switch:ranks=8", "train": DDP, "lab": ASKED}
"""Of pages that a visitor asks something; all others are opened as they are."""
AWAITED = {"stage": '[data-ringside="player"][data-steps]', "train": TIMELINE, "lab": CELLS}
PARTS = {
    "stage": (".rs-stage", ".rs-slots", ".rs-chart", ".rs-scrub"),
    "train": (f'{TIMELINE} [data-rank="0"] [data-lane="compute"]',),
}
"""What reaches from one side to the other."""
SPOKEN = {("train", "zh"): "单步时间", ("lab", "zh"): "一千个"}


@pytest.mark.turns("language")
@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("name", [name for name in PAGES if PAGES[name].listed])
def test_a_page_begins_with_its_heading_shows_the_way_to_the_others_and_fits(visit, language, name):
    query = f"{LINKS.get(name, f'?page={name}')}&lang={language}"
    scheme = {"color_scheme": "dark"} if language == "zh" else {}
    entered = visit(query, AWAITED.get(name, "h1"), viewport=PHONE, **scheme)
    page = entered.page
    first = page.locator("h1, h2, h3, h4").first
    assert first.evaluate("e => e.tagName") == "H1"

    def the_way_stands_below_the_header():
        header = page.get_by_test_id("stHeader").bounding_box()
        way = page.get_by_text(catalogue(language)["page.learn.title"], exact=True).first.bounding_box()
        assert way["y"] >= header["y"] + header["height"]

    entered.soon(the_way_stands_below_the_header)  # our own style makes the header lower, and comes after it
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for part in PARTS.get(name, ()):
        boxes = [element.bounding_box() for element in page.locator(part).all()]
        assert boxes, part
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] + 1 for box in boxes), part
    assert broken(page) == []
    if (name, language) in SPOKEN:
        page.get_by_text(SPOKEN[name, language]).first.wait_for()


def test_a_row_that_goes_on_beyond_the_edge_is_shaded_there(visit):
    row = visit("?machine=switch:ranks=8", viewport=PHONE).player.locator(".rs-views")
    row.scroll_into_view_if_needed()

    def shaded():
        picture = Image.open(BytesIO(row.screenshot())).convert("L")
        return [picture.getpixel((x, 0)) < 0.95 * PAPER for x in (3, picture.width - 4)]

    assert shaded() == [False, True]
    row.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    assert shaded() == [True, False]


def test_the_controls_of_a_plan_keep_to_one_line_also_after_another_one_was_chosen(visit):
    page = visit("?machine=switch:ranks=8", viewport=PHONE)

    def in_line():
        boxes = [e.bounding_box() for e in page.page.locator(".st-key-actions > *").all()]
        middles = [box["y"] + box["height"] / 2 for box in boxes]
        assert len(boxes) == 5
        assert max(middles) - min(middles) < 2, middles

    page.soon(in_line)
    page.choose(say("page.examples"), say("example.slow_hop"))
    page.page.wait_for_function("location.search.includes('dual_socket')")
    page.settle()
    page.soon(in_line)


def test_whatever_its_length_the_controls_beside_a_title_keep_to_one_line(visit):
    page = visit("?machine=switch:ranks=8", viewport={"width": 1440, "height": 900})
    page.settle()
    for width in range(1440, 1000, -20):
        page.page.set_viewport_size({"width": width, "height": 900})
        page.painted()
        assert page.page.locator(".st-key-actions").bounding_box()["height"] < 60, width


def test_a_long_title_keeps_to_one_line_and_the_controls_beside_it_give_up_their_words(visit):
    words = "algorithm=allreduce.recursive_doubling&machine=dgx_a100:hosts=1&size=1024KiB"
    page = visit(f"?{words}", viewport={"width": 1440, "height": 900})
    page.settle()

    def beside():
        title, actions = (page.page.locator(f".st-key-{part}").bounding_box() for part in ("title", "actions"))
        assert title["height"] < 60
        assert actions["y"] < title["y"] + title["height"] / 2 < actions["y"] + actions["height"]
        assert title["x"] + title["width"] <= actions["x"]

    page.soon(beside)
    ways = page.page.locator(".st-key-ways").bounding_box()
    room = page.page.locator(".st-key-title").bounding_box()["y"] - ways["y"] - ways["height"]
    assert room < 24  # what is mounted between them draws nothing
    keep = page.page.get_by_role("button", name=say("page.compare.keep"))
    assert keep.locator("p").bounding_box()["width"] <= 1
    assert keep.bounding_box()["width"] >= 24
