"""Process groups of torch.distributed: who is in them, and whose backend they run on."""
# ruff: noqa: ARG002  arguments are called as torch calls them

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from ops.programs.runtime.rendezvous import Contribution, ProcessGroup
from ops.programs.runtime.transport import Transport

LIBRARY = {"nccl": "nccl", "gloo": "gloo", "mpi": "openmpi", "ucc": "openmpi"}
"""Whose rules choose algorithms for a backend: torch's MPI and UCC are taken for Open MPI's."""


class NamedBackend(str):
    """A backend's name; `cpu:gloo,cuda:nccl` names one for every device."""

    UNDEFINED, GLOO, NCCL, UCC, MPI = "undefined", "gloo", "nccl", "ucc", "mpi"
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, UCC, MPI]

    def __new__(cls, name: str) -> "NamedBackend":
        """The name in small letters. Raises ValueError for what is no text, RuntimeError for a backend there is not."""
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")  # noqa: TRY004  as torch does
        made = super().__new__(cls, name.lower())
        for part in made.parts:
            if part not in (*LIBRARY, cls.UNDEFINED):
                raise RuntimeError(f"Unknown c10d backend type {part.upper()}: choose from {', '.join(LIBRARY)}")
        return made

    @property
    def parts(self) -> list[str]:
        """The backends that it names."""
        return [part.rpartition(":")[2] for part in self.split(",")]

    @property
    def library(self) -> str:
        """Whose rules choose algorithms: NCCL's where it is among them, for ranks here are GPUs."""
        return LIBRARY["nccl" if {"nccl", "undefined"} & set(self.parts) else self.parts[0]]


class DistGroup:
    """`torch.distributed.ProcessGroup`."""

    def __init__(self, members: ProcessGroup, backend: NamedBackend) -> None:
        self.members, self.backend = members, backend

    def rank(self) -> int:
        """This rank's number in it."""
        return self.members.place_of[self.members.world.me.rank]

    def size(self) -> int:
        """How many ranks it has."""
        return self.members.size

    def name(self) -> str:
        """Its backend's name."""
        return str(self.backend)

    @property
    def group_name(self) -> str:
        """Its own name."""
        return self.members.name


class GroupMember:
    """What stands where a group does: nothing for the world, and this for ranks that are not in it."""

    WORLD: Any = None
    NON_GROUP_MEMBER = object()


