"""Several jobs on links whose capacities change and whose flows are diverted, against a literal world."""

import heapq
from dataclasses import replace
from itertools import count
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.engine import Cluster
from sim.fabric import connections
from sim.schedule import copy, unroll
from sim.topology import Device, Link, Routes, Topology
from tests.sim.test_fabric import fair_rates, interpreted
from tests.tables import each_row


class Job(NamedTuple):
    """Transfers that start together: routes, bytes, whether each is added up at its end, and what each waits for.

    Those of one pair of devices and one channel share a connection; each has its own unless they say otherwise.
    """

    begins: float
    routes: list
    sizes: list
    adds: list
    waits: list
    pairs: tuple = ()
    channels: tuple = ()

    def connection(self, k):
        """The pair and the channel of a transfer; a pair's number is that of its first transfer."""
        return (self.pairs[k], self.channels[k]) if self.pairs else (k, 0)


class World(NamedTuple):
    jobs: list
    capacity: list
    latency: list
    gamma: float
    changes: list
    """At a time a link gets another capacity, or the transfer of a number another way."""


class Literal:
    """The same world moment by moment: everything is shared anew each time, and all is in dictionaries."""

    def __init__(self, world):
        self.jobs, self.latency, self.gamma = world.jobs, world.latency, world.gamma
        self.capacity, self.calendar, self.order, self.now = dict(enumerate(world.capacity)), [], count(), 0.0
        every = [(j, k) for j, job in enumerate(self.jobs) for k in range(len(job.routes))]
        self.route = {(j, k): list(self.jobs[j].routes[k]) for j, k in every}
        self.waits = {(j, k): set(self.jobs[j].waits[k]) for j, k in every}
        self.size = {(j, k): self.jobs[j].sizes[k] for j, k in every}
        self.ready, self.start, self.end, self.left = {}, {}, {}, {}
        self.connection = {(j, k): (j, *self.jobs[j].connection(k)) for j, k in every}
        self.lines = {connection: [] for connection in self.connection.values()}
        for j, job in enumerate(self.jobs):
            self.enter(job.begins, self.job, j)
        for time, what, value in world.changes:
            self.enter(time, self.divert if isinstance(value, list) else self.limit, what, value)

    def times(self):
        """When every transfer was ready, began to flow and ended."""
        while self.calendar or self.left or any(self.lines.values()):
            self.flow()
            while self.calendar and self.calendar[0][0] <= self.now * (1 + 1e-13):
                _, _, happens, words = heapq.heappop(self.calendar)
                happens(*words)
        return [[column[i] for i in self.route] for column in (self.ready, self.start, self.end)]

    def flow(self):
        """Up to whatever comes next, each at its fair rate."""
        busy = {self.connection[i] for i in self.left}
        for i in [min(line) for connection, line in self.lines.items() if line and connection not in busy]:
            self.lines[self.connection[i]].remove(i)
            self.start[i], self.left[i] = self.now, self.size[i]
        rates = fair_rates({i: self.route[i] for i in self.left}, self.capacity)
        soonest = min((self.left[i] / rates[i] for i in self.left if rates[i] > 0), default=np.inf)
        step = min(soonest, self.calendar[0][0] - self.now if self.calendar else np.inf)
        self.now += step
        self.left = {i: b - rates[i] * step for i, b in self.left.items()}
        for i in [i for i, b in self.left.items() if b <= 1e-9 * self.size[i]]:
            del self.left[i]
            self.arrive(i)

    def enter(self, time, happens, *words):
        heapq.heappush(self.calendar, (time, next(self.order), happens, words))

    def job(self, j):
        for i in [i for i in self.route if i[0] == j and not self.waits[i]]:
            self.launch(i)

    def launch(self, i):
        self.ready[i] = self.now
        self.enter(self.now + sum(self.latency[k] for k in self.route[i]), self.begin, i)

    def begin(self, i):
        if self.size[i] and self.route[i]:
            self.lines[self.connection[i]].append(i)
        else:
            self.start[i] = self.now
            self.arrive(i)

    def arrive(self, i):
        wait = self.gamma * self.size[i] if self.jobs[i[0]].adds[i[1]] else 0.0
        if wait:
            self.enter(self.now + wait, self.finish, i)
        else:
            self.finish(i)

    def finish(self, i):
        self.end[i] = self.now
        for other in [other for other in self.route if other[0] == i[0] and i[1] in self.waits[other]]:
            self.waits[other].remove(i[1])
            if not self.waits[other]:
                self.launch(other)

    def limit(self, link, rate):
        self.capacity[link] = rate

    def divert(self, i, way):
        if i in self.left:
            self.route[i] = way


