"""Memory for the fabric: the rows of all schedules of a world, laid end to end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim import fabric
from sim.dependencies import gated
from sim.dependencies import lockstep as lockstep_waits
from sim.fabric import World
from sim.schedule import COPY, Schedule
from sim.topology import Floats, Ints, Routes, Topology

_PER_TRANSFER = ("op", "route", "size", "pending", "job", "ready", "start", "end", "cause")
_DTYPES = {"op": np.uint8, "route": np.int32, "pending": np.int32, "job": np.int32, "cause": np.int32}

Gates = Sequence[tuple[float, NDArray[np.int64]]]
"""Seconds, and the transfers they hold back."""


class Arena:
    """Owns a World and lets it grow, a schedule at a time.

    Capacity is claimed for the worst case; pages that are never written cost nothing.
    """

    def __init__(self, topology: Topology, *, history: bool) -> None:
        self.topology = topology
        self.keeps_history = history
        self.rows = self.jobs = self.edges = self.hops = 0
        self.routes = Routes(np.zeros(1, np.int32), np.zeros(0, np.int32))
        self.world = self._empty()

    def add(
        self,
        schedule: Schedule,
        devices: Sequence[int],
        sizes: Floats,
        job: int,
        *,
        lockstep: bool,
        delay: Floats | None = None,
        gates: Gates = (),
    ) -> tuple[int, int]:
        """Append a schedule's transfers as job number `job`; returns its first row and the row after its last.

        `delay` are seconds that each waits longer before it flows. A gate holds transfers back for some seconds
        from the launch on; gates are the last rows.
        """
        waits = lockstep_waits(schedule) if lockstep else schedule.waits
        waits = gated(waits, [held for _, held in gates])
        route = self._add_routes(schedule, np.asarray(devices, np.int32))
        if delay is not None:
            route = self._delayed(route, delay)
        first, stop = self.rows, self.rows + waits.rows
        self._grow(stop, self.edges + len(waits.after), job + 1)
        world, real = self.world, slice(first, first + schedule.transfers)
        marks = slice(real.stop, stop)
        in_switch = schedule.dst >= schedule.n  # a switch adds at the speed of its links
        world.op[real], world.route[real], world.size[real] = np.where(in_switch, COPY, schedule.op), route, sizes
        if marks.start < marks.stop:  # the marks between steps in lock-step stay where they are and cost nothing
            world.op[marks], world.size[marks] = 0, 0.0
            world.route[marks] = self._nowhere()
            if gates:
                world.route[stop - len(gates) : stop] = self._stay(np.array([s for s, _ in gates])) + np.arange(
                    len(gates)
                )
        world.pending[first:stop] = waits.pending
        world.after_start[first : stop + 1] = waits.start + self.edges
        np.add(waits.after, first, out=world.after[self.edges : self.edges + len(waits.after)], casting="unsafe")
        world.start[first:stop] = np.nan
        world.job[first:stop] = job
        world.job_left[job] = stop - first
        self.rows, self.edges, self.jobs = stop, self.edges + len(waits.after), job + 1
        return first, stop

    def make_room(self) -> None:
        """Double the room for rate changes when it may run out."""
        world = self.world
        if self.keeps_history and fabric.history_is_short(world):
            self.world = world._replace(
                history_transfer=_longer(world.history_transfer, 2 * len(world.history_transfer)),
                history=_longer(world.history, 2 * len(world.history)),
            )

    def _add_routes(self, schedule: Schedule, devices: NDArray[np.int32]) -> NDArray[np.int32]:
        """Route numbers of every transfer, after entering the routes it needs."""
        n = schedule.places
        pair = schedule.src * np.int64(n) + schedule.dst
        used = np.zeros(n * n, bool)
        used[pair] = True
        pairs = np.nonzero(used)[0]
        number = np.empty(n * n, np.int32)
        number[pairs] = np.arange(len(self.world.lead), len(self.world.lead) + len(pairs), dtype=np.int32)
        offsets, links = self.topology.routes(devices[pairs // n], devices[pairs % n])
        latency = _sums(self.topology.latency[links], offsets)
        overhead = np.where(pairs // n < schedule.n, self.topology.overhead, 0.0)  # a switch runs no software
        lead = np.where(np.diff(offsets) > 0, overhead + latency, 0.0)
        self._enter(offsets, links, lead)
        number_of: NDArray[np.int32] = number[pair]
        if schedule.work is not None:
            working = np.nonzero(schedule.work > 0)[0]
            seconds, which = np.unique(schedule.work[working], return_inverse=True)
            number_of[working] = self._stay(seconds) + which
        return number_of

    def _delayed(self, route: NDArray[np.int32], delay: Floats) -> NDArray[np.int32]:
        """Route numbers when what is delayed has a route of its own, with the same links and a longer lead."""
        late = np.nonzero(delay > 0)[0]
        old = route[late]
        offsets, links = self.routes
        hops = np.diff(offsets)[old]
        starts = np.concatenate([[0], np.cumsum(hops)]).astype(np.int32)
        crossed = links[np.arange(starts[-1]) + np.repeat(offsets[old] - starts[:-1], hops)]
        changed = route.copy()
        changed[late] = np.arange(len(self.world.lead), len(self.world.lead) + len(late), dtype=np.int32)
        self._enter(starts, crossed, self.world.lead[old] + delay[late])
        return changed

    def other_routes(self, rows: NDArray[np.int64], src: Ints, dst: Ints) -> Ints:
        """Enter the routes as they are now between devices, with leads longer by the detour; returns their numbers."""
        first, old, latency = len(self.world.lead), self.world.route[rows], self.topology.latency
        offsets, links = self.topology.routes(src, dst)
        before = _sums(latency[self.routes.links], self.routes.offsets)[old]
        self._enter(offsets, links, self.world.lead[old] + _sums(latency[links], offsets) - before)
        return np.arange(first, first + len(rows), dtype=np.int32)

    def crosses(self, route: Ints, links: Sequence[int] | Ints) -> NDArray[np.bool_]:
        """Which of some route numbers cross any of these links."""
        troubled = np.isin(self.routes.links, links)
        sums = np.concatenate([[0], np.cumsum(troubled)])
        return (sums[self.routes.offsets[1:]] > sums[self.routes.offsets[:-1]])[route]

    def _nowhere(self) -> int:
        """The number of a route that leaves no device."""
        return self._stay(np.zeros(1))

    def _stay(self, seconds: Floats) -> int:
        """The number of the first of new routes that leave no device and take so long."""
        self._enter(np.zeros(len(seconds) + 1, np.int32), np.zeros(0, np.int32), seconds)
        return len(self.world.lead) - len(seconds)

    def _enter(self, offsets: NDArray[np.int32], links: NDArray[np.int32], lead: Floats) -> None:
        old = self.routes
        self.routes = Routes(
            np.concatenate([old.offsets, offsets[1:] + np.int32(len(old.links))]).astype(np.int32),
            np.concatenate([old.links, links]).astype(np.int32),
        )
        self.hops = max(self.hops, int(np.diff(offsets).max(initial=0)))
        self.world = self.world._replace(
            route_start=self.routes.offsets,
            route_links=self.routes.links,
            lead=np.concatenate([self.world.lead, lead]),
        )

    def _empty(self) -> World:
        m = len(self.topology.links)

        def ints(k: int) -> NDArray[np.int64]:
            return np.empty(k, np.int64)

        def floats(k: int) -> Floats:
            return np.empty(k, np.float64)

        world = World(
            count=np.zeros(11, np.int64),
            now=np.zeros(1),
            gamma=np.array([self.topology.gamma]),
            capacity=self.topology.bandwidth.copy(),
            use=np.zeros((m, 5), np.int32),
            room=floats(m),
            route_start=self.routes.offsets,
            route_links=self.routes.links,
            lead=floats(0),
            **{name: np.empty(0, _DTYPES.get(name, np.float64)) for name in _PER_TRANSFER},
            after_start=np.zeros(1, np.int64),
            after=np.empty(0, np.int32),
            group=np.empty((0, 7), np.int32),
            motion=np.empty((0, 4)),
            heap_time=floats(0),
            heap=np.empty((0, 2), np.int32),
            nodes=np.empty((0, 2), np.int32),
            last_time=np.zeros(3),
            last_node=np.full(3, fabric.NONE, np.int32),
            arrived=ints(0),
            spoilt=ints(m),
            flows=ints(0),
            uses=ints(0),
            links=ints(m),
            level=floats(m),
            level_link=ints(m),
            job_left=np.zeros(0, np.int64),
            job_end=floats(0),
            finished=ints(0),
            history_transfer=np.empty(0, np.int32),
            history=np.empty((0, 2)),
        )
        world.count[fabric.SPARE_NODE] = world.count[fabric.SPARE_FLOW] = fabric.NONE
        return world

    def _grow(self, rows: int, edges: int, jobs: int) -> None:
        world = self.world
        bigger: dict[str, Any] = {}
        if rows > len(world.op):
            room = rows if not self.rows else max(rows, 2 * len(world.op))
            for name in (*_PER_TRANSFER, "group", "motion", "arrived", "flows"):
                bigger[name] = _longer(getattr(world, name), room)
            bigger["after_start"] = _longer(world.after_start, room + 1)
            for name in ("heap_time", "heap", "nodes"):
                bigger[name] = _longer(getattr(world, name), 4 * room + 64)
            bigger["spoilt"] = _longer(world.spoilt, room + len(world.capacity))
            if self.keeps_history:
                bigger["history_transfer"] = _longer(world.history_transfer, 8 * room + 1024)
                bigger["history"] = _longer(world.history, 8 * room + 1024)
        uses = self.hops * max(rows, len(world.op))
        if uses > len(world.uses):
            bigger["uses"] = _longer(world.uses, 2 * uses if self.rows else uses)
        if edges > len(world.after):
            bigger["after"] = _longer(world.after, edges if not self.edges else max(edges, 2 * len(world.after)))
        if jobs > len(world.job_left):
            for name in ("job_left", "job_end", "finished"):
                bigger[name] = _longer(getattr(world, name), max(jobs, 2 * len(world.job_left)))
        self.world = world._replace(**bigger)


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The same content with room for `length` rows."""
    if length <= len(array):
        return array
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _sums(values: Floats, offsets: NDArray[np.int32]) -> Floats:
    """Sums of consecutive runs, each added on its own: differences of one long running sum would round."""
    sums = np.zeros(len(offsets) - 1)
    filled = offsets[:-1] < offsets[1:]
    if filled.any():
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled])
    return sums
