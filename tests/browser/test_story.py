"""The story, heard by keys, wheel and buttons, in every language and on a phone; then the stage is ours."""

import re

import pytest
from playwright.sync_api import expect

from ops.plan.examples import example_captures
from tests.browser.visit import PLAYER
from ui.story import CHAPTERS
from ui.story.telling import story
from ui.text import say

pytestmark = pytest.mark.browser
STORY = '[data-ringside="story"]'
TOLD = f"{STORY}[data-at]"
COUNT = sum(len(chapter.stretches) for chapter in CHAPTERS)
LATER = """Number([...document.querySelectorAll('*')].find((e) => e.shadowRoot?.querySelector('[data-ringside=story]'))
  .shadowRoot.querySelector('[data-ringside=story]').dataset.at)"""
"""Which stretch is told."""
ALONE = """[[0.1, 0.02], [0.9, 0.1], [0.02, 0.5], [0.98, 0.9]].flatMap(([across, down]) => {
  const host = [...document.querySelectorAll('*')].find((e) => e.shadowRoot?.querySelector('[data-ringside=story]'));
  const top = document.elementFromPoint(across * innerWidth, down * innerHeight);
  return top === host ? [] : [top.className];
})"""
"""What of the page is seen around the story."""
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def opened(visit, language="en", **options):
    """A visit to whom the story is told, by a link to it."""
    one = visit(f"?story=1&lang={language}", TOLD, **options)
    one.language = language
    one.painted()
    return one, one.page.locator(STORY)


def at(told):
    return int(told.get_attribute("data-at"))


def in_sight(one, locator):
    box = locator.bounding_box()
    window = one.page.viewport_size
    return (
        box["y"] >= 0
        and box["y"] + box["height"] <= window["height"]
        and box["x"] >= 0
        and (box["x"] + box["width"] <= window["width"])
    )


@pytest.mark.turns("language", "viewport", "scheme")
@pytest.mark.parametrize(
    "language, viewport, scheme", [("en", DESK, "light"), ("zh", PHONE, "dark")], ids=["desk", "phone"]
)
def test_the_whole_story_by_keyboard_ends_at_a_machine_of_ones_own(visit, language, viewport, scheme):
    one, told = opened(visit, language, viewport=viewport, color_scheme=scheme)
    words = [s["text"] for chapter in story(language)["chapters"] for s in chapter["stretches"]]
    heard, bytes_said = [], []
    while len(heard) < COUNT:
        heard.append(told.locator(".rs-story-words").inner_text())
        assert told.locator(".rs-story-words").get_attribute("aria-live") == "polite"
        for part in ("words", "board", "main", "skip"):
            assert in_sight(one, told.locator(f".rs-story-{part}")), part
        assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert one.page.evaluate(ALONE) == []
        bytes_said += re.findall(
            r"\d+(?:\.\d+)? ([KMG]i?B)", told.locator(".rs-story-board").get_attribute("aria-label")
        )
        one.page.keyboard.press("End" if len(heard) == COUNT else "ArrowRight")
    assert heard == words
    board = told.locator(".rs-story-board").get_attribute("aria-label")
    assert say("story.say.holds", language, rank=3, numbers="22, 20, 20, 18") in board
    assert say("story.say.load", language, link="CPU0 → CPU1", share="100%") in board
    assert set(bytes_said) <= {"MiB"}  # the unit stays while bars grow
    expect(told.get_by_role("button", name=say("story.say.send", language))).to_be_visible()
    one.page.keyboard.press("Space")
    told.wait_for(state="detached")
    one.settle()
    one.page.get_by_role("dialog").get_by_role("textbox").fill(example_captures()["dgx-1v"])
    one.page.get_by_role("button", name=say("intro.paste.open", language)).click()
    one.where("capture=")
    one.settle()
    expect(one.page.get_by_role("dialog")).to_have_count(0)
    one.page.locator(f"{PLAYER}[data-steps='14']").wait_for()
    one.page.keyboard.press("ArrowRight")  # the player has the keys again
    assert one.data("step") == "1"


def test_it_plays_by_itself_asks_one_question_and_goes_back_as_one_likes(visit):
    one = visit("?lang=en", viewport=DESK)
    one.page.locator(".st-key-door_story button").click()
    one.page.locator(TOLD).wait_for()
    told, page = one.page.locator(STORY), one.page
    assert (at(told), told.get_attribute("data-moves")) == (0, "true")
    page.keyboard.press("Space")
    assert told.get_attribute("data-moves") == "false"
    stopped = float(told.get_attribute("data-share"))
    page.keyboard.press("ArrowLeft")
    assert (at(told), float(told.get_attribute("data-share"))) == (0, 0)
    assert 0 <= stopped < 1
    told.hover()
    page.mouse.wheel(0, 900)
    expect(told).to_have_attribute("data-at", "1")
    expect(told).to_have_attribute("data-share", "0.5")
    page.keyboard.press("Space")
    page.wait_for_function(f"{LATER} >= 2")  # from one stretch to the next, without a key
    told.get_by_role("slider").fill("440")
    told.get_by_role("button", name="8×").click()
    expect(told).to_have_attribute("data-moves", "true")
    assert at(told) >= 5
    told.get_by_role("slider").fill("690")
    expect(told.locator(".rs-story-legend")).to_have_text(say("story.say.guess.wrong", guess="8", right="4"))
    page.keyboard.press("Escape")
    told.wait_for(state="detached")
    one.settle()
    one.where("!machine=")
    one.has(steps="14")


def test_who_wants_no_motion_goes_step_by_step(visit):
    one, told = opened(visit, viewport=DESK, reduced_motion="reduce")
    seen = []
    for _ in range(40):
        seen.append((at(told), told.get_attribute("data-time-s")))
        assert told.get_attribute("data-moves") == "false"
        if told.locator(".rs-story-main").get_attribute("data-does") == "own":
            break
        one.page.keyboard.press("Space")
    assert len(seen) == len(set(seen))
    assert seen[-1][0] == COUNT - 1
    steps = sum(stretch.end - stretch.begin for chapter in CHAPTERS for stretch in chapter.stretches)
    assert len(seen) >= COUNT + steps - 3  # sends that end together are one step for the eye
    one.page.keyboard.press("Escape")
    one.where("!story=")


def test_a_plan_of_ones_own_is_not_interrupted(visit):
    one = visit("?machine=switch:ranks=8&story=1&lang=en")
    one.settle()
    assert one.page.locator(STORY).count() == 0
    one.open("?embed=true&story=1")
    assert one.page.locator(STORY).count() == 0
