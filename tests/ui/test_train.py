"""The Train page without a browser: every workload is drawn, in both languages; bad input is a message."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from ops.communicators.records import Span
from ops.plan import Plan
from ops.programs.result import PROGRAM
from ops.training.facts import is_table
from ops.training.step import COMM, COMPUTE, StepCollective, TrainingStep
from ops.workloads import WORKLOADS
from sim.machines import build
from tests.tables import each_row
from tests.ui.visited import change_state
from ui.charts import gaps
from ui.charts.training import buffer, columns, timeline
from ui.state import state
from ui.text import catalogue, languages
from ui.train import playhead
from ui.train.state import TrainState

APP = str(Path(__file__).parents[2] / "app.py")
RESULT = Path(__file__).parents[1] / "data" / "torchrun" / "ddp-4-ranks.json"
WORDS = {
    key: key
    for key in ("compute", "backward", "hidden", "exposed", "wait", "host", "timeline", "buffer", "bubble", "open")
}
WORDS |= {"rank": "rank {rank}", "memory": "memory of {rank}: {peak}"}


def page(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"page": "train", "machine": "switch:ranks=4", **words}.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


def pictures(at):
    return [
        element.proto.body for element in at.main if element.type == "html" and "data-ringside" in element.proto.body
    ]


SMALL = {"zero": {"model": "gpt2"}, "fsdp": {"model": "gpt2"}}


@pytest.mark.slow
@each_row("name", list(WORKLOADS), days=3)
def test_every_workload_is_drawn(name):
    at = page(workload=name, **SMALL.get(name, {}))
    assert not at.error, [e.value for e in at.error]
    assert 'data-ringside="timeline"' in pictures(at)[0]
    assert at.query_params["workload"] == name
    assert len(at.metric) == 4 if name != "zero_first" else 3


@pytest.mark.slow
def test_every_workload_and_every_fact_has_words_in_every_language():
    machine = build("nodes:nodes=2,gpus=2")
    facts, kinds = {"compute"}, set()  # as a program's step has it

    def note(rows):
        for row in rows:
            for key, value in row.items():
                facts.add(key)
                note(value if is_table(value) else [])

    for name, entry in WORKLOADS.items():
        step = entry.run(machine, {"best": True, "stale": 2} if name == "ddp" else {})
        note([step.facts, *step.collectives])
        kinds |= {held.kind.replace(" ", "_") for held in step.changes}
    for language in languages():
        texts = catalogue(language)
        assert {f"train.fact.{key}" for key in facts} == {key for key in texts if key.startswith("train.fact.")}
        assert {f"train.kind.{kind}" for kind in kinds} == {key for key in texts if key.startswith("train.kind.")}
        for kind in ("name", "about"):
            told = {key for key in texts if key.startswith(f"train.{kind}.")}
            assert told == {f"train.{kind}.{name}" for name in (*WORKLOADS, PROGRAM)}


def test_it_speaks_chinese():
    at = page(lang="zh")
    assert at.metric[0].label == "单步时间"
    assert at.query_params["lang"] == "zh"


def test_a_link_brings_parameters_back():
    at = page(workload="ddp", overlap="no", bucket="1MiB")
    assert at.toggle(key="ddp_overlap").value is False
    assert at.text_input(key="ddp_bucket").value == "1 MiB"
    assert at.query_params["bucket"] == "1MiB"


def test_changing_a_parameter_changes_the_step():
    at = page(workload="iallgather")
    before = at.metric[0].value
    at.text_input(key="iallgather_compute").set_value("50ms").run()
    assert (before, at.metric[0].value) == ("5 ms", "50 ms")
    assert at.query_params["compute"] == "50ms"


def test_a_table_of_layers_is_typed_in():
    at = page()
    at.text_area(key="ddp_layers").set_value("a 1000x1000 1ms 2ms\nb 1000x1000 1ms 2ms").run()
    assert not at.error
    assert at.metric[0].value.startswith("6.")
    at.text_area(key="ddp_layers").set_value("a 1000 1ms").run()
    assert "layers, line 1" in at.error[0].value


@pytest.mark.parametrize(
    "words, told",
    (
        ({"workload": "none"}, "no workload is called 'none'"),
        ({"machine": "none"}, "none"),
        ({"capture": "!!"}, "the link's capture"),
        ({"bucket": "much"}, "bucket"),
    ),
)
def test_a_damaged_link_is_told_and_the_page_still_shows_something(words, told):
    at = page(**words)
    assert told in at.error[0].value
    assert pictures(at)


def spans(*rows):
    machine = build("switch:ranks=2")
    return TrainingStep(machine, 1, 10.0, [Span(0, *row) for row in rows], [], machine.bandwidth * 0, [])


def bars(html):
    """Lane, first and last percent of every bar."""
    found = re.findall(r'<b style="left:([\d.]+)%;width:([\d.]+)%;[^>]* data-lane="(\w+)"', html)
    return [(lane, round(float(x)), round(float(x) + float(width))) for x, width, lane in found]


def test_communication_under_compute_is_drawn_as_hidden():
    step = spans((COMPUTE, 0.0, 6.0, "forward"), (COMM, 4.0, 8.0, "sum <1>"))
    html = timeline(step, [0], (0.0, 10.0), WORDS)
    assert bars(html) == [("compute", 0, 60), ("exposed", 40, 80), ("hidden", 40, 60)]
    assert "sum &lt;1&gt;, 4 s – 8 s" in html


def test_what_is_not_compute_is_exposed_or_a_bubble_and_all_of_it_has_a_name():
    step = spans((COMPUTE, 1.0, 4.0, "forward"), (COMM, 3.0, 6.0, "sum"), (COMPUTE, 8.0, 9.0, "backward"))
    found = [(gap.kind, gap.start, gap.end) for gap in gaps.gaps(step, 0)]
    assert found == [("bubble", 0, 1), ("exposed", 4, 6), ("bubble", 6, 8), ("bubble", 9, 10)]
    assert sum(gap.length for gap in gaps.gaps(step, 0) if gap.kind == "exposed") == step.exposed(0)
    html = timeline(step, [0], (4.0, 8.0), WORDS)
    drawn = re.findall(r'style="left:([\d.]+)%;width:([\d.]+)%" data-gap="(\w+)" title="([^"]+)"', html)
    assert drawn == [
        ("0.00", "50.00", "exposed", "exposed (sum), 4 s – 6 s: 2 s"),
        ("50.00", "50.00", "bubble", "bubble, 6 s – 8 s: 2 s"),
    ]


def test_dp_and_ddp_are_drawn_on_one_clock():
    at = page(workload="data_parallel")
    dp, ddp = pictures(at)[:2]
    assert "beside" in ddp
    axes = [re.findall(r'<div class="tl-axis">(.*?)</div>', html) for html in (dp, ddp)]
    assert axes[0] == axes[1]
    assert any(line.value.startswith("**rank 0**: bubble") for line in at.markdown)


def test_a_window_shows_its_part():
    step = spans((COMPUTE, 0.0, 6.0, "a"), (COMPUTE, 8.0, 9.0, "b"))
    assert bars(timeline(step, [0], (5.0, 7.0), WORDS)) == [("compute", 0, 50)]


class SessionState(dict):
    """As Streamlit's: what it holds is there by key and by attribute."""

    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def call(name, start, end):
    usual = {"algorithm": "allreduce.ring", "ranks": (0,), "size": 4e6, "verified": True, "latest": 0, "links": ""}
    return StepCollective(name=name, start=start, end=end, **usual)


