"""A page of every kind that is a file breaks no rule of WCAG 2.2 AA.

All pages in all their dresses are looked at by `python -m tests.browser.axe` and `python -m tests.browser.axe_files`.
"""

from itertools import cycle

import pytest
from playwright.sync_api import expect

from ops.plan import Plan
from tests.browser.axe import STYLED, broken, faults_of
from tests.browser.axe_files import made
from tests.browser.drawn_words import faint
from tests.browser.sites import ALWAYS
from tests.browser.visit import FILES
from ui.lessons import LESSONS

pytestmark = pytest.mark.browser
KINDS = ("index", "story", "lessons/ring", "run", "step")
ALIKE = ("scenes/which_algorithm", "lessons/buckets", "talk")
"""Pages that are put together of the same as others are."""
LARGE = ("index", "lessons/ring")
"""Pages with many states and much text: every day one of them."""
MARKS = {**dict.fromkeys(ALIKE, pytest.mark.long), **dict.fromkeys(LARGE, pytest.mark.turns("name"))}


@pytest.fixture(scope="module")
def files(site, tmp_path_factory):
    return made(tmp_path_factory.mktemp("files"), site, ALWAYS)


def test_the_lessons_have_pictures_of_both_kinds():
    drawn = [any(not isinstance(step.plan, Plan) for step in LESSONS[name].steps) for name in ALWAYS]
    assert drawn == [False, True]


@pytest.mark.parametrize(
    ("name", "width", "language"),
    [
        pytest.param(name, width, language, marks=MARKS.get(name, ()))
        for name, width, language in zip((*KINDS, *ALIKE), cycle((1440, 390)), cycle(("en", "zh")))
    ],
)
def test_a_page_on_dark_paper_breaks_no_rule(enter, files, name, width, language):
    one = enter(FILES, viewport={"width": width, "height": 900}, color_scheme="dark")
    one.page.goto(files[name, language].as_uri())
    one.painted()
    told = []
    assert faults_of(one, told.append) == set(), told


def test_numbers_that_renew_themselves_stay_as_dark_as_they_are(visit):
    """Streamlit fades what is on its way to be drawn again, to a third; these always are."""
    page = visit("?page=health", '[data-testid="stMetric"]').page
    faded = page.locator(".st-key-renewed .stElementContainer").first
    faded.evaluate("e => { e.style.opacity = 0.33; }")
    assert faded.evaluate("e => getComputedStyle(e).opacity") == "1"


def test_code_is_read_on_dark_paper(visit):
    """Names of functions, to which Streamlit gives a colour of their own, among others."""
    one = visit("?page=learn", '[data-testid="stExpander"]', color_scheme="dark")
    one.settle()
    folds = one.page.get_by_test_id("stMain").locator("details:not([open]) > summary")
    while folds.count():
        folds.first.click()
    one.page.locator(".token.function").first.wait_for()
    assert [fault for fault in broken(one.page) if fault[0] == "color-contrast"] == []


def test_nothing_shines_through_the_ways_to_other_pages(visit):
    """They stay above what is scrolled under them, whose colours are not theirs."""
    page = visit("?page=health", ".st-key-ways", color_scheme="dark", viewport={"width": 1440, "height": 900}).page
    bar = page.locator('[data-testid="stLayoutWrapper"]:has(> .st-key-ways)')
    painted = bar.evaluate("e => [getComputedStyle(e).position, getComputedStyle(e).backgroundColor]")
    assert painted == ["fixed", "rgb(19, 21, 25)"]


def test_what_is_chosen_in_the_form_is_read_on_its_grey(visit):
    page = visit("?page=train", '[data-testid="stSidebar"] [data-variant="segmented_control"][data-selected] p').page
    chosen = page.locator('[data-testid="stSidebar"] [data-variant="segmented_control"][data-selected] p')
    page.wait_for_function(STYLED)
    expect(chosen).to_have_css("color", "rgb(23, 25, 30)")  # once the page knows that its paper is light
    assert [fault for fault in broken(page) if fault[0] == "color-contrast"] == []


@pytest.mark.turns("scheme")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_of_drawings_stand_out_and_one_that_does_not_is_found(visit, scheme):
    page = visit("?page=measured", "[role=tab]", color_scheme=scheme).page
    page.get_by_role("tab").nth(1).click()
    page.locator("svg.marks [class*=role-axis] text").first.wait_for()
    assert faint(page) == []
    page.locator("svg.marks [class*=role-axis] text").first.evaluate("e => { e.style.fill = '#777777'; }")
    assert [why[:7] for _, why in faint(page)] == ["#777777"]
    assert [rule[0] for rule in broken(page)] == ["svg-contrast"]
