"""Schedules carried out move by move over dictionaries: what waits for what, and what every place holds in the end.

Straight from the definitions, in no words of the kernels.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from sim.schedule import NOTHING, Promise, copy, reduce, unroll


class Move(NamedTuple):
    number: int
    transfer: int
    adds: bool
    source: tuple
    target: tuple


class Held(NamedTuple):
    """A block, and how often each rank's contribution is in it."""

    block: int
    ranks: Counter


class Spoilt(NamedTuple):
    """Why a place holds no block, by which move, and which ranks a doubling brought in again."""

    why: str
    move: int
    ranks: tuple = ()


class Result(NamedTuple):
    places: dict
    carried: list
    left: list


def steps_of(schedule):
    """The moves of every step."""
    s = schedule
    return [
        [
            Move(m, i, s.op[i] == 1, (int(s.src[i]), int(s.from_slot[m])), (int(s.dst[i]), int(s.to_slot[m])))
            for i in range(s.step_start[k], s.step_start[k + 1])
            for m in range(s.moves[i], s.moves[i + 1])
        ]
        for k in range(s.steps)
    ]


def awaited(schedule):
    """For every transfer those it waits for: who last wrote what it reads or writes, who has read what it writes."""
    writes, reads = defaultdict(list), defaultdict(list)
    before = [set() for _ in range(schedule.transfers)]
    for k, step in enumerate(steps_of(schedule)):
        for move in step:
            newest = max((step for step, _ in writes[move.target]), default=-1)
            before[move.transfer] |= {i for step, i in writes[move.target] if step == newest}
            before[move.transfer] |= {i for step, i in reads[move.target] if step >= newest}
            newest = max((step for step, _ in writes[move.source]), default=-1)
            before[move.transfer] |= {i for step, i in writes[move.source] if step == newest}
        for move in step:
            writes[move.target].append((k, move.transfer))
            reads[move.source].append((k, move.transfer))
    return before


def unordered(schedule, before):
    """Pairs of transfers of different steps that share a place, which one of them writes, and wait for each other not.

    Not even by way of others.
    """
    behind = []
    for each in before:
        behind.append(each.union(*(behind[i] for i in each)))
    step_of = schedule.step_of
    moves = [move for step in steps_of(schedule) for move in step]
    return [
        (a.transfer, b.transfer)
        for a in moves
        for b in moves
        if step_of[a.transfer] < step_of[b.transfer]
        and (b.target in (a.source, a.target) or a.target == b.source)
        and a.transfer not in behind[b.transfer]
    ]


def carried_out(schedule, *, exact):
    """Every step on what the places hold before it; sums that count a rank twice are spoilt where that is `exact`."""
    promise, places, carried, left = schedule.promise, {}, [], []
    for rank, slot in np.argwhere(promise.given != NOTHING).tolist():
        places[rank, slot] = Held(int(promise.given[rank, slot]), Counter([rank]))
    for step in steps_of(schedule):
        read = [places.get(move.source) for move in step]
        written = defaultdict(list)
        for move, value in zip(step, read, strict=True):
            rank = move.target[0]
            held = places.get(move.target)
            if not move.adds or (held is None and rank >= schedule.n):
                places[move.target] = _taken(value, move.number)
            else:
                places[move.target] = _sum(held, value, move.number, doubling=exact and not promise.union)
            written[move.target].append(move.adds)
            if len(written[move.target]) > 1 and not all(written[move.target]):
                places[move.target] = Spoilt("clash", move.number)
            carried.append(value)
            left.append(places[move.target])
    return Result(places, carried, left)


def _taken(value, move):
    if value is None or (isinstance(value, Spoilt) and value.why == "empty"):
        return Spoilt("empty", move)
    return value


def _sum(held, value, move, *, doubling):
    if held is None or (isinstance(held, Spoilt) and held.why == "empty"):
        return Spoilt("empty", move)
    if isinstance(held, Spoilt):
        return held
    if not isinstance(value, Held):
        return _taken(value, move)
    if held.block != value.block:
        return Spoilt("mixed", move)
    both = tuple(sorted(held.ranks.keys() & value.ranks.keys()))
    return Spoilt("doubled", move, both) if both and doubling else Held(held.block, held.ranks + value.ranks)


def first_wrong(schedule, places):
    """The first place that does not hold what is owed, or None."""
    promise = schedule.promise
    for rank, slot in np.argwhere(promise.owed != NOTHING).tolist():
        held = places.get((rank, slot))
        due = Counter(range(promise.first[rank, slot], promise.last[rank, slot]))
        if not isinstance(held, Held) or held.block != promise.owed[rank, slot]:
            return rank, slot
        if held.ranks != due and not (promise.union and held.ranks.keys() == due.keys()):
            return rank, slot
    return None


