"""Two numbers of a set-up: fitted to its own table, given to every command, and truthful about more hosts."""

import json
from dataclasses import replace

import pytest

from cli import main
from ops.lab.grid import Grid
from ops.libraries.nccl.choice import pace_of
from ops.libraries.nccl.own.numbers import KINDS, OwnNumbers, calibrated, own_numbers, stock
from ops.measured.comparison import compare_table, verdict
from ops.measured.own.fit import fit_own
from ops.measured.rows import Measured, Table
from ops.plan import Plan
from ops.plan.link import from_link, to_link
from ops.plan.plan_file import from_yaml, to_yaml
from ops.plan.training import WorkloadPlan, from_query, to_query
from sim.errors import InputError
from sim.machines import build
from tests.ops.measured.test_validate import NODE, RING, asked
from tests.tables import each_row

WORD = "hop_12us,share_0.6,hosts_2"
SIZES = tuple(8 << k for k in range(0, 30, 2))


def measured_on(machine, ranks, word):
    """A table of a machine whose set-up has these numbers, as the simulation has its times."""
    rows = tuple(Measured("allreduce", ranks, size, 1.0, line=k) for k, size in enumerate(SIZES))
    blank = Table("it.txt", "nccl-tests", rows, ranks)
    made = compare_table(calibrated(build(machine), word), blank)[0]
    return replace(blank, rows=tuple(replace(r, seconds=m.simulated) for r, m in zip(rows, made, strict=True)))


def test_two_numbers_are_found_again_and_hold_for_more_hosts():
    few, more = (measured_on(f"a100_quad:hosts={hosts}", 4 * hosts, WORD) for hosts in (2, 4))
    found = fit_own([(build("a100_quad:hosts=2"), few)])
    assert found.numbers.hop == pytest.approx(12e-6, rel=0.05)
    assert found.numbers.share == pytest.approx(0.6, rel=0.05)
    assert found.numbers.hosts == 2
    for number in found.fitted:
        assert number.low <= number.value <= number.high
        assert {row.size >= 1 << 20 for row in number.rows} == {number.unit == "1"}
    machine = build("a100_quad:hosts=4")
    own = verdict(compare_table(calibrated(machine, str(found.numbers)), more)[0])
    usual = verdict(compare_table(machine, more)[0])
    assert max(own.small, own.large) < 0.05 < min(usual.small, usual.large)


def test_a_table_of_one_host_tells_its_links():
    table = measured_on("dgx_a100", 8, "link_hop_2us,link_share_0.5")
    found = fit_own([(build("dgx_a100"), table)]).numbers
    assert found.link_hop == pytest.approx(2e-6, rel=0.05)
    assert found.link_share == pytest.approx(0.5, rel=0.05)


def test_a_third_number_needs_rows_that_support_it():
    machine, table = build("dgx_a100"), measured_on("dgx_a100", 8, "link_hop_2us,link_share_0.5")
    assert fit_own([(machine, table)], 3).dropped == ("start",)
    late = measured_on("dgx_a100", 8, "link_hop_2us,start_15us")
    assert fit_own([(machine, late)], 3).numbers.start > 1e-6
    with pytest.raises(InputError, match="too few for 4 numbers: give at least 20"):
        fit_own([(machine, replace(table, rows=table.rows[:9]))], 4)


@each_row("machine", ("dgx_a100", "dgx_h100:hosts=2", "mi300x:hosts=2"))
def test_what_a_machine_has_already_changes_nothing(machine):
    pace = pace_of(build(machine))
    assert stock(pace).on(pace).as_dict() == pytest.approx(replace(pace, launch=max(0.0, pace.launch)).as_dict())