def test_collectives_are_places_to_press_with_their_names():
    step = spans((COMM, 2.0, 6.0, "sum"))
    calls = {3: call("sum <1>", 2.0, 6.0), 4: call("later", 8.0, 9.0), 5: call("thin", 0.0, 0.001)}
    html = timeline(step, [0], (4.0, 8.0), WORDS, calls, chosen=3)
    assert re.findall(r'style="left:([\d.]+)%;width:([\d.]+)%" data-call="(\d)"', html) == [("0.00", "50.00", "3")]
    assert 'data-chosen="" title="sum &lt;1&gt;, allreduce.ring, 4 MB"' in html
    assert "data-call" not in timeline(step, [0], (4.0, 8.0), WORDS)


@pytest.mark.parametrize(
    "words",
    (None, 3, {"call": "0"}, {"call": 99, "share": 0.5, "asked": 1}, {"call": 0, "share": 2, "asked": 1},
     {"call": 0, "share": float("nan"), "asked": 1}, {"call": 0, "share": None, "asked": []}),
)  # fmt: skip
def test_clicks_that_no_timeline_can_have_had_play_nothing(monkeypatch, words):
    step = replace(spans((COMM, 2.0, 6.0, "sum")), calls=[call("sum", 2.0, 6.0)])
    monkeypatch.setattr("streamlit.session_state", held := {})
    held[playhead.KEY] = SimpleNamespace(asked=words)
    playhead.clicked(step)
    assert playhead.chosen_of(step) is None
    assert "TrainState" not in held
    held[playhead.KEY].asked = {"call": 0, "share": 0.25, "when": 7}
    playhead.clicked(step)
    assert playhead.chosen_of(step) == 0
    assert state(TrainState) == TrainState(share=0.25, plays=1)


