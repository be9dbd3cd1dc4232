"""What was made and proved is used again for the same work, and for no other."""

from dataclasses import replace

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.run import execute, reuse
from ops.run import work as works
from ops.run.work import registered
from sim.machines import build
from sim.schedule import copy, dependencies

SIZE = 1 << 20


@pytest.fixture(autouse=True)
def _nothing_kept():
    reuse.forget()
    yield
    reuse.forget()


def ran(name, n=8, *, entry=None, **more):
    machine = build(f"switch:ranks={n}")
    return execute(machine, registered(entry or ALGORITHMS[name], n, topology=machine, **more), SIZE)


@pytest.mark.parametrize("name", ["allreduce.ring", "alltoall.pairwise", "allreduce.double_binary_tree"])
def test_the_same_work_is_made_proved_and_ordered_once_and_takes_as_long_to_the_bit(name, monkeypatch):
    first = ran(name)
    for place, what in ((works, "prove"), (dependencies, "derive")):
        monkeypatch.setattr(place, what, lambda *_, **__: pytest.fail("it was done again"))
    assert len(first.trace.schedule.step_of)  # what is looked up of it later makes it no other
    again = ran(name)
    assert again.work.schedule is first.work.schedule
    assert (again.time, again.bound, again.verdict) == (first.time, first.bound, first.verdict)
    assert again.trace.end.tobytes() == first.trace.end.tobytes()
    assert again.real["build_s"] == again.real["verify_s"] == 0


def test_other_ranks_roots_parameters_and_orders_are_other_works():
    schedules = [
        ran("broadcast.chain").work.schedule,
        ran("broadcast.chain", 7).work.schedule,
        ran("broadcast.chain", root=1).work.schedule,
        ran("broadcast.chain", settings={"segments": 2}).work.schedule,
        registered(ALGORITHMS["broadcast.chain"], 8).blocking().schedule,
    ]
    assert len({id(schedule) for schedule in schedules}) == len(schedules)


def test_what_somebody_wrote_into_is_made_again():
    first = ran("allreduce.ring", 16)
    first.work.schedule.dst[7] = 3
    again = ran("allreduce.ring", 16)
    assert again.work.schedule is not first.work.schedule
    assert again.verdict.ok
    again.work.schedule.src[[10, 11]] = again.work.schedule.src[[11, 10]]
    assert ran("allreduce.ring", 16).work.schedule is not again.work.schedule


def test_an_algorithm_of_ones_own_is_made_whenever_it_runs():
    slots = [0]

    def mine(n, root):
        yield copy(root, np.arange(1, n), slot=slots[0])

    entry = replace(ALGORITHMS["broadcast.linear"], name="broadcast.mine", steps=mine)
    assert ran("", entry=entry).verdict.ok
    slots[0] = 1
    assert not ran("", entry=entry).verdict.ok


def test_what_is_kept_stays_within_its_bytes(monkeypatch):
    monkeypatch.setattr(reuse, "MOST", 100_000)
    kept = [ran("allreduce.ring", n).work.schedule for n in (8, 16, 24, 32, 9)]
    assert sum(entry.size for entry in reuse._KEPT.values()) <= 100_000
    assert ran("allreduce.ring", 9).work.schedule is kept[-1]
    ran("allreduce.ring", 100)  # is too large itself
    assert ran("allreduce.ring", 100).work.schedule is not ran("allreduce.ring", 100).work.schedule
