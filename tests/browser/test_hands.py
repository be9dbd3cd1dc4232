"""What a hand asks on the stage, from the moment it is asked until the page has followed, or has refused it."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_stage import BOTH, RING, WHERE_PICTURES_STAND, ask_what_if, words
from ui.controls.title import EDITED

pytestmark = [pytest.mark.browser, pytest.mark.turns("language")]
STAGE = "?machine=switch:ranks=16&view=machine&t=0.001"
HALVED = "edits=set_link%3Asrc%3DSW%2Cdst%3DGPU3%2Cbandwidth%3D12.5GBps"


def top(page):
    return page.player.first.bounding_box()["y"]


def is_at(page, place):
    assert top(page) == place


def halve(page):
    """Drag the bandwidth of what is looked at to half of it."""
    page.player.locator(".rs-curve:visible").first.wait_for()
    page.player.locator("[data-drag=bandwidth]").fill("-10")


def test_the_page_that_follows_what_if_moves_no_picture(visit):
    page = visit(STAGE)
    page.settle()
    page.player.get_by_label("Look at").select_option(label="SW → GPU3")
    halve(page)
    page.player.locator(".rs-undo").wait_for()
    first, ahead = page.player.element_handle(), top(page)
    page.where(HALVED)
    page.page.locator(".rs-said-headline").wait_for()
    page.settle()
    expect(page.page.locator(".st-key-title input").nth(2)).to_have_value(re.compile(f"{re.escape(EDITED)}$"))
    page.soon(is_at, page, ahead)
    assert first.evaluate("e => e.isConnected")
    expect(page.player).to_have_count(1)
    page.where("t=0.001")
    page.page.go_back()
    page.where("!edits=")
    expect(page.player.locator(".rs-old")).to_be_hidden()
    page.page.go_forward()
    page.where(HALVED)
    expect(page.player.locator(".rs-old")).to_be_visible()


def test_what_a_hand_has_touched_stays_at_hand_and_one_hand_may_follow_another_at_once(visit):
    page = visit(STAGE)
    page.settle()
    page.player.get_by_label("Look at").select_option(label="SW → GPU3")
    halve(page)
    card = page.player.locator(".rs-card")
    page.player.locator(".rs-undo").wait_for()
    expect(card).to_contain_text("SW → GPU3")
    expect(page.player.get_by_label("Look at").locator("option:checked")).to_have_text("SW → GPU3")
    page.player.locator("[data-drag=bandwidth]").fill("-20")
    page.where("bandwidth%3D6.25GBps")
    page.settle()
    assert page.words()["edits"] == "set_link:src=SW,dst=GPU3,bandwidth=6.25GBps"
    expect(card).to_contain_text("SW → GPU3")
    card.get_by_role("button", name="Undo").click()
    page.where("!bandwidth%3D6.25GBps")


def test_what_cannot_be_done_is_refused_above_the_very_same_picture_and_undone_at_once(visit):
    slow = "fault=slow_link:src=PCI0,dst=GPU1,share=0.5"
    page = visit(f"?machine=dual_socket_pcie&view=machine&t=0.001&{slow}")
    page.settle()
    places, before = spots(page), page.player.element_handle()
    drag(page, places["GPU1"], places["PCI1"])
    refused = page.page.get_by_text("edited has no link PCI0 → GPU1")  # the one that is slow; in the drawer, too
    refused.filter(visible=True).wait_for()
    page.settle()
    assert before.evaluate("e => e.isConnected")
    page.page.get_by_role("button", name="Undo").click()
    expect(refused).to_have_count(0)
    page.settle()
    assert before.evaluate("e => e.isConnected")
    page.where("fault=slow_link")


@BOTH
def test_half_a_link_is_two_choices_away_and_the_old_run_stays_in_the_picture(visit, language):
    say = words(language)
    page = visit(f"{RING}&lang={language}&t=0.002&view=machine")
    page.language = language
    page.player.get_by_label(say("player.look")).select_option(label="GPU0 → SW")
    card = page.player.locator(".rs-card")
    expect(card).to_contain_text("GPU0 → SW")
    expect(card).to_contain_text(say("player.card.full"))
    halve(page)
    page.where("bandwidth%3D12.5GBps")
    page.page.locator(".rs-said-headline").wait_for()
    page.settle()
    assert page.t == 0.002
    expect(page.player.locator(".rs-old")).to_contain_text("14")  # steps
    page.player.focus()
    page.page.keyboard.press("End")
    total = page.player.locator("div.rs-part .rs-part-time")
    expect(total).to_have_count(2)  # beside it, what makes the difference
    ends = page.page.locator(".rs-end-old")
    usual = 14 * 2e-6 + 2 * 7 / 8 * 2**26 / 25e9
    expect(ends).to_contain_text(f"{usual * 1e3:.4g}")
    assert page.t > usual * 1.1


def test_a_pinned_run_is_the_ghost_of_the_next_one_on_its_machine_and_has_a_pane_beside_another(visit):
    page = visit(f"{RING}&t=0.002")
    page.settle()
    page.page.locator(".st-key-keep_beside button").first.click()
    page.where("against=")
    page.settle()
    expect(page.page.locator(".rs-said-headline")).to_have_text(page.told("page.compare.pinned"))
    expect(page.player.locator(".rs-old")).to_be_hidden()
    expect(page.player).to_have_count(1)
    page.nudge()
    page.where("size=32MiB")
    page.settle()
    expect(page.player.locator(".rs-old")).to_contain_text("64 MiB")
    expect(page.player).to_have_count(1)
    page.player.get_by_role("button", name=page.told("player.apart")).click()
    expect(page.player).to_have_count(2)
    page.page.locator(".st-key-end_comparison button").first.click()
    page.where("!against=")
    expect(page.player).to_have_count(1)
    expect(page.player.locator(".rs-old")).to_be_hidden()


def test_panes_of_several_runs_stand_at_one_height_however_long_their_names_are(visit):
    page = visit(f"{RING}&t=0.001&against=algorithm=allreduce.linear|machine=dual_socket_pcie;fault=jitter:mean=1us")
    page.player.nth(2).wait_for()
    page.page.wait_for_function("a => a.every(e => e.dataset.steps)", arg=page.player.element_handles())
    names = page.player.locator(".rs-title").evaluate_all("a => a.map((e) => Math.round(e.firstChild.length / 10))")
    page.settle()
    assert len({*names}) > 1, "names are as long as each other: nothing is tried"

    def at_one_height():
        tops = page.player.evaluate_all(WHERE_PICTURES_STAND)
        assert {top for pictures in tops for top in pictures} == {tops[0][0]}

    page.soon(at_one_height)


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
    """Where on the stage a device is, by its name, found with a pointer once the picture has its place."""
    page.settle()
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
    ask_what_if(page, "H0.NIC1", "Fail now", lost)
    expect(page.player.locator(".rs-old")).to_be_visible()
