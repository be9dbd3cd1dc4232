"""`run` takes names, texts, numbers and objects, and explains every mistake in a sentence."""

from pathlib import Path

import numpy as np
import pytest

from cli import main
from ops import ALGORITHMS, algorithm
from ops.collectives import COLLECTIVES
from ops.plan import Plan
from ops.plan.call import run
from ops.run.work import imported
from sim.engine import simulate
from sim.errors import InputError, KindError
from sim.faults.kinds import faults
from sim.formats import read_topology, write_topology
from sim.machines import build
from sim.schedule import reduce
from sim.units import MiB, parse_size
from tests.tables import each_row

RING = ALGORITHMS["allreduce.ring"]
SWITCH = "switch:ranks=4"
STRAGGLER = "straggler:rank=1,late=1ms"


def same(a, b):
    """Whether two runs gave the same times."""
    return a.work.name == b.work.name and a.topology.name == b.topology.name and a.time == b.time


@each_row("algorithm", ["allreduce.ring", RING, RING.schedule(4), imported(RING.schedule(4)), RING.steps])
@each_row("machine", [SWITCH, build(SWITCH)])
@each_row("size", ["1MiB", MiB, float(MiB), np.int64(MiB)])
def test_names_and_objects_give_the_run_of_the_plan(algorithm, machine, size):
    assert same(run(algorithm, machine, size), Plan(machine=SWITCH, size="1MiB").run())


def test_a_function_stands_for_its_algorithm_where_it_carries_out_one_collective():
    def star(n):
        """Everyone adds to rank 0."""
        yield reduce(np.arange(1, n), 0, slot=0)

    assert run(ALGORITHMS["allgatherv.bruck"].steps, SWITCH).work.name == "allgather.bruck"
    with ALGORITHMS.also():
        algorithm(COLLECTIVES["reduce"], COLLECTIVES["allreduce"])(star)
        with pytest.raises(InputError, match=r"several collectives: give one of allreduce\.star, reduce\.star"):
            run(star, SWITCH)


def test_left_out_words_are_as_in_a_plan_and_given_ones_override_it():
    assert same(run(), Plan().run())
    assert same(run(Plan(machine=SWITCH, size="1KiB"), size="1MiB"), run("allreduce.ring", SWITCH, "1MiB"))
    assert same(run(Plan(size="1KiB"), SWITCH), run("allreduce.ring", SWITCH, "1KiB"))


def test_lists_and_mappings_are_as_their_texts():
    chain = run("broadcast.chain:segments=4", SWITCH, root=2)
    assert same(run("broadcast.chain", SWITCH, settings={"segments": 4}, root=2), chain)
    assert same(run(ALGORITHMS["broadcast.chain"], SWITCH, settings={"segments": "4"}, root=2), chain)
    counts = run("allgatherv.ring", SWITCH, counts=[1024, "2KiB", 3, 0])
    assert same(counts, run("allgatherv.ring", SWITCH, counts="1024,2KiB,3,0"))
    placed = run("allreduce.ring", "dgx_a100:hosts=2", placement=[0, 8], edits=["set_class:kind=NVL,times=2"])
    assert same(placed, run("allreduce.ring", "dgx_a100:hosts=2", placement="0,8", edits="set_class:kind=NVL,times=2"))
    assert run("allreduce.ring", build("dgx_a100:hosts=2"), placement=[0, 8]).timing.ranks == 2


def test_faults_are_texts_and_perturbations():
    expected = Plan(machine=SWITCH, fault=f"{STRAGGLER};jitter:mean=1us").run()
    (late,) = faults([STRAGGLER], build(SWITCH))
    for several in ([STRAGGLER, "jitter:mean=1us"], [late, "jitter:mean=1us"], f"{STRAGGLER};jitter:mean=1us"):
        found = run(machine=SWITCH, faults=several)
        assert found.time == expected.time
        assert found.timing.faults == expected.timing.faults
    assert run(machine=SWITCH, faults=late).time == run(machine=SWITCH, faults=STRAGGLER).time


def test_a_capture_is_read_from_its_text_and_its_file(tmp_path, monkeypatch):
    path = tmp_path / "box.yaml"
    path.write_text(write_topology(build("dgx_a100"), "ringside_yaml"), encoding="utf-8")
    expected = run(machine=read_topology(path.read_text(encoding="utf-8"), "box"))
    assert run(machine=path).time == run(machine=str(path)).time == run(machine=path.read_text()).time == expected.time
    monkeypatch.chdir(tmp_path)
    Path("dgx_h100").write_text("nonsense", encoding="utf-8")  # a name comes before a file
    assert run(machine="dgx_h100").topology.name == "dgx_h100"


