"""The player as a person meets it, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from ui.layout.palette import LIGHT
from ui.player.views import VIEWS
from ui.text import languages

pytestmark = [pytest.mark.browser, pytest.mark.turns("visit", "play")]


@pytest.fixture(params=languages())
def visit(request, visit):
    """Visits in every language."""

    def open_page(query="", **options):
        page = visit(f"{query or '?'}&lang={request.param}", **options)
        page.language = request.param
        return page

    return open_page


@pytest.fixture(params=languages())
def play(request, play):
    """Players alone, in every language."""
    return lambda query, **options: play(query, request.param, **options)


RING = "?machine=switch:ranks=8"
"""Of a player alone, in the light."""
SECONDS = 14 * 2e-6 + 2 * 7 / 8 * 2**26 / 25e9


def test_the_first_picture_is_paused_and_shows_every_ranks_data(visit):
    page = visit("?machine=dgx_a100")
    assert page.data("playing") == "false"
    assert page.data("step") == "0"
    assert [slot["ranks"] for slot in page.ask("slots(3)")] == ["3"] * 8
    assert len(page.ask("blocks()")) == 8
    page.page.get_by_text(page.told("page.proved", collective="allreduce")).wait_for()
    page.settle()
    for playing, focus in (("true", None), ("false", page.player), ("false", page.page.get_by_role("combobox").first)):
        if focus:
            focus.focus()
        page.page.keyboard.press("Space")
        assert page.data("playing") == playing, "with no focus, the player's, and a field's"
    page.page.keyboard.press("r")  # has the page drawn again
    page.settle()
    page.has(playing="false")


def test_pressing_play_moves_blocks_along_and_ends_at_the_end(play):
    page = play(RING)
    page.player.locator(".rs-speed").select_option("0.1")  # a busy computer sees a block twice
    page.press("Play")
    later = "([e, t]) => Number(e.dataset.timeS) > t"
    page.page.wait_for_function(later, arg=[page.player.element_handle(), 0])
    first, earlier = page.ask("blocks()"), page.t
    page.page.wait_for_function(later, arg=[page.player.element_handle(), earlier])
    second = page.ask("blocks()")
    assert page.data("playing") == "true"
    assert page.t > earlier > 0
    moved = {b["transfer"]: b for b in second}
    both = [(a, moved[a["transfer"]]) for a in first if a["transfer"] in moved]
    assert both
    assert all(b["progress"] > a["progress"] and (b["x"], b["y"]) != (a["x"], a["y"]) for a, b in both)
    page.player.locator(".rs-speed").select_option("10")
    page.page.wait_for_function("e => e.dataset.playing === 'false'", arg=page.player.element_handle())
    assert page.t == pytest.approx(SECONDS, rel=1e-6)
    assert {slot["count"] for slot in page.ask("slots(0)")} == {8}
    achieved = {"who": page.told("caption.every"), "holds": page.told("caption.holds.one"), "count": 8}
    assert page.data("caption") == page.told("player.end", caption=page.told("caption.end.sum", **achieved))


def test_stepping_back_changes_the_sentence_and_the_slots(play):
    page = play(RING)
    for _ in range(3):
        page.press("Step forward")
    caption, slots = page.data("caption"), page.ask("slots(1)")
    assert page.data("step") == "3"
    assert caption.startswith(page.told("caption.head", step=3, steps=14))
    if page.language == "en":
        assert caption.startswith("step 3 of 14: rank 0 sends block 5, the sum of ranks 0, 6-7, to rank 1")
    assert slots[5] == {"slot": 5, "block": "5", "number": 5, "count": 4, "ranks": "0-1, 6-7"}
    page.press("Step back")
    assert page.data("step") == "2"
    assert page.data("caption").startswith(page.told("caption.head", step=2, steps=14))
    assert page.ask("slots(1)")[5]["ranks"] == "1"


def test_a_block_is_where_the_clock_says(play):
    page = play(RING)
    step = SECONDS / 14
    page.ask(f"seek({step * 3.5})")
    blocks = page.ask("blocks()")
    assert len(blocks) == 8
    # half of the step's time is half of the way: the latency is a share of the way like the bytes
    assert [b["progress"] for b in blocks] == pytest.approx([0.5] * 8, abs=1e-4)


def test_scrubbing_and_jumping_land_where_they_say(play):
    page = play(RING)
    page.player.locator(".rs-scrub").fill("500000")
    assert page.t == pytest.approx(SECONDS / 2, rel=1e-5)
    assert page.data("step") == "7"
    page.player.locator(".rs-more").click()
    page.player.locator(".rs-step").fill("11")
    page.player.locator(".rs-step").press("Enter")
    assert page.data("step") == "11"
    page.player.locator(".rs-chart").click(position={"x": 300, "y": 20})
    assert 0 < page.t < SECONDS


def test_everything_works_from_the_keyboard(play):
    page = play(RING)
    page.player.focus()
    for key, step in (("ArrowRight", "1"), ("ArrowRight", "2"), ("ArrowLeft", "1"), ("End", "14"), ("Home", "0")):
        page.page.keyboard.press(key)
        assert page.data("step") == step, key
    page.page.keyboard.press("Shift+ArrowRight")
    assert page.data("step") == "7"
    page.page.keyboard.press("+")
    assert page.player.locator(".rs-speed").input_value() == "2"
    for _ in range(3):
        page.page.keyboard.press("-")
    assert page.player.locator(".rs-speed").input_value() == "0.25"  # a busy computer sees it play, too
    page.page.keyboard.press("t")
    assert page.player.locator(".rs-pace").get_attribute("aria-pressed") == "true"
    page.page.keyboard.press("?")
    assert page.player.locator(".rs-keys").is_visible()
    assert page.player.locator(".rs-more").get_attribute("aria-expanded") == "true"
    page.page.keyboard.press("Escape")
    assert not page.player.locator(".rs-keys").is_visible()
    assert page.player.locator(".rs-more").get_attribute("aria-expanded") == "false"
    page.page.keyboard.press("Space")
    assert page.data("playing") == "true"
    page.page.keyboard.press("Space")
    assert page.data("playing") == "false"


def test_a_reloaded_link_finds_the_same_plan_and_instant(visit):
    page = visit("?algorithm=broadcast.binomial&machine=mesh:ranks=6&root=2&size=1MiB")
    page.press("Step forward")
    page.press("Step forward")
    page.page.wait_for_url(re.compile(r"[?&]t="))
    page.press(page.told(f"player.view.{VIEWS[-1]}"))
    page.page.wait_for_url(re.compile(f"view={VIEWS[-1]}"))
    page.settle()
    before = {name: page.data(name) for name in ("timeS", "step", "steps", "caption", "view")}
    assert before["view"] == VIEWS[-1]
    slots = page.ask("slots(5)")
    page.page.reload()
    page.page.wait_for_selector('[data-ringside="player"][data-steps]')
    page.has(**{name: before[name] for name in ("step", "steps", "caption", "view")})
    assert page.t == pytest.approx(float(before["timeS"]), rel=1e-9)
    assert page.ask("slots(5)") == slots
    assert "rank 2" in before["caption"]


def test_moving_a_slider_simulates_again_and_keeps_the_place(visit):
    page = visit(RING)
    for _ in range(5):
        page.press("Step forward")
    before = page.t
    page.page.wait_for_url(re.compile(r"[?&]t="))  # the page has heard of the steps, and is still again
    page.settle()
    page.nudge()
    page.page.wait_for_function("([e, t]) => Number(e.dataset.timeS) !== t", arg=[page.player.element_handle(), before])
    page.has(step="5")
    assert page.t == pytest.approx(5 * (2e-6 + 2**25 / 8 / 25e9), rel=1e-6)
    page.page.wait_for_url(re.compile("size=32MiB"))
    page.page.wait_for_url(re.compile(f"t={page.t:.6g}"[:9]))


def test_an_instant_looks_the_same_from_both_sides(play):
    page = play("?machine=dgx1v")
    end = page.ask("seek(1e9)") or page.t
    moments = [end * share for share in (0.13, 0.38, 0.5, 0.77)]

    def look(t):
        page.ask(f"seek({t})")
        return page.ask("blocks()"), [page.ask(f"slots({r})") for r in range(8)], page.data("caption")

    upwards = [look(t) for t in moments]
    downwards = [look(t) for t in reversed(moments)][::-1]
    assert upwards == downwards


def test_contention_slows_blocks_and_the_slow_hop_makes_them_late(play):
    page = play("?machine=nodes:nodes=2,gpus=4&algorithm=alltoall.linear")
    page.ask(f"seek({page.ask('seek(1e9)') or page.t * 0.3})")
    blocks = page.ask("blocks()")
    assert blocks
    assert all((b["src"] < 4) != (b["dst"] < 4) for b in blocks)


def test_pointing_at_things_explains_them(play):
    page = play(RING)
    for _ in range(3):
        page.press("Step forward")
    tip = page.player.locator(".rs-tip")
    page.player.locator(".rs-slots").hover(position={"x": 26 + 5.5 * 34, "y": 1.5 * 26})
    what = page.told("player.holding.several", block="5", ranks="0-1, 6-7")
    expect(tip).to_have_text(page.told("player.place", rank=1, slot=5, what=what))
    stage = page.player.locator(".rs-stage")
    box = stage.bounding_box()
    stage.hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
    expect(tip).to_have_text("SW")
    stage.hover(position={"x": 2, "y": 2})
    expect(tip).to_be_hidden()


def test_reduced_motion_goes_from_step_to_step(play):
    page = play(RING, reduced_motion="reduce")
    page.player.locator(".rs-speed").select_option("2")
    page.press("Play")
    seen = set()
    for _ in range(3):
        page.moved()
        seen.add(round(page.t / (SECONDS / 14), 4))
    assert len(seen) > 2
    assert all(abs(place - round(place)) < 1e-3 for place in seen)


def test_done_is_said_when_every_block_has_landed(play):
    page = play("?machine=dual_socket_pcie")
    page.player.press("End")
    assert page.data("caption").startswith(page.told("player.end", caption="").strip())
    assert page.ask("blocks()") == []
    assert {slot["count"] for rank in range(8) for slot in page.ask(f"slots({rank})")} == {8}


COUNTED = """([e, frames]) => new Promise((done) => {
  let strokes = 0;
  const kinds = ["fillRect", "fill", "stroke", "fillText", "strokeRect", "drawImage", "putImageData"];
  for (const kind of kinds) {
    const plain = CanvasRenderingContext2D.prototype[kind];
    CanvasRenderingContext2D.prototype[kind] = function (...words) { strokes += 1; return plain.apply(this, words); };
  }
  const t = Number(e.dataset.timeS);
  e.ringside.seek(t);
  strokes = 0;
  for (let k = 1; k <= frames; k += 1) e.ringside.seek(t * (1 + k * 1e-4));
  done(strokes / frames);
})"""


def test_a_frame_of_256_ranks_is_painted_by_what_changes_not_by_every_cell(play):
    page = play("?machine=dgx_h100:hosts=32&algorithm=allreduce.ring&t=0.000001")
    for view in ("machine", "shape", "matrix", "time"):
        page.press(page.told(f"player.view.{view}"))
        assert page.data("view") == view
        assert len(page.ask("blocks()")) == 256
        # 256 blocks, each filled and outlined, and as many links at most; not 65,536 cells
        assert page.player.evaluate(f"e => ({COUNTED})([e, 20])") < 1500, view


def test_a_saturated_link_at_half_its_bandwidth_is_drawn_full_and_marked(play):
    spell = "slow_link:src=CPU0,dst=CPU1,share=0.5,start=2ms,end=9ms"
    page = play(f"?machine=dual_socket_pcie&fault={spell}&t=0.005&view=machine")
    colours = """c => { const seen = {}; const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      for (let k = 0; k < d.length; k += 4) if (d[k + 3]) {
        const w = d.slice(k, k + 3).join(); seen[w] = (seen[w] ?? 0) + 1; }
      return seen; }"""
    red = ",".join(str(int(LIGHT.red[k : k + 2], 16)) for k in (1, 3, 5))
    chart = page.player.locator(".rs-chart")
    row = """(c, [from, to]) => { const g = c.getContext("2d"), w = c.width - 136;
      return Array.from({ length: 9 }, (_, k) => 128 + w * (from + ((to - from) * (k + 1)) / 10))
        .map((x) => [...g.getImageData(x, c.height - 22 - 8, 1, 1).data.slice(0, 3)]); }"""
    time = page.ask("seek(1e9)") or page.t
    row_of_the_link = chart.evaluate(row, [0.0025 / time, 0.008 / time])  # the last one is CPU1 → CPU0
    assert row_of_the_link == [pytest.approx([int(part) for part in red.split(",")], abs=3)] * 9
    page.ask("seek(0.005)")
    during = page.player.locator(".rs-stage").evaluate(colours)
    page.ask("seek(0.001)")
    before = page.player.locator(".rs-stage").evaluate(colours)
    assert during.get(red, 0) > 50
    ink = ",".join(str(int(LIGHT.ink[k : k + 2], 16)) for k in (1, 3, 5))
    assert during[ink] > before[ink] + 200  # the sign with what is left of the link
    page.player.locator(".rs-look .rs-pick").select_option(label="CPU0 → CPU1")
    page.ask("seek(0.005)")
    page.player.locator(".rs-card-more > summary").click()
    expect(page.player.locator(".rs-card")).to_contain_text(page.told("player.changed", share="50%", own="16 GB/s"))
