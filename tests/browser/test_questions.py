"""Questions of a stranger, a teacher and an engineer, answered within three clicks from the first page."""

import re
from functools import partial

import pytest

from tests.browser.visit import HASTE
from ui.plan.examples import EXAMPLES
from ui.text import catalogue

pytestmark = pytest.mark.browser
ANSWERS = {
    "en": {
        "numa_cost": r"\d\.\d+ times as long .*: 7\.341 ms",
        "holds_back": r"CPU\d → CPU\d",
        "which_algorithm": r"allreduce\.\w+ is the fastest of \d+ algorithms",
        "slower_than_bound": r"The lower bound on this machine is 4\.894 ms\. .* sharing: 3\.67",
        "how_exposed": r"Rank 0 communicates.*is exposed",
        "read_right": "12 values assumed",
        "what_is_allreduce": "Four GPUs train one model",  # it opens the story, which has the whole window
    },
}
"""What must then be in sight, whole on the screen."""
FOUND = {"nvswitch": "page.explore.machine", "bandwidth": "page.explore.lesson", "bruck": "page.explore.algorithm"}
"""What may be typed in whichever language, and the heading of a group in which something then is."""


def answered(one, question, said):
    """Ask a question, and have its answer in sight."""
    one.explore(question)
    said.wait_for(timeout=2 * HASTE)
    one.settle()
    one.soon(in_sight, said)


def in_sight(said):
    box = said.bounding_box(timeout=HASTE)
    assert 0 <= box["y"] <= 900 - box["height"], said


@pytest.mark.parametrize("language", ANSWERS)
def test_questions_are_two_clicks_from_the_first_page_and_their_answers_are_in_sight(visit, language):
    texts = catalogue(language)
    one = visit(f"?lang={language}", viewport={"width": 1440, "height": 900})
    page = one.page
    for name in ANSWERS[language]:
        assert EXAMPLES[name].asks
        page.get_by_text(texts["page.stage.title"], exact=True).click()
        one.player.first.wait_for()
        one.settle()
        said = page.get_by_test_id("stMain").get_by_text(re.compile(ANSWERS[language][name])).first
        one.again(partial(answered, one, texts[f"example.{name}"], said))
        assert page.get_by_test_id("stException").count() == 0, name


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_opens_at_a_key_and_is_narrowed_by_words_of_any_language(visit, language):
    one = visit(f"?lang={language}", viewport={"width": 390, "height": 844})
    one.language, page = language, one.page
    one.settle()
    page.keyboard.press("/")
    field = page.get_by_role("searchbox")
    for typed, heading in FOUND.items():
        field.fill(typed)
        page.get_by_role("region", name=one.told(heading)).get_by_role("button").first.wait_for()
    field.fill("no such thing")
    page.get_by_text(one.told("page.explore.none")).wait_for()
    field.fill(one.told("example.doubling"))
    field.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    field.press("Enter")
    one.where("recursive_doubling")
    field.wait_for(state="hidden")
