"""Program order of blocking ranks, and the marks that keep it small."""

from itertools import pairwise

import numpy as np
import pytest

from ops import ALGORITHMS
from sim.engine import Cluster, simulate
from sim.machines import build
from sim.schedule import copy, in_rank_order, unroll
from sim.trace.metrics import critical_path


def made(steps, n):
    return unroll(steps, name="custom", n=n, promise=None)


def crowd(width, n=24):
    """Rank 0 sends to `width` others, then to `width` more, then hears from one."""
    first, second = np.arange(1, 1 + width), np.arange(1 + width, 1 + 2 * width)
    return made([copy(0, first, slot=0), copy(0, second, slot=0), copy(n - 1, 0, slot=1)], n)


def awaited(schedule, i):
    """Every transfer that i waits for, directly or through marks."""
    before, after = schedule.after
    found, todo = set(), [i]
    while todo:
        for j in before[after == todo.pop()]:
            if j not in found:
                found.add(int(j))
                todo.append(j)
    return {j for j in found if j < schedule.transfers}


@pytest.mark.parametrize("width", [2, 4, 5, 11])
def test_every_message_of_a_step_waits_for_all_of_the_step_before(width):
    schedule = in_rank_order(crowd(width))
    for i in range(width, 2 * width):
        assert awaited(schedule, i) == set(range(width))
    assert awaited(schedule, 2 * width) == set(range(2 * width))


def test_many_waiting_for_many_need_no_pair_for_each():
    before, _ = in_rank_order(crowd(11)).after
    assert len(before) < 11 * 11
    before, _ = ALGORITHMS["alltoall.linear_window"].schedule(64, window=16).after
    assert len(before) < 6 * 64 * 64


@pytest.mark.parametrize("width", [2, 11])
def test_marks_take_no_time(width):
    schedule = in_rank_order(crowd(width))
    alone = simulate(build("switch:ranks=24,latency=1us,bandwidth=1GBps"), schedule, 1000)
    share = schedule.unit_share * 1000 / 1e9
    assert alone.time == pytest.approx(2 * (2e-6 + width * share) + 2e-6 + share, rel=1e-12)


def test_ranks_that_share_no_message_do_not_wait_for_each_other():
    schedule = in_rank_order(made([copy(0, 1, slot=0), copy(2, 3, slot=0), copy(1, 2, slot=1)], 4))
    assert awaited(schedule, 1) == set()
    assert awaited(schedule, 2) == {0, 1}


@pytest.mark.parametrize("name", ["alltoall.linear_window", "allreduce.ring"])
@pytest.mark.parametrize("lockstep", [False, True])
def test_the_critical_path_passes_through_marks(name, lockstep):
    schedule = ALGORITHMS[name].schedule(12)
    cluster = Cluster(build("switch:ranks=12"))
    first, second = (cluster.run(cluster.start(schedule, 1e6, lockstep=lockstep)) for _ in range(2))
    for trace in (first, second):
        path = critical_path(trace)
        assert (trace.cause < schedule.transfers).all()
        assert trace.ready[path[0]] == pytest.approx(trace.began)
        assert trace.end[path[-1]] == pytest.approx(trace.ended)
        for i, j in pairwise(path):
            assert trace.ready[j] == pytest.approx(trace.end[i])
    assert len(path) == {"alltoall.linear_window": 1 + 3, "allreduce.ring": 22}[name]
