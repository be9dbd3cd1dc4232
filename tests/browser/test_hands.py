"""What a hand asks on the stage, from the moment it is asked until the page has followed, or has refused it."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.test_stage import BOTH, RING, WHERE_PICTURES_STAND, ask_what_if, words

pytestmark = [pytest.mark.browser, pytest.mark.turns("language")]
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
    page.where("fault=slow_link")
    page.page.get_by_test_id("stDataFrame").wait_for()
    page.settle()
    assert top(page) == ahead
    assert first.evaluate("e => e.isConnected")
    page.where("t=0.001")
    second = page.player.nth(1).element_handle()
    page.page.go_back()
    page.where("!fault=")
    page.page.wait_for_function("([e]) => !e.isConnected", arg=[second])
    assert page.player.count() == 1
    page.page.go_forward()
    page.where("fault=slow_link")
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
    page.where("share%3D0.25")
    page.settle()
    (halves,) = parse_qs(urlsplit(page.page.url).query)["fault"][0].split(";")
    assert halves.startswith("slow_link:src=SW,dst=GPU3,share=0.25")
    expect(card).to_contain_text("SW → GPU3")
    expect(page.player.nth(1).locator(".rs-card")).to_be_hidden()
    page.page.get_by_role("button", name="Undo").click()
    page.where("share%3D0.5")


def test_what_cannot_be_done_is_refused_above_the_very_same_picture_and_undone_at_once(visit):
    page = visit("?machine=dual_socket_pcie&view=machine&t=0.001")
    ask_what_if(page, "PCI0 → GPU1", HALF, "fault=slow_link")
    page.player.nth(1).wait_for()
    page.settle()
    before = page.player.element_handles()
    places = spots(page)
    drag(page, places["GPU1"], places["PCI1"])
    refused = page.page.get_by_text("edited has no link PCI0 → GPU1")  # the one that is slow; in the drawer, too
    refused.filter(visible=True).wait_for()
    page.settle()
    assert all(player.evaluate("e => e.isConnected") for player in before)
    assert page.player.count() == 2
    page.page.get_by_role("button", name="Undo").click()
    expect(refused).to_have_count(0)
    page.settle()
    assert all(player.evaluate("e => e.isConnected") for player in before)
    page.where("fault=slow_link")


@BOTH
def test_half_a_link_is_two_choices_away_and_both_futures_stay(visit, language):
    say = words(language)
    page = visit(f"{RING}&lang={language}&t=0.002")
    page.language = language
    page.player.get_by_label(say("player.look")).select_option(label="GPU0 → SW")
    card = page.player.locator(".rs-card")
    assert "GPU0 → SW" in card.inner_text()
    assert "25 GB/s" in card.inner_text()
    half = {"en": "What if it were half as fast?", "zh": "速度减半会怎样？"}
    ask_what_if(page, "GPU0 → SW", half[language], "fault=slow_link")
    page.player.nth(1).wait_for()
    page.page.wait_for_function("a => a.every(e => e.dataset.steps)", arg=page.player.element_handles())
    assert {page.player.nth(k).get_attribute("data-time-s") for k in (0, 1)} == {"0.002"}
    page.page.locator(".rs-said-headline").wait_for()
    page.settle()
    page.player.first.focus()
    page.page.keyboard.press("End")
    sums = [page.player.nth(k).locator("div.rs-part") for k in (0, 1)]
    page.player.nth(1).locator("summary").click()
    assert [part.locator(".rs-part-time").count() for part in sums] == [1, 2]  # beside it, what makes the difference
    late, usual = (float(page.player.nth(k).get_attribute("data-time-s")) for k in (0, 1))
    assert usual == pytest.approx(14 * 2e-6 + 2 * 7 / 8 * 2**26 / 25e9, rel=1e-9)
    assert late > usual * 1.1


def test_a_bandwidth_can_be_dragged_and_a_rank_made_slow(visit):
    page = visit(f"{RING}&t=0.001")
    page.player.get_by_label("Look at").select_option(label="SW → GPU3")
    page.player.locator(".rs-drag [data-drag=share]").fill("25")
    page.page.wait_for_url(re.compile("share%3D0.25"))
    page.player.nth(1).wait_for()
    page.settle()
    page.player.first.get_by_label("Look at").select_option(label="rank 2 · GPU2")
    page.player.first.locator(".rs-drag [data-drag=late]").fill("25")
    page.where("straggler%3Arank%3D2")
    page.player.nth(2).wait_for()
    page.page.wait_for_function("a => a.every(e => e.dataset.steps)", arg=page.player.element_handles())
    names = page.player.locator(".rs-title").evaluate_all("a => a.map((e) => Math.round(e.firstChild.length / 10))")
    page.settle()
    tops = page.player.evaluate_all(WHERE_PICTURES_STAND)
    assert len({*names}) > 1, "names are as long as each other: nothing is tried"
    assert {top for pictures in tops for top in pictures} == {tops[0][0]}


FOUND = """(canvas) => {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const tip = canvas.getRootNode().querySelector(".rs-tip");
  const found = {};
  for (let x = 16; x < width; x += 32)
    for (let y = 12; y < Math.min(height, 800); y += 12) {
      const at = [left + x, top + y];
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: at[0], clientY: at[1], bubbles: true }));
      const told = tip.checkVisibility() ? tip.textContent : "";
      if (told.includes(" · ") && !told.startsWith("block")) (found[told.split(" ")[0]] ??= []).push(at);
    }
  canvas.dispatchEvent(new PointerEvent("pointerleave"));
  return found;
}"""


def spots(page):
    """Where on the stage a device is, by its name, found with a pointer."""
    page.player.first.evaluate("e => e.scrollIntoView({ block: 'start' })")
    found = page.player.locator(".rs-stage").first.evaluate(FOUND)
    return {name: places[len(places) // 2] for name, places in found.items()}


def drag(page, start, end, shift=False):
    """Carry what is at a place to another one; what is told on the way, before it is let go."""
    mouse, keys = page.page.mouse, page.page.keyboard
    mouse.move(*start)
    mouse.down()
    if shift:
        keys.down("Shift")
    mouse.move(*end, steps=4)
    told = page.player.locator(".rs-tip").last.inner_text()
    assert not page.player.locator(".rs-tip").first.is_visible(), "what it was taken from is explained still"
    mouse.up()
    keys.up("Shift")
    return told


def test_a_device_is_dragged_onto_another_and_the_machine_is_another(visit):
    first = "?machine=dual_socket_pcie&view=machine"
    page = visit(first)
    places = spots(page)
    nobody = drag(page, places["GPU0"], (places["GPU0"][0] + 30, places["GPU0"][1] + 2))
    assert nobody == "GPU0"  # let go over itself, or nothing
    assert drag(page, places["GPU0"], places["GPU5"]) == "Swap two ranks: GPU0, GPU5"
    page.where("edits=swap_ranks%3Arank%3D0%2Cother%3D5")
    page.player.nth(1).wait_for()
    page.open(first)
    assert spots(page) == places
    other = next(name for name in places if name.startswith("PCI") and name != "PCI0")
    assert drag(page, places["GPU1"], places[other]) == f"Move a device: GPU1, {other}"
    page.where(f"edits=move_device%3Adevice%3DGPU1%2Cto%3D{other}")
    page.open(first)
    assert spots(page) == places
    assert drag(page, places["GPU2"], places["GPU6"], shift=True) == "Add a link: GPU2, GPU6"
    page.where("edits=add_cable%3Asrc%3DGPU2%2Cdst%3DGPU6")


def test_a_nic_can_be_lost(visit):
    page = visit("?machine=nodes:nodes=2,gpus=4,nics=2&t=0.001")
    lost = "fault=lost_nic%3Anic%3DH0.NIC1%2Cstart%3D1000us%2Creroute%3Dyes"
    ask_what_if(page, "H0.NIC1", "What if it fails now?", lost)
    page.player.nth(1).wait_for()
