"""Process groups: all ranks bring their contribution to a collective, the last one starts it, all leave at its end.

The k-th collective call of every rank of a group belong together. What must be the same on all ranks is compared,
and a difference ends the run with both lines named.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ops.communicators.records import ScriptLine
from ops.communicators.rendezvous import Communicator, Meeting
from ops.libraries import CollectiveCall
from ops.programs.runtime.deadlock import name_ranks
from ops.programs.runtime.exchange import EXCHANGES, Fold, Items, size_of
from ops.programs.runtime.tasks import Missing, Pending
from ops.programs.runtime.transport import ProgramCall, Transport
from sim.topology import Floats


class ProcessGroup(Communicator["ProgramMeeting"]):
    """Ranks that communicate among themselves, apart from all others: what an MPI library calls a context."""

    def __init__(self, world: Transport, ranks: Sequence[int], name: str) -> None:
        super().__init__(world.topology, ranks)
        self.world, self.name = world, name
        self.children = 0
        self.boxes: dict[int, Any] = {}
        """Messages to each of them that nobody has received yet."""
        self.kept: dict[int, dict[Any, Any]] = {}
        """What programs have attached to it, by rank of the world."""
        self._within: dict[tuple[int, ...], ProcessGroup] = {}

    def join(self, contribution: "Contribution") -> None:
        """Bring this rank's contribution to its next collective of this group."""
        self.come(self.world.me.rank, contribution, lambda: ProgramMeeting(self, contribution))

    def within(self, ranks: Sequence[int]) -> "ProcessGroup":
        """Some of the ranks by themselves, the same group for all who ask."""
        return self._within.setdefault(tuple(ranks), ProcessGroup(self.world, ranks, self.name))

    def child(self, ranks: Sequence[int], how: str) -> "ProcessGroup":
        """A new group of ranks of the world."""
        self.children += 1
        return ProcessGroup(self.world, ranks, f"{self.name}.{how}{self.children}")


class Contribution(Pending):
    """What one rank brings to a collective, and what it gets.

    `same` must be the same on all ranks, and so must `length`, bytes, where it is given. `room`, if
    any, is the bytes expected of every item to come. `write` puts the items in place when the collective ends; `fold`
    adds items up; `counted` is how many elements take part. Data does not move before the time `ready`.
    """

    __slots__ = (
        "came",
        "collective",
        "commutes",
        "counted",
        "fold",
        "gets",
        "length",
        "library",
        "meeting",
        "name",
        "place",
        "ready",
        "room",
        "root",
        "same",
        "sends",
        "uneven",
        "write",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        collective: str,
        sends: Items,
        *,
        same: dict[str, Any] | None = None,
        length: int | None = None,
        root: int = 0,
        uneven: bool = False,
        room: Sequence[int] | None = None,
        write: Callable[[Items], None] | None = None,
        fold: Fold | None = None,
        commutes: bool | None = True,
        counted: float = np.inf,
        library: str = "openmpi",
    ) -> None:
        super().__init__()
        self.name, self.collective, self.sends, self.root = name, collective, sends, root
        self.same = dict(same or {})
        if collective in ("broadcast", "reduce", "gather", "scatter"):
            self.same["root"] = root
        self.length, self.came, self.ready = length, 0.0, 0.0
        self.uneven, self.room, self.write, self.fold = uneven, room, write, fold
        self.commutes, self.counted, self.library = commutes, counted, library
        self.gets: Items = []
        self.place = ScriptLine("", 0)
        self.meeting: ProgramMeeting | None = None

    def missing(self) -> Missing:
        """Who has not come to the meeting."""
        assert self.meeting is not None
        ranks = self.meeting.missing()
        return Missing(f"{name_ranks(ranks)} to call {self.name} on {self.meeting.group.name}", ranks)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.same.items())})"


