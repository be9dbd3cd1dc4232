"""The first picture stands before its page does, and the page takes it over: the same one, in the same place."""

import urllib.request

import pytest
from playwright.sync_api import expect

from tests.browser.visit import OVER, PLAYER, STILL, Visit
from ui.server.first import WHERE
from ui.server.future import NOTHING

pytestmark = pytest.mark.browser
SHELL, HELD = "#ringside-first", ".st-key-picture"
PAGE = "**/static/js/index.*.js"
"""Streamlit's own code: without it there is nothing but what stands before it."""
TURN = pytest.mark.turns("language", "width", "height")
SEEN = (
    ("en", 1440, 900),
    *(pytest.param(*size, marks=TURN) for size in (("zh", 1280, 720), ("en", 1000, 800), ("en", 390, 844))),
    ("zh", 390, 844),
)
RECT = "e => { const { left, top, width } = e.getBoundingClientRect(); return [left, top, width]; }"
LOOK = """e => {
  const style = getComputedStyle(e.closest(".rs-root"));
  const names = ["primary-color", "text-color", "background-color", "secondary-background-color"];
  return [...names.map(name => style.getPropertyValue(`--st-${name}`).trim()), style.fontSize, style.lineHeight,
    style.fontFamily.split(",")[0]];
}"""
MARK = "e => { e.closest('.rs-root').isThisOne = true; }"
MARKED = "e => Boolean(e.closest('.rs-root').isThisOne)"


@pytest.fixture
def early(enter, address):
    """Open a page as far as what stands before it, in a window of such a size that shows no motion by itself."""
    opened = []

    def open_early(query, width=1440, height=900) -> Visit:
        one = enter(address, viewport={"width": width, "height": height}, reduced_motion="reduce")
        opened.append(one)
        one.soon(_is_run, f"{address}/{WHERE}{query}")
        one.page.route(PAGE, lambda route: route.abort())
        one.page.goto(f"{address}/{query}")
        one.page.locator(f"{SHELL} {PLAYER}").wait_for()
        return one

    yield open_early
    for one in opened:
        one.page.unroute_all()


def _is_run(address):
    """Workers that have only begun may take longer than anybody should wait for a first picture."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        assert answer.read() != NOTHING


def arrive(visit, query):
    visit.page.unroute_all()
    visit.open(query)
    visit.complaints.clear()  # of what was not there before


def told(visit):
    """Which view, every sentence above the picture, and the colours and size of type that it finds."""
    return (
        visit.data("view"),
        visit.player.locator(".rs-caption, .rs-field").all_inner_texts(),
        visit.player.evaluate(LOOK),
    )


@pytest.mark.parametrize(("language", "width", "height"), SEEN)
def test_it_stands_where_the_page_has_it_and_shows_the_same(early, language, width, height):
    query = f"?lang={language}"
    visit = early(query, width, height)
    before, words = visit.player.evaluate(RECT), told(visit)
    arrive(visit, query)
    expect(visit.page.locator(f"{HELD} {PLAYER}")).to_have_count(1)

    def stands():
        then = visit.player.evaluate(RECT)
        assert before[::2] == pytest.approx(then[::2], abs=1)
        assert before[1] == pytest.approx(then[1], abs=50 if width == 1000 else 1)  # there a title takes a line or two

        assert told(visit) == words

    visit.soon(stands)  # while a page is drawn again, what it has not drawn yet keeps its place


def test_it_has_keys_of_its_own_and_the_page_takes_it_over_where_it_stands(enter, address):
    visit = enter(address)
    visit.page.goto(f"{address}/?machine=switch:ranks=6&size=1GiB&t=0.01")
    visit.player.evaluate(MARK)
    if visit.page.locator(f"{SHELL} {PLAYER}").count():
        visit.page.keyboard.press("ArrowRight")
    at = visit.t
    visit.page.wait_for_function(OVER)
    visit.page.wait_for_function(STILL)
    expect(visit.page.locator(f"{HELD} {PLAYER}")).to_have_count(1)
    assert visit.player.evaluate(MARKED)
    assert visit.t == at
    visit.page.wait_for_function(f"Math.abs(new URLSearchParams(location.search).get('t') - {at}) < 1e-9")
    visit.press("Play")
    visit.soon(lambda: _later(visit, at))


def _later(visit, t):
    assert visit.t > t


def test_before_the_page_is_there_time_can_be_moved(early):
    visit = early("?machine=switch:ranks=6&t=0.0001")
    assert visit.t == pytest.approx(0.0001)
    visit.page.keyboard.press("ArrowLeft")
    earlier = visit.t
    assert earlier < 0.0001
    visit.page.keyboard.press("ArrowRight")
    assert visit.t > earlier
    visit.complaints.clear()


def test_who_has_chosen_another_look_than_the_machine_s_sees_no_flash_of_it(early):
    visit = early("")
    visit.page.evaluate("localStorage.setItem('stActiveTheme-/-v2', '\"Dark\"')")
    visit.page.reload()
    visit.page.wait_for_function(OVER)
    visit.complaints.clear()


@pytest.mark.turns("query")
@pytest.mark.parametrize(
    "what, query",
    [("page", "?page=learn"), ("page", "?page=lab"), ("error", "?machine=nosuch"), ("error", "?t=hello")],
)
def test_nothing_stands_before_a_page_that_has_something_else_to_say(enter, address, what, query):
    visit = enter(address)
    visit.page.goto(f"{address}/{query}")
    visit.page.wait_for_function(OVER)
    visit.page.get_by_test_id("stMain").locator("h1").first.wait_for()
    expect(visit.page.locator(SHELL)).to_have_count(0)
