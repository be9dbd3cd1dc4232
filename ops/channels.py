"""One algorithm on several shares of the data at once, each share with the ranks in an order of its own."""

from itertools import zip_longest
from typing import Any

import numpy as np

from ops.registry import Algorithm
from sim.errors import InputError
from sim.schedule import NOTHING, Schedule, Step, Steps, in_rank_order, unroll
from sim.topology import Ints


def striped(entry: Algorithm, orders: tuple[tuple[int, ...], ...], *, root: int = 0, **settings: Any) -> Schedule:
    """The schedule of `entry` with share c of the data on channel c, where place p is played by rank `orders[c][p]`.

    A rooted collective has its root at place 0 of every order. Channels block on their own. Raises InputError for
    what the algorithm cannot do, or orders that are none.
    """
    n = len(orders[0])
    if any(sorted(order) != list(range(n)) for order in orders):
        raise InputError(f"{entry.name}: an order names every rank once: give permutations of 0..{n - 1}")
    values = entry.settle(n, **settings)
    pieces, units, count = entry.cut(n, values), entry.collective.units(n), len(orders)
    rooted = {"root": 0} if entry.collective.rooted else {}
    runs = [entry.steps(n, **rooted, **values) for _ in orders]
    promise = entry.collective.promise(n, pieces * count, root)
    switches = entry.switches(n, **values)
    schedule = unroll(
        _together(runs, [np.array(order, np.int32) for order in orders], units, pieces),
        name=entry.name,
        n=n,
        promise=promise.with_switches(len(switches)) if switches else promise,
        unit_share=1 / (units * pieces * count) if entry.collective.sized else 0.0,
        root=root,
        switches=switches,
    )
    return in_rank_order(schedule, by_channel=True) if entry.ordered else schedule


def _together(runs: list[Steps], orders: list[Ints], units: int, pieces: int) -> Steps:
    """All runs step by step; names of phases are taken from the first."""
    channels = [_moments(run) for run in runs]
    for moments in zip_longest(*channels):
        names = moments[0][0] if moments[0] else []
        yield from names
        steps = [
            _played(step, order, c, len(runs), units, pieces)
            for c, (moment, order) in enumerate(zip(moments, orders, strict=True))
            for step in (moment[1] if moment else ())
        ]
        if steps:
            yield tuple(steps)


def _moments(run: Steps) -> "list[tuple[list[str], tuple[Step, ...]]]":
    """What happens at once, with the names of the phases that begin there."""
    moments: list[tuple[list[str], tuple[Step, ...]]] = []
    names: list[str] = []
    for item in run:
        if isinstance(item, str):
            names.append(item)
        else:
            moments.append((names, (item,) if isinstance(item, Step) else item))
            names = []
    return moments


def _played(step: Step, order: Ints, c: int, count: int, units: int, pieces: int) -> Step:
    """A step of channel c: places become ranks, slots those of share c; switches stay as they are.

    Three ranks have a unit each, which the algorithm cuts into 2 pieces: slots 0 to 5. Two channels make 4 slots of
    every unit, of which channel 1 has the last two. On it, rank 2 plays place 0, rank 0 place 1 and rank 1 place 2.
    When place 0 sends slot 5 to place 1, that is the second piece of place 2's unit; so rank 2 sends rank 0 the second
    piece of rank 1's unit in share 1, slot 1 * 4 + 1 * 2 + 1:

    >>> from sim.schedule import copy
    >>> step = _played(copy([0], [1], slot=[5]), np.array([2, 0, 1], np.int32), 1, 2, 3, 2)
    >>> step.src.tolist(), step.dst.tolist(), step.slot.tolist(), step.channel.tolist()
    ([2], [0], [[7]], [1])
    """
    places, slots = len(order), units * pieces
    rank = np.append(order, np.arange(places, places + 64, dtype=np.int32))

    def moved(slot: Ints) -> Ints:
        unit, piece = np.divmod(slot, pieces)
        laid_out = slot < slots
        if units > 1:
            unit = np.where(laid_out, order[np.clip(unit, 0, places - 1)], unit)
        inside = unit * (pieces * count) + c * pieces + piece
        scratch = slots * count + (slot - slots) * count + c
        new: Ints = np.where(slot == NOTHING, NOTHING, np.where(laid_out, inside, scratch)).astype(np.int32)
        return new

    return Step(
        step.op, rank[step.src], rank[step.dst], moved(step.slot), moved(step.to), np.full_like(step.channel, c)
    )