def sentence(schedule, places, rank, slot, *, exact):
    """What is to be said of a wrong place."""
    promise, held = schedule.promise, places.get((rank, slot))
    place, owed = f"{schedule.name}: rank {rank} slot {slot}", int(promise.owed[rank, slot])
    if held is None:
        return f"{place} should end with block {owed}, but no transfer fills it"
    if isinstance(held, Spoilt):
        move = next(move for step in steps_of(schedule) for move in step if move.number == held.move)
        (a, b), (c, d) = move.source, move.target
        at = f"(step {schedule.step_of[move.transfer] + 1}: rank {a} slot {b} -> rank {c} slot {d})"
        twice = f"rank{'s' * (len(held.ranks) > 1)} {listed(held.ranks)} {'are' if len(held.ranks) > 1 else 'is'}"
        return {
            "empty": f"{place} should end with block {owed}, but an empty slot was used on the way {at}",
            "mixed": f"{place} ends with a sum over different blocks {at}",
            "clash": f"{place} depends on two writers of one step, of which one overwrites {at}",
            "doubled": f"{place}, block {owed}: {twice} counted twice {at}",
        }[held.why]
    if held.block != owed:
        return f"{place} ends with block {held.block}, not with block {owed}"
    due = Counter(range(promise.first[rank, slot], promise.last[rank, slot]))
    missing, extra = sorted((due - held.ranks).elements()), sorted((held.ranks - due).elements())
    if promise.union:
        extra = sorted(held.ranks.keys() - due.keys())
    if not exact and len(missing) + len(extra) > 1:
        return f"{place}, block {owed}: more than one contribution is missing or counted twice"
    if not exact and extra and extra[0] in due:
        return f"{place}, block {owed}: rank {extra[0]} is counted twice"
    parts = []
    if missing:
        parts.append(f"rank{'s' * (len(missing) > 1)} {listed(missing)} {'are' if len(missing) > 1 else 'is'} missing")
    if extra:
        parts.append(f"rank{'s' * (len(extra) > 1)} {listed(extra)} should not be in it")
    return f"{place}, block {owed}: {' and '.join(parts)}"


def listed(ranks):
    shown = ", ".join(map(str, ranks[:6]))
    return f"{shown} and {len(ranks) - 6} more" if len(ranks) > 6 else shown


RANKS = {2: (0, 1), 4: (0, 1, 2, 3), 67: (0, 1, 62, 63, 64, 66)}
"""Numbers of ranks, and those of them that take part: some beyond a machine word."""


@st.composite
def schedules(draw):
    """Few ranks and slots, so that much meets; what is owed is what comes out, or nearly so."""
    n = draw(st.sampled_from([*RANKS]))
    slots, switches = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    places = [*RANKS[n], *range(n, n + switches)]
    place, slot = st.sampled_from(places), st.integers(0, slots - 1)

    def message():
        width = draw(st.sampled_from((1, 1, 1, 2, 3)))
        source = [draw(slot) for _ in range(width)]
        target = source if draw(st.integers(0, 2)) else [draw(slot) for _ in range(width)]
        kind = draw(st.sampled_from((copy, reduce, reduce)))
        return kind(draw(place), draw(place), [source], to=[target])

    steps = [tuple(message() for _ in range(draw(st.integers(0, 4)))) for _ in range(draw(st.integers(0, 5)))]
    laid = draw(st.integers(1, slots))
    blank = np.full((n + switches, laid), NOTHING, np.int32)
    given = blank.copy()
    for rank in RANKS[n]:
        for k in range(laid):
            given[rank, k] = draw(st.sampled_from((k, k, k, k, 0, NOTHING)))
    empty = Promise("any", slots, given, blank, blank, blank, range(laid), range(laid), draw(st.integers(0, 4)) == 0)
    words = {"name": "any", "n": n, "switches": ("NVS",) * switches}
    schedule = unroll(steps, promise=empty, **words)
    end = carried_out(schedule, exact=True).places
    owed, first, last = blank.copy(), blank.copy(), blank.copy()
    for rank in places[: len(RANKS[n])]:
        for k in range(laid):
            held = end.get((rank, k))
            kind = draw(st.integers(0, 20))
            if isinstance(held, Held) and kind:
                ranks = sorted(held.ranks)
                owed[rank, k], first[rank, k], last[rank, k] = held.block, ranks[0], ranks[-1] + 1
            elif kind < 8:
                owed[rank, k], first[rank, k] = draw(slot), draw(st.integers(0, n - 1))
                last[rank, k] = draw(st.integers(int(first[rank, k]) + 1, n))
    return unroll(steps, promise=replace(empty, owed=owed, first=first, last=last), **words)
