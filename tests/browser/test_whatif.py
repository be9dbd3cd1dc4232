"""What a hand asks of a page that has nobody to ask, and of the dashboard: both answer as Python does."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from ops.plan.link import from_link
from ui.controls.compare import forked
from ui.plan.picture import carried_out
from ui.player.payload import pack, unpack

pytestmark = pytest.mark.browser
RING = "?machine=switch:ranks=8&algorithm=allreduce.ring&size=64MiB"
LINK, RANK = "SW → GPU3", "rank 2 · GPU2"
ENDS = "src=SW,dst=GPU3"
RUN = """e => { const { meta, c } = e.ringside.run();
  const columns = ["end", "span", "cause", "load", "path"].map((name) => [name, [...c[name]]]);
  return { time: meta.time, ...Object.fromEntries(columns) }; }"""
DRAGS = [
    (LINK, "bandwidth", -20, f"set_link:{ENDS},bandwidth=6.25GBps"),
    (LINK, "bandwidth", -3, f"set_link:{ENDS},bandwidth=20.306GBps"),
    (LINK, "bandwidth", 10, f"set_link:{ENDS},bandwidth=50GBps"),
    (LINK, "times", 20, "set_class:kind=NVL,times=4"),
    (LINK, "latency", 40, f"set_link:{ENDS},latency=16us"),
    (LINK, "bytes", -20, "size:bytes=16800000"),
    (RANK, "slower", 10, "straggler:rank=2,slower=2"),
    (RANK, "slower", 40, "straggler:rank=2,slower=16"),
    (RANK, "late", 50, "straggler:rank=2,late=2360us"),
    (RANK, "bytes", 10, "size:bytes=134000000"),
]


def python_says(query, spec):
    """What Python says of a link's run and what is asked of it."""
    trace = carried_out(forked(from_link(dict(pair.split("=", 1) for pair in query[1:].split("&"))), spec)).trace
    _, columns = unpack(pack(trace))
    return trace.time, columns


def choose(page, label, key):
    page.player.get_by_label("Look at").select_option(label=label)
    page.player.locator(".rs-card-more").evaluate("e => (e.open = true)")
    return page.player.locator(f"input[data-drag={key}]").first


def until_worked_out(page):
    page.player.locator(".rs-curve:visible").first.wait_for()


def expect_run(page, query, spec):
    time, columns = python_says(query, spec)

    def is_run():
        run = page.player.first.evaluate(RUN)
        assert run.pop("time") == time
        for name, column in run.items():
            assert np.array_equal(column, columns[name]), (spec, name)

    page.soon(is_run)


def test_ten_drags_of_a_page_without_a_network_are_answered_as_python_does(play):
    page = play(RING)
    for label, key, place, spec in DRAGS:
        slider = choose(page, label, key)
        until_worked_out(page)
        slider.fill(str(place))
        expect(page.player.locator(".rs-undo")).to_be_visible()
        expect_run(page, RING, spec)
        expect(page.player).to_have_count(1)
        page.player.get_by_role("button", name="Undo").click()
        expect(page.player.locator(".rs-old")).to_be_hidden()


OLD = """e => { const { run, old } = e.ringside, t = Number(e.dataset.timeS), own = old();
  return { old: own.time, now: run().time, moving: [own.moving(t), run().moving(t)] }; }"""


