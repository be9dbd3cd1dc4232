"""No kernel reads or writes outside of an array: all of them run with bounds checked, to the same numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ops.formats import check_schedule
from ops.lab.synthesis.synthesize import synthesize
from ops.plan import Plan
from ops.registry import ALGORITHMS
from sim.errors import InputError, StalledError
from sim.machines import build
from sim.schedule import dependencies
from sim.symmetry.classes import colours
from sim.symmetry.classes.run import simulate_kinds
from sim.symmetry.proof import prove
from tests.bounds import checked_kernels, kernels, own_modules
from tests.ops.msccl import program
from tests.sim.test_kinds import SIZE, read

DATA = Path(__file__).resolve().parents[1] / "data"
OLD = DATA.parent / "contract" / "data" / "old"
MACHINES = ("switch:ranks=4", "ring:ranks=5", "torus:dims=2x3", "nodes:nodes=2,gpus=2,nics=2", "dgx1v", "mesh:ranks=1")
FAULTS = (
    "",
    "straggler:rank=1,late=3us;jitter:mean=1us,seed=3",
    "slow_link:src=GPU0,dst=GPU1,start=1us,end=20us;straggler:rank=0,slower=2",
    "background:src=GPU0,dst=GPU1,size=64KiB",
    "dead_link:src=GPU0,dst=GPU1,start=1us,reroute=yes",
)


def runs():
    """A spread of algorithms over the machines, each with another fault and size."""
    for k, name in enumerate([*ALGORITHMS][::3]):
        sized = ALGORITHMS[name].collective.sized
        size = ("24KiB", "1MiB")[k % 2] if sized else ""
        yield Plan(name, MACHINES[k % len(MACHINES)], size=size, fault=FAULTS[k // 2 % len(FAULTS)])


def outcome(plan):
    """All numbers of a run, or the sentence in its place."""
    try:
        trace = plan.prepare().run(history=True).trace
    except (InputError, StalledError) as error:
        return [str(error).encode()]
    columns = (trace.ready, trace.start, trace.end, trace.cause, trace.link_bytes, *trace.history)
    return [np.asarray(column).tobytes() for column in columns] + [str(trace.verdict).encode()]


def of_kinds(name):
    """Moments of an algorithm's ranks by kinds."""
    (listing, verdict), _ = read(name, 16)
    trace = simulate_kinds(build("switch:ranks=16"), listing, verdict, SIZE)
    columns = () if trace is None else (trace.rows.of_kinds.ready, trace.rows.of_kinds.start, trace.rows.of_kinds.end)
    return [column.tobytes() for column in columns] + [str(verdict).encode()]


FILES = sorted(
    file
    for folder in (DATA / "msccl-xml", DATA / "mscclpp-json", OLD / "schedules")
    for file in folder.iterdir()
    if file.suffix in (".xml", ".json", ".goal", ".msccl_xml")
    and file.stat().st_size < 20_000
    and file.stem != "results"
)


RACES = {
    "read too early": program(
        "broadcast",
        {(1, -1, 0): ["s o0 o0"]},
        {(-1, 0, 0): ["r o0 o0 !"], (2, -1, 0): ["s o0 o0"]},
        {(-1, 1, 0): ["r o0 o0"]},
    ),
    "added twice at once": program(
        "reduce",
        {(-1, 1, 0): ["rrc o0 o0"], (-1, 2, 0): ["rrc o0 o0"]},
        {(0, -1, 0): ["s o0 o0"]},
        {(0, -1, 0): ["s o0 o0"]},
    ),
    "alike whatever comes first": program(
        "broadcast",
        {(1, -1, 0): ["s o0 o0"], (1, -1, 1): ["s o0 o0"]},
        {(-1, 0, 0): ["r o0 o0"], (-1, 0, 1): ["r o0 o0"]},
    ),
}


@pytest.mark.slow
def test_every_kernel_stays_within_bounds_and_gives_the_same_numbers(monkeypatch):
    monkeypatch.setattr(colours, "FEW", 0)
    texts = {file.name: file.read_text("utf-8") for file in FILES} | RACES
    search = Plan("allgather", "ring:ranks=3", size="3")

    def everything():
        ran = [outcome(plan) for plan in runs()]
        ran += [[str(prove(entry.folded(4))).encode()] for entry in ALGORITHMS.values() if entry.symmetry]
        ran += [of_kinds(name) for name in ("allreduce.double_binary_tree", "allreduce.ring")]
        judged = {name: check_schedule(text, name) for name, text in texts.items()}
        return ran, judged, synthesize(search, seeds=1).best.trace.time

    usual = everything()
    assert sum(len(columns) > 1 for columns in usual[0]) > sum(1 for _ in runs()) / 2
    with checked_kernels() as called:
        assert everything() == usual
    every = {f"{m.__name__}.{name}" for m in own_modules() for name in _own(m)}
    assert called == every


def _own(module):
    return [name for name, kernel in kernels(module).items() if kernel.__module__ == module.__name__]


def test_an_index_outside_is_noticed_on_either_side():
    schedule = ALGORITHMS["allreduce.ring"].schedule(3)
    move = int(schedule.moves[np.flatnonzero(schedule.dst == 0)[0]])
    for wrong in (-1, 10**6):
        to_slot = schedule.to_slot.copy()
        to_slot[move] = wrong
        with checked_kernels(), pytest.raises(IndexError, match=r"index .* of "):
            dependencies.derive(replace(schedule, to_slot=to_slot))
