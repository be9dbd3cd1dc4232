"""Lists of what-ifs: files, tables, curves, and the same plans however they are described."""

import csv
import io
import math
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ops.answers import answer, outcome_of
from ops.plan import Plan
from ops.whatif import Sheet, changes_of, rows_of, to_csv
from ops.whatif.curve import curves, quantity_of
from ops.whatif.file import read, write
from ops.whatif.table import summary
from sim.errors import InputError
from terminal.what_if import what_if
from tests.tables import each_row

BASE = Plan(machine="switch:ranks=4", size="1MiB")
HALF = "set_link:src=SW,dst=GPU1,times=0.5"
WORDS = {
    "algorithm": st.sampled_from(["allreduce.ring", "allreduce.recursive_doubling", "nccl.allreduce"]),
    "machine": st.sampled_from(["switch:ranks=4", "ring:ranks=4", "dgx_a100"]),
    "size": st.sampled_from(["1KiB", "1MiB", "3MB"]),
    "edits": st.sampled_from(["", HALF, f"{HALF};set_class:times=2"]),
    "fault": st.sampled_from(["", "jitter:mean=1us", "straggler:rank=1,late=2us"]),
    "network": st.sampled_from(["", "infiniband_hdr"]),
    "ranks": st.sampled_from([0, 2, 4]),
    "lockstep": st.booleans(),
}
PLANS = st.fixed_dictionaries(WORDS).map(lambda words: Plan(**words))


@given(PLANS, PLANS)
def test_changes_make_one_plan_of_another(baseline, plan):
    changes = changes_of(baseline, plan)
    assert baseline.changed(changes) == plan


@given(PLANS, st.lists(PLANS, max_size=6), st.text(max_size=20))
def test_a_list_is_read_as_it_was_written(baseline, plans, name):
    sheet = Sheet(baseline)
    for plan in plans:
        changes = changes_of(baseline, plan)
        sheet = sheet.added(changes, " ".join(name.split())) if changes else sheet
    assert read(write(sheet), "list") == sheet


def test_a_capture_is_a_variant_that_its_file_holds_whole():
    capture = "ringside: 1\nname: pair\ndevices:\n  - {name: GPU0, kind: GPU}"
    sheet = Sheet(BASE).added(changes_of(BASE, replace(BASE, machine="", capture=capture)))
    assert "devices:" in write(sheet)
    assert read(write(sheet), "list").variants[0].plan(BASE).capture == capture


def test_rows_have_the_times_and_the_answers_of_their_plans():
    sheet = Sheet(BASE).added({"edits": HALF}).added({"algorithm": "allreduce.recursive_doubling"}, "Halving")
    first, *rows = rows_of(sheet)
    assert (first.time, first.factor) == (outcome_of(BASE).time, 1.0)
    for row, variant in zip(rows, sheet.variants, strict=True):
        before, after = outcome_of(BASE), outcome_of(variant.plan(BASE))
        assert (row.time, row.factor) == (after.time, after.time / before.time)
        said = answer(before, after, remedies=False)
        assert row.sentences(str) == " ".join(str(message) for message, _ in said.evidence)
    assert [row.title(str) for row in rows] == ["Half the bandwidth on SW → GPU1", "Halving"]


def test_what_cannot_run_has_a_row_that_says_why_and_what_never_ends_is_infinite():
    cut = "cut_cable:src=SW,dst=GPU1"
    rows = [*rows_of(Sheet(BASE).added({"edits": "cut_cable:src=SW,dst=GPU9"}).added({"edits": cut}))]
    assert "GPU9" in rows[1].sentences(str)
    assert math.isnan(rows[1].time)
    assert math.isinf(rows[2].time)
    table = [*csv.reader(io.StringIO(to_csv(rows, str)))]
    assert [row[2:4] for row in table[2:]] == [["", ""], ["inf", "inf"]]
    assert "No variant that moves as much data" in str(summary(rows))


def test_the_largest_gain_is_named_and_less_data_is_none():
    sheet = Sheet(BASE).added({"size": "1KiB"}).added({"edits": "set_class:times=2"})
    assert str(summary([*rows_of(sheet)])).startswith("The largest gain: Twice the bandwidth on all links: ")


