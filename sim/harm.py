"""What troubles do to a world: links limited, ways closed, transfers held back, and whom it bore on."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.errors import StalledError
from sim.net import LOAD
from sim.schedule import Schedule, copy, unroll
from sim.topology import Floats, Ints
from sim.trace import NO_HITS, Hits
from sim.trouble import Running, Trouble
from sim.trouble.links import without

if TYPE_CHECKING:
    from sim.engine import Cluster, Event, Job

PATIENCE = 1000
"""Messages of background traffic that a collective may see pass without moving at all, beside a dead link."""


class Held(NamedTuple):
    """How troubles hold a job's transfers back.

    `gates` are seconds and the transfers they hold, `who` the trouble of each; `delays` are seconds per transfer
    that a trouble adds.
    """

    gates: list[tuple[float, NDArray[np.int64]]]
    who: list[int]
    delays: list[tuple[int, Floats]]

    @property
    def delay(self) -> Floats | None:
        """All delays together."""
        return np.sum([seconds for _, seconds in self.delays], axis=0) if self.delays else None


class _Spell(NamedTuple):
    """Trouble `number` bears on `links` from `start` to `end` s."""

    number: int
    links: Sequence[int] | Ints
    start: float
    end: float


class Harm:
    """The troubles of a cluster at work; their processes act through it."""

    def __init__(self, cluster: "Cluster", troubles: Sequence[Trouble]) -> None:
        self.cluster, self.env = cluster, cluster.env
        self.troubles = tuple(troubles)
        self._shares: dict[int, dict[int, float]] = {}
        self._spells: list[_Spell] = []
        self._avoided: dict[int, Sequence[int]] = {}
        self._due = self._vain = self._left = 0
        for number, one in enumerate(self.troubles):
            if one.process is not None:
                self.begin(one.process(self, number))

    def begin(self, process: Running) -> None:
        """Begin a process at once: what troubles a world from its first moment is there before anything starts."""
        first = next(process, None)
        if first is not None:
            self.env.process(_resumed(process, first))

    def wait(self, moment: float) -> Running:
        """Wait for a moment of the world unless it has come; until then nothing counts as stalled."""
        if moment > self.env.now:
            self._due += 1
            yield self.env.timeout(moment - self.env.now)
            self._due -= 1

    def limit(self, number: int, link: int, share: float) -> None:
        """Leave a link only a share of its bandwidth, on behalf of a trouble; shares of several multiply."""
        shares = self._shares.setdefault(link, {})
        shares[number] = share
        self.cluster.set_bandwidth(link, self.cluster.topology.links[link].bandwidth * math.prod(shares.values()))

    def bears(self, number: int, links: Sequence[int] | Ints, start: float, end: float) -> None:
        """Note that a trouble bears on links from `start` to `end`, for traces to tell."""
        self._spells.append(_Spell(number, links, start, end))

    def send(self, src: int, dst: int, size: float) -> "Event":
        """Send a message that belongs to no collective between two devices, now; the event is its arrival.

        Raises StalledError when such messages are all that still moves.
        """
        self._despair()
        return self.cluster.launch(_message(), [src, dst], np.array([size]), background=True)

    def avoid(self, number: int, links: Sequence[int]) -> None:
        """Take other ways than over these links from now on, on behalf of a trouble; none brings the old ways back.

        What has not begun goes another way whole, what is under way with the bytes that are left. Raises
        UnreachableError where there is no other way.
        """
        self._avoided[number] = links
        shut = sorted({link for some in self._avoided.values() for link in some})
        cluster, arena = self.cluster, self.cluster.arena
        plain = cluster.topology
        arena.topology = replace(plain, router=without(plain, shut)) if shut else plain
        flying = set(arena.flowing())
        for job in cluster.jobs:
            if job.event.triggered:
                continue
            rows = np.arange(job.first, job.first + job.schedule.transfers)
            rows = rows[np.isnan(arena.world.start[rows]) | np.isin(rows, list(flying))]
            src, dst = (job.devices[side[rows - job.first]] for side in (job.schedule.src, job.schedule.dst))
            for row, route in zip(rows.tolist(), arena.other_routes(rows, src, dst).tolist(), strict=True):
                if row in flying:
                    cluster.kernel.divert(arena.world, row, route, float(self.env.now))
                else:
                    arena.world.route[row] = route

    def dead(self) -> list[int]:
        """Links without bandwidth that hold up flows."""
        net = self.cluster.arena.world.net
        found: list[int] = np.nonzero((net.capacity == 0) & (net.use[:, LOAD] > 0))[0].tolist()
        return found

    def _despair(self) -> None:
        """Raise StalledError when a thousand messages in a row have seen a dead link hold up all the rest."""
        world = self.cluster.arena.world
        left = sum(int(world.job_left[k]) for k, job in enumerate(self.cluster.jobs) if not job.background)
        self._vain = self._vain + 1 if left == self._left and not self._due and self.dead() else 0
        self._left = left
        if self._vain > PATIENCE:
            raise StalledError(self.cluster.stalled())

    def held(self, schedule: Schedule, devices: Sequence[int], sizes: Floats) -> Held:
        """How a schedule that starts now is held back."""
        found = Held([], [], [])
        for number, one in enumerate(self.troubles):
            for rank in (r for r in range(schedule.n) if one.late.get(devices[r], 0.0) > self.env.now):
                mine = np.nonzero((schedule.src == rank) | (schedule.dst == rank))[0]
                found.gates.append((one.late[devices[rank]] - self.env.now, mine))
                found.who.append(number)
            if one.delay is not None:
                found.delays.append((number, one.delay(schedule, sizes)))
        return found

    def hits(self, job: "Job") -> Hits:
        """Which troubles bore on which transfers of a job that has ended."""
        arena, rows = self.cluster.arena, slice(job.first, job.first + job.schedule.transfers)
        world = arena.world
        found: list[tuple[int, Any, Any]] = []
        for gate, number in enumerate(job.held.who, job.stop - len(job.held.who)):
            late = np.nonzero(world.cause[rows] == gate)[0]
            found.append((number, late, world.ready[rows][late] - job.started))
        for number, seconds in job.held.delays:
            late = np.nonzero(seconds > 0)[0]
            found.append((number, late, seconds[late]))
        for number, links, start, end in self._spells:
            under = np.minimum(world.end[rows], end) - np.maximum(world.start[rows], start)
            borne = np.nonzero(arena.crosses(world.route[rows], links) & (under > 0))[0]
            found.append((number, borne, under[borne]))
        if not found:
            return NO_HITS
        numbers = np.repeat([number for number, _, _ in found], [len(which) for _, which, _ in found])
        transfers, seconds = (np.concatenate([row[k] for row in found]) for k in (1, 2))
        return Hits(numbers.astype(np.int32), transfers.astype(np.int32), seconds.astype(np.float64))


def _resumed(process: Running, event: "Event") -> Running:
    """The rest of a process that has begun and waits for an event."""
    while True:
        value = yield event
        try:
            event = process.send(value)
        except StopIteration:
            return


@cache
def _message() -> Schedule:
    """One message from the first of two places to the second, promised to nobody."""
    return unroll(iter([copy(0, 1, slot=0)]), name="background", n=2, promise=None, unit_share=1.0)
