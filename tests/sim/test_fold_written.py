"""Schedules beside rank 0's part: what is known of the part is told of all ranks only where all do as it does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.registry import Algorithm
from ops.run import reuse
from ops.run import work as works
from ops.run.work import registered
from sim.errors import InputError
from sim.machines import build
from sim.schedule import copy, dependencies, every_rank, in_rank_order
from sim.schedule.verify import verify
from sim.symmetry.bound import lower_bound
from sim.symmetry.edges import waits
from sim.symmetry.proof import prove
from sim.symmetry.renamings import Symmetry, renamed, rotation
from sim.symmetry.rows import is_whole, promises_alike
from sim.trace import metrics

FOLDING = sorted(name for name, entry in ALGORITHMS.items() if entry.symmetry)
RANKS = (2, 3, 4, 5, 6, 8, 9, 12, 16, 65)


@pytest.fixture(autouse=True)
def _compare_small_ones(monkeypatch):
    monkeypatch.setattr(works, "COMPARED", 0)
    reuse.forget()


def both(name, n):
    """A schedule and rank 0's part; None where an algorithm does not state that for so many ranks."""
    entry = ALGORITHMS[name]
    try:
        part = entry.folded(n)
    except InputError:
        return None
    return part and (part, entry.schedule(n))


@pytest.mark.parametrize("name", FOLDING)
def test_rank_0s_part_tells_the_proof_the_order_and_the_bound_of_all_ranks_to_the_bit(name):
    for part, schedule in filter(None, (both(name, n) for n in RANKS)):
        assert is_whole(part, schedule)
        assert prove(part) == verify(schedule)
        known = waits(part, schedule)
        if known is None:  # marks stand between turns
            assert part.ordered
            assert max(end.max() for end in schedule.after) >= schedule.transfers
        else:
            for column, derived in zip(known, dependencies.derive(schedule), strict=True):
                assert (column.dtype, column.tobytes()) == (derived.dtype, derived.tobytes())
        machine, weight = build(f"switch:ranks={part.n}"), (1e9 + 7) * part.unit_share
        devices, blocks = np.array(machine.ranks, np.int32), np.full(schedule.promise.blocks, weight)
        bound = lower_bound(machine, part, weight, block_by_block=True)
        assert bound == metrics.lower_bound(machine, schedule.promise, blocks, devices)


@st.composite
def spoilt(draw):
    """A part and a schedule in which one entry of one column, or of the promise, is another."""
    found = both(draw(st.sampled_from(FOLDING)), draw(st.sampled_from(RANKS)))
    if found is None or not found[1].transfers:
        return None
    part, schedule = found
    of_promise = draw(st.booleans())
    where = schedule.promise if of_promise else schedule
    names = (
        ("given", "owed", "first", "last") if of_promise else ("op", "src", "dst", "channel", "from_slot", "to_slot")
    )
    name = draw(st.sampled_from(names))
    column = np.array(getattr(where, name))
    at = np.unravel_index(draw(st.integers(0, column.size - 1)), column.shape)
    most = {"op": 1, "src": part.n - 1, "dst": part.n - 1, "channel": 3}.get(name, max(1, schedule.slots - 1))
    column[at] = (int(column[at]) + draw(st.integers(1, most))) % (most + 1)
    if of_promise and name in ("first", "last") and schedule.promise.owed[at] < 0:
        return None  # nobody is owed what is in there
    changed = replace(where, **{name: column})
    return part, replace(schedule, promise=changed) if of_promise else changed


@given(spoilt())
def test_no_schedule_with_one_other_entry_passes_for_the_renamings_of_rank_0(pair):
    if pair is not None:
        assert not is_whole(*pair)


