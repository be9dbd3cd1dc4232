"""What waits for what and who contributes to what, against a literal replay of random schedules."""

from dataclasses import replace
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from sim.errors import InputError
from sim.schedule import copy, dependencies, reduce, unroll
from sim.schedule import verify as module
from sim.schedule.dependencies import derive, gated, lockstep, waits
from sim.schedule.verify import Verdict, prove
from tests.sim.literal import Held, awaited, carried_out, first_wrong, schedules, sentence, unordered


def rows(waits):
    """What waits for each row; every one of them waits for as many as are pending."""
    after = [waits.after[a:b].tolist() for a, b in pairwise(waits.start)]
    assert waits.pending.tolist() == np.bincount(waits.after, minlength=waits.rows).tolist()
    assert len(after) == waits.rows
    return after


def turned(before):
    """For every row those behind it."""
    return [[later for later, each in enumerate(before) if i in each] for i in range(len(before))]


@given(schedules(), st.data())
def test_a_transfer_waits_for_those_whose_places_it_shares_and_for_its_program_order(schedule, data):
    before = awaited(schedule)
    assert unordered(schedule, before) == []
    assert rows(derive(schedule)) == turned(before)
    count = schedule.transfers
    marks = data.draw(st.integers(0, 2))
    later = data.draw(st.lists(st.integers(1, max(1, count + marks - 1)), max_size=6)) if count + marks > 1 else []
    pairs = [(data.draw(st.integers(0, b - 1)), b) for b in later]
    earlier, later = (np.array([pair[k] for pair in pairs], np.int32) for k in (0, 1))
    before += [set() for _ in range(max((b + 1 for _, b in pairs), default=0) - count)]
    for a, b in pairs:
        before[b].add(a)
    assert rows(derive(replace(schedule, after=(earlier, later)))) == turned(before)


def test_what_waits_is_derived_once():
    schedule = ALGORITHMS["allreduce.ring"].schedule(4)
    assert waits(schedule) is waits(schedule)
    assert rows(waits(schedule)) == rows(derive(schedule))


def test_many_that_wait_for_many_find_room():
    every = np.arange(1, 31)
    schedule = unroll([copy(0, every, slot=0), reduce(every, 0, slot=0)], name="many", n=31, promise=None)
    assert rows(derive(schedule)) == [[*range(30, 60)]] * 30 + [[]] * 30


@given(schedules(), st.data())
def test_in_lockstep_every_step_waits_for_the_mark_behind_the_one_before(schedule, data):
    marks = max(0, schedule.steps - 1)
    before = [{schedule.transfers + k - 1} if k else set() for k in schedule.step_of.tolist()]
    before += [{i for i, k in enumerate(schedule.step_of) if k == mark} for mark in range(marks)]
    waits = lockstep(schedule)
    assert rows(waits) == turned(before)
    held = [data.draw(st.sets(st.integers(0, len(before) - 1))) for _ in range(2)] if before else []
    for k, those in enumerate(held):
        for i in those:
            before[i].add(len(waits.pending) + k)
    before += [set() for _ in held]
    assert rows(gated(waits, [np.array(sorted(those), np.int64) for those in held])) == turned(before)


@given(schedules(), st.booleans(), st.booleans())
def test_a_proof_says_what_a_literal_replay_says(schedule, exact, by_kernel):
    exact |= schedule.promise.union
    end = carried_out(schedule, exact=exact)
    wrong = first_wrong(schedule, end.places)
    looked = {"is_compiled": lambda kernels: by_kernel, "compiled": lambda kernels: kernels}
    with np.errstate(over="ignore"), mock.patch.multiple(module, EXACT_BYTES=1 << 26 if exact else 0, **looked):
        verdict = prove(schedule).verdict
    if wrong is None:
        assert verdict == Verdict("ok")
    else:
        assert (verdict.verdict, verdict.rank, verdict.slot) == ("wrong", *wrong)
        assert verdict.reason == sentence(schedule, end.places, *wrong, exact=exact)
        spoilt = getattr(end.places.get(wrong), "move", None)
        assert verdict.step == (-1 if spoilt is None else schedule.step_of[schedule.transfer_of[spoilt]])


