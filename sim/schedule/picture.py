"""A schedule as text: who has contributed to what, rank by slot, step by step."""

import numpy as np

from sim.errors import InputError
from sim.schedule.model import Schedule
from sim.schedule.steps import NOTHING
from sim.schedule.verify import prove

MOST = 16
"""Ranks that a picture has room for; each is one hexadecimal digit."""


def picture(schedule: Schedule) -> str:
    """A line before the first step and one after each; a column per rank, with a cell per slot of its buffer.

    A cell shows the ranks whose contributions it holds, each digit in its own place where places hold sums; a dot is
    nothing. Raises InputError for more than 16 ranks and for a schedule that promises nothing.

    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["allreduce.recursive_doubling"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0...    .1..    ..2.    ...3
    step 1  01..    01..    ..23    ..23
    step 2  0123    0123    0123    0123
    """
    promise, n = schedule.promise, schedule.n
    if promise is None or n > MOST:
        raise InputError("picture.ranks", schedule=schedule.name, most=MOST)
    slots = promise.given.shape[1]
    held = np.zeros((schedule.places, schedule.slots, n), np.bool_)
    rank, slot = np.nonzero(promise.given[:n] != NOTHING)
    held[rank, slot, rank] = True
    states = [held[:n, :slots].copy()]
    left = prove(schedule, contributors=True).left
    contributors = np.unpackbits(np.ascontiguousarray(left).view(np.uint8), axis=1, bitorder="little")[:, :n]
    for step in range(schedule.steps):
        moves = range(*schedule.moves[schedule.step_start[step : step + 2]].tolist())
        for m in moves:
            held[schedule.dst[schedule.transfer_of[m]], schedule.to_slot[m]] = contributors[m]
        states.append(held[:n, :slots].copy())
    sums = any((state.sum(axis=2) > 1).any() for state in states)
    rows = [["", *(f"rank {r}" for r in range(n))]]
    for k, state in enumerate(states):
        rows.append([f"step {k}" if k else "before", *(_column(places, sums=sums) for places in state)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _column(places: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], *, sums: bool) -> str:
    """One rank's cells; they are set apart where each has a place for every contributor."""
    if sums:
        return " ".join("".join(f"{r:x}" if has else "." for r, has in enumerate(place)) for place in places)
    return "".join(f"{int(np.argmax(place)):x}" if place.any() else "." for place in places)
