"""One algorithm on several shares of the data at once, each share with the ranks in an order of its own."""

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
        raise InputError("channels.order", entry=entry.name, last=n - 1)
    values = entry.settle(n, **settings)
    pieces, units, count = entry.cut(n, values), entry.collective.units(n), len(orders)
    rooted = {"root": 0} if entry.collective.rooted else {}
    promise = entry.collective.promise(n, pieces * count, root)
    switches = entry.switches(n, **values)
    schedule = unroll(
        _together(entry.steps(n, **rooted, **values), np.array(orders, np.int32), units, pieces),
        name=entry.name,
        n=n,
        promise=promise.with_switches(len(switches)) if switches else promise,
        unit_share=1 / (units * pieces * count) if entry.collective.sized else 0.0,
        root=root,
        switches=switches,
    )
    return in_rank_order(schedule, by_channel=True) if entry.ordered else schedule


def _together(run: Steps, orders: Ints, units: int, pieces: int) -> Steps:
    """What one channel does, done by all at once: in each moment those of channel 0, then those of channel 1 ..."""
    for item in run:
        if isinstance(item, str):
            yield item
            continue
        together = [_played(step, orders, units, pieces) for step in ((item,) if isinstance(item, Step) else item)]
        if together:
            yield tuple(step for channel in zip(*together, strict=True) for step in channel)


def _played(step: Step, orders: Ints, units: int, pieces: int) -> list[Step]:
    """A step as every channel takes it: places become ranks, slots those of its share; switches stay as they are.

    Three ranks have a unit each, which the algorithm cuts into 2 pieces: slots 0 to 5. Two channels make 4 slots of
    every unit, of which channel 1 has the last two. On it, rank 2 plays place 0, rank 0 place 1 and rank 1 place 2.
    When place 0 sends slot 5 to place 1, that is the second piece of place 2's unit; so rank 2 sends rank 0 the second
    piece of rank 1's unit in share 1, slot 1 * 4 + 1 * 2 + 1:

    >>> from sim.schedule import copy
    >>> step = _played(copy([0], [1], slot=[5]), np.array([[0, 1, 2], [2, 0, 1]], np.int32), 3, 2)[1]
    >>> step.src.tolist(), step.dst.tolist(), step.slot.tolist(), step.channel.tolist()
    ([2], [0], [[7]], [1])
    """
    count, places = orders.shape
    slots, share = units * pieces, np.arange(count).reshape(-1, 1, 1)
    switches = np.arange(places, places + 64, dtype=np.int32)
    rank = np.hstack([orders, np.broadcast_to(switches, (count, len(switches)))])

    def moved(slot: Ints) -> Ints:
        unit, piece = np.divmod(slot, pieces)
        laid_out = slot < slots
        if units > 1:
            unit = np.where(laid_out, orders[:, np.clip(unit, 0, places - 1)], unit)
        inside = unit * (pieces * count) + share * pieces + piece
        scratch = slots * count + (slot - slots) * count + share
        new: Ints = np.where(slot == NOTHING, NOTHING, np.where(laid_out, inside, scratch)).astype(np.int32)
        return new

    slot = moved(step.slot)
    to = slot if step.to is step.slot else moved(step.to)
    channel = np.arange(count, dtype=np.int32).reshape(-1, 1) + count * step.channel
    return [
        Step(step.op, *columns) for columns in zip(rank[:, step.src], rank[:, step.dst], slot, to, channel, strict=True)
    ]
