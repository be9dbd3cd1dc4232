"""Workloads in a sweep: every combination once, as the step of its own gives, and resumed by name."""

import pytest

import cli
from ops.lab.cells import name_of, row
from ops.lab.grid import Grid, read_grid
from ops.lab.sweep import sweep
from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.errors import InputError
from terminal import BAD_INPUT, DONE

AXES = {
    "workloads": ["fsdp:layers_per_unit=4,model=gpt2", "zero:model=gpt2"],
    "machines": ["switch:ranks=4"],
    "ranks": ["2", "4"],
    "set": {"prefetch": ["0", "1"], "stage": ["1", "3"]},
}


def test_every_step_is_what_a_run_of_its_own_gives(tmp_path):
    table = sweep(Grid(**AXES), tmp_path / "t.parquet", jobs=1).table
    assert table.num_rows == 8
    for found in table.to_pylist():
        spec = f"{found['algorithm']}:{found['settings']},ranks={found['ranks']}"
        step = WorkloadPlan.of(spec, Plan(machine=found["machine"])).run()
        assert (found["time_s"], found["exposed_s"], found["peak_memory_bytes"]) == (
            step.time, step.exposed_s, max(step.peaks)
        )  # fmt: skip
        assert (found["reason"], found["verified"], found["collective"], found["nccl"]) == (None, True, None, "2.30")
    again = sweep(Grid(**AXES), tmp_path / "t.parquet", jobs=1)
    assert (again.before, again.table) == (8, table)


def test_runs_and_steps_share_a_grid():
    grid = Grid(algorithms=["allreduce.ring"], sizes=["1MiB"], workloads=["ddp"], machines=["switch:ranks=4"])
    assert [cell.workload for cell in grid.steps()] == ["ddp"]
    assert [cell.algorithm for cell in grid.cells()] == ["allreduce.ring"]
    assert len({name_of(cell) for cell in [*grid.steps(), *grid.cells()]}) == 2


def test_a_grid_in_yaml_names_workloads():
    text = "workloads: [ddp, 'fsdp:prefetch=0']\nmachines: dgx_a100\nset: {bucket: [1MiB, 25MiB]}\n"
    grid = read_grid(text, "grid.yaml", lambda path: "")
    assert [(cell.workload, cell.settings) for cell in grid.steps()] == [
        ("ddp", (("bucket", "1MiB"),)), ("ddp", (("bucket", "25MiB"),)), ("fsdp", (("prefetch", "0"),))
    ]  # fmt: skip


def test_a_step_that_cannot_be_has_its_reason():
    cell = WorkloadPlan.of("pipeline_parallel:stages=3", Plan(machine="switch:ranks=4"))
    found = row(cell)
    assert (found["verified"], found["ranks"]) == (False, None)
    assert "4 ranks do not make 3 equal stages" in found["reason"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workload", "nowhere"], "no workload is called 'nowhere'"),
        (["--workload", "ddp:bogus=1"], "ddp has no parameter 'bogus'"),
        (["--workload", "ddp", "--set", "bogus=1"], "no workload of this grid has a parameter 'bogus' to vary: ddp"),
        (["--workload", "ddp", "--set", "bucket=x"], "bucket"),
        (["--workload", "ddp", "--fault", "jitter"], "workloads run on machines without faults"),
        (["--workload", "ddp", "--sizes", "1MiB"], "workloads bring their own sizes"),
    ],
)
def test_what_no_sweep_of_workloads_can_be_is_told(capsys, tmp_path, words, said):
    table = tmp_path / "t.parquet"
    assert cli.main(["sweep", *words, "--machine", "switch:ranks=4", "-o", str(table)]) == BAD_INPUT
    assert said in capsys.readouterr().err
    assert not table.exists()


def test_terminal_sweeps_workloads(capsys, tmp_path):
    words = ["--workload", "ddp:model=gpt2", "--machine", "switch:ranks=4", "--set", "overlap=yes,no"]
    assert cli.main(["sweep", *words, "-o", str(tmp_path / "t.parquet"), "--jobs", "1"]) == DONE
    assert "2 cells are in" in capsys.readouterr().out


def test_faults_of_a_grid_are_refused_for_steps():
    with pytest.raises(InputError, match="without faults"):
        Grid(workloads=["ddp"], machines=["switch:ranks=4"], seeds=["1"]).steps()