class ProgramMeeting(Meeting[Contribution]):
    """One collective of a process group under way."""

    def __init__(self, group: ProcessGroup, first: Contribution) -> None:
        super().__init__(group.ranks)
        self.group, self.world, self.first = group, group.world, first
        self.made: dict[Any, Any] = {}
        """What this meeting has brought forth for all, like new groups."""
        self._first_rank = self.world.me.rank
        self.record: ProgramCall = self.world.note(first.name, "", group.name, group.ranks, 0.0, self.world.where())

    def admit(self, place: int, part: Contribution) -> None:
        """Take a contribution in. One that does not fit the first ends the run."""
        part.place, part.meeting, part.call = self.world.where(), self, self.record.number
        part.came = self.world.now
        if (part.name, part.same) != (self.first.name, self.first.same):
            rank = self.world.me.rank
            self.world.halt(
                f"collective mismatch on {self.group.name}: rank {self._first_rank} calls {self.first} at"
                f" {self.first.place}, but rank {rank} calls {part} at {part.place}"
            )
        super().admit(place, part)

    def begin(self) -> None:
        """All have come: see whether they fit, and move the data."""
        self.check()
        self.move()

    def check(self) -> None:
        """Note who came last, and end the run where lengths differ."""
        parts = self.everything()
        self._note_latest(parts)
        self._check_lengths(parts)

    def move(self) -> None:
        """Work out who gets what, and move it."""
        parts, first = self.everything(), self.first
        exchange = EXCHANGES[first.collective]
        sends = [part.sends for part in parts]
        fold = next((part.fold for part in parts if part.fold is not None), _nothing_to_add)
        gets = exchange.gets(sends, first.root, fold)
        units = exchange.units(sends, first.root)
        self._check_room(parts, gets)
        for part, items in zip(parts, gets, strict=True):
            part.gets = items
        self.record.size = _as_counted(first.collective, units, self.group.size)
        self.world.collective(self.record, self._call(parts, units), units, lambda: self._end(parts))

    def _end(self, parts: list[Contribution]) -> None:
        for part in parts:
            if part.write is not None:
                part.write(part.gets)
                part.gets, part.write = [], None
            part.sends = []  # views of a program's buffers, like those above
            part.finish()

    def _note_latest(self, parts: list[Contribution]) -> None:
        self.record.gathered = max(part.came for part in parts)
        latest = [place for place, part in enumerate(parts) if part.came == self.record.gathered]
        self.record.latest = tuple(self.group.ranks[place] for place in latest)
        self.record.latest_place = parts[latest[0]].place

    def _check_lengths(self, parts: list[Contribution]) -> None:
        """End the run where lengths differ, and name the ranks that differ from most others, or from the root."""
        sides: dict[int | None, list[int]] = {}
        for place, part in enumerate(parts):
            sides.setdefault(part.length, []).append(place)
        if len(sides) == 1:
            return
        usual = max(sides, key=lambda length: (len(sides[length]), self.first.root in sides[length]))
        other = next(length for length in sides if length != usual)
        odd, rest = (name_ranks(self.group.ranks[place] for place in sides[length]) for length in (other, usual))
        calls = "calls" if len(sides[other]) == 1 else "call"
        self.world.halt(
            f"collective mismatch on {self.group.name}: {odd} {calls} {self.first.name} with {other} bytes at"
            f" {parts[sides[other][0]].place}, but {rest} with {usual} bytes at {parts[sides[usual][0]].place}"
        )

    def _check_room(self, parts: list[Contribution], gets: list[Items]) -> None:
        sizes_of: dict[int, list[int]] = {}
        for place, (part, items) in enumerate(zip(parts, gets, strict=True)):
            if part.room is None or not items:
                continue
            sizes = sizes_of.setdefault(id(items), [size_of(item) for item in items])
            if sizes == list(part.room):
                continue
            at = next((i for i, (a, b) in enumerate(zip(sizes, part.room, strict=False)) if a != b), 0)
            sender = at if len(items) == len(parts) else part.root
            ranks = self.group.ranks
            self.world.halt(
                f"collective mismatch on {self.group.name}: rank {ranks[sender]} sends {sizes[at]} bytes in"
                f" {parts[sender].name} at {parts[sender].place}, but rank {ranks[place]} expects {part.room[at]}"
                f" at {part.place}"
            )

    def _call(self, parts: list[Contribution], units: Floats) -> CollectiveCall:
        """The call as the library sees it."""
        first, collective = self.first, self.first.collective
        vectors = ("allgather", "gather", "scatter", "alltoall", "reduce_scatter")
        uneven = collective in vectors and (first.uneven or bool((units != units[0]).any()))
        name = collective + "v" if uneven else collective
        return CollectiveCall(
            collective=name,
            members=self.group,
            size=float(units.sum() if name == "reduce_scatterv" else units.mean()),
            count=min(part.counted for part in parts),
            root=first.root,
            commutes=first.commutes is not False,
            builtin=first.commutes is True,
            library=first.library,
        )


def _nothing_to_add(a: Any, b: Any) -> Any:
    raise TypeError("this collective has no operation")


def _as_counted(collective: str, units: Floats, n: int) -> float:
    """Bytes as nccl-tests counts them: of unequal blocks, the largest buffer any rank has."""
    if collective == "alltoall":
        table = units.reshape(n, n)
        return float(max(table.sum(axis=0).max(), table.sum(axis=1).max()))
    return float(units.sum())
