"""Folded runs: one rank stands for all, and nothing that is told of a run is different for it."""

import doctest
from pathlib import Path

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.run import Work, execute
from ops.run.work import settled
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.schedule import copy, every_rank, in_rank_order, reduce, unroll
from sim.schedule.verify import verify
from sim.symmetry.folded import AsymmetryError, folded
from sim.symmetry.folded_run import simulate_folded
from sim.symmetry.link_classes import link_classes
from sim.symmetry.proof import prove
from sim.symmetry.renamings import Symmetry, exchange, rotation, standing
from tests.tables import each_row

FOLDING = sorted(name for name, entry in ALGORITHMS.items() if entry.symmetry)
SIZE = 1 << 24


def folded_and_whole(name, machine, n, *, lockstep=False):
    """A folded run, None where machine or algorithm do not fold, and the same run of all ranks."""
    entry, topology = ALGORITHMS[name], build(machine)
    values = settled(entry, n, 0, topology, {})
    part = entry.folded(n, **values)
    links = part and link_classes(topology, part)
    if links is None:
        return None, None
    size = SIZE if entry.collective.sized else 0
    trace = simulate_folded(topology, part, links, prove(part), size, lockstep=lockstep)
    work = Work(entry.schedule(n, **values), entry.collective, entry, values)
    return trace, execute(topology, work, size, lockstep=lockstep)


@each_row("name", FOLDING)
def test_what_is_stated_is_so(name):
    entry = ALGORITHMS[name]
    sizes = 0
    for n in (2, 3, 4, 5, 6, 8, 12, 16):
        try:
            whole = entry.schedule(n)
        except InputError:
            continue
        part = entry.folded(n)
        if part is None:
            continue
        sizes += 1
        assert prove(part).ok
        assert (part.transfers, part.messages, part.steps) == (whole.transfers, whole.messages, whole.steps)
        ranks = np.arange(n)
        np.testing.assert_array_equal(np.tile(ranks, part.classes), whole.src)
        np.testing.assert_array_equal(part.symmetry.ranks.turned(ranks, part.turn.reshape(-1, 1)).ravel(), whole.dst)
        np.testing.assert_array_equal(np.repeat(part.one.op, n), whole.op)
        np.testing.assert_array_equal(np.repeat(np.diff(part.one.moves), n), np.diff(whole.moves))
        np.testing.assert_array_equal(moved(whole, *renamed_moves(part)), moved(whole, whole.from_slot, whole.to_slot))
    assert sizes


def renamed_moves(part):
    """The moves of all ranks, from those of rank 0, as an unrolled schedule has them."""
    width, places, ranks = np.diff(part.one.moves), part.symmetry.places, np.arange(part.n)
    rows = [np.arange(*part.one.moves[k : k + 2]) for k in range(part.classes) for _ in ranks]
    move, rank = np.concatenate(rows), np.repeat(np.tile(ranks, part.classes), np.repeat(width, part.n))
    receiver = part.symmetry.ranks.turned(np.repeat(part.turn, width)[move], rank)
    return places.turned(part.one.from_slot[move], rank), places.turned(part.one.to_slot[move], receiver)


def moved(schedule, source, target):
    """What every transfer moves, in whatever order."""
    return np.sort(schedule.transfer_of.astype(np.int64) * schedule.slots**2 + source * schedule.slots + target)


def made(steps, n, symmetry, collective="allreduce", pieces=1):
    """What a generator yields for n ranks, folded and unrolled."""
    promise = COLLECTIVES[collective].promise
    part = folded(symmetry, steps, lambda: promise(n, pieces, 0), name="made", unit_share=1 / pieces)
    return part, unroll(steps(), name="made", n=n, promise=promise(n, pieces, 0), unit_share=1 / pieces)


def doubling(n, distances):
    def steps():
        r = every_rank(n)
        for d in distances:
            yield reduce(r, r ^ d, slot=0)

    return made(steps, n, exchange(n, slots=1))


def test_doubling_over_distances_1_2_2_takes_the_time_of_1_2_4_and_is_wrong():
    machine = build("switch:ranks=8")
    times = []
    for distances, verdict in (((1, 2, 4), "ok"), ((1, 2, 2), "wrong")):
        part, whole = doubling(8, distances)
        assert prove(part).verdict == verify(whole).verdict == verdict
        trace = simulate_folded(machine, part, link_classes(machine, part), prove(part), SIZE)
        assert trace.time == pytest.approx(simulate(machine, whole, SIZE).time, rel=1e-12)
        times.append(trace.time)
    assert times[0] == times[1]
    reason = prove(doubling(8, (1, 2, 2))[0]).reason
    assert reason == "made: rank 0 slot 0, block 0: ranks 4, 5, 6, 7 are missing and ranks 0, 1, 2, 3 are counted twice"


def spoilt_ring(n, draw, ordered):
    """A ring allreduce in which every rank does the same wrong thing in one step, or nothing wrong by luck."""
    spoilt, by, kind = draw.integers(2 * (n - 1)), 1 + draw.integers(n - 1), draw.integers(5)

    def steps():
        r = every_rank(n)
        for k in range(2 * (n - 1)):
            move, slot, to = (reduce, r - k - 1, r + 1) if k < n - 1 else (copy, r - k - n + 2 * n, r + 1)
            if k == spoilt:
                if kind == 0:
                    continue
                move = {1: copy, 2: reduce}.get(kind, move)
                slot, to = slot + by * (kind == 3), to + by * (kind == 4)
            yield move(r, to % n, slot=slot % n)

    part, whole = made(steps, n, rotation(n), pieces=n)
    return part, in_rank_order(whole) if ordered else whole