def test_a_collective_of_another_step_is_chosen_no_longer(monkeypatch):
    drawn = []
    step = replace(spans((COMM, 2.0, 6.0, "sum")), calls=[call("sum", 2.0, 6.0)])
    for each in (step, replace(step, calls=[])):
        monkeypatch.setattr("streamlit.session_state", held := {playhead.CHOICE: 4})
        shown = SimpleNamespace(
            selectbox=lambda *_, format_func, **__: drawn.append(format_func), link_button=lambda *_, **__: None
        )
        monkeypatch.setattr(playhead, "st", shown)
        playhead.draw(each, Plan(machine="dgx_a100"))
        assert held[playhead.CHOICE] is None
    (told,) = drawn
    assert (told(0), told(4)) == ("sum · 4 MB", "")


def test_ten_thousand_spans_make_no_more_bars_than_can_be_seen():
    step = spans(*((COMPUTE, k / 1000, k / 1000 + 0.0005, "x") for k in range(10_000)))
    assert len(bars(timeline(step, [0], (0.0, 10.0), WORDS))) <= 1100


def test_figures_are_as_long_as_they_are_large():
    rows = [{"ranks": 1, "dp_s": 1.0, "ddp_s": 2.0}, {"ranks": 2, "dp_s": None, "ddp_s": 4.0}]
    html = columns(rows, "ranks", ("dp_s", "ddp_s"), {"dp_s": "DP", "ddp_s": "DDP"})
    assert bars(html) == [("dp_s", 0, 25), ("ddp_s", 0, 50), ("ddp_s", 0, 100)]


def test_blocks_have_their_true_widths():
    rows = [
        {"rank": 0, "count_bytes": 1, "displacement_bytes": 3},
        {"rank": 1, "count_bytes": 3, "displacement_bytes": 0},
    ]
    assert bars(buffer(rows, WORDS)) == [("block", 75, 100), ("block", 0, 75)]
    assert buffer([{"rank": 0, "count_bytes": 0, "displacement_bytes": 0}], WORDS) == ""


def test_a_program_s_result_stays_until_it_is_closed():
    at = page()
    change_state(at, TrainState, program=(RESULT.read_text(encoding="utf-8"), "result.json"))
    at.run()
    assert [title.value for title in at.title] == [catalogue("en")["train.name.program"]]
    assert "all_reduce" in pictures(at)[0]
    assert "result.json" in at.sidebar.markdown[1].value
    at.selectbox(key="train_call").set_value(0).run()
    assert not at.exception
    at.button(key="program_close").click().run()
    assert [title.value for title in at.title] == [catalogue("en")["train.name.ddp"]]
