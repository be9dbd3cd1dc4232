"""What libraries choose: the algorithm that Open MPI, MPICH, NCCL or Gloo would run for a call, each a file or folder.

A library is a function from a `CollectiveCall` to a `Decision`; `@library` puts it on the only list, under its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ops.channels import striped
from ops.registry import ALGORITHMS
from sim.parameters import summary
from sim.registry import Registry
from sim.schedule import Schedule, Via
from sim.topology import Topology

__all__ = ["LIBRARIES", "CollectiveCall", "Decision", "Library", "Members", "library"]


class Members:
    """The ranks that take part in a call, by the device that plays each of them."""

    def __init__(self, topology: Topology, devices: Sequence[int]) -> None:
        self.topology, self.devices = topology, tuple(devices)

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self.devices)

    @cached_property
    def hosts(self) -> list[int]:
        """The host of every rank."""
        return [self.topology.devices[device].host for device in self.devices]

    @cached_property
    def machine(self) -> Topology:
        """The machine with these ranks and no others."""
        if self.devices == self.topology.ranks:
            return self.topology
        return replace(self.topology, ranks=self.devices, router=self.topology.routes)

    @cached_property
    def per_host(self) -> int:
        """Ranks per host when hosts hold runs of ranks of one length, or 1 when they do not."""
        runs: list[list[int]] = []
        for host in self.hosts:
            if runs and runs[-1][0] == host:
                runs[-1][1] += 1
            else:
                runs.append([host, 1])
        lengths = {length for _, length in runs}
        return lengths.pop() if len(lengths) == 1 and len(set(self.hosts)) == len(runs) else 1


@dataclass(frozen=True, slots=True)
class CollectiveCall:
    """A call of a collective as a library sees it: `size` bytes, `count` elements.

    `collective` is the registry's name. `size` is the whole buffer of a broadcast or reduction, the total of a
    reduce_scatterv, and one block otherwise (the mean one of a v collective): so Open MPI and MPICH count.
    """

    collective: str
    members: Members
    size: float
    count: float
    root: int = 0
    commutes: bool = True
    builtin: bool = True
    """Is the reduction one of the library's own?"""
    library: str = "openmpi"
    """Whose rule is taken unless a person asks for another."""
    shape: str = ""
    """"ring" or "tree" where a person prefers one."""

    @classmethod
    def counted(cls, collective: str, members: Members, size: float, count: float, root: int = 0) -> "CollectiveCall":
        """A call whose `size` is in bytes as nccl-tests counts them, all blocks together."""
        undivided = ("allreduce", "broadcast", "reduce", "scan", "exscan", "reduce_scatterv", "sendrecv")
        return cls(collective, members, size if collective in undivided else size / members.size, count, root)

    @property
    def n(self) -> int:
        """How many ranks take part."""
        return self.members.size


class Decision(NamedTuple):
    """What a library runs: a registered algorithm and its parameters.

    With `orders` the algorithm runs once per order, on that share of the data and with the ranks in that order.
    `size` is in bytes, where the library moves others than the call brings. `via` are devices on the way, where the
    library chooses them.
    """

    algorithm: str
    settings: Mapping[str, Any] = {}
    orders: tuple[tuple[int, ...], ...] = ()
    protocol: str = ""
    size: float | None = None
    via: Via | None = None

    def schedule(self, n: int, root: int = 0) -> Schedule:
        """The schedule for n ranks. Raises InputError for what the algorithm cannot do."""
        return replace(self._plain(n, root), via=self.via) if self.via else self._plain(n, root)

    def _plain(self, n: int, root: int) -> Schedule:
        entry = ALGORITHMS[self.algorithm]
        root = root if entry.collective.rooted else 0
        if not self.orders:
            return entry.schedule(n, root=root, **self.settings)
        return striped(entry, self.orders, root=root, **self.settings)


Rule = Callable[[CollectiveCall], Decision]


@dataclass(frozen=True, slots=True)
class Library:
    """An entry of the list."""

    name: str
    choose: Rule

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return summary(self.choose)


LIBRARIES: Registry[Library] = Registry(
    "ops.libraries", "library", function=lambda entry: entry.choose, leading=("call",)
)


def library(rule: Rule) -> Rule:
    """Register a rule under its function's name; returned unchanged."""
    LIBRARIES.add(rule.__name__, Library(rule.__name__, rule))
    return rule
