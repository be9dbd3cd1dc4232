"""The address keeps where one stands, leads back and forward through what was shown, and says what it cannot hold."""

from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import expect

from ops.plan import Plan
from ops.plan.plan_file import from_yaml, place_in, to_yaml
from sim.formats import write_topology
from sim.machines import build
from tests.browser.test_capture import DROP
from tests.browser.visit import HASTE
from ui.text import say

pytestmark = pytest.mark.browser
AT = "([e, t]) => Math.abs(e.dataset.timeS - t) < 1e-12"
RING = "?machine=switch:ranks=8"


def place(page):
    card = page.player.locator(".rs-card")
    return {
        "t": pytest.approx(page.t, rel=1e-9),
        "view": page.data("view"),
        "loop": page.page.evaluate("new URLSearchParams(location.search).get('brush')"),
        "chosen": card.locator(".rs-card-head").inner_text() if card.is_visible() else "",
        "camera": [round(block["x"]) for block in page.ask("blocks()")],
    }


def at(page, t):
    page.page.wait_for_function(AT, arg=[page.player.element_handle(), t])


def went(page, word):
    """Wait until the address has, or with a `!` before has not, a word, and the page has answered."""
    page.where(word)
    page.settle()
    expect(page.page.get_by_test_id("stMain").locator("h1")).to_have_count(1)
    assert page.page.locator('[data-testid="stException"], [data-testid="stError"]').count() == 0


def steps(page, count):
    page.page.locator(f".rs-player[data-steps='{count}']").wait_for()


def within(low, value, high):
    assert low <= value <= high


def test_where_one_stands_is_in_the_address_and_back_leads_through_plans_not_instants(visit):
    page = visit("?machine=dgx_a100&lang=en")
    page.page.evaluate("window.came = history.length")
    page.press("Step forward")
    went(page, "t=")
    page.press("Machine")
    went(page, "view=machine")
    page.player.focus()
    for key in "wwd":
        page.page.keyboard.press(key)
    page.player.get_by_label("Look at").select_option(label="rank 2 · GPU2")
    went(page, "camera=")
    went(page, "chosen=rank_2")
    page.player.locator(".rs-chart").scroll_into_view_if_needed()
    chart = page.player.locator(".rs-chart").bounding_box()
    x, y = chart["x"] + chart["width"] * 0.5, chart["y"] + chart["height"] / 2
    page.page.keyboard.down("Shift")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 120, y, steps=4)
    page.page.mouse.up()
    page.page.keyboard.up("Shift")
    page.page.mouse.move(0, 0)
    went(page, "brush=")
    page.settle()
    begin, end = map(float, place(page)["loop"].split("_"))
    assert page.t < begin
    page.press("Play")
    page.soon(lambda: within(begin, page.t, end))  # at once, though the page has been drawn again
    page.press("Pause")
    page.settle()
    before = place(page)
    assert page.page.evaluate("history.length - window.came") == 0

    page.nudge()
    went(page, "size=32MiB")
    page.page.get_by_text("Learn", exact=True).click()
    went(page, "page=learn")
    page.page.get_by_role("button", name="Next").click()
    went(page, "step=2")
    page.page.go_back()
    went(page, "!step=2")
    page.where("page=learn")
    page.page.go_back()
    went(page, "size=32MiB")
    page.page.locator(".rs-player[data-steps]").wait_for()
    page.page.go_back()
    went(page, "!size=")
    at(page, before["t"].expected)

    def as_before():
        assert place(page) == before

    page.soon(as_before)
    page.page.go_forward()
    went(page, "size=32MiB")
    page.page.get_by_role("button", name="Undo").click()
    went(page, "!size=")

    link = page.page.url
    page.page.goto("about:blank")
    page.page.goto(link)
    page.page.locator(".rs-player[data-steps]").wait_for()
    page.settle()
    page.page.wait_for_function("link => location.href === link", arg=link)


def test_words_of_a_place_that_are_nothing_here_are_left_out_and_told(visit):
    page = visit(f"{RING}&view=warp&camera=0_0&chosen=link_999&brush=2_1&window=x&t=0.001&lang=zh")
    assert page.t == 0.001
    note = page.player.locator(".rs-note")
    for word in ("view=warp", "camera=0_0", "chosen=link_999", "brush=2_1", "window=x"):
        expect(note).to_contain_text(word)
    went(page, "!chosen")


