"""Communicators, and communicators made from communicators. The collectives join from `collectives`."""
# ruff: noqa: N802, ARG002  methods and arguments are called as mpi4py calls them

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops.programs.mpi4py.errors import wrong
from ops.programs.mpi4py.point_to_point import TAG_UB, Ranks
from ops.programs.mpi4py.requests import PROC_NULL, UNDEFINED
from ops.programs.runtime.rendezvous import Contribution, ProcessGroup
from ops.programs.runtime.transport import Transport


class Comm(Ranks):
    """A communicator."""

    def __init__(self, group: ProcessGroup | None = None) -> None:
        super().__init__(group)
        self._name = group.name if group else "MPI_COMM_NULL"

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    def Get_rank(self) -> int:
        """This rank's number in it."""
        return self.rank

    def Get_size(self) -> int:
        """How many ranks it has."""
        return self.size

    def Get_name(self) -> str:
        """Its name."""
        return self._name

    def Set_name(self, name: str) -> None:
        """Give it a name."""
        self._name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comm) and self._made_of is other._made_of

    def __hash__(self) -> int:
        return hash(id(self._made_of))

    def __bool__(self) -> bool:
        return self._made_of is not None

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__}.{name} is not simulated: docs/programs.md lists what is")

    def meet(self, part: Contribution) -> Contribution:
        """Bring a part to this communicator's next collective."""
        if not 0 <= part.root < self.size:
            wrong("ERR_ROOT", f"root {part.root} is not among ranks 0..{self.size - 1} of {self.group.name}")
        self.group.join(part)
        return part

    def _agree(self, name: str, numbers: Sequence[int]) -> Contribution:
        """Everyone hears everyone's numbers, as when communicators are made."""
        item = np.array(numbers, np.int64)
        part = self.meet(Contribution(name, "allgather", [item]))
        self.world.wait((part,), name)
        return part

    def _members(self, part: Contribution, key: Any, ranks: Sequence[int], how: str) -> ProcessGroup:
        """The new group that all who computed the same key share."""
        assert part.meeting is not None
        made: dict[Any, ProcessGroup] = part.meeting.made
        if key not in made:
            made[key] = self.group.child([self.group.ranks[r] for r in ranks], how)
        return made[key]

    def Split(self, color: int = 0, key: int = 0) -> "Comm":
        """One communicator per color, ranks in the order of their keys; UNDEFINED takes no part."""
        part = self._agree("Split", (color, key))
        rows = [(int(item[1]), r) for r, item in enumerate(part.gets) if item[0] == color]
        if color == UNDEFINED:
            return Comm()
        return type(self)._plain(self._members(part, color, [r for _, r in sorted(rows)], "split"))

    def Split_type(self, split_type: int = 1, key: int = 0, info: Any = None) -> "Comm":
        """One communicator per host."""
        return self.Split(self.world.hosts[self.world.me.rank], key)

    def Dup(self, info: Any = None) -> "Comm":
        """The same ranks apart from the others' messages."""
        part = self._agree("Dup", (0,))
        return type(self)._plain(self._members(part, 0, range(self.size), "dup"))

    Clone = Dup

    def Get_group(self) -> "RankGroup":
        """Its ranks as a group."""
        return RankGroup(self.world, self.group.ranks)

    def Create(self, group: "RankGroup") -> "Comm":
        """A communicator of some of the ranks; the others get the null communicator."""
        part = self._agree("Create", (len(group.ranks), *group.ranks))
        return self._created(part, group)

    def Create_group(self, group: "RankGroup", tag: int = 0) -> "Comm":
        """As `Create`, called by the members alone."""
        inner = self.group.within(group.ranks)
        part = Comm(inner)._agree("Create_group", (tag,))
        return self._created(part, group)

    def _created(self, part: Contribution, group: "RankGroup") -> "Comm":
        if self.world.me.rank not in group.ranks:
            return Comm()
        places = [self.group.place_of[rank] for rank in group.ranks]
        return type(self)._plain(self._members(part, tuple(places), places, "create"))

    @classmethod
    def _plain(cls, group: ProcessGroup) -> "Comm":
        return Comm(group)

    def Abort(self, errorcode: int = 0) -> None:
        """End the run on all ranks."""
        world = self.world
        world.me.status = errorcode or 1
        world.halt(f"rank {world.me.rank} called Abort({errorcode}) at {world.where()}")

    def Compare(self, other: "Comm") -> int:
        """IDENT, CONGRUENT for the same ranks apart, SIMILAR where the order differs, or UNEQUAL."""
        if self.group is other.group:
            return IDENT
        result = _compared(self.group.ranks, other.group.ranks)
        return CONGRUENT if result == IDENT else result

    def Free(self) -> None:
        """Nothing to give back."""

    Disconnect = Free

    def Is_inter(self) -> bool:
        """Never: communicators here are of one group."""
        return False

    def Is_intra(self) -> bool:
        """Always."""
        return True

    def Get_attr(self, keyval: int) -> Any:
        """The largest tag; nothing else is kept."""
        return TAG_UB if keyval == TAG_UB else None

    def Set_errhandler(self, errhandler: Any) -> None:
        """Errors are raised as exceptions, whatever is set."""


