"""Communicators, and communicators made from communicators. The collectives join from `collectives`."""
# ruff: noqa: N802, ARG002  methods and arguments are called as mpi4py calls them

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ops.programs.mpi4py.handles.attributes import Attributed, Keyval
from ops.programs.mpi4py.handles.constants import (
    APPNUM,
    COMM_TYPE_SHARED,
    CONGRUENT,
    IDENT,
    IO,
    LARGEST_TAG,
    LASTUSEDCODE,
    TAG_UB,
    UNDEFINED,
    UNIVERSE_SIZE,
    WTIME_IS_GLOBAL,
)
from ops.programs.mpi4py.handles.errors import whole, wrong
from ops.programs.mpi4py.handles.groups import RankGroup, compared
from ops.programs.mpi4py.handles.info import ERRHANDLERS, Errhandler, Info
from ops.programs.mpi4py.point_to_point import Ranks
from ops.programs.mpi4py.requests import MpiRequest
from ops.programs.runtime.messages import ANY_SOURCE
from ops.programs.runtime.rendezvous import Contribution, ProcessGroup

PREDEFINED = {
    TAG_UB: LARGEST_TAG, IO: ANY_SOURCE, UNIVERSE_SIZE: None, APPNUM: 0, LASTUSEDCODE: 1073741823, WTIME_IS_GLOBAL: 0,
}  # fmt: skip
"""The attributes that MPI sets, valued as MPICH's mpiexec sets them."""


