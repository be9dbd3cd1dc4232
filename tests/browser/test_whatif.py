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
    (LINK, "share", 30, f"slow_link:{ENDS},share=0.3"),
    (LINK, "share", 75, f"slow_link:{ENDS},share=0.75"),
    (LINK, "times", -10, f"set_link:{ENDS},times=0.5"),
    (LINK, "times", 20, f"set_link:{ENDS},times=4"),
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
    page.player.first.get_by_label("Look at").select_option(label=label)
    return page.player.first.locator(f".rs-drag input[data-drag={key}]").first


def expect_run(page, query, spec):
    run = page.player.first.evaluate(RUN)
    time, columns = python_says(query, spec)
    assert run.pop("time") == time
    for name, column in run.items():
        assert np.array_equal(column, columns[name]), (spec, name)


def test_ten_drags_of_a_page_without_a_network_are_answered_as_python_does(play):
    page = play(RING)
    for label, key, place, spec in DRAGS:
        slider = choose(page, label, key)
        page.page.wait_for_timeout(100)
        slider.fill(str(place))
        expect(page.player).to_have_count(2)
        expect_run(page, RING, spec)
        page.page.get_by_role("button", name="Remove").click()
        expect(page.player).to_have_count(1)


def test_a_hand_sees_what_comes_of_it_before_it_lets_go(play):
    page = play("?machine=switch:ranks=64&algorithm=allreduce.ring&size=1MiB")
    slider, answer = choose(page, LINK, "share"), page.player.locator(".rs-answer")
    usual = page.player.evaluate(RUN)["time"]
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.page.mouse.move(box["x"] + box["width"] - 8, y)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] / 2, y, steps=6)
    expect(answer).to_contain_text(re.compile(r"\+[\d.]+ µs \(×1\.\d+\)"))
    assert page.player.count() == 1
    assert page.player.evaluate(RUN)["time"] > usual
    expect(page.page.locator(".rs-ghost")).to_be_visible()
    page.page.mouse.move(box["x"] + box["width"] - 8, y, steps=3)
    page.page.mouse.up()
    expect(answer).to_be_hidden()
    assert page.player.evaluate(RUN)["time"] == usual
    slider.focus()
    for _ in range(3):
        page.page.keyboard.press("ArrowLeft")
    expect(page.player).to_have_count(2)
    expect(page.player.first.locator(".rs-title")).to_contain_text("97%")


def test_what_needs_python_is_said_where_nobody_has_it(play):
    page = play(RING, language="zh")
    page.player.get_by_label("查看").select_option(label=LINK)
    page.player.get_by_role("button", name="现在断开会怎样？").click()
    expect(page.player.locator(".rs-answer")).to_contain_text("Python")
    assert page.player.count() == 1


def test_the_dashboard_follows_with_the_same_numbers(visit):
    page = visit(f"{RING}&t=0.001")
    page.settle()
    slider = choose(page, LINK, "share")
    page.page.wait_for_timeout(300)
    slider.fill("25")
    expect(page.player).to_have_count(2)
    ahead = page.player.first.evaluate(RUN)
    page.where("share%3D0.25")
    page.page.get_by_test_id("stDataFrame").wait_for()
    page.settle()
    assert page.player.first.evaluate(RUN) == ahead
    expect_run(page, RING, f"slow_link:{ENDS},share=0.25,start=1000us")
    slider = choose(page, RANK, "bytes")
    page.page.wait_for_timeout(300)
    slider.fill("10")
    page.where("size=134MB")
    page.settle()
    assert page.player.count() == 3
