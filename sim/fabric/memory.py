"""Memory for the fabric: the rows of all schedules of a fabric, laid end to end."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import blank
from sim.base.compiled import twin
from sim.base.ragged import counts_of, offsets_of, take
from sim.fabric import kernel, links
from sim.fabric.calendar import calendar
from sim.fabric.connections import no_connections
from sim.fabric.crossbar.group import width_of
from sim.fabric.crossbar.table import ROOT, crossbar
from sim.fabric.kernel import FabricState
from sim.fabric.links import (
    BOTTLENECK,
    GONE,
    HISTORY,
    LISTED,
    LOAD,
    LONE,
    NONE,
    OVERTAKEN,
    TAKEN,
    TICKET,
    TRANSFER,
    Net,
)
from sim.fabric.numbers import as_met, by_channel, tally
from sim.fabric.rows import nothing_alike
from sim.schedule import COPY, Schedule, dependencies
from sim.schedule.runs import StepRun, few, many
from sim.topology import Floats, Ints, Routes, Topology
from sim.topology.routing import through

PER_TRANSFER = ("op", "route", "connection", "behind", "size", "pending", "ready", "start", "end", "cause")
_DTYPES = {"op": np.uint8, **dict.fromkeys(("route", "connection", "behind", "pending", "cause", "wave"), np.int32)}

Gates = Sequence[tuple[float, NDArray[np.int64]]]
"""Seconds, and the transfers they hold back."""


class Arena:
    """Owns a FabricState and lets it grow, a schedule at a time.

    Capacity is claimed for the worst case; pages that are never written cost nothing.
    """

    def __init__(self, topology: Topology, *, history: bool) -> None:
        self.topology = topology
        self.keeps_history = history
        self.rows = self.jobs = self.edges = 0
        self.routes = Routes(np.zeros(1, np.int32), np.zeros(0, np.int32))
        self.claims = np.zeros(len(topology.links), np.int64)
        self.fabric = self._empty()
        self.crossbar = crossbar(len(topology.links), 0)

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
        route, connection = self._add_routes(schedule, np.asarray(devices, np.int32))
        if delay is not None:
            route = self._delayed(route, delay)
        first, stop = self.rows, self.rows + waits.rows
        self._grow(stop, self.edges + len(waits.after), job + 1)
        fabric, real = self.fabric, slice(first, first + schedule.transfers)
        marks = slice(real.stop, stop)
        op = schedule.op
        if schedule.switches:  # a switch adds at the speed of its links
            op = np.where(schedule.dst >= schedule.n, np.uint8(COPY), op)
        columns: dict[str, Any] = {"op": op, "route": route, "size": sizes, "connection": connection}
        if stop == schedule.transfers and all(
            column.flags.carray and column.dtype == getattr(fabric, name).dtype for name, column in columns.items()
        ):
            self.fabric = fabric = fabric._replace(**columns)  # as they are
        else:
            for name, column in columns.items():
                getattr(fabric, name)[real] = column
        if marks.start < marks.stop:  # the marks between steps in lock-step stay where they are and cost nothing
            fabric.op[marks], fabric.size[marks] = 0, 0.0
            fabric.route[marks] = self._nowhere()
            if gates:
                fabric.route[stop - len(gates) : stop] = self._stay(np.array([s for s, _ in gates])) + np.arange(
                    len(gates)
                )
        fabric.pending[first:stop] = waits.pending
        if not first:  # as they are: nothing is written to them before there is more
            self.fabric = fabric = self.fabric._replace(after_start=waits.start, after=waits.after)
        else:
            fabric.after_start[first : stop + 1] = waits.start + self.edges
            np.add(waits.after, first, out=fabric.after[self.edges : self.edges + len(waits.after)], casting="unsafe")
        fabric.start[first:stop] = np.nan
        fabric.behind[first:stop] = NONE
        self._claim(route, schedule.runs if delay is None and schedule.work is None else None)
        fabric.job_stop[job], fabric.job_left[job] = stop, stop - first
        fabric.job_end[job] = time
        fabric.count[kernel.JOBS] = job + 1
        self.rows, self.edges, self.jobs = stop, self.edges + len(waits.after), job + 1
        return first, stop

    def make_room(self) -> None:
        """Double the room for rate changes when it may run out."""
        net = self.fabric.net
        if self.keeps_history and kernel.history_is_short(self.fabric):
            net = wider(net, dict.fromkeys(("history_transfer", "history"), 2 * len(net.history)))
            self.fabric = self.fabric._replace(net=net)

    def limit(self, link: int, bandwidth: float) -> int:
        """Let a link carry so many B/s; returns its number in the fabric."""
        self.fabric.net.capacity[link] = bandwidth
        return link

    def note(self, links: Sequence[int] | Ints) -> None:
        """Keep from now on when transfers that cross these links begin and end; here all are kept anyway."""

    def flown(self, first: int, count: int) -> tuple[NDArray[np.int64], Ints, Floats, Floats]:
        """What is kept of `count` transfers from row `first` on: numbers, routes, when they began and ended, in s."""
        rows = slice(first, first + count)
        return np.arange(count), self.fabric.route[rows], self.fabric.start[rows], self.fabric.end[rows]

    def changes(self, begin: int, stop: int) -> tuple[Ints, Floats, Floats]:
        """Return the changes of rate of transfers from `begin` on: the transfer, s and B/s of each.

        One is left out where it was taken back, so that the transfer starts later, and where the rate changed once
        more at the instant of the start.
        """
        net = self.fabric.net
        kept = int(net.count[HISTORY])
        transfer = net.history_transfer[:kept]
        own = np.flatnonzero((transfer >= begin) & (transfer < stop))
        late = net.history[own, 0] - self.fabric.start[transfer[own]]
        first = own[late == 0][::-1]
        last = first[np.unique(transfer[first], return_index=True)[1]]
        own = np.sort(np.concatenate([own[late > 0], last]))
        return transfer[own], net.history[own, 0], net.history[own, 1]

    def flowing(self) -> list[int]:
        """The rows of all transfers under way."""
        net = self.fabric.net
        alone = net.state[:, LONE]
        rows = set(alone[alone != NONE].tolist())
        for link in np.nonzero(net.state[:, LOAD])[0]:
            slots = net.members[net.first[link] : net.first[link] + net.state[link, LISTED]]
            flows = net.flow[slots]
            rows.update(flows[flows[:, BOTTLENECK] != GONE, TRANSFER].tolist())
        return sorted(rows)

    def _add_routes(self, schedule: Schedule, devices: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
        """Numbers of the route and the connection of every transfer, after entering those it needs."""
        n, runs = schedule.places, schedule.runs
        pairs, pair = as_met(few(runs, schedule.src), few(runs, schedule.dst), n, n)
        on, channel, number = by_channel(pair, len(pairs), few(runs, schedule.channel))
        connection = self._connections(number, len(on), schedule)
        if schedule.via is None:
            on, number = np.arange(len(pairs)), pair
        number_of = many(runs, number, len(self.fabric.lead))
        src, dst = (end.astype(np.int32) for end in np.divmod(pairs[on], n))
        if schedule.via is None:
            routes = self.topology.routes(devices[src], devices[dst])
        else:
            stops = np.column_stack([devices[src], schedule.via(src, dst, channel), devices[dst]])
            routes = through(self.topology.routes, stops)
        self._enter(*routes, leads(self.topology, routes, software=src < schedule.n))  # no switch runs any
        if schedule.work is not None:
            working = np.nonzero(schedule.work > 0)[0]
            seconds, which = np.unique(schedule.work[working], return_inverse=True)
            number_of[working] = self._stay(seconds) + which
        return number_of, connection

    def _connections(self, number: Ints, count: int, schedule: Schedule) -> Ints:
        """Numbers of new connections, `count` of them, one for each pair of places and each channel between them.

        `number` is given for the first transfers of every run. Where most have a connection to themselves, what never
        meets another has none.
        """
        runs, rows = schedule.runs, schedule.transfers
        if count == rows:
            return np.full(count, NONE, np.int32)
        if 2 * count <= rows:
            first = int(self._connected(np.full(count, 2))[0])
            return many(runs, number, first)
        return many(runs, self._connected(tally(runs, number, count))[number])

    def _connected(self, members: NDArray[np.intp]) -> Ints:
        """New connections, on which nothing flows yet: their numbers by how many share each, NONE for one alone."""
        shared = members > 1
        connections = self.fabric.connections
        first, count = len(connections.state), int(shared.sum())
        more = np.full((count, connections.state.shape[1]), NONE, np.int32)
        connections = connections._replace(state=np.concatenate([connections.state, more]))
        self.fabric = self.fabric._replace(connections=connections)
        return np.where(shared, first + np.cumsum(shared) - 1, NONE).astype(np.int32)

    def _delayed(self, route: NDArray[np.int32], delay: Floats) -> NDArray[np.int32]:
        """Route numbers when what is delayed has a route of its own, with the same links and a longer lead."""
        late = np.nonzero(delay > 0)[0]
        old = route[late]
        offsets, links = take(*self.routes, old)
        changed = route.copy()
        changed[late] = np.arange(len(self.fabric.lead), len(self.fabric.lead) + len(late), dtype=np.int32)
        self._enter(offsets, links, self.fabric.lead[old] + delay[late])
        return changed

    def other_routes(self, rows: NDArray[np.int64], routes: Routes) -> Ints:
        """Enter the routes that rows take from now on, with leads longer by the detour; returns their numbers."""
        first, old = len(self.fabric.lead), self.fabric.route[rows]
        machine = self.topology
        before = leads(machine, Routes(*take(*self.routes, old)), software=False)
        self._enter(*routes, self.fabric.lead[old] + leads(machine, routes, software=False) - before)
        route = np.arange(first, first + len(rows), dtype=np.int32)
        self._claim(route)
        return route

    def crosses(self, route: Ints, links: Sequence[int] | Ints) -> NDArray[np.bool_]:
        """Which of some route numbers cross any of these links."""
        offsets, crossed = self.routes
        return (counts_of(offsets, np.isin(crossed, links)) > 0)[route]

    def _nowhere(self) -> int:
        """The number of a route that leaves no device."""
        return self._stay(np.zeros(1))

    def _stay(self, seconds: Floats) -> int:
        """The number of the first of new routes that leave no device and take so long."""
        self._enter(np.zeros(len(seconds) + 1, np.int32), np.zeros(0, np.int32), seconds)
        return len(self.fabric.lead) - len(seconds)

    def _enter(self, offsets: NDArray[np.int32], links: NDArray[np.int32], lead: Floats) -> None:
        old = self.routes
        self.routes = Routes(
            np.concatenate([old.offsets, offsets[1:] + np.int32(len(old.links))]).astype(np.int32),
            np.concatenate([old.links, links]).astype(np.int32),
        )
        net = self.fabric.net._replace(route_start=self.routes.offsets, route_links=self.routes.links)
        self.fabric = self.fabric._replace(net=net, lead=np.concatenate([self.fabric.lead, lead]))

    def _empty(self) -> FabricState:
        m = len(self.topology.links)

        def ints(k: int) -> NDArray[np.int64]:
            return np.empty(k, np.int64)

        def floats(k: int) -> Floats:
            return np.empty(k, np.float64)

        net = Net(
            count=np.zeros(8, np.int64),
            capacity=self.topology.bandwidth.copy(),
            state=np.zeros((m, 8), np.int32),
            clock=np.zeros((m, 5)),
            room=floats(m),
            unfixed=ints(m),
            parent=np.arange(m),
            ring=np.arange(m),
            order=np.zeros((m, 2), np.int64),
            first=np.zeros(m + 1, np.int64),
            members=np.empty(0, np.int32),
            elsewhere=np.empty(0, np.int32),
            flow=np.empty((0, 2), np.int32),
            finish=floats(0),
            route_start=self.routes.offsets,
            route_links=self.routes.links,
            **{name: ints(m) for name in ("links", "stale", "vacated", "fired", "level_link")},
            level=floats(m + 4),
            place=np.full(m, NONE, np.int64),
            history_transfer=np.empty(0, np.int32),
            history=np.empty((0, 2)),
        )
        net.state[:, LONE] = net.state[:, TICKET] = net.count[OVERTAKEN] = NONE
        return FabricState(
            count=np.zeros(5, np.int64),
            now=np.zeros(1),
            gamma=np.array([self.topology.gamma]),
            net=net,
            calendar=calendar(),
            lead=floats(0),
            **{name: np.empty(0, _DTYPES.get(name, np.float64)) for name in (*PER_TRANSFER, "wave")},
            after_start=np.zeros(1, np.int64),
            after=np.empty(0, np.int32),
            alike=nothing_alike(),
            connections=no_connections(),
            job_stop=ints(0),
            job_left=ints(0),
            job_end=floats(0),
            finished=ints(0),
        )

    def _claim(self, route: Ints, runs: Sequence[StepRun] | None = None) -> None:
        """Make room in the lists of the links for more transfers, given by their route numbers, and in which runs.

        Every link may have to list all transfers that ever cross it. Say 5 do: 2 over link 0, 3 over link 1, none over
        link 2. So lists begin at 0, 2 and 5, and the last ends at 5. Now one more crosses links 0 and 2. Claims of 3, 3
        and 1 do not fit, so all get twice what they claim: lists begin at 0, 6 and 12, and the last ends at 14. What
        was in slot 2, the first of link 1, is in slot 6 now, and lists that name slot 2 are corrected by 6 - 2.
        """
        offsets, links = self.routes
        runs = runs or (StepRun(0, len(route), len(route)),)
        taken = tally(runs, few(runs, route), len(offsets) - 1)
        crossing = np.repeat(taken, np.diff(offsets))
        self.claims += np.bincount(links, crossing, len(self.claims)).astype(np.int64)
        net = self.fabric.net
        width = width_of(self.routes, len(self.claims))
        if width > len(self.crossbar.slot) and self.crossbar.count[ROOT] == NONE and not self.keeps_history:
            self.crossbar = crossbar(len(self.claims), width)
        if (self.claims <= np.diff(net.first)).all():
            return
        first = offsets_of(self.claims if not self.rows else 2 * self.claims)
        lists = {name: getattr(net, name) for name in ("members", "elsewhere", "flow", "finish")}
        wider = {name: np.empty((first[-1], *old.shape[1:]), old.dtype) for name, old in lists.items()}
        for link in np.nonzero(net.state[:, TAKEN] + net.state[:, LISTED])[0]:
            used = int(net.state[link, [LISTED, TAKEN]].max())
            for name, old in lists.items():
                wider[name][first[link] : first[link] + used] = old[net.first[link] : net.first[link] + used]
            slots = wider["members"][first[link] : first[link] + net.state[link, LISTED]]
            entrance = np.searchsorted(net.first, slots, side="right") - 1
            slots += (first[entrance] - net.first[entrance]).astype(np.int32)
        self.fabric = self.fabric._replace(net=net._replace(first=first, **wider))

    def _grow(self, rows: int, edges: int, jobs: int) -> None:
        """Make room for so many transfers, dependencies and jobs in all; doubled when it was not enough before.

        A first schedule of 100 transfers gets room for 100, since most runs have only one. A second one of 30 needs 130
        and gets 200, so that a third of 60 finds room without a copy: growing costs a few copies, however many come.
        """
        fabric = self.fabric
        rooms: dict[str, int] = {}
        calendar, net = fabric.calendar, fabric.net
        if rows > len(fabric.op):
            room = rows if not self.rows else max(rows, 2 * len(fabric.op))
            rooms = {**dict.fromkeys((*PER_TRANSFER, "wave"), room), "after_start": room + 1}
            calendar = wider(calendar, dict.fromkeys(("time", "heap", "nodes"), 4 * room + 64), np.empty)
            if self.keeps_history:
                net = wider(net, dict.fromkeys(("history_transfer", "history"), 8 * room + 1024), np.empty)
        if edges > len(fabric.after):
            rooms["after"] = edges if not self.edges else max(edges, 2 * len(fabric.after))
        if jobs > len(fabric.job_left):
            rooms.update(
                dict.fromkeys(("job_stop", "job_left", "job_end", "finished"), max(jobs, 2 * len(fabric.job_left)))
            )
        self.fabric = wider(fabric._replace(calendar=calendar, net=net), rooms)


def wider(arrays: Any, rooms: dict[str, int], memory: Callable[..., NDArray[Any]] = blank) -> Any:
    """A named tuple of arrays in which some have room for so many rows at least; `numpy.empty` what few will touch."""
    return arrays._replace(**{name: longer(getattr(arrays, name), room, memory) for name, room in rooms.items()})


def longer(array: NDArray[Any], length: int, memory: Callable[..., NDArray[Any]] = blank) -> NDArray[Any]:
    """The same content with room for `length` rows."""
    if length <= len(array):
        return array
    longer = memory((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def leads(topology: Topology, routes: Routes, *, software: bool | NDArray[np.bool_] = True) -> Floats:
    """Return the lead of every route, s: the latencies of its links, after the overhead where `software` sends.

    A route within a device takes no time.
    """
    overhead = np.where(software & (np.diff(routes.offsets) > 0), topology.overhead, 0.0)
    lead = np.empty(len(overhead))
    twin(links, 12 * len(routes.links)).leads(overhead, topology.latency, *routes, lead)
    return lead
