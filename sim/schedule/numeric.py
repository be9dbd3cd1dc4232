"""The replay with real numbers: run a schedule on numpy buffers and hold them against the promise.

An array of buffers is indexed `[rank, slot, element]`; switches that add or copy have rows after the ranks.
Blocks of unequal length are padded to the longest one; what stands in the padding is of no interest.
Floating-point sums differ in their last bits with the order of addition, which is the schedule's own: two
algorithms can be compared bit by bit.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import ranges
from sim.errors import InputError
from sim.schedule.model import Promise, Schedule
from sim.schedule.steps import NOTHING, REDUCE

Buffers = NDArray[Any]
OPS: dict[str, np.ufunc] = {
    "sum": np.add,
    "mean": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
}
"""How two contributions become one; a mean is a sum, divided in the end by the number of its contributions."""
DTYPES = ("float32", "float64", "int64", "float16")
"""What buffers may hold; float16 is the reduced precision."""
_UNFILLED = 0x5A5A_5A5A_5A5A_5A5A
"""What an integer place holds that nothing has been written to; a float place holds NaN."""


class NumericOutcome(NamedTuple):
    """Are all owed elements right? `error` is the largest difference; `rank`, `slot` the first wrong place, or -1."""

    ok: bool
    error: float
    rank: int
    slot: int


class Moved(NamedTuple):
    """What one step moves: its moves, what arrives by each, what their places hold then, and all buffers after it."""

    moves: slice
    arrived: Buffers
    left: Buffers
    buffers: Buffers


def execute(schedule: Schedule, inputs: Buffers, op: str = "sum") -> Buffers:
    """All buffers after the last step, in the dtype of `inputs`, which hold what every place is given before.

    Places that are owed nothing hold whatever the schedule left there. Integers wrap, and their means are
    cut towards zero. Raises InputError for inputs that do not fit, an unknown op, and a barrier.
    """
    buffers = at_first(schedule, inputs, op)
    for _ in stepwise(schedule, buffers, op):
        pass
    if op == "mean" and schedule.promise is not None:
        with np.errstate(all="ignore"):
            _divide(buffers, schedule.promise)
    return buffers


def at_first(schedule: Schedule, inputs: Buffers, op: str = "sum") -> Buffers:
    """All buffers before the first step. Raises InputError as `execute` does."""
    _combine(schedule.promise, op, schedule.name)
    _check(inputs, schedule)
    places, laid, width = inputs.shape
    empty = _UNFILLED if inputs.dtype.kind == "i" else np.nan
    buffers = np.full((places, schedule.slots, width), empty, inputs.dtype)
    buffers[schedule.n :] = _identity(op, inputs.dtype)  # what is added to an empty slot of a switch fills it
    filled = np.ones((places, laid), bool) if schedule.promise is None else schedule.promise.given != NOTHING
    buffers[:, :laid][filled] = inputs[filled]
    return buffers


def stepwise(schedule: Schedule, buffers: Buffers, op: str = "sum") -> Iterator[Moved]:
    """Carry a schedule out in place, step by step; a mean is a sum so far."""
    places, slots, width = buffers.shape
    combine, state = OPS[op], buffers.reshape(places * slots, width)
    source = schedule.src[schedule.transfer_of].astype(np.int64) * schedule.slots + schedule.from_slot
    target = schedule.dst[schedule.transfer_of].astype(np.int64) * schedule.slots + schedule.to_slot
    adds = schedule.op[schedule.transfer_of] == REDUCE
    for begin, stop in pairwise(schedule.moves[schedule.step_start].tolist()):
        read, place, adding = state[source[begin:stop]], target[begin:stop], adds[begin:stop]
        state[place[~adding]] = read[~adding]
        with np.errstate(all="ignore"):  # NaN, inf and overflow are the numbers' own affair, as on a GPU
            combine.at(state, place[adding], read[adding])
        yield Moved(slice(begin, stop), read, state[place], buffers)


def expected(promise: Promise, inputs: Buffers, op: str = "sum") -> Buffers:
    """What every owed place must hold, straight from the promise; zero where nothing is owed.

    Floats come back in the widest precision there is. Raises InputError as `execute` does.
    """
    wide = inputs if inputs.dtype.kind == "i" else inputs.astype(np.longdouble)
    due = _over_contributors(promise, wide, _combine(promise, op, promise.name))
    if op == "mean":
        _divide(due, promise)
    return due


def tolerance(promise: Promise, inputs: Buffers, op: str = "sum") -> Buffers:
    """How far every owed element may be off, whatever the order of operations; zero where nothing is rounded.

    k contributions are rounded fewer than k times, each time by half a unit in the last place of a partial
    result, which is never larger than the sum (product) of the magnitudes.
    """
    if inputs.dtype.kind == "i" or op in ("max", "min"):
        return np.zeros((*promise.owed.shape, inputs.shape[2]))
    reach = _over_contributors(promise, np.abs(inputs.astype(np.longdouble)), OPS[op])
    count = np.where(promise.owed == NOTHING, 0, promise.last - promise.first)
    roundings = np.where(count > 1, count, 0)[:, :, None] * np.finfo(inputs.dtype).eps
    allowed: Buffers = reach * roundings / (np.maximum(count, 1)[:, :, None] if op == "mean" else 1)
    return allowed


def compare(schedule: Schedule, inputs: Buffers, op: str = "sum") -> NumericOutcome:
    """Execute, and hold every owed element against `expected`. Raises InputError as `execute` does."""
    if schedule.promise is None:
        raise InputError("numbers.no_promise", schedule=schedule.name)
    promise, laid = schedule.promise, inputs.shape[1]
    got = execute(schedule, inputs, op)[:, :laid]
    due, owed = expected(promise, inputs, op), promise.owed != NOTHING
    error = np.abs(got[owed].astype(np.longdouble) - due[owed].astype(np.longdouble))
    right = got[owed] == due[owed] if inputs.dtype.kind == "i" else error <= tolerance(promise, inputs, op)[owed]
    if right.all():
        return NumericOutcome(True, float(error.max(initial=0.0)), -1, -1)
    rank, slot = (int(x) for x in np.argwhere(owed)[int(np.argmin(right.all(axis=1)))])
    return NumericOutcome(False, float(error.max()), rank, slot)


def cut(schedule: Schedule, elements: int) -> NDArray[np.int64]:
    """How many elements every block gets when a buffer of so many is cut as evenly as whole elements allow.

    Time is charged for exact shares, `size / n`; real buffers can only be cut between elements. Raises InputError
    for a barrier, and for a custom schedule, whose blocks nobody has named.
    """
    if schedule.promise is None:
        raise InputError("numbers.no_blocks", schedule=schedule.name)
    if schedule.promise.union:
        raise _without_data(schedule.name)
    parts = round(1 / schedule.unit_share)
    share, rest = divmod(elements, parts)
    return share + (np.arange(schedule.promise.blocks) % parts < rest)


def random_inputs(promise: Promise, lengths: NDArray[np.int64], dtype: str, op: str, seed: int = 0) -> Buffers:
    """Inputs for `execute`, block b `lengths[b]` elements long and zero beyond; the same for the same seed.

    Floats lie between -1 and 1, factors so near to 1 that a product over all ranks stays between 1/e and e;
    integers cover their whole range. Raises InputError for a dtype that is not among `DTYPES`.
    """
    if dtype not in DTYPES:
        raise InputError("numbers.dtype", dtype=dtype, choices=DTYPES)
    rng = np.random.default_rng(seed)
    shape = (*promise.given.shape, int(lengths.max(initial=0)))
    values: Buffers
    if dtype == "int64":
        values = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, np.int64, endpoint=True)
    else:
        values = rng.uniform(-1, 1, shape)
        if op == "prod":
            values = np.copysign(np.exp(values / shape[0]), rng.uniform(-1, 1, shape))
    filled = np.where(promise.given == NOTHING, 0, lengths[promise.given])
    return np.where(np.arange(shape[2]) < filled[:, :, None], values, 0).astype(dtype)


def _combine(promise: Promise | None, op: str, owner: str) -> np.ufunc:
    if op not in OPS:
        raise InputError("numbers.op", op=op, choices=OPS)
    if promise is not None and promise.union:
        raise _without_data(owner)
    return OPS[op]


def _without_data(owner: str) -> InputError:
    return InputError("numbers.no_data", owner=owner)


def _identity(op: str, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when it is combined with any number."""
    lowest, highest = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return {"prod": 1, "max": lowest, "min": highest}.get(op, 0)


