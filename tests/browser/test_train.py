"""The Train page as a person meets it, in a real browser."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ops.workloads import WORKLOADS
from tests.browser.test_capture import DROP
from ui.text import say

pytestmark = pytest.mark.browser
TIMELINE = '[data-ringside="timeline"]'
LARGE = ("zero", "fsdp")
OTHERS = [name for name in WORKLOADS if name not in LARGE]
"""Workloads that shard what a small model has too little of."""
DATA = Path(__file__).parents[1] / "data" / "torchrun"
DDP = "?page=train&workload=ddp&machine=switch:ranks=4"


def bars(page, rank, lane):
    return page.locator(f'{TIMELINE} [data-rank="{rank}"] [data-lane="{lane}"]')


def boxes(page, rank, *lanes):
    """Where the bars of some lanes of a rank are, all at one moment: what stands above may grow meanwhile."""
    where = """(row, lanes) => lanes.map((lane) => Array.from(row.querySelectorAll(`[data-lane="${lane}"]`),
      (bar) => bar.getBoundingClientRect().toJSON()))"""
    return page.locator(f'{TIMELINE} [data-rank="{rank}"]').evaluate(where, lanes)


def step_time(page):
    """Milliseconds, as the page tells them."""
    lines = page.get_by_test_id("stMetric").first.inner_text().split("\n")
    assert lines[0] == "Step time"
    assert lines[-1].endswith(" ms")
    return float(lines[-1].split()[0])


def takes(page, time):
    assert step_time(page) == pytest.approx(time, rel=1e-3)


def last_tick(page):
    return float(page.locator(f"{TIMELINE} .tl-axis span").last.inner_text().split()[0])


@pytest.fixture
def train(visit, request):
    """Opens the page at a link and waits for the picture."""

    def open_page(link=DDP, **options):
        return visit(link, awaited=TIMELINE, **options).page

    return open_page


def test_compute_and_communication_of_every_rank_and_what_hides(visit):
    one = visit(DDP, awaited=TIMELINE)
    page = one.page
    one.settle()
    expect(page.locator(f"{TIMELINE} [data-rank]")).to_have_count(4)
    expect(page.get_by_text("is exposed").last).to_be_visible()
    for rank in range(4):
        compute, back, hidden, exposed = boxes(page, rank, "compute", "backward", "hidden", "exposed")
        assert all((compute, back, hidden, exposed))
        end = max(box["x"] + box["width"] for box in back)
        assert all(box["x"] + box["width"] <= end + 2 for box in hidden)
        assert max(box["x"] + box["width"] for box in exposed) > end + 1
        assert all(box["y"] > compute[0]["y"] for box in hidden + exposed)
    page.locator(f"{TIMELINE} [data-memory] b").nth(3).wait_for(state="attached")
    words_of_the_answer_lead_to_what_shows_them(page)
    a_collective_plays_where_it_is_clicked_and_both_hands_are_one(one)
    it_comes_as_files(one)
    what_is_played_can_be_watched_on_the_stage(page, visit)


MARKED = """() => {
  globalThis.marked = [];
  const plain = Element.prototype.animate;
  Element.prototype.animate = function (...words) {
    globalThis.marked.push(this.dataset.lane ?? this.className);
    return plain.apply(this, words);
  };
}"""
"""Notes what moves: on a busy machine that may be over before anybody looks."""


def words_of_the_answer_lead_to_what_shows_them(page):
    address = page.evaluate("location.href")
    page.evaluate(MARKED)
    for word, shown in (("ms", "tl"), ("%", "exposed")):
        page.locator(".st-key-answer_step a, .st-key-answer_step_helped a").filter(has_text=word).first.click()
        page.wait_for_function(f"marked.includes({shown!r})")
    assert page.evaluate("location.href") == address


def a_collective_plays_where_it_is_clicked_and_both_hands_are_one(one):
    page = one.page
    row = page.locator(f'{TIMELINE} [data-rank="2"]')
    area = row.locator('[data-call="1"]')
    assert area.get_attribute("title").startswith("bucket 1, allreduce.ring, ")
    area.click()
    player = page.locator('[data-ringside="player"][data-steps]')
    page.wait_for_function("e => Number(e.dataset.timeS) > 0", arg=player.element_handle())
    expect(page.locator(f"{TIMELINE} [data-chosen]")).to_have_count(4)
    one.settle()
    player.press("End")
    expect(page.locator(".tl-hand")).to_have_count(4)

    def stands(share):
        span, hand = area.bounding_box(), row.locator(".tl-hand").bounding_box()
        assert hand["x"] == pytest.approx(span["x"] + share * span["width"], abs=2)

    one.soon(stands, 1)
    player.press("Home")
    one.soon(stands, 0)
    one.choose("Play a collective of this step", re.compile("bucket 3"))
    page.get_by_text("bucket 3: allreduce.ring").wait_for()
    page.locator(f'{TIMELINE} [data-call="3"][data-chosen]').first.wait_for()


def it_comes_as_files(one):
    page = one.page
    one.settle()
    button = page.get_by_role("button", name=say("train.download.page"))
    with page.expect_download() as coming:  # though a part of the page asks to be drawn at the same moment
        bar = page.locator(f'{TIMELINE} [data-rank="2"] [data-call="3"]')
        bar.evaluate("(bar, button) => [bar, button].forEach((it) => it.click())", button.element_handle())
    assert coming.value.suggested_filename == "ddp.html"
    assert coming.value.path().read_text(encoding="utf-8").count(TIMELINE[1:-1]) == 1
    one.settle()
    with page.expect_download() as coming:
        page.get_by_role("button", name="Timeline for Perfetto").click()
    whole = json.loads(coming.value.path().read_text(encoding="utf-8"))
    assert {event["pid"] for event in whole["traceEvents"]} == {0, 1, 2, 3}


def what_is_played_can_be_watched_on_the_stage(page, visit):
    link = page.get_by_role("link", name="Open bucket 3 · allreduce.ring").get_attribute("href")
    stage = visit(link[link.index("?") :])
    stage.has(steps="6")
    expect(stage.page.locator("h1")).to_contain_text("by ring on")


def test_without_overlap_nothing_hides_a_closer_look_draws_a_part_and_bad_input_is_one_sentence(visit):
    one = visit(DDP, awaited=TIMELINE)
    page = one.page
    one.settle()
    before = step_time(page)
    page.get_by_text("overlap", exact=True).click()
    expect(page.locator(f"{TIMELINE} [data-lane=hidden]")).to_have_count(0)
    one.where("overlap=no")
    one.settle()
    assert step_time(page) > before
    a_closer_look_draws_a_part(one)
    bad_input_is_one_sentence(page)


def a_closer_look_draws_a_part(one):
    page, whole = one.page, last_tick(one.page)
    page.get_by_text("Details").click()
    one.settle()
    page.get_by_role("slider", name="Part of the step").last.press("PageDown")

    def ends(share):
        assert last_tick(page) == pytest.approx(share * whole, rel=1e-3)

    one.soon(ends, 0.9)


def bad_input_is_one_sentence(page):
    box = page.get_by_label("bucket", exact=True)
    box.fill("plenty")
    box.press("Enter")
    for place in ("Error", "Warning"):  # beside the field, and above the picture that stays
        said = page.get_by_test_id(f"stAlertContent{place}")
        said.get_by_text("'plenty' is not a number with a unit").wait_for()


def drawn(page, name):
    """Asserts that a workload is drawn."""
    page.locator(f"{TIMELINE} [data-lane]").nth(3).wait_for(state="attached")
    expect(page.locator('[data-testid="stAlert"]'), name).to_have_count(0)


@pytest.mark.parametrize("name", LARGE)
def test_a_workload_for_large_models_is_drawn(train, name):
    drawn(train(f"?page=train&workload={name}&machine=switch:ranks=4&model=gpt2"), name)


def widen(parts):
    widths = [part.bounding_box()["width"] for part in parts.all()]
    assert [round(width / widths[0]) for width in widths] == [1, 2, 3, 4]


@pytest.mark.turns("names")
@pytest.mark.parametrize("names", [OTHERS[::2], OTHERS[1::2]])
def test_every_other_workload_is_drawn_and_the_last_one_s_link_brings_it_back(visit, names):
    one = visit(DDP, awaited=TIMELINE)
    for name in names:
        one.choose(one.told("train.workload"), one.told(f"train.name.{name}"))
        one.page.wait_for_function("name => new URLSearchParams(location.search).get('workload') === name", arg=name)
        one.settle()
        drawn(one.page, name)
        if name == "allgatherv":
            parts = one.page.locator('[data-ringside="buffer"] [data-lane]')
            parts.nth(3).wait_for()  # it comes after the timeline
            one.soon(widen, parts)
    one.where(f"workload={name}")
    about = one.told(f"train.about.{name}")[:40]
    one.page.get_by_text(about).wait_for()
    one.page.reload()
    one.page.get_by_text(about).wait_for()
    one.page.locator(TIMELINE).wait_for()
    drawn(one.page, name)


def test_a_program_s_result_is_dropped_drawn_and_played_and_its_group_opens_on_the_stage(visit):
    text = (DATA / "ddp-4-ranks.json").read_text(encoding="utf-8")
    one = visit(DDP, awaited=TIMELINE)
    page = one.page
    page.evaluate(DROP, [["result.json", text]])
    page.get_by_role("heading", name=one.told("train.name.program")).wait_for()
    one.settle()
    one.soon(takes, page, json.loads(text)["time_s"] * 1e3)
    for rank in range(4):
        assert all(boxes(page, rank, "compute", "backward", "exposed"))
    kinds = [area.get_attribute("title") for area in page.locator(f"{TIMELINE} [data-memory] b").all()]
    assert {"parameters", "gradients", "activations", "optimizer"} <= set(kinds)
    last = len(json.loads(text)["collectives"]) - 1
    group = page.locator(f'{TIMELINE} [data-call="{last}"]')
    expect(group).to_have_count(2)  # the ranks of its group alone
    group.last.click()
    one.player.wait_for()
    page.wait_for_function("document.querySelectorAll('.tl-hand').length === 4")
    link = page.get_by_role("link", name="Open all_reduce · allreduce.ring on the Simulate page").get_attribute("href")
    stage = visit(link[link.index("?") :])
    for word in ("placement=GPU1", "size=4194304"):
        stage.where(word)
    stage.has(steps="2")
    page.get_by_role("button", name=one.told("train.program.close")).click()
    page.get_by_role("heading", name=one.told("train.name.ddp")).wait_for()


def test_a_damaged_result_is_told_in_one_sentence_and_the_page_stays(visit):
    text = (DATA / "ddp-4-ranks.json").read_text(encoding="utf-8")
    one = visit(DDP, awaited=TIMELINE)
    one.page.evaluate(DROP, [["result.json", text.replace('"lane": "compute"', '"lane": "computed"', 1)]])
    one.page.get_by_text("lane is not one of compute, comm, wait, host").wait_for()
    one.page.locator(TIMELINE).wait_for()
