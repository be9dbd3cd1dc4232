"""Numbers in the blocks: the value of every place before and after each step, computed on real buffers.

Each block is one element. A place is a rank, or a switch that adds and copies. A mean is a sum until the last step.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints
from sim.errors import InputError
from sim.schedule.model import Promise, Schedule
from sim.schedule.numeric import DTYPES, OPS, at_first, execute, expected, stepwise, tolerance
from sim.schedule.steps import NOTHING, REDUCE

SMALL = "small"
"""The word that selects the default numbers."""
MOST = 64
"""The largest number of ranks with readable numbers."""
MOST_KEPT = 1 << 21
"""The largest number of values that are kept, over all places and steps."""
SIGNS = {"sum": "+", "mean": "+", "prod": "×"}
"""What stands between two numbers that are combined; the others are functions."""
Numbers = NDArray[Any]


class Values(NamedTuple):
    """The numbers of one run.

    Parameters
    ----------
    op : str
        How two numbers are combined.
    dtype : str
        Element type.
    states : array, shape (steps + 1, places, slots)
        What every place holds before the first step and after each.
    is_held : array of bool, shape (steps + 1, places, slots)
        Whether a place holds anything.
    arrived : array, shape (moves,)
        What each move of the schedule brings.
    before : array, shape (moves,)
        What its place held before the step.
    left : array, shape (moves,)
        What its place holds after the step.
    adds : array of bool, shape (moves,)
        Whether it is combined with a number that was there.
    final : array, shape (places, slots)
        The end: after the last step, or the means.
    is_right : bool
        Whether every owed place holds what the collective promises.
    """

    op: str
    dtype: str
    states: Numbers
    is_held: NDArray[np.bool_]
    arrived: Numbers
    before: Numbers
    left: Numbers
    adds: NDArray[np.bool_]
    final: Numbers
    is_right: bool

    def sum_of(self, move: int) -> str:
        """Return the sum that a move makes, old value first: `5+2=7`, `max(5,2)=5`, or `2` for a copy."""
        came, left = number(self.arrived[move]), number(self.left[move])
        if not self.adds[move]:
            return came
        was = number(self.before[move])
        return f"{was}{SIGNS[self.op]}{came}={left}" if self.op in SIGNS else f"{self.op}({was},{came})={left}"


def values_of(
    schedule: Schedule, typed: str = SMALL, op: str = "", dtype: str = "", end: Floats | None = None
) -> Values:
    """Carry a schedule out on numbers, one element for every block.

    Parameters
    ----------
    schedule : Schedule
        What to carry out; of at most 64 ranks, with a known postcondition.
    typed : str
        `small` for small integers, or numbers with commas between them: those of rank 0 first, from the beginning again
        where they are too few.
    op : str
        Reduction, `sum` if left out.
    dtype : str
        Element type, `int64` if left out, of means `float64`.
    end : array of float, shape (transfers,), optional
        When each transfer ends, s: the order in which a place takes what one step brings it. If left out, that of the
        schedule.

    Returns
    -------
    Values
        All numbers.

    Raises
    ------
    InputError
        If the schedule is too large or nobody knows what it owes, or a number cannot be one of that type.

    Examples
    --------
    >>> from ops import ALGORITHMS
    >>> values = values_of(ALGORITHMS["allreduce.ring"].schedule(2), "5,1,2,3")
    >>> values.states[0].tolist(), values.final.tolist(), values.sum_of(0)
    ([[5, 1], [2, 3]], [[7, 4], [7, 4]], '3+1=4')
    """
    op, dtype = kinds_of(op, dtype)
    promise = schedule.promise
    if promise is None:
        raise InputError("values.no_promise", schedule=schedule.name)
    if schedule.n > MOST or schedule.places * schedule.slots * (schedule.steps + 1) > MOST_KEPT:
        raise InputError("values.large", schedule=schedule.name, ranks=schedule.n, most=MOST)
    inputs = _inputs(promise, typed, op, dtype)
    buffers = at_first(schedule, inputs, op)
    held = _held(schedule, promise)
    states, parts = [buffers[:, :, 0].copy()], []
    places = schedule.dst[schedule.transfer_of].astype(np.int64) * schedule.slots + schedule.to_slot
    reduces = schedule.op[schedule.transfer_of] == REDUCE
    for step, moved in enumerate(stepwise(schedule, buffers, op)):
        came, at = moved.arrived[:, 0], moved.moves
        turn = np.arange(len(came)) if end is None else np.argsort(end[schedule.transfer_of[at]], kind="stable")
        state = states[-1].reshape(-1).copy(), held[step].reshape(-1).copy()
        parts.append((came, *_in_turn(*state, places[at], came, reduces[at], OPS[op], turn)))
        states.append(moved.buffers[:, :, 0].copy())
    final = execute(schedule, inputs, op)
    owed = promise.owed != NOTHING
    got, due = final[:, : owed.shape[1]][owed], expected(promise, inputs, op)[owed]
    off = np.abs(got.astype(np.longdouble) - due.astype(np.longdouble))
    right = bool((off <= tolerance(promise, inputs, op)[owed]).all())
    arrived, before, left, adds = (np.concatenate([part[k] for part in parts]) for k in range(4))
    return Values(op, dtype, np.stack(states), held, arrived, before, left, adds, final[:, :, 0], right)


def _in_turn(
    state: Numbers,
    is_held: NDArray[np.bool_],
    place: Ints,
    came: Numbers,
    reduces: NDArray[np.bool_],
    combine: np.ufunc,
    turn: NDArray[np.intp],
) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """Return the value of each move's place before and after the move, and whether the two values are combined.

    Several moves of a step may go to one place. The function changes `state` and `is_held`.
    """
    before, left, adds = np.zeros_like(came), np.zeros_like(came), np.zeros(len(came), np.bool_)
    with np.errstate(all="ignore"):
        for move in turn.tolist():
            at = place[move]
            before[move], adds[move] = state[at], reduces[move] and is_held[at]
            left[move] = combine(before[move], came[move]) if adds[move] else came[move]
            state[at], is_held[at] = left[move], True
    return before, left, adds


def kinds_of(op: str, dtype: str, usual: str = "") -> tuple[str, str]:
    """Return reduction and element type. The default type is `usual`, or else float64 for means and int64.

    Raises InputError for unknown names.
    """
    for word, name, names in (("--dtype", dtype, DTYPES), ("--op", op, OPS)):
        if name and name not in names:
            raise InputError("option.unknown", option=word, value=name, choices=names)
    return op or "sum", dtype or usual or ("float64" if op == "mean" else "int64")


def number(value: Any) -> str:
    """Return a number as a block shows it, in about six characters.

    >>> [number(x) for x in (np.int64(12), np.float32(0.1), np.float64(2.5), np.int64(43046721), np.nan)]
    ['12', '0.1', '2.5', '4.3e7', '·']
    """
    if not np.isfinite(value):
        return "·" if np.isnan(value) else "∞" if value > 0 else "-∞"
    if float(value) == int(value) and abs(int(value)) < 1_000_000:
        return str(int(value))
    text = f"{float(value):.3g}" if 1e-3 <= abs(float(value)) < 1e6 else f"{float(value):.1e}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}" if e else text


def parsed(typed: str, dtype: str) -> Numbers:
    """Read numbers separated by commas or spaces. Raises InputError for a word that is no number of that type."""
    if dtype not in DTYPES:
        raise InputError("numbers.dtype", dtype=dtype, choices=DTYPES)
    words = typed.replace(",", " ").split()
    if not words:
        raise InputError("values.none")
    out = np.zeros(len(words), dtype)
    for k, word in enumerate(words):
        try:
            with np.errstate(all="ignore"):
                out[k] = int(word) if out.dtype.kind == "i" else float(word)
        except (ValueError, OverflowError):
            raise _no_number(word, k, out.dtype) from None
        if not np.isfinite(out[k]):
            raise _no_number(word, k, out.dtype)
    return out


def _no_number(word: str, place: int, dtype: np.dtype[Any]) -> InputError:
    kind = "values.whole" if dtype.kind == "i" else "values.number"
    return InputError(kind, word=word, place=place + 1, dtype=dtype.name)


def _inputs(promise: Promise, typed: str, op: str, dtype: str) -> Numbers:
    """Return the input of every place, one number for each block of the precondition."""
    is_filled = promise.given != NOTHING
    rank, _ = np.nonzero(is_filled)
    count = len(rank)
    if typed in ("", SMALL):
        block = promise.given[is_filled].astype(np.int64)
        # rows and columns of neighbours differ, and a product of eight can still be read
        numbers = 1 + (3 * rank + (4 + rank % 4) * block) % (3 if op == "prod" else 9)
        chosen = numbers.astype(dtype)
    else:
        chosen = parsed(typed, dtype)
        if len(chosen) > count:
            raise InputError("values.many", numbers=len(chosen), most=count)
        chosen = np.resize(chosen, count)
    inputs = np.zeros((*promise.given.shape, 1), dtype)
    inputs[is_filled, 0] = chosen
    return inputs


def _held(schedule: Schedule, promise: Promise) -> NDArray[np.bool_]:
    """Return whether each place holds a block, before the first step and after each step."""
    held = np.zeros((schedule.steps + 1, schedule.places, schedule.slots), np.bool_)
    held[0, :, : promise.given.shape[1]] = promise.given != NOTHING
    owner = schedule.transfer_of
    for step, (begin, stop) in enumerate(zip(schedule.step_start, schedule.step_start[1:], strict=False)):
        moves = slice(schedule.moves[begin], schedule.moves[stop])
        held[step + 1] = held[step]
        held[step + 1][schedule.dst[owner[moves]], schedule.to_slot[moves]] = True
    return held


def captioned(captions: list[str], values: Values, schedule: Schedule) -> list[str]:
    """Return the captions of all steps, each with the first sum of the step."""
    starts = schedule.moves[schedule.step_start].tolist()
    firsts = [next((m for m in range(a, b) if values.adds[m]), -1) for a, b in pairwise(starts)]
    return [f"{text}: {values.sum_of(m)}" if m >= 0 else text for text, m in zip(captions, firsts, strict=True)]
