"""A schedule: who sends which slots to whom, step by step, as arrays.

An algorithm is a generator of steps. A step is made by `copy` or `reduce` (or several of them in a tuple)
from integer arrays with one entry per message; a `str` in between names the phase that begins there.
Transfers of one step read the state before the step. A slot is a place in its rank's address space.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints, counted, joined
from sim.base.files.textfile import check_names
from sim.base.ragged import offsets_of, take
from sim.base.watch import check_transfers
from sim.errors import InputError
from sim.schedule.runs import StepRun, many, runs_of
from sim.schedule.steps import NOTHING, WORD, Step
from sim.units import fmt_object

PIECE = 1 << 13
"""Entries of a column that are looked at together."""
Via = Callable[[Ints, Ints, Ints], Ints]
"""From senders, receivers and channels of transfers to the devices each passes in turn, a row each; -1 for none."""


@dataclass(frozen=True, eq=False)
class Promise:
    """What a collective owes: a precondition, who holds what before, and a postcondition, who must hold what after.

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

    def __repr__(self) -> str:
        ranks, slots = self.given.shape
        return fmt_object("Promise", f"{self.name}: {self.blocks:,} blocks, {ranks:,} ranks of {slots:,} slots")

    def with_switches(self, count: int) -> "Promise":
        """The same promise with rows for `count` switches, which are given and owed nothing."""

        def more(rows: Ints) -> Ints:
            return np.pad(rows, ((0, count), (0, 0)), constant_values=NOTHING)

        return replace(self, given=more(self.given), owed=more(self.owed), first=more(self.first), last=more(self.last))

    def in_pieces(self, whole: Floats) -> Floats:
        """Every block's bytes, from those of whole blocks, each of which an algorithm cuts into equally many pieces.

        >>> blank = np.full((1, 1), NOTHING, np.int32)
        >>> Promise("allgatherv", 4, blank, blank, blank, blank, range(1), range(1)).in_pieces(np.array([4.0, 10.0]))
        array([2., 2., 5., 5.])
        """
        pieces = self.blocks // len(whole)
        return np.repeat(whole / pieces, pieces)


