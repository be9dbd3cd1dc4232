"""Searched schedules keep their promise, never beat the bound, and meet every registered algorithm."""

import json
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import cli
from ops.formats import read_schedule, write_schedule
from ops.lab.synthesis import matching
from ops.lab.synthesis.plans import choices_of_edges, matched, planned
from ops.lab.synthesis.synthesize import SEARCHED, synthesize
from ops.plan import Plan
from ops.plan.notation import size_word
from ops.run import execute
from ops.run.work import imported
from sim.base.compiled import compiled
from sim.errors import InputError
from sim.machines import build
from sim.topology import Device, Link, Topology, both_ways
from terminal import BAD_INPUT, DONE
from tests.tables import each_row


def slow_ring():
    """A ring of eight with one cable at a tenth of its bandwidth."""
    ring = build("ring:ranks=8")
    slow = {"GPU3", "GPU4"}
    links = [replace(k, bandwidth=k.bandwidth / 10) if {k.src, k.dst} == slow else k for k in ring.links]
    return replace(ring, links=tuple(links), name="slow ring")


MACHINES = {
    "torus": build("torus:dims=3x3"),
    "oblong torus": build("torus:dims=4x2"),
    "dgx1v": build("dgx1v"),
    "slow ring": slow_ring(),
}


def synthesized(topology, collective, size, *, ranks=0, seeds=4):
    plan = Plan(algorithm=collective, size=size_word(size), ranks=ranks)
    return synthesize(plan, topology=topology, seeds=seeds)


@cache
def searched(machine, collective, size):
    """What several tests look at, found once."""
    return synthesized(MACHINES[machine], collective, size)


@pytest.mark.slow
@each_row(
    "machine, collective, size",
    product(MACHINES, SEARCHED, (1 << 14, 1 << 20, 1 << 26)),
    days=6 * len(SEARCHED),
)
def test_it_meets_every_registered_algorithm_and_never_beats_the_bound(machine, collective, size):
    found = searched(machine, collective, size)
    assert found.searched.trace.verdict.verdict == "ok"
    assert found.rival is not None
    assert found.searched.trace.time <= found.rival.trace.time * (1 + 1e-9)
    assert found.searched.trace.time >= found.searched.bound * (1 - 1e-12)
    assert found.best is found.searched


@pytest.mark.slow
def test_where_links_are_alike_it_is_near_the_bound():
    """A torus of 3 x 3: every rank takes in 8 blocks over four links."""
    found = synthesized(MACHINES["torus"], "allgather", 9 << 26)
    perfect = 8 * (1 << 26) / (4 * 45e9)
    assert perfect < found.best.trace.time < 1.001 * perfect


@pytest.mark.slow
@each_row("machine, collective", product(("torus", "dgx1v"), SEARCHED), days=4)
def test_it_survives_a_file_and_takes_the_same_time_or_the_file_tells_both(machine, collective):
    found = searched(machine, collective, 1 << 26).searched
    text = write_schedule(found.work.schedule, "msccl_xml", machine=MACHINES[machine])
    read = read_schedule(text, "x.xml")
    again = execute(MACHINES[machine], imported(read), 1 << 26)
    assert again.trace.verdict.verdict == "ok"
    if "as scheduled: lines of a thread block follow each other" in text:  # MSCCL sends do not await their receiver
        assert found.trace.time < again.trace.time < 1.7 * found.trace.time
    else:
        assert again.trace.time == pytest.approx(found.trace.time, rel=1e-9)


def test_blocks_are_passed_on_where_no_route_leads():
    """GPUs in a line that pass nothing on by themselves: algorithms that need all pairs cannot run."""
    gpus = tuple(Device(f"GPU{i}", "GPU") for i in range(4))
    cables = [cable for i in range(3) for cable in both_ways(f"GPU{i}", f"GPU{i + 1}", 10e9, 1e-6, "NVL")]
    line = Topology("line", gpus, tuple(cables))
    found = synthesized(line, "allgather", 4 << 20)
    assert found.rival is None
    assert found.best.trace.time >= found.best.bound * (1 - 1e-12)
    assert found.best.trace.time <= 3e-6 + 3 * (1 << 20) / 10e9  # a block's latency passes while another flows


def test_a_rank_that_is_cut_off_is_told():
    gpus = tuple(Device(f"GPU{i}", "GPU") for i in range(3))
    halves = Topology("halves", gpus, both_ways("GPU0", "GPU1", 10e9, 1e-6, "NVL"))
    with pytest.raises(InputError, match="cut off"):
        synthesized(halves, "allgather", 1 << 20)


def test_one_way_links_are_used_one_way():
    gpus = tuple(Device(f"GPU{i}", "GPU") for i in range(4))
    circle = Topology("circle", gpus, tuple(Link(f"GPU{i}", f"GPU{(i + 1) % 4}", 10e9, 1e-6) for i in range(4)))
    for collective in SEARCHED:
        found = synthesized(circle, collective, 4 << 20).best
        assert found.trace.verdict.verdict == "ok"
        assert found.trace.time >= found.bound * (1 - 1e-12)


@pytest.mark.slow
@each_row("ranks, collective", product(range(2, 9), SEARCHED), over=["collective"])
def test_any_number_of_ranks_will_do(ranks, collective):
    assert synthesized(MACHINES["dgx1v"], collective, 1 << 20, ranks=ranks, seeds=1).best.trace.verdict.ok


def test_both_twins_of_the_kernel_make_the_same_plan(monkeypatch):
    topology = MACHINES["dgx1v"]
    (edges,) = choices_of_edges(topology, 8)
    plans = []
    for kernel in (matching, compiled(matching)):
        monkeypatch.setattr("ops.lab.synthesis.plans.twin", lambda module, work, kernel=kernel: kernel)
        plans.append(planned("allreduce", topology, edges, 8, 2, matched(topology, 1e6, 1)))
    assert all(np.array_equal(a, b) for a, b in zip(*plans, strict=True))


@pytest.mark.slow
def test_the_terminal_searches_writes_and_tells(tmp_path, capsys):
    file = tmp_path / "x.xml"
    asked = ["synthesize", "allgather", "--machine", "torus:dims=3x3", "--size", "64MiB", "-o", str(file)]
    assert cli.main([*asked, "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["verified"] is True
    assert found["bound_s"] * (1 - 1e-12) <= found["time_s"] <= found["registered"]["time_s"]
    assert (
        cli.main(["run", "--schedule", str(file), "--machine", "torus:dims=3x3", "--size", "64MiB", "--json"]) == DONE
    )
    read = json.loads(capsys.readouterr().out)["time_s"]
    assert found["time_s"] <= read * (1 + 1e-12) < 1.05 * found["time_s"]  # whose lines follow each other
    assert cli.main(asked) == DONE
    assert "the best of all registered ones" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("alltoall --machine dgx1v --size 1MiB", "'alltoall' is not searched for: choose from allgather"),
        ("allgather --machine dgx1v --size 1MiB --ranks 9", "takes 2 to 8 ranks, not 9"),
        ("allgather --machine switch:ranks=512 --size 1MiB", "takes 2 to 128 ranks, not 512"),
        ("allgather --machine switch:ranks=1 --size 1MiB", "holds 1 ranks: a search needs"),
        ("allgather --machine dgx1v --size 1MiB --seeds 0", "--seeds 0 is not between"),
        ("allgather --machine dgx1v --size 1MiB -o x.doc", "has no ending that says"),
        ("allgather --size 1MiB", "a machine must be given once"),
    ],
)
def test_what_cannot_be_searched_is_told_in_one_line(words, says, capsys):
    assert cli.main(["synthesize", *words.split()]) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