def test_200_wrong_schedules_are_wrong_folded_and_right_ones_are_right():
    draw = np.random.default_rng(18)
    seen = {"ok": 0, "wrong": 0}
    while seen["wrong"] < 200:
        n = int(draw.integers(2, 9))
        if draw.random() < 0.7:
            part, whole = spoilt_ring(n, draw, ordered=False)
        else:
            part, whole = doubling(8, draw.choice([1, 2, 3, 4, 5, 6, 7], int(draw.integers(1, 5))).tolist())
        verdict = verify(whole)
        told = prove(part)
        assert (told.verdict, told.rank, told.slot) == (verdict.verdict, verdict.rank, verdict.slot)
        assert told.step in (-1, verdict.step)  # of who is counted twice it does not look for the step
        seen[verdict.verdict] += 1
    assert seen["ok"] > 5


def test_what_spoilt_a_block_is_told_however_far_that_was_carried():
    n = 5

    def steps():
        r = every_rank(n)
        yield reduce(r, (r + 1) % n, slot=r, to=(r + 2) % n)
        yield copy(r, (r + 1) % n, slot=(r + 1) % n, to=(r + 3) % n)
        yield copy(r, (r + 1) % n, slot=(r + 2) % n, to=(r + 1) % n)

    part, whole = made(steps, n, rotation(n), pieces=n)
    told, where = prove(part), "ends with a sum over different blocks (step 1: rank 4 slot 4 -> rank 0 slot 1)"
    assert told.reason == f"made: rank 0 slot 0 {where}"
    assert (told.step, told.rank, told.slot) == (verify(whole).step, verify(whole).rank, verify(whole).slot)


def test_what_is_added_to_block_0_and_is_another_spoils_it():
    n = 5

    def steps():
        r = every_rank(n)
        yield reduce(r, (r + 1) % n, slot=r, to=(r + 1) % n)

    part, whole = made(steps, n, rotation(n), pieces=n)
    assert prove(part).reason == verify(whole).reason
    assert prove(part).reason.endswith("ends with a sum over different blocks (step 1: rank 4 slot 4 -> rank 0 slot 0)")


@each_row(
    "symmetry, steps, reason",
    [
        (rotation(9), lambda r: [copy(r, np.minimum(r + 1, 8), slot=r)], "its receivers differ between rank"),
        (rotation(9), lambda r: [copy(r, (r + 1) % 9, slot=0)], "its slots that are sent differ between rank"),
        (rotation(9), lambda r: [copy(r, (r + 1) % 9, slot=r, to=9 + r)], "its slots lie outside 0..8"),
        (rotation(9), lambda r: [copy(r, (r + 1) % 9, slot=r, channel=r)], "its channels differ between rank"),
        (rotation(9), lambda r: [copy(r[::-1], r, slot=r)], "a step has not as many messages from every rank"),
        (rotation(9), lambda r: [copy(0, r, slot=0)], "a step has not as many messages from every rank"),
        (standing(9, 9, 9), lambda r: [copy(r, (r + 1) % 9, slot=0)], "its first blocks differ between rank"),
        (rotation(9, 2), lambda r: [copy(r, (r + 1) % 9, slot=2 * r)], "ranks start or end with other blocks"),
    ],
)
def test_a_symmetry_that_is_none_is_told(symmetry, steps, reason):
    with pytest.raises(AsymmetryError, match=f"made: {reason}.*: correct the symmetry that it states"):
        made(lambda: iter(steps(every_rank(9))), 9, symmetry, collective="allgather")


def test_a_machine_that_is_not_alike_from_every_rank_does_not_fold():
    assert folded_and_whole("allreduce.ring", "nodes:nodes=2,gpus=4", 8) == (None, None)
    assert folded_and_whole("allreduce.hierarchical_2d", "nodes:nodes=2,gpus=4", 8)[0] is not None


def test_links_that_some_pairs_share_more_than_others_are_crossed_as_often():
    trace, whole = folded_and_whole("allreduce.recursive_doubling", "dual_socket_pcie", 8)
    assert trace.rows.links.load.max() > 1
    assert trace.time == pytest.approx(whole.time, rel=1e-12)


def test_renamings_add_up():
    both = Symmetry((3, 4), ((12, -1),)).ranks
    for one in range(12):
        assert both.turned(one, Symmetry((3, 4), ()).back(one)) == 0
        assert both.turned(both.turned(7, one), 5) == both.turned(7, both.turned(one, 5))


@pytest.mark.parametrize("name", ["allreduce.ring", "allreduce.recursive_doubling", "allreduce.hierarchical_2d"])
def test_4096_ranks_take_their_closed_form(name):
    entry, topology = ALGORITHMS[name], build("switch:ranks=4096")
    part = entry.folded(4096)
    links = link_classes(topology, part)
    trace = simulate_folded(topology, part, links, prove(part), 1e9)
    cost = entry.cost(4096, **entry.settle(4096))
    assert trace.verdict.ok
    assert trace.time == pytest.approx(cost.alphas * 2e-6 + cost.betas * 1e9 / 25e9, rel=1e-9)


def test_the_page_about_folding_holds():
    page = Path(__file__).resolve().parents[2] / "docs" / "folding.md"
    with ALGORITHMS.also():
        outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 5
    assert outcome.failed == 0