IDENT, CONGRUENT, SIMILAR, UNEQUAL = range(4)


def _compared(a: Sequence[int], b: Sequence[int]) -> int:
    if tuple(a) == tuple(b):
        return IDENT
    return SIMILAR if sorted(a) == sorted(b) else UNEQUAL


class RankGroup:
    """`MPI.Group`: ranks of the world in an order of their own."""

    def __init__(self, world: Transport, ranks: Sequence[int]) -> None:
        self._world, self.ranks = world, tuple(ranks)

    @property
    def size(self) -> int:
        """How many ranks it has."""
        return len(self.ranks)

    @property
    def rank(self) -> int:
        """This rank's place in it, or UNDEFINED."""
        me = self._world.me.rank
        return self.ranks.index(me) if me in self.ranks else UNDEFINED

    def Get_size(self) -> int:
        """How many ranks it has."""
        return self.size

    def Get_rank(self) -> int:
        """This rank's place in it, or UNDEFINED."""
        return self.rank

    def Incl(self, ranks: Sequence[int]) -> "RankGroup":
        """Those at the given places."""
        return RankGroup(self._world, [self.ranks[r] for r in ranks])

    def Excl(self, ranks: Sequence[int]) -> "RankGroup":
        """All but those at the given places."""
        return RankGroup(self._world, [rank for r, rank in enumerate(self.ranks) if r not in set(ranks)])

    def Range_incl(self, ranges: Sequence[Sequence[int]]) -> "RankGroup":
        """Those in (first, last, stride) ranges."""
        return self.Incl(
            [r for first, last, step in ranges for r in range(first, last + (1 if step > 0 else -1), step)]
        )

    def Range_excl(self, ranges: Sequence[Sequence[int]]) -> "RankGroup":
        """All but those in (first, last, stride) ranges."""
        left_out = set(self.Range_incl(ranges).ranks)
        return RankGroup(self._world, [rank for rank in self.ranks if rank not in left_out])

    def Dup(self) -> "RankGroup":
        """The same ranks."""
        return RankGroup(self._world, self.ranks)

    def Compare(self, other: "RankGroup") -> int:
        """IDENT, SIMILAR where the order differs, or UNEQUAL."""
        return _compared(self.ranks, other.ranks)

    def Union(self, other: "RankGroup") -> "RankGroup":
        """Those in either."""
        return RankGroup(self._world, [*self.ranks, *(r for r in other.ranks if r not in self.ranks)])

    def Intersection(self, other: "RankGroup") -> "RankGroup":
        """Those in both."""
        return RankGroup(self._world, [r for r in self.ranks if r in other.ranks])

    def Difference(self, other: "RankGroup") -> "RankGroup":
        """Those in this one only."""
        return RankGroup(self._world, [r for r in self.ranks if r not in other.ranks])

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: "RankGroup | None" = None) -> list[int]:
        """The places of these ranks, all of them unless given, in another group: everyone's unless given."""
        other = group or RankGroup(self._world, range(self._world.size))
        ranks = range(self.size) if ranks is None else ranks
        if PROC_NULL in ranks:
            return [r if r == PROC_NULL else self.Translate_ranks([r], other)[0] for r in ranks]
        return [other.ranks.index(self.ranks[r]) if self.ranks[r] in other.ranks else UNDEFINED for r in ranks]

    def Free(self) -> None:
        """Nothing to give back."""
