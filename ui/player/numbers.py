"""Numbers in the blocks for the player: a list of words, and columns of indices into the list."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.run.values import Values, number
from sim.schedule import NOTHING, Schedule
from ui.player.rerun import small


def in_words(values: Values, schedule: Schedule) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Words and columns; a column holds the place of a word counted from 1, 0 for none."""
    words, sums = dict[str, int](), {"": 0}

    def numbered(numbers: NDArray[Any]) -> NDArray[Any]:
        return small(np.array([words.setdefault(number(x), len(words)) + 1 for x in numbers.tolist()], np.int64))

    moves = range(len(values.arrived))
    happening = [values.sum_of(move) if values.adds[move] else "" for move in moves]
    columns = {
        "value_given": numbered(values.states[0].reshape(-1)) * values.is_held[0].reshape(-1),
        "value_came": numbered(values.arrived),
        "value_left": numbered(values.left),
        "value_sum": small(np.array([sums.setdefault(sum_, len(sums)) for sum_ in happening], np.int64) + 1),
    }
    ends = _ends(values, schedule)
    if ends:
        columns["value_end"] = numbered(values.final.reshape(-1)) * values.is_held[-1].reshape(-1)
    return {"words": [*words], "sums": [*sums], "ends": ends}, columns


def _ends(values: Values, schedule: Schedule) -> list[str]:
    """Return how the first sum of each rank becomes a mean, like `14÷4=3.5`; empty for other operations."""
    promise = schedule.promise
    if values.op != "mean" or promise is None:
        return []
    ends = []
    for rank in range(schedule.n):
        slot = next(iter(np.nonzero(promise.owed[rank] != NOTHING)[0].tolist()), -1)
        count = int(promise.last[rank, slot] - promise.first[rank, slot]) if slot >= 0 else 1
        total, mean = number(values.states[-1][rank, slot]), number(values.final[rank, slot])
        ends.append(f"{total}÷{count}={mean}" if count > 1 else "")
    return ends if any(ends) else []