def test_a_link_is_halved_with_its_slider_and_the_old_run_stays_as_a_ghost_until_that_is_undone(play):
    page = play("?machine=switch:ranks=64&algorithm=allreduce.ring&size=1MiB&t=0.0002")
    slider, answer = choose(page, LINK, "bandwidth"), page.player.locator(".rs-answer")
    until_worked_out(page)
    usual = page.player.evaluate(RUN)["time"]
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    y, wide = box["y"] + box["height"] / 2, box["width"] - 16
    mouse, usually = page.page.mouse, box["x"] + 8 + wide * 2 / 3
    mouse.move(usually, y)
    mouse.down()
    mouse.move(box["x"] + 8 + wide / 3, y, steps=6)
    expect(answer).to_contain_text(re.compile(r"\+[\d.]+ µs \(×1\.\d+\)"))
    said = page.page.locator(".rs-said")
    expect(said).to_contain_text(re.compile(r"^[\d.]+ GB/s on SW → GPU3: [\d.]+ → [\d.]+ µs, [\d.]+[×%] slower\."))
    top = page.player.bounding_box()["y"]
    end = page.page.locator(".rs-end-old")
    expect(end).to_have_text(re.compile(r"old run ends, [\d.]+ µs"))
    both = page.player.evaluate(OLD)
    assert both["old"] == usual < both["now"]
    assert both["moving"][0] != both["moving"][1]
    mouse.move(usually, y, steps=3)
    mouse.up()
    expect(said).to_contain_text("Ring takes ")
    expect(answer).to_be_hidden()
    expect(end).to_be_hidden()

    def is_as_before():
        assert page.player.bounding_box()["y"] == top
        assert page.player.evaluate(RUN)["time"] == usual

    page.soon(is_as_before)
    slider.focus()
    for _ in range(3):
        page.page.keyboard.press("ArrowLeft")
    expect(page.player.locator(".rs-undo")).to_be_visible()
    assert page.page.evaluate("document.activeElement.getRootNode().activeElement.dataset.drag") == "bandwidth"
    expect(page.player.locator(".rs-curve-now").first).to_have_text(re.compile(r"µs"))
    expect(page.player.locator(".rs-part-bar s")).to_have_count(2)
    page.player.get_by_role("button", name="Side by side").click()
    expect(page.player).to_have_count(2)
    expect(page.player.first.locator(".rs-why")).to_have_attribute("open", "")
    page.page.get_by_role("button", name="In one picture").click()
    expect(page.player).to_have_count(1)
    page.player.get_by_role("button", name="Undo").click()
    expect(end).to_be_hidden()
    assert page.player.evaluate(RUN)["time"] == usual


def test_what_needs_python_is_said_where_nobody_has_it(play):
    page = play(RING, language="zh")
    page.player.get_by_label("查看").select_option(label=LINK)
    page.player.get_by_role("button", name="现在断开").click()
    expect(page.player.locator(".rs-answer")).to_contain_text("Python")
    assert page.player.count() == 1


def test_the_dashboard_follows_with_the_same_numbers(visit):
    page = visit(f"{RING}&t=0.001")
    page.settle()
    slider = choose(page, LINK, "bandwidth")
    until_worked_out(page)
    slider.fill("-10")
    expect(page.player.locator(".rs-undo")).to_be_visible()
    ahead, sentences = page.player.evaluate(RUN), page.page.locator(".rs-said > :not(.rs-said-title)")
    headline, reason = sentences.all_inner_texts()
    page.where("bandwidth%3D12.5GBps")
    expect(sentences.last).to_have_text(re.compile(r"brings|takes|None of"))  # what would win it back comes last
    page.settle()

    def is_the_same():
        assert page.player.evaluate(RUN) == ahead
        assert sentences.first.inner_text() == headline
        assert sentences.last.inner_text().startswith(reason)

    page.soon(is_the_same)
    sentences.first.get_by_role("button").last.click()  # the factor leads to what the time is made of
    expect(page.player.locator(".rs-why")).to_have_attribute("open", "")
    sentences.first.get_by_role("button").first.click()
    usual = float(re.search(r": ([\d.]+)", headline)[1]) * 1e-3
    stands = "([e, t]) => Math.abs(e.dataset.timeS - t) < 1e-5"
    page.page.wait_for_function(stands, arg=[page.player.element_handle(), usual])
    expect_run(page, RING, f"set_link:{ENDS},bandwidth=12.5GBps")
    slider = choose(page, RANK, "bytes")
    until_worked_out(page)
    slider.fill("10")
    page.where("size=134MB")
    page.settle()
    expect(page.player).to_have_count(1)
    page.player.get_by_role("button", name="Undo").click()
    page.where("!size=")
    page.settle()
    page.player.get_by_role("button", name="Undo").click()
    page.where("!edits=")
    expect(page.player).to_have_count(1)
    expect(page.player.locator(".rs-old")).to_be_hidden()


MOUNT = "export default function (options) {"
NOTED = "globalThis.mounted = [(again) => mount(again), options];"
AGAIN = """() => {
  const [mount, options] = globalThis.mounted;
  const overtaken = mount(options);
  overtaken();
  mount(options);
}"""
"""What Streamlit does where newer data arrives while the script of a component is still being imported."""


def test_a_player_whose_data_is_overtaken_stays_the_only_one(enter, address):
    page = enter(address)

    def noting(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace(MOUNT, f"{MOUNT}\n  {NOTED}"))

    page.page.route("**/player-*.js", noting)
    page.open(RING)
    page.settle()
    page.page.evaluate(AGAIN)
    page.painted()
    expect(page.player).to_have_count(1)
    page.press("Step forward")
    page.where("t=")
    page.page.unroute("**/player-*.js")
