"""Ranks of a kind simulated once: every message's moments are those of the run in which all ranks are simulated."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.plan import Plan
from sim.base.compiled import compiled
from sim.base.ragged import take
from sim.engine import simulate
from sim.machines import build
from sim.schedule import Step, copy, reduce, unroll
from sim.schedule.verify import verify
from sim.symmetry.classes import colours, kernels, run
from sim.symmetry.classes.listing import listed
from sim.symmetry.classes.run import simulate_kinds

SIZE = 10_000_000
TREE = "allreduce.double_binary_tree"


def read(name, n, root=0, steps=None):
    """An algorithm as it is read step by step, and written out; its own steps unless others are given."""
    entry = ALGORITHMS[name]
    values = entry.settle(n, root=root)
    rooted = {"root": root} if entry.collective.rooted else {}
    found = listed(
        steps(entry.steps(n, **rooted, **values)) if steps else entry.steps(n, **rooted, **values),
        entry.collective.promise(n, entry.cut(n, values), root),
        name=name,
        unit_share=entry.unit_share(n, values),
        ordered=entry.ordered,
    )
    return found, entry.schedule(n, root=root, **values)


def message_of(rows, schedule):
    """The message of `rows.of_kinds` that stands for each transfer of the schedule that is written out."""
    pair = rows.schedule.pair
    own = np.lexsort((pair[:, kernels.CHANNEL], pair[:, kernels.DST], pair[:, kernels.SRC]))
    written = np.lexsort((schedule.channel, schedule.dst, schedule.src))
    message = np.empty(schedule.transfers, np.int64)
    message[written] = take(rows.model.first, rows.model.order, rows.level.pairs.of[own])[1]
    return message


def apart(trace, whole, schedule):
    """By how much moments differ at most, as a part of the whole time."""
    message = message_of(trace.rows, schedule)
    pairs = ((getattr(trace.rows.of_kinds, name)[message], getattr(whole, name)) for name in ("ready", "start", "end"))
    worst = max(np.abs(own - written[: schedule.transfers]).max(initial=0) for own, written in pairs)
    return worst / (whole.time or 1)


@pytest.fixture
def at_once(monkeypatch):
    """Kinds are tried however few they are."""
    monkeypatch.setattr(colours, "FEW", 0)


@pytest.mark.slow
@pytest.mark.turns("name", "n")
@pytest.mark.parametrize(
    ("name", "n"),
    [
        (TREE, 512),
        ("broadcast.double_binary_tree", 1000),
        ("broadcast.binomial", 1024),
        ("reduce.double_binary_tree", 300),
    ],
)
def test_trees_of_hundreds_have_fewer_kinds(at_once, name, n):
    (listing, verdict), schedule = read(name, n)
    topology = build(f"switch:ranks={n},gamma=0.01ns")
    trace = simulate_kinds(topology, listing, verdict, SIZE)
    assert trace.simulated < 0.9 * schedule.messages
    assert apart(trace, simulate(topology, schedule, SIZE), schedule) < 1e-12


def test_a_claim_that_does_not_hold_is_found(at_once, monkeypatch):
    (listing, verdict), schedule = read(TREE, 512)
    topology = build("switch:ranks=512")
    whole, seen, holds = simulate(topology, schedule, SIZE), [], run.claim.holds

    def looked_at(listing, ways, level, model, trace):
        rows = run.KindRows(
            topology=topology, schedule=listing, verdict=verdict, level=level, model=model, of_kinds=trace
        )
        claimed = SimpleNamespace(rows=rows)
        seen.append((held := holds(listing, ways, level, model, trace), apart(claimed, whole, schedule)))
        return held

    monkeypatch.setattr(run.claim, "holds", looked_at)
    simulate_kinds(topology, listing, verdict, SIZE)
    assert [held for held, _ in seen] == [False] * (len(seen) - 1) + [True]
    assert len(seen) > 2
    assert min(wrong for held, wrong in seen if not held) > 1e-3
    assert seen[-1][1] < 1e-12


def spoilt(draw):
    """Of a schedule's steps one message goes elsewhere, is left out, is added instead of put, or moves another slot."""

    def steps(own):
        own = [item if isinstance(item, tuple) and not isinstance(item, Step) else (item,) for item in own]
        own = [[part for part in parts if len(part.src)] for parts in own if not isinstance(parts[0], str)]
        at, kind = draw.integers(len(own)), draw.integers(5)
        for k, parts in enumerate(own):
            if k == at:
                j = draw.integers(len(parts))
                parts[j] = changed(parts[j], draw, kind)
            yield tuple(parts)

    return steps


def changed(part, draw, kind):
    i = draw.integers(len(part.src))
    kept = np.arange(len(part.src)) != i
    if kind == 0:
        return Step(part.op, *(column[kept] for column in part[1:]))
    if kind == 1:
        return part._replace(op=1 - part.op)
    name = ("dst", "slot", "to")[kind - 2]
    column = getattr(part, name).copy()
    column[i] = np.where(column[i] >= 0, (column[i] + 1) % 8, column[i])
    return part._replace(**{name: column})