@given(schedules())
def test_every_move_carries_and_leaves_behind_what_a_literal_replay_says(schedule):
    end, proof = carried_out(schedule, exact=True), prove(schedule, contributors=True)
    blocks = prove(schedule, blocks=True)
    assert blocks.carried.tobytes() == proof.carried.tobytes()
    assert (blocks.left.shape[0], prove(schedule).carried.size) == (0, 0)
    for m, (carried, left) in enumerate(zip(end.carried, end.left, strict=True)):
        assert (proof.carried[m] == carried.block) if isinstance(carried, Held) else (proof.carried[m] < 0)
        if isinstance(left, Held):
            bits = np.unpackbits(proof.left[m].view(np.uint8), bitorder="little")
            assert set(np.flatnonzero(bits).tolist()) == left.ranks.keys()
            assert proof.counts[m] == len(left.ranks)


@pytest.mark.parametrize("exact", [True, False])
def test_whatever_reads_an_empty_slot_spoils_a_switch_for_good(exact):
    """What is added to an empty slot of a switch fills it; what was read from an empty slot is not empty."""
    promise = ALGORITHMS["allreduce.nvls"].schedule(2).promise
    good = [reduce([0, 1], 2, slot=0), copy(2, [0, 1], slot=0)]
    bad, added = ([step(0, 2, slot=1, to=0), *good] for step in (copy, reduce))
    one = replace(promise, **{c: getattr(promise, c)[:, :1] for c in ("given", "owed", "first", "last")})
    with mock.patch.object(module, "EXACT_BYTES", 1 << 26 if exact else 0):
        for steps, ok in ((good, True), (bad, False), (added, False)):
            schedule = unroll(steps, name="any", n=2, promise=one, switches=("NVS",))
            assert prove(schedule).verdict.ok is ok


def test_a_spoilt_sum_keeps_its_place_on_its_way_through_a_switch():
    promise = ALGORITHMS["allreduce.ring"].schedule(2).promise.with_switches(1)
    mixed = reduce(0, 1, [[0]], to=[[1]])
    steps = [mixed, reduce(0, 1, slot=1), reduce(1, 2, slot=1), copy(2, 0, slot=1)]
    owed = promise.owed.copy()
    owed[:, 0] = -1
    wrong = prove(unroll(steps, name="any", n=2, promise=replace(promise, owed=owed), switches=("NVS",))).verdict
    assert (wrong.step, wrong.rank, wrong.slot) == (0, 0, 1)
    assert "a sum over different blocks (step 1: rank 0 slot 0 -> rank 1 slot 1)" in wrong.reason


@pytest.mark.parametrize(("more", "told"), [(0, "ranks 3, 7 are missing"), (-1, "more than one contribution")])
def test_sets_are_exact_for_as_long_as_they_fit(more, told):
    others = np.array([r for r in range(1, 100) if r not in (3, 7)])
    promise = COLLECTIVES["allreduce"].promise(100, 8, 0)
    steps = [reduce(others, 0, np.tile(np.arange(8), (len(others), 1)))]
    schedule = unroll(steps, name="any", n=100, promise=promise)
    with mock.patch.object(module, "EXACT_BYTES", 100 * 8 * 2 * 8 + more):  # 100 ranks, 8 slots, 2 words of 64 ranks
        assert told in prove(schedule).verdict.reason


def test_more_moves_than_there_are_numbers_for_are_refused(monkeypatch):
    schedule = ALGORITHMS["allreduce.ring"].schedule(4)
    monkeypatch.setattr(dependencies, "MOST", len(schedule.from_slot))
    assert derive(schedule).rows == schedule.transfers
    monkeypatch.setattr(dependencies, "MOST", len(schedule.from_slot) - 1)
    with pytest.raises(InputError, match=r"^allreduce\.ring moves 24 slots, more than the 23 .*: use fewer ranks or"):
        derive(schedule)


def test_twice_the_last_of_most_moves_and_one_more_is_the_largest_number_of_32_bits():
    last = dependencies.MOST - 1
    assert 2 * last + 1 == np.iinfo(np.int32).max