def test_a_run_that_was_kept_is_as_it_was(tmp_path):
    path, before = tmp_path / "run.json", run("allreduce.ring", SWITCH, "1MiB", faults=STRAGGLER)
    path.write_text(before.trace.to_json(), encoding="utf-8")
    assert run(path).time == before.time
    for more in ({"machine": SWITCH}, {"faults": STRAGGLER}):
        with pytest.raises(InputError, match="is a run that was kept: leave out its machine and its faults"):
            run(path, **more)


MISTAKES = {
    "size has no keyword": (lambda: run(sise="1MiB"), KindError, "run has no keyword 'sise': choose from size, "),
    "plan has no keyword": (lambda: Plan(sise="1MiB"), KindError, "no keyword 'sise': choose from size"),
    "algorithm": (lambda: run("allreduce.rin"), InputError, "called 'allreduce.rin': choose from allreduce.r"),
    "machine": (lambda: run(machine="dgx_h10"), InputError, "no machine is called 'dgx_h10': choose from dgx_h100"),
    "fault": (lambda: run(faults=["slw_link"]), InputError, "no fault is called 'slw_link': choose from slow_link"),
    "size as text": (lambda: run(size="64Mb"), InputError, "size '64Mb' has an unknown unit"),
    "half a byte": (lambda: run(size=1.5), InputError, "size=1.5 is not a whole number of bytes"),
    "no byte": (lambda: run(size=-1), InputError, "size=-1 is not a whole number of bytes"),
    "endless": (lambda: run(size=float("inf")), InputError, "size=inf is not a whole number"),
    "truth as size": (lambda: run(size=True), KindError, "size is of type bool: give bytes"),
    "list as machine": (lambda: run(machine=[SWITCH]), KindError, "machine is of type list: give a name"),
    "number as algorithm": (lambda: run(5), KindError, "algorithm is 5, of type int: give a name"),
    "number as fault": (lambda: run(faults=[3]), KindError, "faults is 3, of type int: give texts"),
    "list as settings": (lambda: run(settings=["a"]), KindError, "settings is of type list: give a mapping"),
    "list as counts": (lambda: run(counts=[[1]]), KindError, "counts is of type list: give a list of whole numbers"),
    "settings of a schedule": (lambda: run(RING.schedule(4), settings={"a": 1}), InputError, "is made already"),
    "ranks of a schedule": (lambda: run(RING.schedule(4), ranks=5), InputError, "is for 4 ranks, not 5"),
    "plain function": (lambda: run(lambda n: n), InputError, "<lambda> is no algorithm yet"),
    "no such file": (lambda: run(machine=Path("/nonexistent")), InputError, "/nonexistent cannot be read"),
    "text for a number": (lambda: run(ranks="8"), KindError, "ranks is '8', of type str: write a whole number"),
    "number for a text": (lambda: Plan(size=64 * MiB), KindError, "size is 67108864, of type int: write '64MiB'"),
    "object for a text": (lambda: Plan(machine=build(SWITCH)), KindError, "machine is of type Topology"),
    "name for a schedule": (
        lambda: simulate(build(SWITCH), "allreduce.ring"), KindError, "give ALGORITHMS['allreduce.ring'].schedule(8)"
    ),
    "name for a machine": (lambda: simulate(SWITCH, RING.schedule(4)), KindError, "topology is 'switch:ranks=4'"),
    "text for bytes": (lambda: simulate(build(SWITCH), RING.schedule(4), size="1MiB"), KindError, "give bytes"),
    "object for a spec": (lambda: build(build(SWITCH)), KindError, "the machine is of type Topology: give a text"),
    "path for a text": (lambda: read_topology(Path("x"), "x"), KindError, "`read_topology_file` takes a path"),
    "number for a name": (lambda: ALGORITHMS[5], KindError, "the name of an algorithm is 5"),
    "number for a size": (lambda: parse_size(64), KindError, "size is 64, of type int: write it as a text"),
}  # fmt: skip


@each_row("case", MISTAKES)
def test_a_mistake_is_explained_in_a_sentence(case):
    call, kind, sentence = MISTAKES[case]
    with pytest.raises(kind) as mistake:
        call()
    assert sentence in str(mistake.value)
    assert "\n" not in str(mistake.value)
    assert isinstance(mistake.value, ValueError)
    assert isinstance(mistake.value, TypeError) == (kind is KindError)


def test_the_terminal_says_the_same(capsys):
    with pytest.raises(InputError) as mistake:
        run("allreduce.rin")
    status = main(["run", "allreduce.rin", "--machine", SWITCH, "--size", "1MiB"])
    assert (status, capsys.readouterr().err.strip()) == (2, f"cli.py: {mistake.value}")
