"""Runs: steps one after another whose messages go from the same places to the same places.

An algorithm that makes such ends once and yields them in every step has them looked at once, too.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import blank, joined


class StepRun(NamedTuple):
    """Transfers `first` up to `stop`, without it: they have the ends and channels of the first `length`, in turn."""

    first: int
    stop: int
    length: int

    @property
    def often(self) -> int:
        """How often the first ones come."""
        return (self.stop - self.first) // max(1, self.length)


def runs_of(parts: Sequence[Any]) -> tuple[tuple[StepRun, ...], list[Any]]:
    """Runs among the parts of steps, which have `src`, `dst`, `channel` and `op`, and the parts that stand for them.

    Ends are the same where they are one array.
    """
    runs: list[StepRun] = []
    heads: list[Any] = []
    last: Any = None
    first = 0
    for part in parts:
        length = len(part.src)
        same = last is not None and part.src is last.src and part.dst is last.dst
        if same and part.channel is last.channel and part.op == last.op:
            if runs[-1].length > length:  # the last of several that are all different
                begin = runs.pop().first
                runs += [StepRun(begin, first - length, first - length - begin), StepRun(first - length, first, length)]
            runs[-1] = runs[-1]._replace(stop=first + length)
        else:
            heads.append(part)
            if runs and runs[-1].often == 1:
                begin = runs.pop().first
                runs.append(StepRun(begin, first + length, first + length - begin))
            else:
                runs.append(StepRun(first, first + length, length))
        first += length
        last = part
    return tuple(runs), heads


def few(runs: Sequence[StepRun], column: NDArray[Any]) -> NDArray[Any]:
    """Of every run the entries of its first transfers, end to end."""
    if len(runs) == 1:
        return column[: runs[0].length]
    return joined([column[run.first : run.first + run.length] for run in runs])


def many(runs: Sequence[StepRun], column: NDArray[Any], more: int | None = None) -> NDArray[Any]:
    """The reverse: the entries of all transfers, in new memory with `more` added to each, or as they are."""
    if len(runs) == 1 and runs[0].often == 1 and more is None:
        return column
    whole = blank(runs[-1].stop if runs else 0, column.dtype)
    at = 0
    for run in runs:
        part = column[at : at + run.length]
        if run.length:
            np.add(part, column.dtype.type(more or 0), out=whole[run.first : run.stop].reshape(run.often, run.length))
        at += run.length
    return whole
