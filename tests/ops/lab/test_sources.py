"""What a grid runs beside registered algorithms: libraries' choices, schedules, functions; from roots, with counts."""

import json

import pytest

import cli
from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.formats import write_schedule
from ops.lab.cells import name_of, rows
from ops.lab.grid import Grid, read_grid
from ops.lab.journal import texts_of
from ops.lab.sources import algorithms
from ops.lab.sweep import sweep
from ops.lab.winners import changes
from ops.libraries.nccl.choice import POINT_TO_POINT
from ops.libraries.nccl.constants import ABLE
from ops.plan import Plan
from ops.run.work import registered
from sim.errors import InputError
from terminal import BAD_INPUT, DONE
from tests.tables import each_row

MACHINE = "dgx_a100"
SERVER = """
import numpy as np
from ops import algorithm
from ops.collectives import allreduce
from sim.schedule import copy, reduce


@algorithm(allreduce)
def server(n):
    yield reduce(np.arange(1, n), 0, slot=0)
    yield copy(0, np.arange(1, n), slot=0)
"""


@pytest.fixture
def ring(tmp_path):
    """A file with a ring of four ranks."""
    path = tmp_path / "ring4.xml"
    path.write_text(write_schedule(registered(ALGORITHMS["allreduce.ring"], 4).schedule, "msccl_xml"))
    return path


@pytest.fixture
def server(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SERVER)
    return path


@pytest.mark.parametrize(
    "name, names",
    [
        ("nccl.all*", ["nccl.allreduce", "nccl.allgather", "nccl.alltoall"]),
        ("nccl.?educe", ["nccl.reduce"]),
        ("nccl", [f"nccl.{collective}" for collective in (*ABLE, *POINT_TO_POINT)]),
        ("gloo.*", [f"gloo.{collective}" for collective in COLLECTIVES]),
        ("mpich.scan*", ["mpich.scan"]),
        ("nccl.all*:protocol=LL", [f"nccl.{collective}" for collective in ("allreduce", "allgather", "alltoall")]),
    ],
)
def test_a_pattern_is_for_what_a_library_chooses_too(name, names):
    sources = list(algorithms([name], {}))
    assert [source.name for source in sources] == names


@pytest.mark.parametrize("name", ["nccl.x*", "nccl.foo", "nccl.scan*"])
def test_what_a_library_has_not_is_told_with_what_it_has(name):
    with pytest.raises(InputError, match=r"^nccl has no '.*': choose from allreduce, allgather, .*, sendrecv$"):
        list(algorithms([name], {}))