@given(st.sampled_from(FOLDING), st.sampled_from(RANKS), st.randoms(use_true_random=False))
def test_slots_of_a_message_may_come_in_any_order_but_must_be_the_same(algorithm, n, random):
    found = both(algorithm, n)
    if found is None:
        return
    part, schedule = found
    order = np.arange(len(schedule.from_slot))
    for first, stop in zip(schedule.moves[:-1].tolist(), schedule.moves[1:].tolist(), strict=True):
        row = order[first:stop].tolist()
        random.shuffle(row)
        order[first:stop] = row
    source, target = schedule.from_slot[order], schedule.to_slot[order]
    assert is_whole(part, replace(schedule, from_slot=source, to_slot=target))
    wide = np.flatnonzero(np.diff(schedule.moves) > 1)
    if len(wide):
        first = schedule.moves[random.choice(wide.tolist())]
        moves = {"from_slot": source, "to_slot": target}
        for name, column in moves.items():
            doubled = column.copy()
            doubled[first] = doubled[first + 1]
            if doubled[first] != column[first]:
                assert not is_whole(part, replace(schedule, **moves | {name: doubled}))


def entry_of(steps):
    allgather = COLLECTIVES["allgather"]
    return Algorithm("allgather.made", allgather, steps, None, lambda n: None, None, symmetry=rotation)


def faulty(rank, step):
    """A ring allgather in which one rank sends another block in one step."""

    def steps(n):
        r = every_rank(n)
        for k in range(n - 1):
            yield copy(r, (r + 1) % n, slot=(r - k + ((r == rank) & (k == step))) % n)

    return steps


@pytest.mark.parametrize(("rank", "step"), [(37, 50), (68, 3), (-1, 0)])
def test_a_rank_that_nobody_looked_at_is_found_out_when_it_does_otherwise(rank, step):
    work = registered(entry_of(faulty(rank, step)), 100)
    assert prove(work.folded).ok  # of these ranks it has seen none
    assert (work.whole is None) == (rank >= 0)
    assert work.proof(blocks=False).verdict == verify(work.schedule)
    assert work.proof(blocks=False).verdict.ok == (rank < 0)


def test_what_all_ranks_do_wrong_is_told_in_the_words_of_the_whole_schedule():
    def steps(n):
        r = every_rank(n)
        for k in range(n - 1):
            yield copy(r, (r + 1) % n, slot=(r - k + (k == 7)) % n)

    work = registered(entry_of(steps), 100)
    verdict = work.proof(blocks=False).verdict
    assert work.whole is not None
    assert verdict == verify(work.schedule)
    assert not verdict.ok


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("name", ["allgather.ring", "alltoall.pairwise", "allreduce.rabenseifner"])
def test_a_work_knows_the_order_that_would_be_derived(name, blocking):
    work = registered(ALGORITHMS[name], 128)
    work = work.blocking() if blocking else work
    work.order()
    assert work.proof(blocks=False).verdict.ok
    known = dependencies.waits(work.schedule)
    for column, derived in zip(known, dependencies.derive(work.schedule), strict=True):
        assert column.tobytes() == derived.tobytes()


def test_a_proof_from_rank_0_replays_no_rank(monkeypatch):
    monkeypatch.setattr(works, "prove", lambda *_, **__: pytest.fail("it was replayed"))
    monkeypatch.setattr(dependencies, "derive", lambda *_: pytest.fail("it was derived"))
    work = registered(ALGORITHMS["allreduce.ring"], 64)
    work.order()
    assert work.proof(blocks=False).verdict.ok
    assert dependencies.waits(work.schedule).rows == work.schedule.transfers


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(-1, 1)), min_size=1, max_size=4), st.data())
def test_names_are_those_that_renamings_give(digits, data):
    symmetry = Symmetry((3, 4), tuple(digits))
    some = st.lists(st.integers(0, symmetry.places.total - 1), min_size=1, max_size=9)
    numbers, by = data.draw(some), data.draw(st.lists(st.integers(0, 11), min_size=1, max_size=9))
    column = np.array(by).reshape(-1, 1)
    assert (renamed(symmetry.places, numbers, column) == symmetry.places.turned(numbers, column)).all()


def test_a_promise_of_other_ranks_is_no_renaming():
    part, schedule = both("allgather.ring", 5)
    assert promises_alike(part, schedule.promise)
    assert not promises_alike(part, COLLECTIVES["allgather"].promise(6, 1, 0))
    assert not promises_alike(part, replace(schedule.promise, union=True))
    assert is_whole(part, in_rank_order(schedule))  # when who waits for whom is not what is compared
    assert waits(part, in_rank_order(schedule)) is None