def _check(inputs: Buffers, schedule: Schedule) -> None:
    """Raise InputError unless the inputs fit what the schedule lays out."""
    promise = schedule.promise
    slots = min(schedule.slots, *inputs.shape[1:2]) if promise is None else promise.given.shape[1]
    if inputs.ndim != 3 or inputs.shape[:2] != (schedule.places, slots):
        raise InputError(
            "numbers.shape", schedule=schedule.name, shape=inputs.shape, places=schedule.places, slots=slots
        )
    if inputs.dtype.name not in DTYPES:
        raise InputError("numbers.no_dtype", schedule=schedule.name, dtype=inputs.dtype.name, choices=DTYPES)


def _over_contributors(promise: Promise, values: Buffers, combine: np.ufunc) -> Buffers:
    """For every owed place, its block combined over the ranks that owe it, in rank order."""
    owed = promise.owed != NOTHING
    # many places are owed the same thing: each is computed once
    sums = np.stack([promise.owed[owed], promise.first[owed], promise.last[owed]])
    (block, first, last), which = np.unique(sums, axis=1, return_inverse=True)
    count = (last - first).astype(np.int64)
    begin = np.cumsum(count) - count
    giver = ranges(first, count)
    rank, slot = np.nonzero(promise.given != NOTHING)
    held = rank * np.int64(promise.blocks) + promise.given[rank, slot]
    order = np.argsort(held)
    source = order[np.searchsorted(held, giver * promise.blocks + np.repeat(block, count), sorter=order)]
    due = np.zeros((*owed.shape, values.shape[2]), values.dtype)
    with np.errstate(all="ignore"):
        due[owed] = combine.reduceat(values[rank[source], slot[source]], begin, axis=0)[which]
    return due


def _divide(sums: Buffers, promise: Promise) -> None:
    """Turn the sums at owed places into means, in place; integers are cut towards zero."""
    owed = promise.owed != NOTHING
    laid = sums[:, : owed.shape[1]]
    count = (promise.last - promise.first)[owed][:, None].astype(sums.dtype)
    total = laid[owed]
    if sums.dtype.kind == "i":
        laid[owed] = total // count + ((total < 0) & (total % count != 0))
    else:
        laid[owed] = total / count