def told(capsys, *words):
    status = cli.main([*map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_librarys_choice_is_made_for_every_size():
    cells = Grid(algorithms=["nccl.allreduce"], machines=[MACHINE], sizes=["8KiB", "256MiB"]).cells()
    small, large = rows(cells, budget=60.0)
    for row, size in ((small, "8KiB"), (large, "256MiB")):
        alone = Plan("nccl.allreduce", MACHINE, size=size).run()
        assert row["time_s"] == alone.time
        assert (row["collective"], row["nccl"]) == ("allreduce", alone.work.settings["release"])
        assert 0 < row["expected_error"] < 1
    prepared = cells[0].prepare()
    assert prepared.at(256 << 20).time == large["time_s"]


def test_where_a_librarys_choice_is_overtaken_is_a_size_it_is_asked_for_anew():
    runs = {name: Plan(name, MACHINE, size="1KiB").prepare() for name in ("nccl.allreduce", "allreduce.linear")}
    for change in changes(runs, [1 << 10, 1 << 28]):
        before = {
            name: Plan(name, MACHINE, size=str(change.size * 98 // 100)).run().time
            for name in (change.before, change.after)
        }
        after = {name: Plan(name, MACHINE, size=str(change.size)).run().time for name in before}
        assert before[change.before] < before[change.after]
        assert after[change.after] < after[change.before]
        break
    else:
        pytest.fail("nothing is overtaken")


def test_files_roots_and_counts_are_axes(tmp_path, ring, server):
    counts = "1KiB,2KiB,3KiB,4KiB,5KiB,6KiB,7KiB,0"
    grid = Grid(
        algorithms=["broadcast.binomial", "allgatherv.ring"], machines=["switch:ranks=8"], sizes=["1MiB"],
        roots=["0", "3"], counts=[counts], schedules={str(ring): ring.read_text()}, python=[f"{server}:server"],
    )  # fmt: skip
    table = sweep(grid, tmp_path / "t.parquet", jobs=1).table
    found = {(row["algorithm"], row["root"]): row for row in table.to_pylist()}
    assert [row["reason"] for row in found.values()] == [None] * 5
    one, other = found["broadcast.binomial", None], found["broadcast.binomial", 3]
    assert one["cell"] != other["cell"]
    assert other["time_s"] == Plan("broadcast.binomial", "switch:ranks=8", size="1MiB", root=3).run().time
    uneven = found["allgatherv.ring", None]
    assert (uneven["counts"], uneven["size_bytes"]) == (counts, 28 << 10)
    plan = Plan("allgatherv.ring", "switch:ranks=8", size="", counts=counts)
    assert uneven["time_s"] == plan.run().time
    written = found[str(ring), None]
    assert (written["collective"], written["ranks"]) == ("allreduce", 4)
    assert found[f"{server}:server", None]["ranks"] == 8
    assert texts_of(table, "algorithm") == {str(ring): ring.read_text()}


def test_another_file_of_the_same_name_is_another_run(tmp_path, ring, server):
    def cells():
        schedules = {str(ring): ring.read_text()}
        return Grid(machines=[MACHINE], sizes=["1MiB"], schedules=schedules, python=[str(server)]).cells()

    before = [name_of(cell) for cell in cells()]
    ring.write_text(write_schedule(registered(ALGORITHMS["allreduce.ring"], 8).schedule, "msccl_xml"))
    assert name_of(cells()[0]) != before[0]
    grid = Grid(machines=[MACHINE], sizes=["1MiB"], schedules={str(ring): ring.read_text()})
    sweep(grid, tmp_path / "t.parquet", jobs=1)
    with pytest.raises(InputError, match="has rows for another file called"):
        sweep(
            Grid(machines=[MACHINE], sizes=["1MiB"], schedules={str(ring): ring.read_text() + "\n"}),
            tmp_path / "t.parquet",
            jobs=1,
        )


def test_a_grid_in_a_file_names_schedules_but_nothing_that_is_executed(ring, server):
    text = f"machines: [{MACHINE}]\nsizes: 1MiB\nroots: [0]\nalgorithms: [broadcast.binomial]\nschedules: [{{}}]\n"
    grid = read_grid(text.format(ring), "g.yaml", str)
    assert grid.schedules == {str(ring): ring.read_text()}
    with pytest.raises(InputError, match="cannot be read"):
        read_grid(text.format(f'"{server}:server"'), "g.yaml", str)
    with pytest.raises(InputError, match=r"g\.yaml, line 1"):
        read_grid(f"python: [{server}]\n", "g.yaml", str)


@each_row(
    "words, says",
    [
        (["allreduce.ring", "--roots", "3"], "nothing in this grid takes root: allreduce.ring"),
        (["allreduce.ring", "--counts", "1,2"], "nothing in this grid takes counts: allreduce.ring"),
        (["allgatherv.ring", "--counts", "1,x"], "counts, block 1"),
        (["nccl.allreduce:colour=red"], "nccl.allreduce has no parameter 'colour'"),
        (["gloo.allreduce:algorithm=star"], "algorithm='star' is unknown"),
        (["--schedule", "nowhere.xml"], "nowhere.xml cannot be read"),
        (["--schedule", "nowhere.py:f"], "nowhere.py cannot be read"),
        ([], "a sweep needs algorithms"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_sentence(capsys, words, says):
    assert cli.main(["bandwidth", *words, "--machine", MACHINE, "--sizes", "1MiB"]) == BAD_INPUT
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1


def test_every_answer_of_the_lab_says_where_and_how_far_off(capsys, tmp_path, ring):
    asked = ["nccl.allreduce", "--machine", MACHINE, "--ranks", "8", "--sizes", "1MiB"]
    for command in (["bandwidth"], ["scaling"], ["winners"], ["sweep", "-o", tmp_path / "t.parquet"]):
        status, data = told(capsys, *command, *asked)
        assert status == DONE
        assert (data["machine"], data["nccl"]) == (MACHINE, "2.30"), command
        assert data["ranks"] in (8, [8])
        assert 0 < data["expected_error"] < 1
    status, data = told(capsys, "winners", "allreduce.ring", "--schedule", ring, "--machine", MACHINE, "--ranks", "4",
                        "--sizes", "1KiB,1MiB")  # fmt: skip
    assert (status, data["nccl"], data["expected_error"]) == (DONE, None, None)
    assert data["algorithms"] == sorted(["allreduce.ring", str(ring)])
