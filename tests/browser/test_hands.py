"""What a hand asks on the stage, from the moment it is asked until the page has followed, or has refused it."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.test_stage import ask_what_if

pytestmark = pytest.mark.browser
STAGE = "?machine=switch:ranks=16&view=machine&t=0.001"
HALF = "What if it were half as fast?"


def top(page):
    return page.player.first.bounding_box()["y"]


def test_the_page_that_follows_both_futures_moves_neither(visit):
    page = visit(STAGE)
    page.settle()
    page.player.get_by_label("Look at").select_option(label="SW → GPU3")
    page.player.locator(".rs-card").get_by_role("button", name=HALF, exact=True).click()
    page.player.nth(1).wait_for()
    first, ahead = page.player.first.element_handle(), top(page)
    page.where("trouble=slow_link")
    page.page.get_by_test_id("stDataFrame").wait_for()
    page.settle()
    assert top(page) == ahead
    assert first.evaluate("e => e.isConnected")
    page.where("t=0.001")
    second = page.player.nth(1).element_handle()
    page.page.go_back()
    page.where("!trouble=")
    page.page.wait_for_function("([e]) => !e.isConnected", arg=[second])
    assert page.player.count() == 1
    page.page.go_forward()
    page.where("trouble=slow_link")
    page.player.nth(1).wait_for()


def test_what_a_hand_has_touched_stays_at_hand_and_one_hand_may_follow_another_at_once(visit):
    page = visit(STAGE)
    page.settle()
    first = page.player.first
    first.get_by_label("Look at").select_option(label="SW → GPU3")
    card = first.locator(".rs-card")
    card.get_by_role("button", name=HALF, exact=True).click()
    page.player.nth(1).wait_for()
    expect(card).to_contain_text("SW → GPU3")
    expect(first.get_by_label("Look at").locator("option:checked")).to_have_text("SW → GPU3")
    card.get_by_role("button", name=HALF, exact=True).click()
    page.where("trouble=slow_link")
    page.settle()
    halves = parse_qs(urlsplit(page.page.url).query)["trouble"][0].split(";")
    assert [spec.split(",")[:2] for spec in halves] == [["slow_link:src=SW", "dst=GPU3"]]
    assert "share=0.25" in halves[0]
    expect(card).to_contain_text("SW → GPU3")
    expect(page.player.nth(1).locator(".rs-card")).to_be_hidden()
    page.page.get_by_role("button", name="Undo").click()
    page.where("share%3D0.5")


def test_what_cannot_be_done_is_refused_above_the_very_same_picture_and_undone_at_once(visit):
    page = visit(STAGE)
    ask_what_if(page, "SW → GPU3", HALF, "trouble=slow_link")
    page.player.nth(1).wait_for()
    page.settle()
    before = page.player.element_handles()
    page.player.first.get_by_label("Look at").select_option(label="SW → GPU3")
    page.player.first.locator(".rs-card").get_by_role("button", name="Take this cable out", exact=True).click()
    refused = page.page.get_by_text("nothing leads from GPU2 to GPU3")
    refused.first.wait_for()
    page.settle()
    assert all(player.evaluate("e => e.isConnected") for player in before)
    assert page.player.count() == 2
    page.page.get_by_role("button", name="Undo").click()
    expect(refused).to_have_count(0)
    page.settle()
    assert all(player.evaluate("e => e.isConnected") for player in before)
    page.where("trouble=slow_link")