@st.composite
def worlds(draw):
    """Few links, up to three jobs of few transfers; whatever is cut off comes back."""
    links = draw(st.integers(1, 5))
    whole = st.integers(1, 20).map(lambda x: x * 1e9)
    capacity = draw(st.lists(whole, min_size=links, max_size=links))
    latency = draw(st.lists(st.integers(0, 5).map(lambda x: x * 1e-3), min_size=links, max_size=links))
    link = st.integers(0, links - 1)
    jobs = []
    for j in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 7))
        ways = [draw(st.lists(link, max_size=3)) for _ in range(size)]
        pairs = []
        for k in range(size):
            p = draw(st.integers(0, k))
            pairs.append(pairs[p] if p < k else k)
        jobs.append(
            Job(
                0.0 if not j else draw(st.integers(0, 30)) * 1e-3,
                [ways[p] for p in pairs],
                [draw(st.sampled_from([0, 1, 2, 3, 5, 8])) * 1e7 for _ in range(size)],
                [draw(st.booleans()) for _ in range(size)],
                [draw(st.sets(st.integers(0, k - 1), max_size=2)) if k else set() for k in range(size)],
                tuple(pairs),
                tuple(draw(st.sampled_from((0, 0, 0, 7))) for _ in range(size)),
            )
        )
    changes = []
    for k in range(draw(st.integers(0, 8))):
        at = draw(st.integers(0, 40)) * 1e-3 + (k + 1) * 1.234567e-5  # nothing else happens at that instant
        if not draw(st.integers(0, 2)):
            changes.append((at, draw(link), draw(st.sampled_from((0.0, 1e9, 4e9, 40e9)))))
        else:
            j = draw(st.integers(0, len(jobs) - 1))
            k = draw(st.integers(0, len(jobs[j].routes) - 1))
            changes.append((at, (j, k), draw(st.lists(link, min_size=1, max_size=3))))
    changes += [(5.0 + k * 1e-5, k, rate) for k, rate in enumerate(capacity)]
    return World(jobs, capacity, latency, draw(st.sampled_from((0.0, 1e-10))), sorted(changes, key=lambda c: c[0]))


