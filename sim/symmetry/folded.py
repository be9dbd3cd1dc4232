"""A folded schedule: what one rank sends and receives, and the renamings that make all other ranks of it.

It is made from the steps of rank 0 and a few more ranks. Those of the others must be those of rank 0 renamed, as the
algorithm states; what is proved and timed afterwards is rank 0's part and all its renamings.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sim.base.arrays import Ints, each_once
from sim.base.ragged import offsets_of
from sim.base.watch import check_transfers
from sim.errors import InputError, Message
from sim.schedule import NOTHING, Promise, Schedule, Step, in_rank_order
from sim.schedule.senders import AlikeSteps, senders
from sim.symmetry.renamings import Digits, Numbers, Symmetry

ALL = 64
"""So many ranks are all looked at; of more, rank 0, its neighbours on both sides in every digit, and a few drawn."""
DRAWN = 2


class AsymmetryError(InputError):
    """A symmetry was stated that a schedule or a promise does not have."""


@dataclass(frozen=True, eq=False)
class FoldedSchedule:
    """Every rank's transfers as those of rank 0, renamed.

    `one` is a schedule of a single rank: transfer i reads `from_slot` of rank 0, and its renaming that ends at rank 0
    writes `to_slot` of rank 0, so that it waits for what rank 0's transfers wait for. `turn[i]` is the receiver of
    the transfer that rank 0 sends, which is also the renaming from sender to receiver. `promise` has rank 0's row.
    """

    name: str
    n: int
    symmetry: Symmetry
    one: Schedule
    turn: Numbers
    promise: Promise
    unit_share: float
    ordered: bool = False
    switches: tuple[str, ...] = ()
    """None: what switches add is no rank's."""

    @property
    def classes(self) -> int:
        """Transfers of rank 0, each of which stands for n."""
        return self.one.transfers

    @property
    def transfers(self) -> int:
        """Messages and local moves of all ranks."""
        return self.n * self.one.transfers

    @cached_property
    def messages(self) -> int:
        """Transfers between two different ranks."""
        return self.n * int(np.count_nonzero(self.turn))

    @property
    def steps(self) -> int:
        """As many as each rank has."""
        return self.one.steps


class _Part(NamedTuple):
    """Messages of the ranks looked at, a row per message or move, with every rank's names as rank 0 would have them."""

    op: int
    dst: Numbers
    channel: Numbers
    slot: Numbers
    to: Numbers
    width: Numbers


def folded(
    symmetry: Symmetry,
    steps: Callable[[], Iterator[Any]],
    promise: Callable[[], Promise],
    *,
    name: str,
    unit_share: float,
    ordered: bool = False,
) -> FoldedSchedule:
    """The folded schedule of what `steps()` yields and of what `promise()` owes where only some ranks are asked for.

    Raises AsymmetryError where these are not renamings of each other.
    """
    view = _View(name, symmetry, _sample(symmetry))
    with senders(view.sample):
        parts, sizes, phases = _collected(steps(), view)
        rows = promise()
    _check_promise(view, rows)
    dst, channel, slot, to, width = (
        np.concatenate([getattr(part, column) for part in parts])
        for column in ("dst", "channel", "slot", "to", "width")
    )
    view.check(dst, "receivers")
    view.check(channel, "channels")
    view.check(slot, "slots that are sent")
    view.check(to, "slots that are filled")
    turn = dst[:, 0]
    one = Schedule(
        name=name,
        n=1,
        slots=symmetry.places.total,
        promise=None,
        unit_share=unit_share,
        steps=len(sizes),
        step_start=offsets_of(sizes),
        op=np.repeat(np.array([part.op for part in parts], np.uint8), [len(part.dst) for part in parts]),
        src=np.zeros(len(turn), np.int32),
        dst=np.zeros(len(turn), np.int32),
        channel=channel[:, 0].astype(np.int32),
        moves=offsets_of(width).astype(np.int32),
        from_slot=slot[:, 0].astype(np.int32),
        to_slot=symmetry.places.turned(to[:, 0], symmetry.back(np.repeat(turn, width))).astype(np.int32),
        phases=tuple(phases),
    )
    one = in_rank_order(one) if ordered else one
    return FoldedSchedule(name, symmetry.ranks.total, symmetry, one, turn, _row(rows), unit_share, ordered)


def _sample(symmetry: Symmetry) -> Numbers:
    """The ranks to look at: 0 first."""
    n = symmetry.ranks.total
    if n <= ALL:
        return np.arange(n)
    drawn = np.random.default_rng(n).integers(0, n, DRAWN)
    return each_once(np.concatenate([[0], symmetry.generators, symmetry.back(symmetry.generators), drawn]))