@pytest.mark.slow
def test_200_wrong_schedules_are_found_as_they_are_read():
    names = [TREE, "allreduce.ring", "allgather.ring", "reduce.binomial", "alltoall.linear"]
    seen = {"ok": 0, "wrong": 0}
    for number in range(1000):
        name, seed = names[number % len(names)], number
        entry, n = ALGORITHMS[name], 8
        values = entry.settle(n)
        found, _ = read(name, n, steps=spoilt(np.random.default_rng(seed)))
        promise = entry.collective.promise(n, entry.cut(n, values), 0)
        steps = spoilt(np.random.default_rng(seed))(entry.steps(n, **values))
        verdict = verify(unroll(steps, name=name, n=n, promise=promise))
        assert found[1].verdict == verdict.verdict
        seen[verdict.verdict] += 1
        if seen["wrong"] >= 200:
            break
    assert seen["wrong"] >= 200


def test_two_writers_of_one_step_of_which_one_overwrites_are_wrong():
    for second in (copy, reduce):
        entry = ALGORITHMS["broadcast.binomial"]
        steps = [copy(0, [1, 2], slot=0), (copy(1, 3, slot=0), second(2, 3, slot=0))]
        _, verdict = listed(steps, entry.collective.promise(4, 1, 0), name="two", unit_share=1.0)
        assert verdict.reason == "two: rank 3 slot 0 does not end with block 0 as it is owed"


def test_what_has_many_partners_or_may_count_twice_or_names_nobody_is_not_listed():
    assert read("alltoall.linear", 80)[0] is None
    assert read("barrier.dissemination", 8)[0] is None
    promise = ALGORITHMS["broadcast.binomial"].collective.promise(4, 1, 0)
    for wrong in (copy(0, 4, slot=0), copy(0, 1, slot=-2), copy(0, 1, slot=0, to=-1), copy(-1, 1, slot=0)):
        assert listed([wrong], promise, name="wrong", unit_share=1.0) is None


@pytest.mark.parametrize("more", [False, True])
def test_so_many_partners_of_a_sender_are_looked_through_and_no_more(more):
    n = kernels.PARTNERS + 2 + more
    promise = ALGORITHMS["broadcast.binomial"].collective.promise(n, 1, 0)
    found = listed([copy(0, k, slot=0) for k in range(1, n)], promise, name="star", unit_share=1.0)
    assert (found is None) == more
    assert more or (found[1].verdict, len(found[0].pair)) == ("ok", n - 1)


def test_programs_of_messages_that_begin_alike_are_told_apart_wherever_they_are_looked_for():
    """In a table of eight places one often lies where the other is looked for."""
    long = np.array([[3, 4]], np.int32)
    for step in range(40):
        node, pool = np.zeros((8, 5), np.int64), np.zeros((16, 2), np.int32)
        table, count = np.full(8, kernels.NONE, np.int32), np.array([0, 1, 0])
        with np.errstate(over="ignore"):
            numbers = [
                int(kernels.longer(0, step, 0, 0, slot, slot, node, pool, table, count))
                for slot in (long, long[:, :1], long, long[:, :1])
            ]
        assert numbers == [1, 2, 1, 2]


@pytest.mark.parametrize(("slots", "found"), [(2, kernels.NONE), (3, 0)])
def test_a_program_takes_the_last_slots_that_are_left_and_none_that_is_not(slots, found):
    node, pool = np.zeros((8, 5), np.int64), np.zeros((slots, 2), np.int32)
    table, count, three = np.full(8, kernels.NONE, np.int32), np.zeros(3, np.int64), np.array([[3, 4, 5]], np.int32)
    with np.errstate(over="ignore"):
        assert kernels.longer(0, 0, 0, 0, three, three, node, pool, table, count) == found
    assert count[kernels.SLOTS] == (0 if found == kernels.NONE else slots)


def test_colours_of_two_ranks_or_links_differ_with_any_pair_they_have():
    """One sends to one over a link of its own, in as many colours as there are."""
    count = 64
    pair, offsets = np.zeros((count, 5), np.int64), np.arange(count + 1)
    pair[:, kernels.SRC], pair[:, kernels.DST] = np.arange(count), np.arange(count) + count
    ranks, links = np.zeros(2 * count, np.uint64), np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        kernels.tell_places(pair, offsets, np.arange(count), np.arange(count, dtype=np.uint64), ranks, links)
    assert len({*ranks.tolist(), *links.tolist()}) == 3 * count


def test_variants_differ_in_what_their_ranks_and_links_are():
    every = np.stack(np.meshgrid(*[np.arange(4)] * 4), -1).reshape(-1, 4)  # of the pair, who sends, who receives, link
    pair, colour = np.zeros((len(every), 5), np.int64), np.zeros(len(every), np.uint64)
    pair[:, kernels.SRC], pair[:, kernels.DST] = every[:, 1], every[:, 2]
    offsets, four = np.arange(len(every) + 1), np.arange(4)
    with np.errstate(over="ignore"):
        kernels.tell_variants(pair, offsets, every[:, 3], every[:, 0], four, four, colour)
    assert len(np.unique(colour)) == len(every)


def test_a_tree_of_32_767_takes_memory_of_its_pairs_and_not_of_its_messages():
    compiled(kernels)
    tracemalloc.start()
    outcome = Plan(TREE, "switch:ranks=32767", size="10MB").run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert outcome.timing.simulated < 0.05 * outcome.timing.messages
    assert peak < 100 * outcome.work.transfers
