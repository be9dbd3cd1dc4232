"""Numbers for what many transfers have in common, and how often each is had."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import blank
from sim.schedule.runs import StepRun
from sim.topology import Ints

PIECE = 1 << 13
"""Transfers that are looked at together, so that what is found of them stays near."""


def as_met(high: Ints, low: Ints, highs: int, lows: int) -> tuple[NDArray[np.int64], Ints]:
    """The different pairs of some, as `high * lows + low`, in the order they are met, and each one's place among them.

    By a table of all there might be where that is small, piece by piece, else by sorting.

    >>> [column.tolist() for column in as_met(np.array([1, 0, 1, 1]), np.array([3, 2, 3, 1]), 2, 4)]
    [[7, 2, 5], [0, 1, 0, 2]]
    """
    if highs * lows > 8 * len(high) + (1 << 20):
        keys = high * np.int64(lows) + low
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        place = np.empty(len(first), np.int32)
        place[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        return keys[np.sort(first)], place[which]
    place, seen = blank(len(high), np.int32), blank(highs * lows, np.int32)
    seen.fill(-1)
    distinct = [np.zeros(0, np.int64)]
    count = 0
    for start in range(0, len(high), PIECE):
        part = slice(start, start + PIECE)
        keys = high[part] * np.int64(lows) + low[part]
        route = seen[keys]
        if route.min() < 0:
            new = keys[route < 0]
            order = np.arange(len(new), dtype=np.int32)
            seen[new[::-1]] = order[::-1]
            distinct.append(new[seen[new] == order])  # as they are met: what happens together lies together
            seen[distinct[-1]] = np.arange(count, count + len(distinct[-1]), dtype=np.int32)
            count += len(distinct[-1])
            route = seen[keys]
        place[part] = route
    return np.concatenate(distinct), place


def by_channel(pair: Ints, pairs: int, channel: Ints) -> tuple[NDArray[np.int64], Ints, Ints]:
    """The different pairs and channels of some transfers, in the order they are met, and each one's place among them.

    `pair` counts to `pairs`.

    >>> [column.tolist() for column in by_channel(np.array([0, 1, 0]), 2, np.array([7, 3, 3]))]
    [[0, 1, 0], [7, 3, 3], [0, 1, 2]]
    """
    if not channel.any():
        return np.arange(pairs), np.zeros(pairs, np.int32), pair
    channels, inverse = np.unique(channel, return_inverse=True)
    met, number = as_met(pair, inverse.astype(np.int32), pairs, len(channels))
    on, at = np.divmod(met, len(channels))
    return on, channels[at], number


def tally(runs: Sequence[StepRun], numbers: Ints, count: int) -> NDArray[np.int64]:
    """How many transfers have each of so many numbers, which those have that stand for their runs."""
    taken = np.zeros(count, np.int64)
    at, piece = 0, max(PIECE, count)
    for run in runs:
        for start in range(at, at + run.length, piece):
            part = numbers[start : min(start + piece, at + run.length)]
            taken += run.often * np.bincount(part, minlength=count)
        at += run.length
    return taken