def ours(world, *, history):
    """The traces of the same jobs in one cluster."""
    base = np.cumsum([0, *(len(job.routes) for job in world.jobs)])
    routes = [route for job in world.jobs for route in job.routes]
    devices = tuple(Device(f"D{i}", "GPU") for i in range(2 * max(len(routes), len(world.capacity))))
    links = tuple(
        Link(f"D{2 * i}", f"D{2 * i + 1}", c, a)
        for i, (c, a) in enumerate(zip(world.capacity, world.latency, strict=True))
    )

    def router(ways):
        def route(src, dst):
            some = [ways[s // 2] for s in src]
            offsets = np.cumsum([0, *map(len, some)])
            return Routes(offsets.astype(np.int32), np.array([k for way in some for k in way], np.int32))

        return route

    topology = Topology("world", devices, links, gamma=world.gamma, router=router(routes))
    cluster, events = Cluster(topology, history=history), {}

    def starter(j, job):
        yield cluster.env.timeout(job.begins)
        every = np.arange(len(job.routes))
        pair, channel = np.array([job.connection(k) for k in every]).T
        order = [(a, b) for b in every.tolist() for a in sorted(job.waits[b])]
        messages = copy(2 * pair, 2 * pair + 1, every, channel=channel)
        schedule = replace(
            unroll([messages], name=f"job {j}", n=2 * len(every), promise=None),
            op=np.array(job.adds, np.uint8),
            fixed_bytes=np.array(job.sizes),
            after=tuple(np.array([pair[k] for pair in order], np.int32) for k in (0, 1)),
        )
        group = [2 * int(base[j]) + x for x in range(2 * len(every))]
        events[j] = yield cluster.start(schedule, group=group)

    def changer():
        for time, what, value in world.changes:
            yield cluster.env.timeout(time - cluster.env.now)
            if not isinstance(value, list):
                cluster.set_bandwidth(what, value)
                continue
            arena, i = cluster.arena, int(base[what[0]]) + what[1]
            row = cluster_row(cluster, what)
            if row is not None and row in arena.flowing():
                ways = list(routes)
                ways[i] = value
                arena.topology = replace(topology, router=router(ways))
                ends = (np.array([2 * i + side], np.int32) for side in (0, 1))
                (other,) = arena.other_routes(np.array([row]), arena.topology.routes(*ends)).tolist()
                arena.topology = topology
                cluster.kernel.divert(arena.fabric, arena.crossbar, row, other, float(cluster.env.now))

    done = [cluster.env.process(starter(j, job)) for j, job in enumerate(world.jobs)]
    cluster.env.process(changer())
    cluster.run(cluster.env.all_of(done))
    return [events[j] for j in range(len(world.jobs))]


def cluster_row(cluster, what):
    """The row of a transfer of a job, once it has been launched."""
    job = next((job for job in cluster.jobs if job.schedule.name == f"job {what[0]}"), None)
    return None if job is None else job.first + what[1]


LATER = [
    Job(
        0.0,
        [[1], [2], [0], [0]],
        [1.5e9, whole, 1e9, 2e9],
        [False] * 4,
        [set(), set(), {0}, {1}],
        (0, 1, 2, 2),
        (0,) * 4,
    )
    for whole in (0.0, 1e9)
]
"""The last has its connection from exactly 0 or 1 s on, and the one before it comes half a second later, or more."""

# the second of a connection's two messages is sent another way, whose latency it does not pay
DIVERTED = Job(0.0, [[0], [0]], [1e7, 1e7], [False] * 2, [set(), set()], (0, 0), (0, 0))


@example(World(LATER[:1], [1e9] * 3, [0.0] * 3, 0.0, []), False)
@example(World(LATER[1:], [1e9] * 3, [0.0] * 3, 0.0, []), False)
@example(World([DIVERTED], [7e9, 1e9], [0.0, 0.003], 0.0, [(0.002, (0, 1), [1])]), False)
@given(worlds(), st.booleans())
def test_every_transfer_is_ready_begins_and_ends_when_a_literal_world_says(world, history):
    traces = ours(world, history=history)
    for mine, theirs in zip(("ready", "start", "end"), Literal(world).times(), strict=True):
        column = np.concatenate([getattr(trace, mine) for trace in traces])
        assert column == pytest.approx(theirs, rel=1e-9, abs=1e-12), mine
    for job, trace in zip(world.jobs, traces, strict=True):
        assert trace.ended == max(trace.end)
        for i, waits in enumerate(job.waits):
            cause = trace.cause[i]
            if trace.left[i] > trace.ready[i]:
                assert job.connection(cause) == job.connection(i)
                assert trace.arrived[cause] == pytest.approx(trace.start[i], rel=1e-12)
            else:
                assert (cause in waits and trace.end[cause] == trace.ready[i]) if waits else cause == -1
        if history:
            for i, size in enumerate(job.sizes):
                times, rates = trace.rates(i)
                sent = (rates * np.diff([*times, trace.arrived[i]])).sum()
                assert not job.routes[i] or sent == pytest.approx(size, rel=1e-9, abs=1e-3)


def job(routes, sizes):
    """Transfers that all begin at once and wait for nothing."""
    return Job(0.0, routes, sizes, [False] * len(routes), [set() for _ in routes])


def test_whoever_comes_later_than_it_should_stands_between_others_in_line():
    """One connection, links 1 and 2 beside it: its third waits for the slower of these, its last for the faster."""
    waits = [set(), set(), set(), set(), {1}, {0}]
    routes, sizes = [[1], [2], [0], [0], [0], [0]], [1e6, 2e6, 9e6, 8e6, 7e6, 6e6]
    world = World(
        [Job(0.0, routes, sizes, [False] * 6, waits, (0, 1, 2, 2, 2, 2), (0,) * 6)], [1e9] * 3, [0.0] * 3, 0.0, []
    )
    (trace,) = ours(world, history=False)
    assert trace.end == pytest.approx(Literal(world).times()[2], rel=1e-9)


def test_whoever_began_at_an_instant_at_which_an_earlier_one_comes_too_gives_way():
    """The first two end at one instant, and let the fourth begin before the third; the last flows beside them."""
    waits = [set(), set(), {1}, {0}, set()]
    routes, sizes = [[1], [2], [0], [0], [3]], [1e6, 1e6, 3e6, 2e6, 9e6]
    world = World(
        [Job(0.0, routes, sizes, [False] * 5, waits, (0, 1, 2, 2, 4), (0,) * 5)], [1e9] * 4, [0.0] * 4, 0.0, []
    )
    taken_back = mock.patch.object(connections, "take_back", side_effect=connections.take_back)
    with interpreted(), taken_back as take_back:
        (trace,) = ours(world, history=False)
    assert take_back.call_count == 1
    assert trace.end == pytest.approx(Literal(world).times()[2], rel=1e-9)


@each_row("leaves", range(4))
@each_row("held", [2, 3])
def test_whoever_leaves_a_crowded_link_the_others_go_on(held, leaves):
    """Link 0 holds back two or three, and link 1 two more until it is wider; the way one takes instead is in use."""
    crowd = [([2], 9e7), ([0], 8e7), ([0, 1], 3e7), ([0], 7e7), ([0, 1], 2e7), ([0], 6e7)][: held + 3]
    begun = job([route for route, _ in crowd], [size for _, size in crowd])
    world = World([begun], [9e9, 1e9, 5e9], [0.0] * 3, 0.0, [(1e-3, (0, 1 + leaves), [2]), (2e-3, 1, 20e9)])
    (trace,) = ours(world, history=False)
    assert trace.end == pytest.approx(Literal(world).times()[2], rel=1e-9)


def test_the_last_byte_of_a_long_way_comes_through_at_a_trickle():
    """Two send 4 GiB and a byte; then the link lets a byte a second through for each, less than what rounding loses."""
    world = World([job([[0], [0]], [2.0**32 + 1] * 2)], [2.0**33], [0.0], 0.0, [(1.0, 0, 2.0)])
    (trace,) = ours(world, history=False)
    assert trace.end == pytest.approx([2.0, 2.0], rel=1e-9)
    world = World([job([[0]], [1.0])], [0.25], [0.0], 0.0, [])
    assert ours(world, history=False)[0].end == pytest.approx([4.0])


def test_many_jobs_at_once_end_each_for_itself():
    jobs = [Job(k * 1e-3, [[k % 3]] * 2, [1e7 * (1 + k % 4)] * 2, [False] * 2, [set(), {0}]) for k in range(19)]
    world = World(jobs, [10e9, 4e9, 1e9], [0.0] * 3, 0.0, [])
    traces = ours(world, history=False)
    ends = np.concatenate([trace.end for trace in traces])
    assert ends == pytest.approx(Literal(world).times()[2], rel=1e-9)
    assert [trace.began for trace in traces] == pytest.approx([job.begins for job in jobs])
    assert [trace.ended for trace in traces] == [trace.end[1] for trace in traces]
