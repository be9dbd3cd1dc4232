"""What a visitor sees first: a picture that plays, few controls, and nothing that covers it."""

import pytest
from playwright.sync_api import expect

from tests.browser.fold import DESK, OVER, faults, over_the_picture
from ui.text import say

pytestmark = pytest.mark.browser
PLAYS = "e => e.dataset.playing === 'true' && Number(e.dataset.timeS) > 0"


def test_the_first_screen_plays_with_few_controls_two_doors_and_nothing_over_the_picture(visit):
    one = visit("?lang=en", viewport=DESK)
    one.page.wait_for_function(PLAYS, arg=one.player.element_handle())
    one.settle()
    expect(one.page.get_by_role("heading", name=say("intro.title"))).to_be_visible()
    assert [*faults(one)] == []
    one.close_settings()
    one.page.locator(".st-key-door_paste button").click()
    one.page.get_by_role("dialog").get_by_role("textbox").wait_for()


def test_a_link_shows_its_plan_alone_and_settings_make_room_for_it(visit):
    one = visit("?machine=dual_socket_pcie&view=machine&lang=zh", viewport=DESK, color_scheme="dark")
    one.settle()
    one.has(playing="false")
    assert one.page.locator(".st-key-doors").count() == 0
    assert over_the_picture(one.page) == []
    panel = one.open_settings()

    def beside():
        assert panel.bounding_box()["x"] + panel.bounding_box()["width"] <= one.player.bounding_box()["x"]

    one.soon(beside)
    assert over_the_picture(one.page) == []
    one.language = "zh"
    one.press("Play")  # which can be reached
    one.page.wait_for_function(PLAYS, arg=one.player.element_handle())


def test_what_covers_the_picture_is_found(visit):
    one = visit("?machine=switch:ranks=4", viewport=DESK)
    one.page.locator(".st-key-over").evaluate("e => { e.style.cssText = 'position: fixed; inset: 0; z-index: 9' }")
    assert one.page.evaluate(OVER)


def test_what_has_no_room_beside_the_picture_is_scrolled_to(visit):
    one = visit("?machine=dgx_a100&view=machine", viewport={"width": 1280, "height": 720})
    one.settle()
    column, sent = one.player.locator(".rs-column"), one.player.locator(".rs-sent")

    def cut():
        whole, seen = sent.bounding_box(), column.bounding_box()
        return whole["y"] + whole["height"] - seen["y"] - seen["height"]

    def is_cut():
        assert cut() > 20

    one.soon(is_cut)
    assert "local" in column.evaluate("e => getComputedStyle(e).backgroundAttachment")  # it shows that there is more
    column.hover()
    one.page.mouse.wheel(0, 2000)

    def is_seen():
        assert cut() <= 1

    one.soon(is_seen)


def test_who_wants_no_motion_starts_it_by_hand(visit):
    one = visit("?lang=en", viewport=DESK, reduced_motion="reduce")
    one.settle()
    assert one.data("playing") == "false"
    assert one.t == 0
