"""The Train page as a person meets it, in a real browser."""

import json
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


def last_tick(page):
    return page.locator(f"{TIMELINE} .tl-axis span").last.inner_text()


@pytest.fixture
def train(visit, request):
    """Opens the page at a link and waits for the picture."""

    def open_page(link=DDP, **options):
        return visit(link, awaited=TIMELINE, **options).page

    return open_page


def test_compute_and_communication_of_every_rank_and_what_hides(train, visit):
    page = train()
    expect(page.locator(f"{TIMELINE} [data-rank]")).to_have_count(4)
    expect(page.get_by_text("is exposed").last).to_be_visible()
    for rank in range(4):
        compute, back, hidden, exposed = boxes(page, rank, "compute", "backward", "hidden", "exposed")
        assert all((compute, back, hidden, exposed))
        end = max(box["x"] + box["width"] for box in back)
        assert all(box["x"] + box["width"] <= end + 2 for box in hidden)
        assert max(box["x"] + box["width"] for box in exposed) > end + 1
        assert all(box["y"] > compute[0]["y"] for box in hidden + exposed)
    assert page.locator(f"{TIMELINE} [data-memory] b").count() >= 4
    assert page.get_by_text("is exposed").last.is_visible()
    words_of_the_answer_lead_to_what_shows_them(page)
    a_collective_plays_where_it_is_clicked_and_both_hands_are_one(page)
    it_comes_as_files(page)
    what_is_played_can_be_watched_on_the_stage(page, visit)


def words_of_the_answer_lead_to_what_shows_them(page):
    marked = "document.getAnimations().map(({ effect }) => effect.target?.dataset?.lane ?? effect.target?.className)"
    address = page.url
    for word, shown in (("ms", "tl"), ("%", "exposed")):
        page.locator(".st-key-answer_step a, .st-key-answer_step_helped a").filter(has_text=word).first.click()
        page.wait_for_function(f"{marked}.includes({shown!r})")
    assert page.url == address


def a_collective_plays_where_it_is_clicked_and_both_hands_are_one(page):
    row = page.locator(f'{TIMELINE} [data-rank="2"]')
    area = row.locator('[data-call="1"]')
    assert area.get_attribute("title").startswith("bucket 1, allreduce.ring, ")
    area.click()
    player = page.locator('[data-ringside="player"][data-steps]')
    player.wait_for()
    assert float(player.get_attribute("data-time-s")) > 0
    assert page.locator(f"{TIMELINE} [data-chosen]").count() == 4
    player.press("End")
    page.wait_for_function("document.querySelectorAll('.tl-hand').length === 4")
    span, hand = area.bounding_box(), row.locator(".tl-hand").bounding_box()
    assert hand["x"] == pytest.approx(span["x"] + span["width"], abs=2)
    player.press("Home")
    assert row.locator(".tl-hand").bounding_box()["x"] == pytest.approx(span["x"], abs=2)
    page.get_by_role("combobox", name="Play a collective of this step").click()
    page.get_by_role("option", name="bucket 3").click()
    page.get_by_text("bucket 3: allreduce.ring").wait_for()
    page.locator(f'{TIMELINE} [data-call="3"][data-chosen]').first.wait_for()


def it_comes_as_files(page):
    with page.expect_download() as coming:
        page.get_by_role("button", name=say("train.download.page")).click()
    assert coming.value.suggested_filename == "ddp.html"
    assert coming.value.path().read_text(encoding="utf-8").count(TIMELINE[1:-1]) == 1
    with page.expect_download() as coming:
        page.get_by_role("button", name="Timeline for Perfetto").click()
    whole = json.loads(coming.value.path().read_text(encoding="utf-8"))
    assert {event["pid"] for event in whole["traceEvents"]} == {0, 1, 2, 3}


def what_is_played_can_be_watched_on_the_stage(page, visit):
    link = page.get_by_role("link", name="Open bucket 3 · allreduce.ring").get_attribute("href")
    stage = visit(link[link.index("?") :])
    assert stage.data("steps") == "6"
    assert "by ring on" in stage.page.locator("h1").inner_text()


def test_without_overlap_nothing_hides_a_closer_look_draws_a_part_and_bad_input_is_one_sentence(train):
    page = train()
    before = step_time(page)
    page.get_by_text("overlap", exact=True).click()
    page.wait_for_function(f"document.querySelectorAll('{TIMELINE} [data-lane=hidden]').length === 0")
    page.wait_for_function("location.search.includes('overlap=no')")
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    assert step_time(page) > before
    a_closer_look_draws_a_part(page)
    bad_input_is_one_sentence(page)


def a_closer_look_draws_a_part(page):
    whole = last_tick(page)
    page.get_by_text("Details").click()
    handle = page.get_by_role("slider", name="Part of the step").last
    for _ in range(10):
        handle.press("ArrowLeft")
    # every key draws the page again: it stands still where all ten have been heard
    page.wait_for_function(
        "([axis, end]) => Math.abs(parseFloat(document.querySelector(axis).lastChild.textContent) / end - 1) < 1e-3",
        arg=[f"{TIMELINE} .tl-axis", float(whole.split()[0]) * 0.9],
    )
    assert float(last_tick(page).split()[0]) == pytest.approx(float(whole.split()[0]) * 0.9, rel=1e-3)


def bad_input_is_one_sentence(page):
    box = page.get_by_label("bucket", exact=True)
    box.fill("plenty")
    box.press("Enter")
    for place in ("Error", "Warning"):  # beside the field, and above the picture that stays
        said = page.get_by_test_id(f"stAlertContent{place}")
        said.get_by_text("'plenty' is not a number with a unit").wait_for()


def drawn(page, name):
    """Asserts that a workload is drawn."""
    assert page.locator(f"{TIMELINE} [data-lane]").count() >= 4, name
    assert page.locator('[data-testid="stAlert"]').count() == 0, name


@pytest.mark.parametrize("name", LARGE)
def test_a_workload_for_large_models_is_drawn(train, name):
    drawn(train(f"?page=train&workload={name}&machine=switch:ranks=4&model=gpt2"), name)


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
            widths = [part.bounding_box()["width"] for part in parts.all()]
            assert [round(width / widths[0]) for width in widths] == [1, 2, 3, 4]
    assert f"workload={name}" in one.page.url
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
    assert step_time(page) == pytest.approx(json.loads(text)["time_s"] * 1e3, rel=1e-3)
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
    assert "placement=GPU1" in stage.page.url
    assert "size=4194304" in stage.page.url
    assert stage.data("steps") == "2"
    page.get_by_role("button", name=one.told("train.program.close")).click()
    page.get_by_role("heading", name=one.told("train.name.ddp")).wait_for()


def test_a_damaged_result_is_told_in_one_sentence_and_the_page_stays(visit):
    text = (DATA / "ddp-4-ranks.json").read_text(encoding="utf-8")
    one = visit(DDP, awaited=TIMELINE)
    one.page.evaluate(DROP, [["result.json", text.replace('"lane": "compute"', '"lane": "computed"', 1)]])
    one.page.get_by_text("lane is not one of compute, comm, wait, host").wait_for()
    one.page.locator(TIMELINE).wait_for()
