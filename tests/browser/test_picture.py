"""The picture is the page: above the fold at every size, with a title to choose in and a camera to come nearer with."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import page_of_its_own
from tests.browser.visit import FILES, PLAYER
from ui.text import say

pytestmark = pytest.mark.browser
SIZES = ((1440, 900), (1280, 720), (390, 844))
DESK = {"width": 1440, "height": 900}
OTHER, SAME = ("([canvas, old]) => canvas.toDataURL() !== old", "([canvas, old]) => canvas.toDataURL() === old")
"""Whether a picture differs from an earlier one, or equals it: the page paints one frame after a click."""
PARTS = (".rs-caption", ".rs-stage", ".rs-play", ".rs-scrub", ".rs-view")


def above_the_fold(page, width, height):
    for part in PARTS:
        box = page.player.locator(part).bounding_box()
        assert box["y"] >= 0, (part, width)
        assert box["y"] + box["height"] <= height + 1, (part, width)
    stage = page.player.locator(".rs-stage").bounding_box()
    assert stage["width"] * stage["height"] > 0.2 * width * height
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_picture_transport_and_sentence_are_above_the_fold_and_the_title_chooses(visit):
    page = visit("?machine=dgx_a100", viewport={"width": SIZES[0][0], "height": SIZES[0][1]})
    page.has(view="shape")  # what explains a small group
    expect(page.player.locator(".rs-field")).to_have_text("Goal: every rank holds the sum of all 8 buffers")
    for width, height in SIZES:
        page.page.set_viewport_size({"width": width, "height": height})
        page.painted()
        page.soon(above_the_fold, page, width, height)
    page.page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.page.locator(".st-key-title input").nth(2)).to_have_value("DGX A100")
    page.settle()
    page.player.focus()
    assert page.page.evaluate("document.querySelector('.stMain').scrollTop") == 0  # menus above stay where they are
    page.page.evaluate("document.querySelector('.stMain').scrollTop = 300")
    page.page.evaluate("document.querySelector('.stMain').scrollTop = 0")
    page.open_settings().get_by_role("combobox").first.focus()
    page.close_settings()
    page.page.wait_for_function("!document.activeElement.closest('[data-testid=stSidebar]')")
    page.choose(say("title.machine"), "DGX-1V")
    page.page.wait_for_function("new URLSearchParams(location.search).get('machine') === 'dgx1v'")
    page.settle()
    page.choose(say("title.size"), "32 MiB")
    page.page.wait_for_function("location.search.includes('size=32MiB')")
    page.settle()
    expect(page.page.locator("h1")).to_have_text("All-reduce by ring on DGX-1V with 32 MiB")
    expect(page.page.get_by_text(page.told("page.proved", collective="allreduce"))).to_have_count(1)


def test_one_comes_nearer_with_the_wheel_and_blocks_travel_from_view_to_view(play):
    page = play("?machine=switch:ranks=8&t=0.002")
    places = "blocks().map(({ transfer, x, y, bundle }) => [transfer, x, y, bundle])"
    whole = page.ask(places)
    assert len(whole) == 8
    assert all(bundle is None for *_, bundle in whole)
    stage = page.player.locator(".rs-stage")
    box = stage.bounding_box()
    assert all(0 < x < box["width"] and 0 < y < box["height"] for _, x, y, _ in whole)
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -400)
    page.page.keyboard.up("Control")
    page.page.wait_for_function(
        "([e, x]) => e.ringside.blocks()[0].x !== x", arg=[page.player.element_handle(), whole[0][1]]
    )
    near = page.ask(places)
    assert abs(near[0][1] - near[4][1]) > 1.5 * abs(whole[0][1] - whole[4][1])
    page.player.focus()
    page.page.keyboard.press("0")
    assert page.ask(places) == whole
    page.page.keyboard.press("w")
    assert page.ask(places) != whole
    page.page.keyboard.press("s")
    assert [[round(x, 3), round(y, 3)] for _, x, y, _ in page.ask(places)] == [
        [round(x, 3), round(y, 3)] for _, x, y, _ in whole
    ]
    page.page.evaluate("() => { performance.now = ((at) => () => at)(performance.now()); }")  # the clock stands
    page.page.keyboard.press("v")
    assert page.data("view") == "shape"
    leaving = page.ask(places)
    assert [[i, round(x), round(y)] for i, x, y, _ in leaving] == [[i, round(x), round(y)] for i, x, y, _ in whole]
    page.page.evaluate("() => { const at = performance.now() + 1000; performance.now = () => at; }")
    page.ask("seek(0.002)")
    assert page.ask(places) != leaving


def test_what_stands_beside_a_flat_picture_leaves_no_gap_below_it_and_blocks_leave_names_of_groups_alone(play):
    page = play("?machine=dgx_h100:hosts=4&view=machine&size=1MiB", viewport={"width": 1440, "height": 900})
    legend, bar = (page.player.locator(part) for part in (".rs-legend", ".rs-transport"))

    def is_right_below():
        above, below = legend.bounding_box(), bar.bounding_box()
        assert 0 <= below["y"] - above["y"] - above["height"] < 16

    page.soon(is_right_below)
    many = play("?machine=dgx_h100:hosts=32&view=machine&algorithm=allreduce.hierarchical_2d&size=1MiB")
    blocks = many.ask("blocks()")
    stage = many.player.locator(".rs-stage").bounding_box()
    assert blocks
    assert all(0 < block["x"] < stage["width"] for block in blocks)


def test_a_thousand_ranks_are_drawn_as_groups_that_open(play):
    page = play("?machine=fat_tree:pods=16,leaves=2,gpus=8&algorithm=broadcast.binomial&size=1MiB&t=0.0001")
    blocks = page.ask("blocks()")
    assert blocks
    assert all(block["bundle"] is None or isinstance(block["bundle"], str) for block in blocks)
    tiles = {block["bundle"] for block in blocks if block["bundle"]}
    page.player.focus()
    for _ in range(12):
        page.page.keyboard.press("w")
    assert {block["bundle"] for block in page.ask("blocks()") if block["bundle"]} <= tiles


def test_the_parts_of_a_time_light_their_messages(play):
    page = play("?machine=dual_socket_pcie&algorithm=allreduce.rabenseifner&t=0.004")
    summary = page.player.locator(".rs-why > summary")
    expect(summary).to_have_text(page.told("player.why", time="8.392 ms"))
    rows = page.player.locator("button.rs-part")
    expect(rows).to_have_text([re.compile(f"^{name}") for name in ("latency", "transfer", "sharing")])
    figures = [float(row.split()[-2]) for row in page.player.locator(".rs-part").all_inner_texts()]
    assert round(sum(figures[:-1]), 3) == figures[-1] == 8.392
    look = "c => c.toDataURL()"
    canvases = [page.player.locator(name) for name in (".rs-stage", ".rs-chart")]
    for _ in range(2):  # on and off: all but a picture's first painting go onto sheets, which round otherwise
        rows.nth(2).click()
        page.painted()
    before = [canvas.evaluate(look) for canvas in canvases]
    rows.nth(2).click()
    expect(rows.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(page.player.locator(".rs-part-note[aria-live]")).to_contain_text("shared links")
    for canvas, old in zip(canvases, before, strict=True):
        page.page.wait_for_function(OTHER, arg=[canvas.element_handle(), old])
    page.player.focus()
    page.page.keyboard.press("Escape")
    for canvas, old in zip(canvases, before, strict=True):
        page.page.wait_for_function(SAME, arg=[canvas.element_handle(), old])


def test_the_chart_is_painted_once_it_comes_into_sight(play):
    page = play("?machine=switch:ranks=64", viewport={"width": 1440, "height": 600})
    chart = page.player.locator(".rs-chart")
    ink = """c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(Boolean)"""
    page.painted()
    assert chart.bounding_box()["y"] > 600
    assert not chart.evaluate(ink)
    page.ask("seek(0.003)")
    chart.scroll_into_view_if_needed()
    page.soon(lambda: _holds(chart.evaluate(ink)))


def _holds(condition):
    assert condition


def test_a_stretch_of_the_chart_is_played_over_and_over(play):
    page = play("?machine=switch:ranks=8")
    chart = page.player.locator(".rs-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    ends = [box["x"] + 128 + (box["width"] - 136) * share for share in (0.3, 0.5)]
    page.page.keyboard.down("Shift")
    page.page.mouse.move(ends[0], box["y"] + 60)
    page.page.mouse.down()
    page.page.mouse.move(ends[1], box["y"] + 60, steps=4)
    page.page.mouse.up()
    page.page.keyboard.up("Shift")
    page.player.locator(".rs-speed").select_option("10")
    page.player.focus()
    page.page.keyboard.press("Space")
    time = 4.726e-3
    page.page.wait_for_function(
        "([e, t]) => Number(e.dataset.timeS) > t", arg=[page.player.element_handle(), 0.29 * time]
    )
    seen = [page.t / time]
    while seen == sorted(seen) and len(seen) < 100:  # until it goes back
        page.moved()
        seen.append(page.t / time)
    assert all(0.29 < share < 0.52 for share in seen), seen
    assert seen != sorted(seen)
    page.page.keyboard.press("Escape")
    page.page.wait_for_function("e => e.dataset.playing === 'false'", arg=page.player.element_handle())
    assert page.t / time > 0.9


def test_time_comes_nearer_and_rows_stay_on_top(play):
    page = play("?machine=switch:ranks=8")
    chart = page.player.locator(".rs-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    at = {"x": 128 + (box["width"] - 136) * 0.5, "y": 60}
    beside = {"x": 128 + (box["width"] - 136) * 0.7, "y": 60}
    chart.click(position=beside)
    whole = page.t
    chart.hover(position=at)
    look = "c => c.toDataURL()"
    page.painted()
    far = chart.evaluate(look)
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -600)
    page.page.wait_for_function(OTHER, arg=[chart.element_handle(), far])
    page.page.keyboard.up("Control")
    chart.click(position=at)
    middle = page.t
    chart.click(position=beside)
    assert 0 < page.t - middle < 0.5 * (whole - middle)
    page.player.locator(".rs-chart-head select").select_option("busy")
    page.painted()
    before = chart.evaluate(look)
    chart.click(position={"x": 40, "y": 100})
    page.page.wait_for_function(OTHER, arg=[chart.element_handle(), before])
    assert page.t - middle < 0.5 * (whole - middle)  # a name is no instant
    chart.click(position={"x": 40, "y": 40})
    page.page.wait_for_function(SAME, arg=[chart.element_handle(), before])
    chart.hover(position={"x": at["x"], "y": 100})
    expect(page.player.locator(".rs-tip")).to_contain_text("GB/s")


def test_a_player_that_has_no_room_yet_draws_when_it_has(enter, tmp_path):
    file, hidden = tmp_path / "hidden.html", "document.documentElement.style.display"
    page = page_of_its_own("?machine=switch:ranks=4&size=1MiB", "en").decode()
    file.write_text(page.replace("<html", '<html style="display: none"', 1), encoding="utf-8")
    one = enter(FILES, offline=True)
    one.page.goto(file.as_uri())
    one.page.locator('[data-ringside="player"] .rs-view').wait_for(state="attached")
    one.painted()
    assert one.page.locator(PLAYER).count() == 0
    one.page.evaluate(f"{hidden} = ''")
    one.has(steps="6")


def test_a_tile_opens_beside_all_of_them_and_on_a_phone_below(visit):
    page = visit("?machine=nodes:nodes=32,gpus=8&algorithm=allreduce.hierarchical_2d&t=0.003", viewport=DESK)
    page.settle()
    stage, opened = page.player.locator(".rs-stage"), page.player.locator(".rs-opened")
    whole = stage.bounding_box()
    page.page.mouse.click(whole["x"] + 0.3 * whole["width"], whole["y"] + 0.4 * whole["height"])
    expect(opened).to_be_visible()

    def is_beside():
        tiles, near = stage.bounding_box(), opened.bounding_box()
        assert tiles["width"] < 0.7 * whole["width"]
        assert near["x"] >= tiles["x"] + tiles["width"]

    def is_alone():
        assert stage.bounding_box()["width"] == whole["width"]

    page.soon(is_beside)
    expect(opened.locator("strong")).to_have_text(re.compile("^Host "))
    opened.get_by_role("button", name=page.told("player.opened.close"), exact=True).click()
    expect(opened).to_be_hidden()
    page.soon(is_alone)
    page.player.locator(".rs-pick").first.select_option(label="rank 200 · H25.GPU0")  # without a pointer
    expect(opened.locator("strong")).to_have_text("Host 25")
    page.page.set_viewport_size({"width": 390, "height": 844})
    page.painted()

    def is_below():
        tiles, near = stage.bounding_box(), opened.bounding_box()
        assert near["y"] >= tiles["y"] + tiles["height"]
        assert near["width"] <= 390

    page.soon(is_below)
    page.page.keyboard.press("Escape")
    expect(opened).to_be_hidden()
