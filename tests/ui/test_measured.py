"""The page of measurements without a browser: a table becomes curves and medians, anything else one sentence."""

import math
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops.libraries.nccl.layers import unknown_layer
from ops.measured.accuracy import published
from ops.measured.comparison import compare_table
from ops.measured.files import place, read_tables
from ops.measured.own.reached import reached
from ops.plan import Plan
from sim.machines import build
from sim.units import fmt_share
from tests.ui.visited import change_state
from ui.pages.measured import EXAMPLE
from ui.simulate.state import SimulateState
from ui.text import say

pytestmark = pytest.mark.slow

APP = str(Path(__file__).parents[2] / "app.py")
TABLE = next((Path(__file__).parents[1] / "data" / "nccl-tests").glob("019*")).read_text()


def pasted(text, machine="", lang="en"):
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["page"], at.query_params["lang"] = "measured", lang
    at.run()
    assert not at.exception
    at.text_area(key="measured_text").set_value(text)
    at.text_input(key="measured_machine").set_value(machine)
    at.run()
    assert not at.exception
    return at


@pytest.mark.turns("lang")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_table_becomes_two_medians(lang):
    at = pasted(TABLE, "dgx_a100", lang)
    assert [metric.value[-1] for metric in at.metric] == ["%", "%"]
    assert "dgx_a100:hosts=2" in " ".join(one.value for one in at.markdown)
    assert len(at.dataframe[0].value) == 30
    assert at.tabs[0].caption[-1].value.count("%") == 2
    assert at.selectbox(key="measured_run_brought").value.startswith("this table" if lang == "en" else "这张表")


def test_the_example_is_a_table_itself():
    assert len(pasted(EXAMPLE, "dgx_a100").dataframe[0].value) == 3


def slowed(times):
    """The example with its last row so many times as slow."""
    rows = EXAMPLE.splitlines()
    size, count, kind, op, root, time, algbw, busbw = rows[-1].split()
    rates = (f"{float(rate) / times:.3f}" for rate in (algbw, busbw))
    return (
        "\n".join([*rows[:-1], "  ".join((size, count, kind, op, root, f"{float(time) * times:.2f}", *rates))]) + "\n"
    )


@pytest.mark.turns("lang")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_first_sentence_is_what_a_run_reaches(lang):
    at = pasted(slowed(4), "dgx_a100", lang)
    said, numbers = at.tabs[0].subheader[0].value, at.tabs[0].markdown[0].value
    usual = reached(build("dgx_a100"), compare_table(*place(read_tables(EXAMPLE, "x")[0], "dgx_a100", 0)[:2])[0])
    share = fmt_share(usual.share / 4)
    assert said == say("page.measured.reached.below", lang, share=share, machine="DGX A100")
    assert "38.68 GB/s" in numbers  # 154.71 GB/s of the table, a fourth of it
    assert say(f"page.measured.look.{usual.kind}", lang) in numbers


def test_a_normal_run_is_called_normal_and_true_counts_stand_in_the_second_tab():
    at = pasted(slowed(1), "dgx_a100")
    assert at.tabs[0].subheader[0].value.startswith("Your run is normal: it reaches ")
    runs = published()
    accuracy = at.tabs[1]
    kinds = {re.match(r"\w+", run.machine)[0] for run in runs}
    counts = f"{len(runs)} runs on {len(kinds)} kinds of machines with up to {max(run.ranks for run in runs)} GPUs"
    assert counts in accuracy.caption[0].value
    machines = accuracy.dataframe[0].value
    assert "DGX A100 (hosts=2)" in list(machines["Machine"])
    assert sum(map(int, machines["Times"])) == sum(len(run.sizes) for run in runs)


def test_nothing_asks_for_a_table_and_all_published_runs_stand_worst_first():
    at = pasted("")
    assert len(at.info) == 1
    runs = published()
    assert [option.partition(": ")[2] for option in at.selectbox(key="measured_run").options] == [
        run.name for run in runs
    ]
    assert [run.worst() for run in runs] == sorted((run.worst() for run in runs), reverse=True)
    said, count = (
        next(text.value for text in at.markdown if word in text.value) for word in ("most accurate", "runs,")
    )
    assert re.search(r"in \[\d+%\]\(#shows=errors\) of cases", said)
    assert f"[{sum(len(run.sizes) for run in runs)}](#shows=errors) times" in count
    assert str(sum(len(run.sizes) for run in runs)) in at.tabs[1].caption[0].value


@pytest.mark.parametrize(
    ("text", "machine", "told"),
    [
        ("hello", "", "is no output of nccl-tests"),
        (EXAMPLE, "", "does not name its machine: write it into the field for the machine"),
        (EXAMPLE, "nothing", "nothing"),
        (EXAMPLE, "switch:ranks=2", "holds 2 ranks, not 8"),
    ],
)
def test_what_cannot_be_compared_is_told(text, machine, told):
    at = pasted(text, machine)
    assert told in at.error[0].value


CAPTURE = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-7\nGPU1\tNV2\t X \t0-7\n"


def test_a_table_of_the_machine_on_the_stage_is_compared_with_it():
    plan = Plan("allreduce.ring", machine="", capture=CAPTURE, capture_name="own.txt")
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["page"] = "measured"
    change_state(at, SimulateState, plan=plan, has_plan=True)
    at.run()
    at.text_area(key="measured_text").set_value(EXAMPLE)
    at.checkbox(key="measured_on_stage").check()
    at.number_input(key="measured_ranks").set_value(2)
    at.run()
    assert not at.exception
    words = " ".join(one.value for one in at.markdown)
    assert "own.txt" in words
    assert "shared by all calibrated GPUs" in words
    band = math.expm1(unknown_layer("generations").strays["below_1MiB"])
    assert f"{band:.0%}" in at.tabs[0].caption[-1].value


def test_a_machine_of_the_stage_that_was_cut_is_refused_like_any_other():
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["page"] = "measured"
    change_state(
        at, SimulateState, plan=Plan(machine="switch:ranks=8", edits="cut_cable:src=GPU0,dst=SW"), has_plan=True
    )
    at.run()
    at.text_area(key="measured_text").set_value(EXAMPLE)
    at.checkbox(key="measured_on_stage").check()
    at.run()
    assert not at.exception
    assert [error.value.partition(" (")[0] for error in at.error] == [
        "switch:ranks=8, edited: nothing leads from GPU0 to GPU1"
    ]
