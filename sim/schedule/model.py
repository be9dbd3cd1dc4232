"""A schedule: who sends which slots to whom, step by step, as arrays.

An algorithm is a generator of steps. A step is made by `copy` or `reduce` (or several of them in a tuple)
from integer arrays with one entry per message; a `str` in between names the phase that begins there.
Transfers of one step read the state before the step. A slot is a place in its rank's address space.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.base.arrays import Floats, Ints
from sim.base.ragged import ranges
from sim.errors import InputError

COPY, REDUCE = 0, 1
NOTHING = -1
"""No slot, no block: pads ragged slot arrays and marks places that hold nothing."""


class Step(NamedTuple):
    """Messages that start from the same state: `src[i]` sends `slot[i, :]` into `to[i, :]` of `dst[i]`."""

    op: int
    src: Ints
    dst: Ints
    slot: Ints
    to: Ints
    channel: Ints


Steps = Iterator[Step | tuple[Step, ...] | str]
"""What an algorithm yields."""


def copy(src: ArrayLike, dst: ArrayLike, slot: ArrayLike, to: ArrayLike | None = None, channel: ArrayLike = 0) -> Step:
    """Messages that overwrite their destination.

    `slot` has one entry per message, or one row of slots per message, padded with -1; `to` are the
    slots at the destination, the same ones unless given. `src == dst` is a local copy.
    """
    return _step(COPY, src, dst, slot, to, channel)


def reduce(
    src: ArrayLike, dst: ArrayLike, slot: ArrayLike, to: ArrayLike | None = None, channel: ArrayLike = 0
) -> Step:
    """Messages that are added to their destination; arguments as for `copy`."""
    return _step(REDUCE, src, dst, slot, to, channel)


def _step(op: int, src: Any, dst: Any, slot: Any, to: Any, channel: Any) -> Step:
    src, dst, slot = (np.asarray(x, dtype=np.int32) for x in (src, dst, slot))
    to = slot if to is None else np.asarray(to, dtype=np.int32)
    lengths = [len(x) for x in (src, dst, slot, to) if x.ndim]
    messages = 0 if 0 in lengths else max(lengths, default=1)
    width = max(slot.shape[1] if slot.ndim == 2 else 1, to.shape[1] if to.ndim == 2 else 1)

    def column(x: Ints) -> Ints:
        return np.broadcast_to(x.reshape(-1) if x.ndim else x, messages)

    def table(x: Ints) -> Ints:
        return np.broadcast_to(x if x.ndim == 2 else x.reshape(-1, 1), (messages, width))

    return Step(op, column(src), column(dst), table(slot), table(to), column(np.asarray(channel, dtype=np.int32)))


@dataclass(frozen=True, eq=False)
class Promise:
    """What a collective owes: which place holds what before, and must hold what after.

    All arrays are indexed `[rank, slot]` over the slots the collective lays out; an algorithm may use more
    as scratch. Before: the place holds block `given`, contributed by its own rank, or NOTHING. After: it
    must hold block `owed` summed over exactly the ranks `first .. last - 1`; NOTHING means it may hold
    anything. A block is a named piece of the data; `blocks` counts them. `union` promises (barriers) may
    count a rank twice. `inputs` and `outputs` are the slot ranges a person would call the two buffers; in
    place they are the same.
    """

    name: str
    blocks: int
    given: Ints
    owed: Ints
    first: Ints
    last: Ints
    inputs: range
    outputs: range
    union: bool = False

    def with_switches(self, count: int) -> "Promise":
        """The same promise with rows for `count` switches, which are given and owed nothing."""

        def more(rows: Ints) -> Ints:
            return np.pad(rows, ((0, count), (0, 0)), constant_values=NOTHING)

        return replace(self, given=more(self.given), owed=more(self.owed), first=more(self.first), last=more(self.last))


@dataclass(frozen=True, eq=False)
class Schedule:
    """A collective's transfers, in step order.

    Transfer i belongs to step `step_of[i]`, goes from rank `src[i]` to `dst[i]`, copies or reduces
    (`op[i]`), and moves `from_slot[m]` into `to_slot[m]` for m in `moves[i]:moves[i + 1]`.
    `after` holds extra (before, after) pairs that a program order adds to the derived dependencies; numbers
    from `transfers` up are marks that take no time, so that many can wait for many without a pair for each.
    `unit_share` is one slot's part of the size a person gives; it is unused where blocks differ in size.
    Numbers from n up are switches that add and copy: `switches` has the device kind of each, NVS for the one
    inside a node, NET for the one between nodes. What is added to an empty slot of a switch fills it.
    `fixed_bytes` are every transfer's own bytes where sizes are absolute, whatever size a person gives; `work`
    are seconds that a local transfer computes before it is done.
    """

    name: str
    n: int
    slots: int
    promise: Promise | None
    unit_share: float
    steps: int
    step_start: NDArray[np.int64]
    op: NDArray[np.uint8]
    src: Ints
    dst: Ints
    channel: Ints
    moves: NDArray[np.int32] | NDArray[np.int64]
    from_slot: Ints
    to_slot: Ints
    phases: tuple[tuple[int, str], ...] = ()
    after: tuple[Ints, Ints] | None = None
    root: int = 0
    switches: tuple[str, ...] = ()
    fixed_bytes: Floats | None = None
    work: Floats | None = None

    @property
    def transfers(self) -> int:
        """Messages and local moves together; the length of every column."""
        return len(self.src)

    @property
    def places(self) -> int:
        """Ranks and switches: everything that has slots."""
        return self.n + len(self.switches)

    @cached_property
    def messages(self) -> int:
        """Transfers between two different ranks."""
        return int(np.count_nonzero(self.src != self.dst))

    @cached_property
    def step_of(self) -> Ints:
        """The step of every transfer."""
        return np.repeat(np.arange(self.steps, dtype=np.int32), np.diff(self.step_start))

    @cached_property
    def transfer_of(self) -> Ints:
        """The transfer of every move."""
        return np.repeat(np.arange(self.transfers, dtype=np.int32), np.diff(self.moves))

    def phase_of(self, step: int) -> str:
        """The name of the phase a step belongs to, or an empty string."""
        return next((name for start, name in reversed(self.phases) if start <= step), "")


def unroll(
    steps: Iterable[Step | tuple[Step, ...] | str],
    *,
    name: str,
    n: int,
    promise: Promise | None,
    unit_share: float = 1.0,
    root: int = 0,
    switches: tuple[str, ...] = (),
) -> Schedule:
    """Run a generator of steps into a Schedule; slots beyond the promise's become scratch.

    Raises InputError, naming the step, for a rank or slot that cannot be.
    """
    parts: list[Step] = []
    sizes: list[int] = []
    phases: list[tuple[int, str]] = []
    for item in steps:
        if isinstance(item, str):
            phases.append((len(sizes), item))
            continue
        together = (item,) if isinstance(item, Step) else item
        parts.extend(together)
        sizes.append(sum(len(part.src) for part in together))

    def join(arrays: list[Ints]) -> Ints:
        return np.concatenate(arrays) if arrays else np.zeros(0, np.int32)

    src, dst = join([p.src for p in parts]), join([p.dst for p in parts])
    channel = np.broadcast_to(np.int32(0), src.shape)
    if any(p.channel.any() for p in parts):
        channel = join([p.channel for p in parts])
    start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    from_slot, to_slot = join([p.slot.reshape(-1) for p in parts]), join([p.to.reshape(-1) for p in parts])
    width = np.repeat([p.slot.shape[1] for p in parts], [len(p.src) for p in parts]).astype(np.int64)
    moves = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    real = from_slot != NOTHING
    if not real.all():
        moves = np.concatenate([[0], np.cumsum(real, dtype=np.int64)])[moves]
        from_slot, to_slot = from_slot[real], to_slot[real]
    if moves[-1] < 1 << 31:
        moves = moves.astype(np.int32)
    laid_out = promise.given.shape[1] if promise else 0
    schedule = Schedule(
        name=name,
        n=n,
        slots=max(laid_out, int(from_slot.max(initial=-1)) + 1, int(to_slot.max(initial=-1)) + 1),
        promise=promise,
        unit_share=unit_share,
        steps=len(sizes),
        step_start=start,
        op=np.repeat(np.array([p.op for p in parts], np.uint8), [len(p.src) for p in parts]),
        src=src,
        dst=dst,
        channel=channel,
        moves=moves,
        from_slot=from_slot,
        to_slot=to_slot,
        phases=tuple(phases),
        root=root,
        switches=switches,
    )
    _check_ranges(schedule)
    return schedule


def in_rank_order(schedule: Schedule, *, by_channel: bool = False) -> Schedule:
    """The same schedule with blocking ranks: each finishes its part of one step before its part of the next.

    A rank's part is all it sends and receives in that step, so a message also waits for its receiver to be
    free, as a rendezvous does. Ranks do not wait for each other otherwise. `by_channel` lets every channel of a
    rank block on its own.
    """
    away = np.nonzero(schedule.src != schedule.dst)[0]
    part = np.concatenate([np.arange(schedule.transfers), away])
    turn = np.concatenate([schedule.src, schedule.dst[away]]).astype(np.int64)
    if by_channel:
        turn = turn * (int(schedule.channel.max(initial=0)) + 1) + schedule.channel[part]
    turn = turn * schedule.steps + schedule.step_of[part]
    order = np.argsort(turn, kind="stable")
    part, turn = part[order], turn[order]
    turns, start, size = np.unique(turn, return_index=True, return_counts=True)
    follows = np.diff(turns // max(schedule.steps, 1), prepend=-1) == 0
    previous = np.where(follows, np.concatenate([[0], size[:-1]]), 0)
    marked = previous * size > 2 * (previous + size)
    mark = schedule.transfers - 1 + np.cumsum(marked)
    group = np.repeat(np.arange(len(turns)), size)
    closing, opening = np.append(marked[1:], False)[group], marked[group]
    waits = np.repeat(np.where(marked, 0, previous), size)
    before = np.concatenate([part[ranges((start - previous)[group], waits)], part[closing], mark[group[opening]]])
    after = np.concatenate([np.repeat(part, waits), mark[group[closing] + 1], part[opening]])
    rows = schedule.transfers + int(marked.sum())
    pairs = np.sort(after * np.int64(rows) + before)
    after, before = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], max(rows, 1))
    return replace(schedule, after=(before.astype(np.int32), after.astype(np.int32)))


def _check_ranges(schedule: Schedule) -> None:
    """Raise InputError for the first transfer that names a rank or a slot outside the schedule."""
    places = schedule.places
    outside = (schedule.src < 0) | (schedule.src >= places) | (schedule.dst < 0) | (schedule.dst >= places)
    if outside.any():
        i = int(np.argmax(outside))
        raise InputError(
            f"{schedule.name}, step {schedule.step_of[i] + 1}: rank {schedule.src[i]} sends to rank {schedule.dst[i]},"
            f" but ranks go from 0 to {places - 1}: correct the peer"
        )
    negative = (schedule.from_slot < 0) | (schedule.to_slot < 0)
    if negative.any():
        i = int(schedule.transfer_of[int(np.argmax(negative))])
        raise InputError(
            f"{schedule.name}, step {schedule.step_of[i] + 1}: rank {schedule.src[i]} uses a slot below zero:"
            " slots count from 0 (pad rows of slots with -1 on both sides)"
        )