@dataclass(frozen=True, eq=False)
class Schedule:
    """The transfers of a collective, in step order.

    Columns have one entry per transfer, shape (transfers,). What a transfer moves is `from_slot[m]` into `to_slot[m]`
    for m in `moves[i]:moves[i + 1]`. Ranks from n up are switches that add and copy; what is added to an empty slot of
    a switch fills it.

    Parameters
    ----------
    name : str
        What it is called.
    n : int
        Number of ranks.
    slots : int
        Slots of every rank.
    promise : Promise
        Precondition and postcondition; None if unknown.
    unit_share : float
        One slot's part of the size that a person gives; not used where blocks differ in size.
    steps : int
        Number of steps.
    step_start : array of int, shape (steps + 1,)
        The first transfer of every step.
    op : array of int
        What every transfer does: COPY or REDUCE.
    src : array of int
        Sending ranks.
    dst : array of int
        Receiving ranks.
    channel : array of int
        Channels: messages of one connection on one channel follow each other.
    moves : array of int, shape (transfers + 1,)
        The first move of every transfer.
    from_slot : array of int, shape (moves,)
        Slots that are read.
    to_slot : array of int, shape (moves,)
        Slots that are written.
    phases : tuple
        The first step and the name of every phase.
    after : tuple of two arrays
        Pairs (before, after) that a program order adds to the derived dependencies; numbers from `transfers` up are
        marks that take no time, so that many can wait for many without a pair for each.
    root : int
        Root of a rooted collective.
    switches : tuple of str
        The device kind of each switch: NVS for the one inside a node, NET for the one between nodes.
    fixed_bytes : array of float
        Bytes of every transfer, where sizes are absolute, whatever size a person gives.
    work : array of float
        Seconds that a local transfer computes before it is done.
    via : callable
        Devices that transfers pass on the machine the schedule was made for, where they do not take its own routes.
    flaw : str
        Why a program that was read is wrong although these transfers, one of the ways it may go, keep the promise: a
        race, a message unread.
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
    via: Via | None = None
    flaw: str = ""

    def __post_init__(self) -> None:
        check_names([self.name], "schedule")
        check_names((name for _, name in self.phases), "phase")

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
        parts = (slice(k, k + PIECE) for k in range(0, self.transfers, PIECE))
        return sum(int(np.count_nonzero(self.src[part] != self.dst[part])) for part in parts)

    @cached_property
    def runs(self) -> tuple[StepRun, ...]:
        """Stretches in which ends and channels come again; one of all, once, where nobody has looked."""
        return (StepRun(0, self.transfers, self.transfers),)

    @cached_property
    def step_of(self) -> Ints:
        """The step of every transfer."""
        return np.repeat(np.arange(self.steps, dtype=np.int32), np.diff(self.step_start))

    def __repr__(self) -> str:
        return fmt_object(
            "Schedule", f"{self.name}: {self.n} ranks, {self.transfers:,} transfers in {self.steps:,} steps"
        )

    @cached_property
    def transfer_of(self) -> Ints:
        """The transfer of every move."""
        return np.repeat(np.arange(self.transfers, dtype=np.int32), np.diff(self.moves))

    def chosen(self, transfers: NDArray[np.integer[Any]]) -> "Schedule":
        """Return the schedule that has some of the transfers alone, given in order; it promises nothing."""
        moves, move = take(self.moves.astype(np.int64), np.arange(len(self.from_slot)), transfers)
        return replace(
            self,
            promise=None,
            step_start=np.searchsorted(transfers, self.step_start).astype(np.int64),
            **{name: getattr(self, name)[transfers] for name in ("op", "src", "dst", "channel")},
            moves=moves,
            from_slot=self.from_slot[move],
            to_slot=self.to_slot[move],
            after=None,
            fixed_bytes=None if self.fixed_bytes is None else self.fixed_bytes[transfers],
            work=None if self.work is None else self.work[transfers],
        )

    @cached_property
    def single(self) -> bool:
        """Whether every transfer is one move."""
        if len(self.from_slot) != self.transfers:
            return False
        parts = (self.moves[k : k + PIECE + 1] for k in range(0, self.transfers, PIECE))
        return all(bool((part[1:] - part[:-1] == 1).all()) for part in parts)

    @property
    def owner(self) -> Ints | None:
        """The transfer of every move; None where each transfer is one."""
        return None if self.single else self.transfer_of

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
    parts, sizes, phases = _collected(steps, name)
    runs, heads = runs_of(parts)
    src, dst = joined([p.src for p in heads]), joined([p.dst for p in heads])
    ends = src, dst
    src, dst = many(runs, src), many(runs, dst)
    channel = np.broadcast_to(np.int32(0), src.shape)
    if any(each.any() for each in {id(p.channel): p.channel for p in heads}.values()):
        channel = many(runs, joined([p.channel for p in heads]))
    moves, from_slot, to_slot = _moves(parts)
    laid_out = promise.given.shape[1] if promise else 0
    schedule = Schedule(
        name=name,
        n=n,
        slots=max(laid_out, *(int(slots.max(initial=-1)) + 1 for slots in _each(from_slot, to_slot))),
        promise=promise,
        unit_share=unit_share,
        steps=len(sizes),
        step_start=offsets_of(sizes),
        op=many(runs, np.repeat(np.array([p.op for p in heads], np.uint8), [len(p.src) for p in heads])),
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
    vars(schedule)["runs"] = runs
    if len(from_slot) == len(src) and all(part.slot.shape[1] == 1 for part in parts):
        vars(schedule)["single"] = True
    _check_ranges(schedule, ends)
    return schedule


def _collected(
    steps: Iterable[Step | tuple[Step, ...] | str], name: str
) -> tuple[list[Step], list[int], list[tuple[int, str]]]:
    """What a generator yields: its parts in a row, how many transfers each step has, and the phases."""
    parts: list[Step] = []
    sizes: list[int] = []
    phases: list[tuple[int, str]] = []
    transfers = 0
    if isinstance(steps, Step) or not isinstance(steps, Iterable):
        raise InputError("steps.kind", name=name, kind=type(steps).__name__)
    for item in steps:
        check_transfers(name, transfers, len(sizes) + len(phases))
        if isinstance(item, str):
            phases.append((len(sizes), item))
            continue
        if isinstance(item, Step):
            parts.append(item)
            sizes.append(len(item.src))
            transfers += sizes[-1]
            continue
        step = item
        if not isinstance(step, tuple) or not all(isinstance(part, Step) for part in step):
            raise InputError("steps.came", name=name, step=len(sizes) + 1, kind=type(item).__name__)
        parts.extend(step)
        sizes.append(sum(len(part.src) for part in step))
        transfers += sizes[-1]
    return parts, sizes, phases


def _each(*columns: NDArray[Any]) -> list[NDArray[Any]]:
    """The columns, each once."""
    return list({id(column): column for column in columns}.values())


def _moves(parts: list[Step]) -> tuple[NDArray[np.int32] | NDArray[np.int64], Ints, Ints]:
    """Offsets and slots of all moves, without the padding. Where all stay in their slots, both are one array."""
    from_slot = to_slot = joined([p.slot.reshape(-1) for p in parts])
    if any(p.to is not p.slot for p in parts):
        to_slot = joined([p.to.reshape(-1) for p in parts])
    widths = [p.slot.shape[1] for p in parts]
    if set(widths) <= {1} and len(from_slot) < WORD and from_slot.min(initial=0) >= 0:
        return counted(len(from_slot) + 1), from_slot, to_slot
    counts = [len(part.src) for part in parts]
    moves = offsets_of(np.repeat(widths, counts))
    if from_slot.min(initial=0) < 0:
        real = from_slot != NOTHING
        moves = offsets_of(real)[moves]
        from_slot, to_slot = from_slot[real], to_slot[real]
    return narrow(moves), from_slot, to_slot


def narrow(offsets: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Offsets in 32 bits where they do, as kernels are compiled for: once, not for every way a schedule is made."""
    return offsets.astype(np.int32) if offsets[-1] < 1 << 31 else offsets


def _check_ranges(schedule: Schedule, ends: tuple[Ints, Ints]) -> None:
    """Raise InputError for the first transfer that names a rank or a slot outside the schedule.

    `ends` are all senders and receivers there are.
    """
    places = schedule.places
    if min(end.min(initial=0) for end in ends) < 0 or max(end.max(initial=-1) for end in ends) >= places:
        outside = (schedule.src < 0) | (schedule.src >= places) | (schedule.dst < 0) | (schedule.dst >= places)
        i = int(np.argmax(outside))
        raise InputError(
            "steps.peer",
            schedule=schedule.name,
            step=schedule.step_of[i] + 1,
            src=schedule.src[i],
            dst=schedule.dst[i],
            last=places - 1,
        )
    if min(slots.min(initial=0) for slots in _each(schedule.from_slot, schedule.to_slot)) < 0:
        negative = (schedule.from_slot < 0) | (schedule.to_slot < 0)
        i = int(schedule.transfer_of[int(np.argmax(negative))])
        raise InputError("steps.slot", schedule=schedule.name, step=schedule.step_of[i] + 1, rank=schedule.src[i])
