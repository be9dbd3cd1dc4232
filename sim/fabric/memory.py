"""Memory for the fabric: the rows of all schedules of a world, laid end to end."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import take
from sim.fabric import kernel
from sim.fabric.calendar import calendar
from sim.fabric.kernel import World
from sim.fabric.links import BOTTLENECK, LISTED, LOAD, LONE, NONE, STILL, TAKEN, TICKET, TRANSFER, Net
from sim.schedule import COPY, Schedule, dependencies
from sim.topology import Floats, Ints, Routes, Topology

_PER_TRANSFER = ("op", "route", "size", "pending", "ready", "start", "end", "cause")
_DTYPES = {"op": np.uint8, **dict.fromkeys(("route", "pending", "cause", "wave"), np.int32)}

Gates = Sequence[tuple[float, NDArray[np.int64]]]
"""Seconds, and the transfers they hold back."""


class Arena:
    """Owns a World and lets it grow, a schedule at a time.

    Capacity is claimed for the worst case; pages that are never written cost nothing.
    """

    def __init__(self, topology: Topology, *, history: bool) -> None:
        self.topology = topology
        self.keeps_history = history
        self.rows = self.jobs = self.edges = 0
        self.routes = Routes(np.zeros(1, np.int32), np.zeros(0, np.int32))
        self.claims = np.zeros(len(topology.links), np.int64)
        self.world = self._empty()

    def add(
        self,
        schedule: Schedule,
        devices: Sequence[int],
        sizes: Floats,
        job: int,
        time: float,
        *,
        lockstep: bool,
        delay: Floats | None = None,
        gates: Gates = (),
    ) -> tuple[int, int]:
        """Append a schedule's transfers as job number `job`, to start at `time`.

        Returns its first row and the row after its last.

        `delay` are seconds that each waits longer before it flows. A gate holds transfers back for some seconds
        from the launch on; gates are the last rows.
        """
        waits = dependencies.lockstep(schedule) if lockstep else dependencies.waits(schedule)
        waits = dependencies.gated(waits, [held for _, held in gates])
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
        if not first:  # as they are: nothing is written to them before there is more
            self.world = world = self.world._replace(after_start=waits.start, after=waits.after)
        else:
            world.after_start[first : stop + 1] = waits.start + self.edges
            np.add(waits.after, first, out=world.after[self.edges : self.edges + len(waits.after)], casting="unsafe")
        world.start[first:stop] = np.nan
        self._claim(route)
        world.job_stop[job], world.job_left[job] = stop, stop - first
        world.job_end[job] = time
        world.count[kernel.JOBS] = job + 1
        self.rows, self.edges, self.jobs = stop, self.edges + len(waits.after), job + 1
        return first, stop

    def make_room(self) -> None:
        """Double the room for rate changes when it may run out."""
        net = self.world.net
        if self.keeps_history and kernel.history_is_short(self.world):
            net = _wider(net, dict.fromkeys(("history_transfer", "history"), 2 * len(net.history)))
            self.world = self.world._replace(net=net)

    def flowing(self) -> list[int]:
        """The rows of all transfers under way."""
        net = self.world.net
        alone = net.use[:, LONE]
        rows = set(alone[alone != NONE].tolist())
        for link in np.nonzero(net.use[:, LOAD])[0]:
            slots = net.members[net.first[link] : net.first[link] + net.use[link, LISTED]]
            flows = net.flow[slots]
            rows.update(flows[flows[:, BOTTLENECK] != STILL, TRANSFER].tolist())
        return sorted(rows)

    def _add_routes(self, schedule: Schedule, devices: NDArray[np.int32]) -> NDArray[np.int32]:
        """Route numbers of every transfer, after entering the routes it needs."""
        n = schedule.places
        pair = schedule.src * np.int64(n) + schedule.dst
        order = np.arange(len(pair), dtype=np.int32)
        seen = np.empty(n * n, np.int32)
        seen[pair[::-1]] = order[::-1]
        pairs = pair[seen[pair] == order]  # as they are met: what happens together lies together
        number = seen
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
        offsets, links = take(*self.routes, old)
        changed = route.copy()
        changed[late] = np.arange(len(self.world.lead), len(self.world.lead) + len(late), dtype=np.int32)
        self._enter(offsets, links, self.world.lead[old] + delay[late])
        return changed

    def other_routes(self, rows: NDArray[np.int64], src: Ints, dst: Ints) -> Ints:
        """Enter the routes as they are now between devices, with leads longer by the detour; returns their numbers."""
        first, old, latency = len(self.world.lead), self.world.route[rows], self.topology.latency
        offsets, links = self.topology.routes(src, dst)
        before = _sums(latency[self.routes.links], self.routes.offsets)[old]
        self._enter(offsets, links, self.world.lead[old] + _sums(latency[links], offsets) - before)
        route = np.arange(first, first + len(rows), dtype=np.int32)
        self._claim(route)
        return route

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
        net = self.world.net._replace(route_start=self.routes.offsets, route_links=self.routes.links)
        self.world = self.world._replace(net=net, lead=np.concatenate([self.world.lead, lead]))

    def _empty(self) -> World:
        m = len(self.topology.links)

        def ints(k: int) -> NDArray[np.int64]:
            return np.empty(k, np.int64)

        def floats(k: int) -> Floats:
            return np.empty(k, np.float64)

        net = Net(
            count=np.zeros(5, np.int64),
            capacity=self.topology.bandwidth.copy(),
            use=np.zeros((m, 8), np.int32),
            pace=np.zeros((m, 5)),
            room=floats(m),
            unfixed=ints(m),
            parent=np.arange(m),
            beside=np.arange(m),
            first=np.zeros(m + 1, np.int64),
            members=np.empty(0, np.int32),
            ways=np.empty(0, np.int32),
            flow=np.empty((0, 2), np.int32),
            finish=floats(0),
            route_start=self.routes.offsets,
            route_links=self.routes.links,
            **{name: ints(m) for name in ("links", "spoilt", "bereft", "fired", "level_link")},
            level=floats(m + 4),
            history_transfer=np.empty(0, np.int32),
            history=np.empty((0, 2)),
        )
        net.use[:, LONE] = net.use[:, TICKET] = NONE
        return World(
            count=np.zeros(6, np.int64),
            now=np.zeros(1),
            gamma=np.array([self.topology.gamma]),
            net=net,
            calendar=calendar(3),
            lead=floats(0),
            **{name: np.empty(0, _DTYPES.get(name, np.float64)) for name in (*_PER_TRANSFER, "wave")},
            after_start=np.zeros(1, np.int64),
            after=np.empty(0, np.int32),
            job_stop=ints(0),
            job_left=ints(0),
            job_end=floats(0),
            finished=ints(0),
        )

    def _claim(self, route: Ints) -> None:
        """Make room in the lists of the links for more transfers, given by their route numbers."""
        offsets, links = self.routes
        crossing = np.repeat(np.bincount(route, minlength=len(offsets) - 1), np.diff(offsets))
        self.claims += np.bincount(links, crossing, len(self.claims)).astype(np.int64)
        net = self.world.net
        if (self.claims <= np.diff(net.first)).all():
            return
        first = np.concatenate([[0], np.cumsum(self.claims if not self.rows else 2 * self.claims)])
        lists = {name: getattr(net, name) for name in ("members", "ways", "flow", "finish")}
        wider = {name: np.empty((first[-1], *old.shape[1:]), old.dtype) for name, old in lists.items()}
        for link in np.nonzero(net.use[:, TAKEN] + net.use[:, LISTED])[0]:
            used = int(net.use[link, [LISTED, TAKEN]].max())
            for name, old in lists.items():
                wider[name][first[link] : first[link] + used] = old[net.first[link] : net.first[link] + used]
            slots = wider["members"][first[link] : first[link] + net.use[link, LISTED]]
            door = np.searchsorted(net.first, slots, side="right") - 1
            slots += (first[door] - net.first[door]).astype(np.int32)
        self.world = self.world._replace(net=net._replace(first=first, **wider))

    def _grow(self, rows: int, edges: int, jobs: int) -> None:
        """Make room for so many transfers, dependencies and jobs; twice that when it was not enough before."""
        world = self.world
        rooms: dict[str, int] = {}
        calendar, net = world.calendar, world.net
        if rows > len(world.op):
            room = rows if not self.rows else max(rows, 2 * len(world.op))
            rooms = {**dict.fromkeys((*_PER_TRANSFER, "wave"), room), "after_start": room + 1}
            calendar = _wider(calendar, dict.fromkeys(("time", "heap", "nodes"), 4 * room + 64))
            if self.keeps_history:
                net = _wider(net, dict.fromkeys(("history_transfer", "history"), 8 * room + 1024))
        if edges > len(world.after):
            rooms["after"] = edges if not self.edges else max(edges, 2 * len(world.after))
        if jobs > len(world.job_left):
            rooms.update(
                dict.fromkeys(("job_stop", "job_left", "job_end", "finished"), max(jobs, 2 * len(world.job_left)))
            )
        self.world = _wider(world._replace(calendar=calendar, net=net), rooms)


def _wider(arrays: Any, rooms: dict[str, int]) -> Any:
    """A named tuple of arrays in which some have room for so many rows at least."""
    return arrays._replace(**{name: _longer(getattr(arrays, name), room) for name, room in rooms.items()})


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
