"""Messages that go from the same places to the same places step after step are looked at once, to the same end."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.base.arrays import joined
from sim.engine import Cluster, simulate
from sim.errors import InputError
from sim.machines import build
from sim.schedule import Step, copy, unroll
from sim.schedule.runs import StepRun, few, many, runs_of
from tests.tables import each_row

COLUMNS = ("op", "src", "dst", "channel", "moves", "from_slot", "to_slot", "step_start")


@st.composite
def steps(draw):
    """Steps of few different ends, some of which come again at once, and the same ones each with arrays of its own."""
    ends = []
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(0, 3))
        src, dst, channel = (np.array(draw(st.lists(st.integers(0, 4), min_size=length, max_size=length)), np.int32)
                             for _ in range(3))  # fmt: skip
        ends.append((draw(st.integers(0, 1)), src, dst, channel))
    shared = []
    for op, src, dst, channel in draw(st.lists(st.sampled_from(ends), max_size=7)):
        slot = np.full((len(src), 1), draw(st.integers(0, 2)), np.int32)
        shared.append(Step(op, src, dst, slot, slot, channel))
    return shared, [Step(each.op, *(column.copy() for column in each[1:])) for each in shared]


@given(steps(), st.integers(0, 2))
def test_runs_follow_each_other_and_their_first_transfers_stand_for_all(both, more):
    shared, _ = both
    runs, heads = runs_of(shared)
    assert [run.first for run in runs] == [0, *(run.stop for run in runs)][: len(runs)]
    column = joined([step.src for step in shared])
    first = joined([step.src for step in heads])
    assert few(runs, column).tolist() == first.tolist()
    assert many(runs, first).tolist() == column.tolist()
    moved = many(runs, first, more)
    assert moved.tolist() == (column + more).tolist()
    assert moved.size == 0 or not np.shares_memory(moved, first)


@given(steps())
def test_a_schedule_is_the_same_whether_or_not_steps_share_their_ends(both):
    one, other = (unroll(iter(each), name="mine", n=5, promise=None) for each in both)
    for column in COLUMNS:
        assert getattr(one, column).tolist() == getattr(other, column).tolist()
    assert one.messages == other.messages


@each_row("name", ["allreduce.ring", "allgather.ring", "allreduce.hierarchical_2d", "alltoall.linear"])
@each_row("machine", ["switch:ranks=8", "nodes:nodes=2,gpus=4"])
def test_a_run_takes_the_same_time_whether_or_not_runs_are_known(name, machine):
    schedule = ALGORITHMS[name].schedule(8)
    plain = replace(schedule)
    assert plain.runs == (StepRun(0, schedule.transfers, schedule.transfers),)
    if "ring" in name:
        assert max(run.often for run in schedule.runs) == 7
    topology = build(machine)
    one, other = (simulate(topology, each, size=1e6) for each in (schedule, plain))
    for column in ("ready", "start", "end", "cause", "route"):
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes()
    arenas = []
    for each in (schedule, plain, schedule):
        cluster = Cluster(topology)
        with mock.patch.object(cluster, "_add"):
            cluster.start(each, 1e6)
            cluster.start(each, 1e6)  # a second one finds routes and lists there
        arenas.append(cluster.arena)
    for arena in arenas[1:]:
        assert arena.claims.tolist() == arenas[0].claims.tolist()
        for column in ("route", "connection"):
            rows = (getattr(each.fabric, column)[: each.rows] for each in (arenas[0], arena))
            assert np.array_equal(*rows)
        assert not np.shares_memory(arena.fabric.route, arena.fabric.connection)


def test_ends_that_come_again_are_refused_where_they_first_come():
    ends = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    good, bad = copy([0], [1], slot=0), copy(*ends, slot=[0, 1])
    row = bad.slot
    with pytest.raises(InputError, match=r"step 2: rank 1 sends to rank 2, but ranks go from 0 to 1"):
        unroll(iter([good, *[Step(bad.op, *ends, row, row, bad.channel)] * 3]), name="mine", n=2, promise=None)