def test_a_calibration_travels_with_a_plan():
    plan = Plan("nccl.allreduce", "dgx_a100:hosts=2", size="1KiB", calibration=WORD)
    assert to_link(plan)["calibration"] == WORD
    assert from_link(to_link(plan)) == from_yaml(to_yaml(plan), "it") == plan
    step = WorkloadPlan("ddp", machine=Plan(machine=plan.machine, calibration=WORD))
    assert from_query(to_query(step)) == step
    assert plan.changed({"machine": "dgx_a100:hosts=8"}).calibration == WORD
    assert plan.changed({"machine": "dgx_h100:hosts=2"}).calibration == ""
    assert plan.run().time > 1.2 * replace(plan, calibration="").run().time


def test_a_grid_has_runs_with_and_without():
    cells = Grid(["nccl.allreduce"], ["dgx_a100:hosts=2"], ["1KiB"], calibrations=["none", WORD]).cells()
    assert [cell.calibration for cell in cells] == ["", WORD]


def test_what_calibrate_writes_other_commands_read(capsys, tmp_path):
    path, few = tmp_path / "own.json", tmp_path / RING.name
    lines = enumerate(RING.read_text(encoding="utf-8").splitlines(keepends=True))
    few.write_text("".join(line for k, line in lines if k % 3 == 0 or not line.strip()[:1].isdigit()), encoding="utf-8")
    status, fit = asked(capsys, "calibrate", few, "-o", path)
    assert status == 0
    assert json.loads(path.read_text()) == fit
    assert [one["name"] for one in fit["numbers"]] == ["hop", "share"]
    assert all(one["interval"][0] <= one["value"] <= one["interval"][1] for one in fit["numbers"])
    own = ["--calibration", str(path)]
    where = ["--machine", "dgx_a100:hosts=4", "--size", "1KiB"]
    for command in (["run", "nccl.allreduce", *where], ["nccl-choice", *where]):
        (_, with_it), (_, without) = asked(capsys, *command, *own), asked(capsys, *command)
        key = "time_s" if "time_s" in with_it else "simulated_s"
        assert with_it[key] != without[key]
    _, found = asked(capsys, "validate", few, *own)
    assert found["tables"][0]["parameters"]["net"] == own_numbers(fit["calibration"]).share
    spread = ["workload", "fsdp", "--machine", "dgx_a100:hosts=2", "--set", "model=gpt2"]
    slow = asked(capsys, *spread, "--calibration", "share_0.1")[1]
    assert slow["exposed_communication_s"] > asked(capsys, *spread)[1]["exposed_communication_s"]


WRONG = {
    "hop_4": "hop_4 is not from",
    "share_1.2": "share_1.2 is not from 0.05 to 1",
    "hop_4us,hop_5us": "gives 'hop' twice",
    "hosts_2": "'hosts_2' is no calibration",
    "hop_4us,hosts_0": "hosts_0 is not a number of hosts",
    "": "'' is no calibration",
    "none_1": "'none_1' is no calibration",
    str(NODE): "is no calibration: give a file",
    "nowhere.json": "give the path of a calibration",
}


@each_row("word", WRONG)
def test_what_is_no_calibration_is_one_sentence(word, capsys):
    assert (
        main(["run", "nccl.allreduce", "--machine", "dgx_a100:hosts=2", "--size", "1KiB", "--calibration", word]) == 2
    )
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert WRONG[word] in said


def test_a_damaged_file_is_named(tmp_path, capsys):
    path = tmp_path / "own.json"
    for text in (
        "{",
        "[1]",
        '{"ringside": "calibration-1"}',
        '{"ringside": "calibration-1", "calibration": "share_7"}',
    ):
        path.write_text(text)
        assert main(["nccl-choice", "--machine", "dgx_a100", "--calibration", str(path)]) == 2
        said = capsys.readouterr().err
        assert str(path) in said
        assert said.count("\n") == 1


def test_every_number_has_a_unit_and_stands_in_a_word():
    numbers = OwnNumbers(**{name: (kind.least + kind.most) / 2 for name, kind in KINDS.items()}, hosts=3)
    assert own_numbers(str(numbers)).numbers() == pytest.approx(numbers.numbers(), rel=1e-3)
