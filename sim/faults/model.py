"""What a perturbation may change: the machine before anything runs, the start of transfers, links under way."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints
from sim.base.files.textfile import check_names
from sim.schedule import Schedule
from sim.topology import DeviceIndex, Topology

Running = Generator[Any, Any, None]
"""A process of the SimPy world; it yields events."""


class Controls(Protocol):
    """What the process of one perturbation may do to a cluster under way; moments are seconds of the world's clock."""

    @property
    def env(self) -> Any:
        """The SimPy world."""

    @property
    def topology(self) -> Topology:
        """The machine, as all perturbations left it before the world began."""

    def begin(self, process: Running) -> None:
        """Begin a process at once: what perturbs a world from its first moment is there before anything starts."""

    def wait_until(self, moment: float) -> Running:
        """Wait for a moment unless it has come; until then nothing counts as stalled."""

    def limit(self, link: int, share: float) -> None:
        """Leave a link only this share of its bandwidth; shares of several perturbations multiply."""

    def avoid(self, links: Sequence[int]) -> None:
        """Route around these links from now on; an empty list gives the old routes back.

        What has not begun takes another way whole, what is under way with the bytes that are left. Where
        there is no other way it waits on the old one.
        """

    def send(self, src: int, dst: int, size: float) -> Any:
        """Send `size` bytes that belong to no collective between two device indices, now; the event is its arrival.

        Raises StalledError when such messages are all that still moves.
        """

    def mark(self, links: Sequence[int] | Ints, start: float, end: float) -> None:
        """Have traces tell that this perturbation affects these links from `start` to `end`."""


Process = Callable[[Controls], Running]


@dataclass(frozen=True, eq=False)
class Perturbation:
    """How a run differs from that of the plain machine; only what differs is set.

    `machine` is the machine as it is from the beginning. `late` are seconds from the world's beginning before which a
    device, by its index (`rank_index`), takes part in nothing; `delay(schedule, bytes)` is how much longer every
    transfer waits before its first byte flows, in s. `process(controls)` runs in the SimPy world. `links(machine)` are
    those that it limits, all in the same way, where it does nothing else. `messages(seconds)` is how many messages of
    its own it sends in so long a run, about. Traces tell of those with a `name`.
    """

    name: str = ""
    machine: Callable[[Topology], Topology] = lambda topology: topology
    late: Mapping[DeviceIndex, float] = field(default_factory=dict)
    delay: Callable[[Schedule, Floats], Floats] | None = None
    process: Process | None = None
    links: Callable[[Topology], Sequence[int]] | None = None
    messages: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        check_names([self.name], "fault")
        if self.process is not None and not callable(self.process):
            raise TypeError(f"process is a {type(self.process).__name__}: give the function that makes it, uncalled")
        for key in self.late:
            if not isinstance(key, DeviceIndex):
                raise TypeError(
                    f"late is by device, and {key!r} is no DeviceIndex: write rank_index(topology, kind, rank)"
                )


class HeldBack(NamedTuple):
    """How perturbations hold a job's transfers back.

    `gates` are seconds and the transfers they hold, `who` the perturbation of each; `delays` are seconds per transfer
    that a perturbation adds.
    """

    gates: list[tuple[float, NDArray[np.int64]]]
    who: list[int]
    delays: list[tuple[int, Floats]]

    @property
    def delay(self) -> Floats | None:
        """All delays together, s per transfer."""
        return np.sum([seconds for _, seconds in self.delays], axis=0) if self.delays else None
