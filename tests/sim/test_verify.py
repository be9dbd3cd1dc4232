"""Proofs: right schedules pass, every kind of wrong one is named with its place."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.collectives import allreduce, barrier, broadcast
from sim.schedule import REDUCE, copy, reduce, unroll
from sim.schedule import verify as module
from sim.schedule.replay import DOUBLED, EMPTY
from sim.schedule.verify import Fault, HeldBlock, faults, places, prove, verify


def schedule(steps, promise, n):
    return unroll(steps, name="mine", n=n, promise=promise)


def test_a_contribution_counted_twice_is_named_with_step_rank_and_slot():
    steps = [reduce(1, 0, 0), reduce(1, 0, 0), copy(0, 1, 0)]
    verdict = verify(schedule(steps, allreduce.promise(2, 1, 0), 2))
    assert (verdict.verdict, verdict.step, verdict.rank, verdict.slot) == ("wrong", 1, 0, 0)
    assert "rank 1 is counted twice (step 2: rank 1 slot 0 -> rank 0 slot 0)" in verdict.reason


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([reduce([1], 0, 0), copy(0, [1, 2], 0)], "rank 2 is missing"),
        ([reduce([1, 2], 0, 0)], "ranks 0, 2 are missing"),
        ([copy(0, [1, 2], 0, to=1)], "ranks 1, 2 are missing"),
        ([reduce([1, 2], 0, 0), copy(0, 1, 5, to=0)], "an empty slot was used on the way (step 2"),
        ([reduce([1, 2], 0, 0), (copy(0, 1, 0), copy(2, 1, 0))], "two writers of one step"),
    ],
)
def test_what_is_missing_or_misplaced_is_named(steps, says):
    verdict = verify(schedule(steps, allreduce.promise(3, 1, 0), 3))
    assert not verdict.ok
    assert says in verdict.reason


def test_the_step_that_spoiled_a_place_is_its_own_among_as_many_slots_as_there_are():
    steps = [reduce([1, 2], 0, [[0, 1, 2]]), reduce(2, 0, slot=1), copy(0, [1, 2], [[0, 1, 2]])]
    right = [reduce([1, 2], 0, [[0, 1, 2]]), copy(0, [1, 2], [[0, 1, 2]]), reduce(2, 1, slot=1)]
    for wrong, step, rank in ((steps, 1, 0), (right, 2, 1)):
        verdict = verify(schedule(wrong, allreduce.promise(3, 3, 0), 3))
        assert (verdict.step, verdict.rank, verdict.slot) == (step, rank, 1)
        assert f"counted twice (step {step + 1}: rank 2 slot 1 -> rank {rank} slot 1)" in verdict.reason


def test_every_wrong_place_tells_what_it_lacks_what_is_too_much_and_which_move_spoiled_it():
    three, everybody = allreduce.promise(3, 1, 0), HeldBlock(0, (0, 1, 2))
    late, half = HeldBlock(0, (2,)), HeldBlock(0, (0, 1))
    assert faults(schedule([reduce(1, 0, 0), copy(0, 1, 0)], three, 3)) == [
        Fault(0, 0, everybody, half, (2,), (), -1, ()),
        Fault(1, 0, everybody, half, (2,), (), -1, ()),
        Fault(2, 0, everybody, late, (0, 1), (), -1, ()),
    ]
    alone = replace(three, last=np.ones_like(three.last))
    (first, *_) = faults(schedule([reduce([1, 2], 0, 0)], alone, 3))
    assert first == Fault(0, 0, HeldBlock(0, (0,)), everybody, (), (1, 2), -1, ())
    steps = [reduce([1, 2], 0, [[0, 1, 2]]), copy(0, [1, 2], [[0, 1, 2]]), reduce(2, 1, slot=1)]
    (spoiled,) = faults(schedule(steps, allreduce.promise(3, 3, 0), 3))
    assert (spoiled.rank, spoiled.slot, spoiled.held.block, spoiled.move) == (1, 1, DOUBLED, 12)
    assert (spoiled.missing, spoiled.extra, spoiled.twice) == ((), (), (0, 1, 2))


def test_places_are_told_after_any_number_of_steps():
    steps = schedule([reduce(1, 0, 0), copy(0, 1, 0), reduce(0, 1, 0)], allreduce.promise(2, 1, 0), 2)
    own, both = [[HeldBlock(0, (0,))], [HeldBlock(0, (1,))]], HeldBlock(0, (0, 1))
    assert places(steps, 0) == own
    assert places(steps, 1) == [[both], own[1]]
    assert places(steps, 2) == [[both], [both]]
    assert places(steps, 3)[1][0].block == DOUBLED
    assert places(schedule([], broadcast.promise(2, 1, 0), 2), 0)[1] == [HeldBlock(EMPTY, ())]


def test_a_sum_over_different_blocks_is_named():
    crossed = reduce([1], [0], [[1, 0]], to=[[0, 1]])
    assert "sum over different blocks (step 1" in verify(schedule([crossed], allreduce.promise(2, 2, 0), 2)).reason


def test_a_block_in_another_ones_place_is_named_and_no_step_is_blamed():
    steps = [reduce(1, 0, [[0, 1]]), copy(0, 1, [[0, 1]], to=[[1, 0]])]
    verdict = verify(schedule(steps, allreduce.promise(2, 2, 0), 2))
    assert (verdict.step, verdict.rank, verdict.slot) == (-1, 1, 0)
    assert verdict.reason.endswith("ends with block 1, not with block 0")


def test_of_many_ranks_six_are_named():
    verdict = verify(schedule([reduce([1], 0, 0)], allreduce.promise(10, 1, 0), 10))
    assert verdict.reason.endswith("ranks 2, 3, 4, 5, 6, 7 and 2 more are missing")
    verdict = verify(schedule([reduce([1], 0, 0)], allreduce.promise(8, 1, 0), 8))
    assert verdict.reason.endswith("ranks 2, 3, 4, 5, 6, 7 are missing")


def test_nothing_sent_is_reported_as_nothing_filled():
    assert "no transfer fills it" in verify(schedule([], broadcast.promise(2, 1, 0), 2)).reason


def test_transfers_of_one_step_read_the_state_before_it():
    swap = (copy(0, 1, 0), copy(1, 0, 0))
    exchange = reduce([0, 1], [1, 0], 0)
    assert prove(schedule([swap, swap, exchange], allreduce.promise(2, 1, 0), 2)).verdict.ok


def test_a_barrier_may_hear_of_a_rank_twice_but_must_hear_of_all():
    twice = [reduce([0, 1, 2], [1, 2, 0], 0)] * 4
    assert verify(schedule(twice, barrier.promise(3, 1, 0), 3)).ok
    assert not verify(schedule(twice[:1], barrier.promise(3, 1, 0), 3)).ok


def test_a_custom_schedule_is_unchecked():
    verdict = verify(schedule([copy(0, 1, 0)], None, 2))
    assert (verdict.verdict, verdict.step, verdict.rank, verdict.slot) == ("unchecked", -1, -1, -1)


@given(st.sampled_from(sorted(ALGORITHMS)), st.integers(2, 9), st.data())
def test_exact_sets_and_fingerprints_agree_on_right_and_on_broken_schedules(name, n, data):
    algorithm = ALGORITHMS[name]
    if algorithm.refuse(n, **{k: p.default for k, p in algorithm.params.items()}):
        return
    good = algorithm.schedule(n)
    if good.promise.union or not len(good.from_slot):
        return
    broken = good
    if data.draw(st.booleans()):
        move = data.draw(st.integers(0, len(good.from_slot) - 1))
        slots = good.to_slot.copy()
        slots[move] = (slots[move] + 1) % good.slots
        broken = replace(good, to_slot=slots)
    exact = verify(broken)
    limit, module.EXACT_BYTES = module.EXACT_BYTES, 0
    try:
        prints = verify(broken)
    finally:
        module.EXACT_BYTES = limit
    assert exact.ok == prints.ok
    if broken is good:
        assert exact.ok


def test_fingerprints_name_the_missing_and_the_doubled_rank():
    good = ALGORITHMS["allreduce.ring"].schedule(6)
    op, limit = good.op.copy(), module.EXACT_BYTES
    op[-1] = REDUCE
    module.EXACT_BYTES = 0
    try:
        assert not verify(replace(good, op=op)).ok
        one = schedule([reduce([1, 2], 0, 0), copy(0, [1, 2, 3], 0)], allreduce.promise(4, 1, 0), 4)
        two = schedule([reduce([1, 2, 3], 0, 0), reduce(3, 0, 0), copy(0, [1, 2, 3], 0)], allreduce.promise(4, 1, 0), 4)
        assert "rank 3 is missing" in verify(one).reason
        assert "rank 3 is counted twice" in verify(two).reason
        again = [reduce(0, 1, 0), reduce([1, 2, 3], 0, 0), copy(0, [1, 2, 3], 0)]
        assert "rank 0 is counted twice" in verify(schedule(again, allreduce.promise(4, 1, 0), 4)).reason
        three = allreduce.promise(3, 1, 0)
        alone = replace(three, last=np.ones_like(three.last))
        for rank in (1, 2):
            assert f"rank {rank} should not be in it" in verify(schedule([reduce(rank, 0, 0)], alone, 3)).reason
    finally:
        module.EXACT_BYTES = limit


def test_contributors_and_unions_are_exact_whatever_they_take(monkeypatch):
    monkeypatch.setattr(module, "EXACT_BYTES", 0)
    ring = ALGORITHMS["allreduce.ring"].schedule(3)
    assert prove(ring, contributors=True).counts.tolist() == [2] * 3 + [3] * 9
    twice = [reduce([0, 1, 2], [1, 2, 0], 0)] * 4
    assert verify(schedule(twice, barrier.promise(3, 1, 0), 3)).ok


def test_contributors_after_every_move_are_those_of_the_paper():
    proof = prove(ALGORITHMS["allreduce.ring"].schedule(4), contributors=True)
    # after step k of the reduce-scatter every receiver holds k + 2 contributions, then always all four
    assert np.array_equal(proof.counts.reshape(6, 4), np.repeat([[2], [3], [4], [4], [4], [4]], 4, axis=1))