def test_a_plan_too_long_for_a_link_says_so_and_its_file_brings_it_back(visit):
    page = visit("?lang=en")
    noise = "".join(f"# {Random(k).randbytes(40).hex()}\n" for k in range(150))  # nothing makes this shorter
    machine = write_topology(build("switch:ranks=4"), "ringside_yaml") + noise.rstrip()
    plan = Plan(capture=machine, size="1MiB")
    place = {"t": "0.00005", "view": "time", "chosen": "rank_1"}
    page.page.evaluate(DROP, [["long.yaml", to_yaml(plan, place)]])
    went(page, "plan=")
    page.page.get_by_text("Too long for a link (6,000 characters at most)").wait_for()
    steps(page, 6)
    at(page, 0.00005)
    page.has(view="time", steps="6")
    expect(page.player.locator(".rs-card")).to_contain_text("rank 1")
    page.page.get_by_role("button", name="Play", exact=True).click()
    page.page.get_by_role("button", name="Pause", exact=True).click()
    went(page, "!t=0.00005&")
    text = ""
    for _ in range(30):  # the page hears a little later where the player stands
        page.settle()
        with page.page.expect_download() as taken:
            page.page.get_by_role("button", name="Plan as a file").click()
        text = Path(taken.value.path()).read_text()
        if place_in(text, "long.yaml").get("view"):
            break
    assert from_yaml(text, "long.yaml") == plan
    assert {**place_in(text, "long.yaml"), "t": ""} == {**place, "t": ""}

    page.page.go_back()
    went(page, "!plan=")
    steps(page, 14)
    page.page.go_forward()
    went(page, "plan=")
    steps(page, 6)
    page.page.reload()
    page.page.get_by_text("was too long for a link").first.wait_for()
    steps(page, 14)


PATIENT = """() => {
  const { setTimeout, fetch } = globalThis;
  globalThis.setTimeout = (act, after, ...words) => setTimeout(act, after === 2000 ? 60_000 : after, ...words);
  globalThis.fetch = async (where, options) => {
    let answer;
    do answer = await fetch(where, options);
    while (options?.method === "POST" && (await answer.clone().text()) === "null");
    return answer;
  };
}"""
"""A page that waits for a slider's picture for as long as a busy machine takes, where it goes without after a while."""
FIRST_SEEN = """e => {
  globalThis.firstSeen = null;
  const { steps } = e.dataset;
  new MutationObserver(() => {
    if (e.dataset.steps !== steps) globalThis.firstSeen ??= [e.dataset.steps, location.search];
  }).observe(e, { attributes: true });
}"""


def test_a_slider_moves_the_picture_ahead_of_the_page_which_follows_once_the_slider_rests(visit):
    page = visit("?machine=switch:ranks=16")
    slider = page.open_settings().get_by_role("slider", name=page.told("page.ranks"))
    page.page.evaluate(PATIENT)
    page.player.evaluate(FIRST_SEEN)

    def act():
        if slider.get_attribute("aria-valuetext") == "16":
            slider.press("ArrowLeft", timeout=HASTE)
        page.page.wait_for_function("location.search.includes('ranks=15')", timeout=HASTE)

    page.again(act)
    steps, address = page.page.evaluate("firstSeen")
    assert steps == "28"
    listed = page.player.get_by_label(page.told("player.look"))
    page.soon(lists, listed, 15)
    assert "ranks=15" not in address
    went(page, "ranks=15")
    page.has(steps="28")
    page.page.go_back()
    went(page, "!ranks=15")
    page.has(steps="30")
    page.soon(lists, listed, 16)


def lists(listed, ranks):
    words = listed.inner_text().split("\n")
    assert [word for word in words if "rank" in word] == [f"rank {k} · GPU{k}" for k in range(ranks)]
    assert words[0] == "–"
    assert len(words) == 1 + ranks + 32  # and both ways of every cable


def test_a_page_speaks_the_browsers_language_until_another_is_chosen(visit):
    entered = visit("?page=learn&lesson=ring", awaited="h1", locale="zh-CN")
    heading = entered.page.get_by_test_id("stMain").locator("h1")
    expect(heading).to_have_text(say("lesson.ring.title", "zh"))
    entered.choose("Language", "English")
    expect(heading).to_have_text(say("lesson.ring.title"))
    entered.where("lang=en")
    entered.open("?page=learn&lesson=ring&lang=en", awaited="h1")
    expect(heading).to_have_text(say("lesson.ring.title"))