@dataclass(frozen=True, eq=False)
class _View:
    """The ranks that are looked at, and what rank 0 calls what they call by their own names."""

    name: str
    symmetry: Symmetry
    sample: Numbers

    @cached_property
    def back(self) -> Numbers:
        """The renamings that take them to rank 0."""
        return self.symmetry.back(self.sample)

    def of_rank_0(self, digits: Digits, numbers: Numbers, what: str) -> Numbers:
        """Numbers, ranks in the last place, by rank 0's names; NOTHING stays. Raises AsymmetryError."""
        if numbers.size and not NOTHING <= numbers.min() <= numbers.max() < digits.total:
            raise self.broken("symmetry.outside", what=what, last=digits.total - 1)
        return np.where(numbers < 0, NOTHING, digits.turned(np.maximum(numbers, 0), self.back))

    def check(self, rows: Numbers, what: str) -> None:
        """Raise AsymmetryError unless all columns are alike."""
        if (rows != rows[:, :1]).any():
            rank = self.sample[int(np.argmax((rows != rows[:, :1]).any(axis=0)))]
            raise self.broken("symmetry.differ", what=what, rank=rank)

    def broken(self, reason: str, /, **values: object) -> AsymmetryError:
        """The error for what is not as the symmetry says."""
        return AsymmetryError("symmetry.broken", name=self.name, reason=Message(reason, **values))


def _collected(steps: Iterator[Any], view: _View) -> tuple[list[_Part], list[int], list[tuple[int, str]]]:
    """What a generator yields for the ranks looked at: parts, how many transfers of one rank a step has, and phases."""
    parts: list[_Part] = []
    sizes: list[int] = []
    phases: list[tuple[int, str]] = []
    for item in steps:
        check_transfers(view.name, len(sizes), 0)
        if isinstance(item, str):
            phases.append((len(sizes), item))
        elif isinstance(item, AlikeSteps):
            parts.append(_span(item, view))
            sizes += [1] * len(item.slot)
        else:
            together = [_part(step, view) for step in ((item,) if isinstance(item, Step) else item)]
            parts += together
            sizes.append(sum(len(part.dst) for part in together))
    return parts, sizes, phases


def _part(step: Step, view: _View) -> _Part:
    """Messages of a step: as many from every rank, in the order of the ranks, then again."""
    ranks, symmetry = len(view.sample), view.symmetry
    step = _of_few(step, view.sample, symmetry.ranks.total)
    each = len(step.src) // ranks
    if len(step.src) != each * ranks or (step.src.reshape(each, ranks) != view.sample).any():
        raise view.broken("symmetry.messages")
    dst, channel = (column.reshape(each, ranks).astype(np.int64) for column in (step.dst, step.channel))
    slot, to = (
        view.of_rank_0(symmetry.places, table.reshape(each, ranks, -1).transpose(0, 2, 1).astype(np.int64), "slots")
        for table in (step.slot, step.to)
    )
    if slot.shape[1] > 1:  # whatever the order in which a message has them
        order = np.argsort(np.where(slot < 0, symmetry.places.total, slot), axis=1, kind="stable")
        slot, to = (np.take_along_axis(table, order, axis=1) for table in (slot, to))
    used = (slot != NOTHING).all(axis=2)
    if ((slot != NOTHING).any(axis=2) != used).any() or ((to != NOTHING) != used[:, :, None]).any():
        raise view.broken("symmetry.slots")
    receiver = view.of_rank_0(symmetry.ranks, dst, "receivers")
    return _Part(step.op, receiver, channel, slot[used], to[used], used.sum(axis=1))


def _of_few(step: Step, sample: Numbers, n: int) -> Step:
    """The messages of the ranks looked at, where a step has those of all n."""
    each = len(step.src) // n
    if not each or len(step.src) != each * n or (step.src.reshape(each, n) != np.arange(n)).any():
        return step
    rows = (np.arange(each).reshape(-1, 1) * n + sample).reshape(-1)
    return Step(step.op, *(column[rows] for column in step[1:]))


def _span(span: AlikeSteps, view: _View) -> _Part:
    """Steps of one message with one slot per rank each."""
    first = _part(span.move(span.src, span.dst, slot=span.slot[0]), view)
    slot, steps = view.of_rank_0(view.symmetry.places, span.slot, "slots"), len(span.slot)
    dst, channel = (np.broadcast_to(row, (steps, len(view.sample))) for row in (first.dst, first.channel))
    return _Part(first.op, dst, channel, slot, slot, np.ones(steps, np.int64))


def _check_promise(view: _View, rows: Promise) -> None:
    """Raise AsymmetryError unless every rank of the sample has and is owed what rank 0 is, but for names."""
    symmetry, laid = view.symmetry, np.arange(rows.given.shape[1])
    n = symmetry.ranks.total
    whole = (rows.first == 0) & (rows.last == n)
    alone = rows.last == rows.first + 1
    place = symmetry.places.turned(laid.reshape(-1, 1), view.sample)
    fits = rows.blocks == symmetry.names.total and len(laid) <= symmetry.places.total
    if not (fits and (place < len(laid)).all() and (whole | alone)[rows.owed != NOTHING].all()):
        raise view.broken("symmetry.names")
    of_rank = np.arange(len(view.sample))
    for held, what in ((rows.given, "first blocks"), (rows.owed, "blocks in the end")):
        view.check(view.of_rank_0(symmetry.names, held[of_rank, place].astype(np.int64), what), what)
    first = np.where((rows.owed != NOTHING) & ~whole, rows.first, NOTHING)
    view.check(view.of_rank_0(symmetry.ranks, first[of_rank, place].astype(np.int64), "contributors"), "contributors")


def _row(rows: Promise) -> Promise:
    first: list[Ints] = [column[:1].copy() for column in (rows.given, rows.owed, rows.first, rows.last)]
    return replace(rows, given=first[0], owed=first[1], first=first[2], last=first[3])
