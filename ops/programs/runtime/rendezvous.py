"""Collectives: all ranks of a group bring their part, the last one starts the schedule, all leave at its end.

The k-th collective call of every rank of a group belong together. What must be the same on all ranks is compared,
and a difference ends the run with both lines named.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ops.libraries.call import Load
from ops.programs.runtime.deadlock import name_ranks
from ops.programs.runtime.exchange import EXCHANGES, Fold, Items, size_of
from ops.programs.runtime.tasks import Pending, Place, Wanted
from ops.programs.runtime.transport import Call, Transport
from sim.topology import Floats


class Group:
    """Ranks that communicate among themselves, apart from all others: what an MPI library calls a context."""

    def __init__(self, world: Transport, ranks: Sequence[int], name: str) -> None:
        self.world, self.ranks, self.name = world, tuple(ranks), name
        self.place_of = {rank: place for place, rank in enumerate(self.ranks)}
        self.children = 0
        self.boxes: dict[int, Any] = {}
        """Messages to each of them that nobody has received yet."""
        self._within: dict[tuple[int, ...], Group] = {}
        self._met = [0] * len(self.ranks)
        self._open: dict[int, Meeting] = {}

    @property
    def size(self) -> int:
        """How many ranks it has."""
        return len(self.ranks)

    def join(self, part: "Part") -> None:
        """Bring this rank's part to its next collective of this group."""
        mine = self.place_of[self.world.me.rank]
        index = self._met[mine]
        self._met[mine] += 1
        meeting = self._open.get(index)
        if meeting is None:
            meeting = self._open[index] = Meeting(self, part)
        if meeting.admit(mine, part):
            del self._open[index]
            meeting.begin()

    def within(self, ranks: Sequence[int]) -> "Group":
        """Some of the ranks by themselves, the same group for all who ask."""
        return self._within.setdefault(tuple(ranks), Group(self.world, ranks, self.name))

    def child(self, ranks: Sequence[int], how: str) -> "Group":
        """A new group of ranks of the world."""
        self.children += 1
        return Group(self.world, ranks, f"{self.name}.{how}{self.children}")


class Part(Pending):
    """What one rank brings to a collective, and what it gets.

    `same` must be the same on all ranks. `room`, if any, is the bytes expected of every item to come. `write` puts
    the items in place when the collective ends; `fold` adds items up; `counted` is how many elements take part.
    """

    __slots__ = (
        "collective",
        "commutes",
        "counted",
        "fold",
        "gets",
        "library",
        "meeting",
        "name",
        "place",
        "room",
        "root",
        "same",
        "sends",
        "uneven",
        "unfold",
        "write",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        collective: str,
        sends: Items,
        *,
        same: dict[str, Any] | None = None,
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
        self.uneven, self.room, self.write, self.fold = uneven, room, write, fold
        self.commutes, self.counted, self.library = commutes, counted, library
        self.gets: Items = []
        self.place = Place("", 0)
        self.meeting: Meeting | None = None

    def wanted(self) -> Wanted:
        """Who has not come to the meeting."""
        assert self.meeting is not None
        missing = self.meeting.missing()
        return Wanted(f"{name_ranks(missing)} to call {self.name} on {self.meeting.group.name}", missing)

    def __str__(self) -> str:
        told = ", ".join(f"{key}={value}" for key, value in self.same.items())
        return f"{self.name}({told})"


class Meeting:
    """One collective of a group under way."""

    def __init__(self, group: Group, first: Part) -> None:
        self.group, self.world = group, group.world
        self.parts: list[Part | None] = [None] * group.size
        self.first = first
        self.made: dict[Any, Any] = {}
        """What this meeting has brought forth for all, like new groups."""
        self._there = 0
        self._first_rank = self.world.me.rank
        self.call: Call = self.world.note(first.name, "", group.name, group.ranks, 0.0, self.world.where())

    def missing(self) -> list[int]:
        """Ranks of the world that have not come."""
        return [rank for rank, part in zip(self.group.ranks, self.parts, strict=True) if part is None]

    def admit(self, mine: int, part: Part) -> bool:
        """Take a part in; True when it was the last one. A part that does not fit the first ends the run."""
        part.place, part.meeting, part.call = self.world.where(), self, self.call.number
        if (part.name, part.same) != (self.first.name, self.first.same):
            rank = self.world.me.rank
            self.world.halt(
                f"collective mismatch on {self.group.name}: rank {self._first_rank} calls {self.first} at"
                f" {self.first.place}, but rank {rank} calls {part} at {part.place}"
            )
        self.parts[mine] = part
        self._there += 1
        return self._there == len(self.parts)

    def begin(self) -> None:
        """All are there: work out who gets what, and move it."""
        parts = [part for part in self.parts if part is not None]
        first = self.first
        exchange = EXCHANGES[first.collective]
        sends = [part.sends for part in parts]
        fold = next((part.fold for part in parts if part.fold is not None), _nothing_to_add)
        gets = exchange.gets(sends, first.root, fold)
        units = exchange.units(sends, first.root)
        self._check_room(parts, gets)
        for part, items in zip(parts, gets, strict=True):
            part.gets = items
        load = self._load(first, parts, units)
        self.call.bytes = _as_counted(first.collective, units, self.group.size)
        self.world.collective(self.call, load, units, lambda: self._end(parts))

    def _end(self, parts: list[Part]) -> None:
        for part in parts:
            if part.write is not None:
                part.write(part.gets)
            part.finish()

    def _check_room(self, parts: list[Part], gets: list[Items]) -> None:
        known: dict[int, list[int]] = {}
        for place, (part, items) in enumerate(zip(parts, gets, strict=True)):
            if part.room is None or not items:
                continue
            sizes = known.setdefault(id(items), [size_of(item) for item in items])
            if sizes == list(part.room):
                continue
            at = next((i for i, (a, b) in enumerate(zip(sizes, part.room, strict=False)) if a != b), 0)
            giver = at if len(items) == len(parts) else part.root
            ranks = self.group.ranks
            self.world.halt(
                f"collective mismatch on {self.group.name}: rank {ranks[giver]} sends {sizes[at]} bytes in"
                f" {parts[giver].name} at {parts[giver].place}, but rank {ranks[place]} expects {part.room[at]}"
                f" at {part.place}"
            )

    def _load(self, first: Part, parts: list[Part], units: Floats) -> Load:
        collective, n = first.collective, self.group.size
        sized = collective != "barrier"
        vectors = ("allgather", "gather", "scatter", "alltoall", "reduce_scatter")
        uneven = collective in vectors and (first.uneven or bool((units != units[0]).any()))
        name = collective + "v" if uneven else collective
        size = float(units.sum() if name == "reduce_scatterv" else units.mean())
        hosts = [self.world.hosts[rank] for rank in self.group.ranks]
        return Load(
            name, n, size, min(part.counted for part in parts), hosts, first.root, first.commutes is not False,
            first.commutes is True, sized, first.library,
        )  # fmt: skip


def _nothing_to_add(a: Any, b: Any) -> Any:
    raise TypeError("this collective has no operation")


def _as_counted(collective: str, units: Floats, n: int) -> float:
    """Bytes as nccl-tests counts them: of unequal blocks, the largest buffer any rank has."""
    if collective == "alltoall":
        table = units.reshape(n, n)
        return float(max(table.sum(axis=0).max(), table.sum(axis=1).max()))
    return float(units.sum())