def test_another_machine_or_baseline_keeps_the_variants():
    sheet = Sheet(BASE).added({"size": "1KiB"}).added({"edits": HALF})
    moved = sheet.on(Plan(machine="switch:ranks=8"))
    assert [variant.plan(moved.baseline).machine for variant in moved.variants] == ["switch:ranks=8"] * 2
    other = sheet.rebased(1)
    assert other.baseline == replace(BASE, edits=HALF)
    assert {variant.plan(other.baseline) for variant in other.variants} == {BASE, replace(BASE, size="1KiB")}


@pytest.mark.parametrize("name", ["size", "bandwidth", "latency", "hosts"])
def test_curves_are_the_times_of_the_plans_and_a_winner_changes_where_both_take_equally_long(name):
    plan = replace(BASE, machine="nodes:nodes=2,gpus=2", size="64KiB")
    plans = [plan, replace(plan, algorithm="allreduce.recursive_doubling")]
    quantity = quantity_of(name, plan)
    drawn = curves(plans, quantity)
    for each, times in zip(plans, drawn.times, strict=True):
        for value, time in list(zip(drawn.values, times, strict=True))[::4]:
            assert math.isclose(time, quantity.of(each, value).run().time, rel_tol=1e-9)
    for change in drawn.changes:
        old, new = (quantity.of(plans[k], change.value).run().time for k in (change.before, change.after))
        assert new <= old
        if name != "hosts":
            near = quantity.of(plans[change.before], change.value / 1.05).run().time
            assert near <= quantity.of(plans[change.after], change.value / 1.05).run().time
    assert drawn.changes or name != "size"


BAD = {
    "no list": ("ringside: scenario-1\n", "begin it with ringside: what-if-1"),
    "empty variant": ("ringside: what-if-1\nvariants:\n  - name: x\n", "changes nothing"),
    "unknown word": ("ringside: what-if-1\nvariants:\n  - sise: 1MiB\n", "sise"),
    "wrong value": ("ringside: what-if-1\nvariants:\n  - lockstep: maybe\n", "maybe"),
    "twice": ("ringside: what-if-1\nvariants:\n  - size: 1MiB\n  - size: 1MiB\n", "line 4"),
    "long name": (f"ringside: what-if-1\nvariants:\n  - name: {'x' * 300}\n    size: 1MiB\n", "200 characters"),
    "too many": ("ringside: what-if-1\nvariants:\n" + "".join(f"  - size: {k}KiB\n" for k in range(1, 300)), "200"),
    "no YAML": ("ringside: what-if-1\nvariants: [", "line"),
}


@each_row("text, words", BAD.values())
def test_a_bad_list_gets_one_sentence(text, words):
    with pytest.raises(InputError, match=words) as error:
        read(text, "list.yaml")
    assert "\n" not in str(error.value)


def test_the_terminal_runs_a_list_sorts_it_moves_it_and_writes_it(tmp_path):
    file = tmp_path / "list.yaml"
    sheet = Sheet(BASE).added({"fault": "straggler:rank=1,late=1ms"}).added({"edits": HALF})
    file.write_text(write(sheet), encoding="utf-8")

    def run(*words):
        return CliRunner().invoke(what_if, [str(file), *words], standalone_mode=False)

    for ending in ("csv", "yaml", "html"):
        assert run("-o", str(tmp_path / f"out.{ending}"), "--sort", "time").return_value.status == 0
    rows = [*csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())]
    assert [row["changes"] for row in rows] == ["", f"edits={HALF}", "fault=straggler:rank=1,late=1ms"]
    assert read((tmp_path / "out.yaml").read_text(encoding="utf-8"), "") == sheet.ordered([1, 0])
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    moved = run("--machine", "ring:ranks=4", "--lang", "zh").return_value
    assert moved.status == 1  # a ring has no device SW
    assert moved.data["rows"][0]["time_s"] == outcome_of(replace(BASE, machine="ring:ranks=4")).time
    assert moved.data["rows"][1]["name"] == "rank 1 晚 1 ms 开始"
    for words in (["-o", "x.txt"], ["--network", "infiniband_hdr"]):
        assert isinstance(run(*words).exception, InputError)
