"""The first minute, heard by keys, wheel and buttons, in every language and on a phone; then the stage is ours."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PLAYER
from ui.story import CHAPTERS
from ui.story.telling import story
from ui.text import say

pytestmark = pytest.mark.browser
STORY = '[data-ringside="story"]'
TOLD = f"{STORY}[data-at]"
COUNT = sum(len(chapter.stretches) for chapter in CHAPTERS)
RESTS = """() => {
  const host = [...document.querySelectorAll('*')].find((e) => e.shadowRoot?.querySelector('[data-ringside=story]'));
  return host?.shadowRoot.querySelector('[data-ringside=story]').dataset.moves === 'false';
}"""
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def first_page(visit, language="en", **options):
    one = visit(f"?lang={language}", **options)
    one.language = language
    one.settle()
    return one


def opened(one, key="g"):
    one.page.keyboard.press(key)
    one.page.locator(TOLD).wait_for()
    one.painted()
    return one.page.locator(STORY)


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
def test_the_whole_story_by_keyboard_ends_on_the_stage_with_its_run(visit, language, viewport, scheme):
    one = first_page(visit, language, viewport=viewport)
    one.page.emulate_media(color_scheme=scheme)
    offer = one.page.locator(".rs-story-offer")
    assert in_sight(one, offer)
    assert say("story.offer", language) in offer.inner_text()
    told = opened(one)
    words = [s["text"] for chapter in story(language)["chapters"] for s in chapter["stretches"]]
    heard = []
    while len(heard) < COUNT:
        heard.append(told.locator(".rs-story-words").inner_text())
        assert told.locator(".rs-story-words").get_attribute("aria-live") == "polite"
        for part in ("words", "board", "main", "skip"):
            assert in_sight(one, told.locator(f".rs-story-{part}")), part
        assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        one.page.keyboard.press("End" if len(heard) == COUNT else "ArrowRight")
    assert heard == words
    board = told.locator(".rs-story-board").get_attribute("aria-label")
    assert say("story.say.holds", language, rank=3, numbers="22, 20, 20, 18") in board
    assert say("story.say.load", language, link="CPU0 → CPU1", share="100%") in board
    one.page.keyboard.press("Space")
    told.wait_for(state="detached")
    one.where("machine=dual_socket_pcie")
    one.settle()
    one.page.locator(f"{PLAYER}[data-steps='6']").wait_for()
    assert one.data("view") == "machine"
    expect(one.page.locator(".rs-story-offer")).to_have_count(0)
    one.page.keyboard.press("ArrowRight")  # the player has the keys again
    assert one.data("step") == "1"
    one.nudge()  # and the run can be changed
    one.where("size=")


def test_it_plays_stops_and_goes_back_as_one_likes_and_is_remembered_when_put_away(visit):
    one = first_page(visit, viewport=DESK)
    page = one.page
    page.locator(".rs-story-offer").click()
    page.locator(TOLD).wait_for()
    told = page.locator(STORY)
    main = told.locator(".rs-story-main")
    main.click()
    main.click()
    assert (at(told), told.get_attribute("data-chapter")) == (2, "server")
    assert told.get_attribute("data-moves") == "true"
    page.keyboard.press("Space")
    assert told.get_attribute("data-moves") == "false"
    stopped = float(told.get_attribute("data-share"))
    assert 0 <= stopped < 1
    page.keyboard.press("Space")
    page.wait_for_function(RESTS)
    assert float(told.get_attribute("data-share")) == 1
    page.keyboard.press("ArrowLeft")
    assert (at(told), float(told.get_attribute("data-share"))) == (2, 0)
    told.hover()
    page.mouse.wheel(0, 900)
    page.wait_for_function(RESTS)
    assert at(told) == 3
    told.get_by_role("slider").fill("450")
    assert (at(told), float(told.get_attribute("data-share"))) == (4, 0.5)
    page.keyboard.press("Escape")
    told.wait_for(state="detached")
    one.settle()
    assert "machine=" not in page.url
    assert one.data("steps") == "14"
    one.open()
    again = page.locator(".rs-story-offer.rs-seen")
    again.wait_for()
    assert say("story.offer.again") in again.inner_text()
    opened(one)


def test_who_wants_no_motion_goes_step_by_step(visit):
    one = first_page(visit, viewport=DESK)
    one.page.emulate_media(reduced_motion="reduce")
    told = opened(one)
    seen = []
    for _ in range(40):
        seen.append((at(told), told.get_attribute("data-time-s")))
        assert told.get_attribute("data-moves") == "false"
        if told.locator(".rs-story-main").get_attribute("data-does") == "end":
            break
        one.page.keyboard.press("Space")
    assert len(seen) == len(set(seen))
    assert seen[-1][0] == COUNT - 1
    steps = sum(end - begin for chapter in CHAPTERS for begin, end in chapter.stretches)
    assert len(seen) >= COUNT + steps - 2  # sends that end together are one step for the eye
    one.page.emulate_media(reduced_motion="no-preference")
    one.page.keyboard.press("Escape")


def test_a_plan_of_ones_own_is_not_interrupted(visit):
    one = visit("?machine=switch:ranks=8&lang=en")
    one.page.keyboard.press("g")
    one.settle()
    assert one.page.locator(".rs-story-offer").count() == 0
    assert one.page.locator(STORY).count() == 0
    one.open("?embed=true")
    assert one.page.locator(".rs-story-offer").count() == 0