class Groups:
    """Making groups and asking about them; ranks are global ones, as in torch."""

    def __init__(self, world: Transport) -> None:
        self.world = world
        self.everyone = ProcessGroup(world, range(world.size), "default_pg")
        self.begun: dict[int, DistGroup] = {}

    def init_process_group(
        self, backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
        rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
        **_: Any,
    ) -> None:  # fmt: skip
        """Join the default group; rank and size are the run's own."""
        me = self.world.me.rank
        if me in self.begun:
            raise ValueError("trying to initialize the default process group twice!")
        for what, number, own in (("rank", rank, me), ("world_size", world_size, self.world.size)):
            if number not in (-1, own):
                raise ValueError(f"{what} {number} was named, but here it is {own}: leave it out, or run as many ranks")
        group = DistGroup(self.everyone, NamedBackend(backend or "nccl"))
        part = Contribution("init_process_group", "barrier", [], library=group.backend.library)
        self.everyone.join(part)
        self.world.wait((part,), "init_process_group")
        self.begun[me] = group

    def destroy_process_group(self, group: DistGroup | None = None) -> None:
        """Leave the default group; of others nothing is left to be given back."""
        if self._dist(group).members is self.everyone:
            del self.begun[self.world.me.rank]

    def is_available(self) -> bool:
        """Always."""
        return True

    is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = is_available

    def is_backend_available(self, backend: str) -> bool:
        """Whether there is such a backend."""
        return backend.lower() in LIBRARY

    def is_torchelastic_launched(self) -> bool:
        """Whether ranks find what torchrun sets."""
        return "TORCHELASTIC_RUN_ID" in os.environ

    def is_initialized(self) -> bool:
        """Whether this rank has joined the default group."""
        return self.world.me.rank in self.begun

    def get_backend(self, group: DistGroup | None = None) -> str:
        """The backend that was asked for; NCCL unless one was."""
        return self._dist(group).backend

    get_backend_config = get_backend

    def get_rank(self, group: DistGroup | None = None) -> int:
        """This rank's number in the group, -1 outside of it."""
        return -1 if self._outside(group) else self._dist(group).members.place_of.get(self.world.me.rank, -1)

    def get_world_size(self, group: DistGroup | None = None) -> int:
        """How many ranks the group has, -1 outside of it."""
        return -1 if self._outside(group) else self._dist(group).size()

    def get_node_local_rank(self, fallback_rank: int | None = None) -> int:
        """This rank's number on its node."""
        return int(os.environ["LOCAL_RANK"])

    def new_group(
        self, ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None, **_: Any
    ) -> Any:
        """A group of some ranks; all ranks must call it, in the same order."""
        default = self._dist(None)
        chosen = tuple(sorted(range(self.world.size) if ranks is None else ranks))
        if not chosen or len(set(chosen)) != len(chosen) or not 0 <= chosen[0] <= chosen[-1] < self.world.size:
            raise ValueError(
                f"a group cannot be of ranks {list(chosen)}: name some of 0..{self.world.size - 1}, once each"
            )
        part = Contribution("new_group", "barrier", [], same={"ranks": chosen}, library=default.backend.library)
        self.everyone.join(part)
        self.world.wait((part,), "new_group")
        assert part.meeting is not None
        made = part.meeting.made
        if "group" not in made:
            made["group"] = self.everyone.child(chosen, "group")
        if self.world.me.rank not in chosen:
            return GroupMember.NON_GROUP_MEMBER
        return DistGroup(made["group"], NamedBackend(backend) if backend else default.backend)

    def new_subgroups_by_enumeration(
        self,
        ranks_per_subgroup_list: Sequence[Sequence[int]],
        timeout: Any = None,
        backend: str | None = None,
        **_: Any,
    ) -> tuple[Any, list[Any]]:
        """A group per list of ranks: this rank's own, and all."""
        every = [self.new_group(ranks, backend=backend) for ranks in ranks_per_subgroup_list]
        own = next((group for group in every if isinstance(group, DistGroup)), None)
        return own, every

    def new_subgroups(self, group_size: int | None = None, group: Any = None, **options: Any) -> tuple[Any, list[Any]]:
        """Groups of so many ranks in a row, a node's unless told: this rank's own, and all."""
        n, size = self.world.size, group_size or int(os.environ["LOCAL_WORLD_SIZE"])
        if n % size:
            raise ValueError(f"The world size ({n}) must be divisible by the group size ({size})")
        return self.new_subgroups_by_enumeration([range(k, k + size) for k in range(0, n, size)], **options)

    def get_process_group_ranks(self, group: DistGroup | None = None) -> list[int]:
        """The global ranks of a group."""
        return list(self._dist(group).members.ranks)

    def get_global_rank(self, group: DistGroup | None, group_rank: int) -> int:
        """The global rank of a group's rank."""
        ranks = self.get_process_group_ranks(group)
        if not 0 <= group_rank < len(ranks):
            raise ValueError(f"Group rank {group_rank} is not part of group {self._dist(group).group_name}")
        return ranks[group_rank]

    def get_group_rank(self, group: DistGroup | None, global_rank: int) -> int:
        """A global rank's number in a group."""
        return self.place(group, global_rank)

    def members(self, group: DistGroup | None) -> ProcessGroup:
        """The ranks of a group."""
        return self._dist(group).members

    def place(self, group: DistGroup | None, rank: int | None, within: int | None = None) -> int:
        """Where a global rank is in a group; `within` names the place itself."""
        if within is not None:
            return self.place(group, self.get_global_rank(group, within))
        places = self.members(group).place_of
        if rank not in places:
            raise ValueError(f"Global rank {rank} is not part of group {self._dist(group).group_name}")
        return places[rank]

    def root(self, group: DistGroup | None, rank: int | None, within: int | None) -> tuple[int, bool]:
        """Where the root is in a group, rank 0 unless one is named, and whether this rank is it."""
        if self._outside(group):
            return 0, False
        root = self.place(group, 0 if rank is None and within is None else rank, within)
        return root, self.members(group).place_of.get(self.world.me.rank) == root

    def library(self, group: DistGroup | None) -> str:
        """Whose rules choose the algorithms of a group."""
        return self._dist(group).backend.library

    def _outside(self, group: Any) -> bool:
        """Whether this rank is not in the group, as `new_group` told it."""
        return group is GroupMember.NON_GROUP_MEMBER

    def _dist(self, group: DistGroup | None) -> DistGroup:
        if self.world.me.rank not in self.begun:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        if group is None:
            return self.begun[self.world.me.rank]
        if not isinstance(group, DistGroup):
            raise TypeError("this rank is not a member of the group")
        return group