class Comm(Attributed, Ranks):
    """A communicator."""

    name = ""

    @classmethod
    def over(cls, group: ProcessGroup | tuple[ProcessGroup, ...], name: str = "") -> Self:
        """A communicator of a group."""
        made = cls.__new__(cls)
        made.token, made.name = group, name
        return made

    @property
    def group(self) -> RankGroup:
        """Its ranks as a group."""
        return self.Get_group()

    @property
    def info(self) -> Info:
        """Its hints: none."""
        return self.Get_info()

    @info.setter
    def info(self, info: Info) -> None:
        self.Set_info(info)

    @property
    def topology(self) -> int:
        """Which kind of topology its ranks have."""
        return self.Get_topology()

    @property
    def is_intra(self) -> bool:
        """Always."""
        return self.Is_intra()

    @property
    def is_inter(self) -> bool:
        """Never: communicators here are of one group."""
        return self.Is_inter()

    @property
    def is_topo(self) -> bool:
        """Whether its ranks have a topology."""
        return self.Get_topology() != UNDEFINED

    def Get_rank(self) -> int:
        """This rank's number in it."""
        return self.rank

    def Get_size(self) -> int:
        """Number of ranks."""
        return self.size

    def Get_name(self) -> str:
        """Its name."""
        return self.name

    def Set_name(self, name: str) -> None:
        """Give it a name."""
        self.name = name

    def Get_topology(self) -> int:
        """Which kind of topology its ranks have."""
        self.stands()
        return UNDEFINED

    def meet(self, part: Contribution) -> Contribution:
        """Bring a part to this communicator's next collective."""
        root = whole(part.root)
        if not 0 <= root < self.size:
            wrong("ERR_ROOT", f"root {part.root} is not among ranks 0..{self.size - 1} of {self.peers.name}")
        part.root = root
        self.peers.join(part)
        return part

    def agree(self, name: str, numbers: Sequence[int]) -> Contribution:
        """Everyone hears everyone's numbers, as when communicators are made."""
        part = self._meet(name, numbers)
        self.world.wait((part,), name)
        return part

    def _meet(self, name: str, numbers: Sequence[int]) -> Contribution:
        return self.meet(Contribution(name, "allgather", [np.array(numbers, np.int64)]))

    def members(self, part: Contribution, key: Any, ranks: Sequence[int], how: str) -> ProcessGroup:
        """The new group that all who computed the same key share."""
        assert part.meeting is not None
        made: dict[Any, ProcessGroup] = part.meeting.made
        if key not in made:
            peers = self.peers
            made[key] = peers.child([peers.ranks[r] for r in ranks], how)
        return made[key]

    def Split(self, color: int = 0, key: int = 0) -> "Comm":
        """One communicator per color, ranks in the order of their keys; UNDEFINED takes no part."""
        part = self.agree("Split", (whole(color), whole(key)))
        rows = [(int(item[1]), r) for r, item in enumerate(part.gets) if item[0] == whole(color)]
        if color == UNDEFINED:
            return self.plain()
        return self.plain().over(self.members(part, whole(color), [r for _, r in sorted(rows)], "split"))

    def Split_type(self, split_type: int, key: int = 0, info: Info | None = None) -> "Comm":
        """One communicator per host; UNDEFINED takes no part."""
        if split_type not in (COMM_TYPE_SHARED, UNDEFINED):
            kinds = range(COMM_TYPE_SHARED, COMM_TYPE_SHARED + 4)
            if split_type in kinds:
                raise NotImplementedError(f"split type {split_type} is not simulated: MPI.COMM_TYPE_SHARED is")
            wrong("ERR_ARG", f"there is no split type {split_type}")
        host = self.world.hosts[self.world.me.rank]
        return self.Split(host if split_type == COMM_TYPE_SHARED else UNDEFINED, key)

    def Dup(self, info: Info | None = None) -> Self:
        """The same ranks apart from the others' messages."""
        return self._duplicate(self.agree("Dup", (0,)))

    Clone = Dup_with_info = Dup

    def Idup(self, info: Info | None = None) -> tuple[Self, MpiRequest]:
        """A duplicate that may be used once the request is done."""
        part = self._meet("Idup", (0,))
        return self._duplicate(part), MpiRequest(self.world, part)

    Idup_with_info = Idup

    def _duplicate(self, part: Contribution) -> Self:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, public="", name="")
        made.token = self.members(part, 0, range(self.size), "dup")
        self.copy_attributes(made)
        return made

    def Get_group(self) -> RankGroup:
        """Its ranks as a group."""
        return RankGroup.over(self.world, self.peers.ranks)

    def Create(self, group: RankGroup) -> "Comm":
        """A communicator of some of the ranks; the others get the null communicator."""
        part = self.agree("Create", (len(group.ranks), *group.ranks))
        return self._created(part, group)

    def Create_group(self, group: RankGroup, tag: int = 0) -> "Comm":
        """As `Create`, called by the members alone."""
        part = Comm.over(self.peers.within(group.ranks)).agree("Create_group", (tag,))
        return self._created(part, group)

    def _created(self, part: Contribution, group: RankGroup) -> "Comm":
        if self.world.me.rank not in group.ranks:
            return self.plain()
        peers = self.peers
        outside = [rank for rank in group.ranks if rank not in peers.place_of]
        if outside:
            wrong("ERR_GROUP", f"rank {outside[0]} of the world is not in {peers.name}")
        places = [peers.place_of[rank] for rank in group.ranks]
        return self.plain().over(self.members(part, tuple(places), places, "create"))

    def plain(self) -> "Comm":
        """The null communicator, of the kind that is made of this one."""
        return Comm()

    def Abort(self, errorcode: int = 0) -> None:
        """End the run on all ranks."""
        world = self.world
        world.me.status = whole(errorcode) or 1
        world.halt(f"rank {world.me.rank} called Abort({errorcode}) at {world.where()}")

    def Compare(self, other: "Comm") -> int:
        """IDENT, CONGRUENT for the same ranks apart, SIMILAR where the order differs, or UNEQUAL."""
        if self.peers is other.peers:
            return IDENT
        result = compared(self.peers.ranks, other.peers.ranks)
        return CONGRUENT if result == IDENT else result

    Disconnect = Attributed.Free

    def Is_inter(self) -> bool:
        """Never: communicators here are of one group."""
        self.stands()
        return False

    def Is_intra(self) -> bool:
        """Always."""
        self.stands()
        return True

    def attributes(self) -> dict[int, tuple[Keyval, Any]]:
        """Those that the rank that asks has attached."""
        kept: dict[int, tuple[Keyval, Any]] = self.peers.kept.setdefault(self.world.me.rank, {})
        return kept

    def Get_attr(self, keyval: int) -> Any:
        """The value under a key, or one that MPI sets; None without one."""
        self.stands()
        if not isinstance(keyval, Keyval) and keyval in PREDEFINED:
            return PREDEFINED[keyval]
        return super().Get_attr(keyval)

    def Get_info(self) -> Info:
        """Its hints: none."""
        self.stands()
        return Info.Create()

    def Set_info(self, info: Info) -> None:
        """Hints are taken, and change nothing."""
        self.stands(), info.stands()

    def Get_errhandler(self) -> Errhandler:
        """The handler that raises exceptions: there is no other."""
        self.stands()
        return Errhandler(ERRHANDLERS["ERRORS_RETURN"])

    def Set_errhandler(self, errhandler: Errhandler) -> None:
        """Errors are raised as exceptions, whatever is set."""
        self.stands(), errhandler.stands()

    @classmethod
    def Get_parent(cls) -> "Comm":
        """Who spawned this program: nobody."""
        return Comm()
