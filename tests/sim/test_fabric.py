"""The kernel against an independent water-filling simulator, and against its own other speed."""

import heapq
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType, SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim import engine
from sim.base import compiled as compiler
from sim.base.compiled import compiled
from sim.engine import simulate
from sim.fabric import amend, calendar, connections, groups, links, lone, max_min, rows
from sim.fabric import kernel as fabric
from sim.fabric import memory as arena
from sim.fabric.crossbar import group, shares, table
from sim.machines import build
from sim.schedule import copy, unroll
from sim.topology import Device, Link, Routes, Topology
from tests.tables import each_row


def fair_rates(flows, capacity):
    """Max-min rates by definition: raise all together; a full link freezes its flows. Some cross a link twice."""
    rate = dict.fromkeys(flows, 0.0)
    growing = set(flows)
    while growing:
        step, full = min(
            (
                (capacity[link] - sum(rate[f] * flows[f].count(link) for f in flows))
                / sum(flows[f].count(link) for f in growing),
                link,
            )
            for link in {link for f in growing for link in flows[f]}
        )
        for f in growing:
            rate[f] += step
        growing -= {f for f in growing if full in flows[f]}
    return rate


def reference(routes, sizes, waits, capacity, latency):
    """When every transfer ends, moment by moment, everything solved again each time. Dictionaries only."""
    left_to_wait = {i: len(w) for i, w in enumerate(waits)}
    calendar = [(sum(latency[k] for k in routes[i]), i) for i in left_to_wait if not waits[i]]
    heapq.heapify(calendar)
    left, end, now = {}, {}, 0.0

    def finish(i, t):
        end[i] = t
        for j, w in enumerate(waits):
            if i in w:
                left_to_wait[j] -= 1
                if left_to_wait[j] == 0:
                    heapq.heappush(calendar, (t + sum(latency[k] for k in routes[j]), j))

    while calendar or left:
        rates = fair_rates({f: routes[f] for f in left}, capacity)
        soonest = min((left[f] / rates[f] for f in left), default=np.inf)
        step = min(soonest, calendar[0][0] - now if calendar else np.inf)
        now += step
        left = {f: b - rates[f] * step for f, b in left.items()}
        for f in [f for f, b in left.items() if b <= 1e-9 * sizes[f]]:
            del left[f]
            finish(f, now)
        while calendar and calendar[0][0] <= now * (1 + 1e-13):
            _, i = heapq.heappop(calendar)
            if sizes[i] == 0 or not routes[i]:
                finish(i, now)
            else:
                left[i] = sizes[i]
    return [end[i] for i in range(len(routes))]


@st.composite
def cases(draw):
    """A random net of links, random routes over it, random sizes and random dependencies."""
    links = draw(st.integers(1, 6))
    capacity = draw(st.lists(st.integers(1, 20).map(lambda x: x * 1e9), min_size=links, max_size=links))
    latency = draw(st.lists(st.integers(0, 5).map(lambda x: x * 1e-3), min_size=links, max_size=links))
    count = draw(st.integers(1, 14))
    routes = [draw(st.lists(st.integers(0, links - 1), max_size=3)) for _ in range(count)]
    sizes = [draw(st.sampled_from([0, 1, 2, 3, 5, 8])) * 1e7 for _ in range(count)]
    waits = [draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set() for i in range(count)]
    return routes, sizes, waits, capacity, latency


def ours(case, **options):
    """The same case through the simulator: a schedule of transfers whose order is its own program order."""
    routes, sizes, waits, capacity, latency = case
    count = len(routes)
    devices = tuple(Device(f"D{i}", "GPU") for i in range(2 * max(count, len(capacity))))
    links = tuple(
        Link(f"D{2 * i}", f"D{2 * i + 1}", c, a) for i, (c, a) in enumerate(zip(capacity, latency, strict=True))
    )

    def router(src, dst):
        mine = [routes[s // 2] for s in src]
        return Routes(
            np.cumsum([0, *map(len, mine)]).astype(np.int32), np.array([k for r in mine for k in r], np.int32)
        )

    i = np.arange(count)
    schedule = unroll([copy(2 * i, 2 * i + 1, slot=0)], name="case", n=2 * count, promise=None)
    order = [(a, b) for b in range(count) for a in waits[b]]
    before, after = (np.array([pair[k] for pair in order], np.int32) for k in (0, 1))
    schedule = replace(schedule, after=(before, after))
    with mock.patch.object(engine, "transfer_bytes", return_value=np.array(sizes)):
        return simulate(Topology("case", devices, links, router=router), schedule, 1, **options)


@contextmanager
def plain():
    """The plain kernel only, however long: one compiled here would keep what a test has put in place for its time."""
    never = mock.Mock(side_effect=AssertionError("a test of the plain kernel has compiled it"))
    untold = {"is_compiled": lambda module: False, "spent": lambda module, work: False, "patience": lambda: 1 << 40}
    with mock.patch.multiple(engine, compiled=never, **untold):
        yield


@contextmanager
def interpreted(few=0):
    """The plain kernel, in which groups of more links than a few are put right."""
    with (
        plain(),
        mock.patch.object(groups, "FEW", few),
        mock.patch.object(max_min, "FEW", few),
    ):
        yield


@given(cases())
def test_every_transfer_ends_when_independent_water_filling_says(case):
    with interpreted():
        assert ours(case, history=True).end == pytest.approx(reference(*case), rel=1e-9, abs=1e-15)


@given(cases())
def test_interpreted_and_compiled_agree_bit_for_bit(case):
    with plain():
        slow = ours(case, history=True)
    with mock.patch.object(engine, "is_compiled", return_value=True):
        fast = ours(case, history=True)
    for column in ("ready", "start", "end", "cause"):
        assert getattr(slow, column).tobytes() == getattr(fast, column).tobytes()
    assert all(a.tobytes() == b.tobytes() for a, b in zip(slow.history, fast.history, strict=True))


@each_row(
    "module",
    [amend, calendar, connections, fabric, group, groups, links, lone, max_min, rows, shares, table],
)
def test_whatever_a_kernel_calls_is_compiled_with_it(module):
    functions = {name: it for name, it in vars(module).items() if isinstance(it, FunctionType)}
    for kernel in functions.values():
        called = [name for name in kernel.__code__.co_names if name in functions]
        assert kernel not in compiler._KERNELS or all(functions[name] in compiler._KERNELS for name in called)


@st.composite
def crowds(draw):
    """Many flows of different sizes, most over two links of a few; some over one link, or three, or one twice."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    links, count = draw(st.integers(3, 10)), draw(st.integers(2, 40))
    lengths = rng.choice(draw(st.sampled_from([[2], [1, 2, 2, 2, 2, 3]])), count)
    apart = draw(st.booleans())
    routes = [
        rng.permutation(links)[:length].tolist() if apart else rng.integers(0, links, length).tolist()
        for length in lengths
    ]
    capacity = (rng.integers(1, draw(st.integers(2, 20)), links) * 1e9).tolist()
    sizes = (rng.integers(1, draw(st.sampled_from([4, 1000])), count) * 1e5).tolist()
    waits = [{int(rng.integers(i))} if i and rng.random() < 0.2 else set() for i in range(count)]
    return routes, sizes, waits, capacity, [0.0] * links


@given(crowds(), st.sampled_from([1, 2, 3, amend.NEAR]))
def test_shares_put_right_after_a_completion_are_those_of_a_solve_from_nothing(case, near):
    with interpreted():
        with mock.patch.object(amend, "NEAR", near):
            right = ours(case).end
        with mock.patch.object(groups, "amend", return_value=False):
            anew = ours(case).end
    assert right == pytest.approx(anew, rel=1e-12)


def test_where_sizes_differ_most_completions_are_put_right_and_few_solved_anew():
    with (
        interpreted(),
        mock.patch.object(groups, "amend", side_effect=groups.amend) as amend,
        mock.patch.object(groups, "fill", side_effect=groups.fill) as fill,
    ):
        blocks = 1e6 + 1e4 * np.random.default_rng(1).permutation(64)
        trace = simulate(build("switch:ranks=8"), ALGORITHMS["alltoallv.linear"].schedule(8), blocks=blocks)
    assert len(np.unique(trace.end[trace.end > 0])) == 56
    assert amend.call_count > 2 * fill.call_count


@each_row("times", [1, 2])
@each_row("seed", range(4))
def test_links_that_fall_behind_many_others_hand_over_the_flows_that_cross_both(times, seed):
    """Between two links there is one flow at most, which is found at once, or there are two."""
    n = 6
    src, dst = (ends.ravel() for ends in np.meshgrid(np.arange(n), np.arange(n)))
    routes = [[int(a), n + int(b)] for a, b in zip(src, dst, strict=True)] * times
    sizes = 1e6 + 1e4 * np.random.default_rng(seed).permutation(len(routes))
    case = routes, sizes, [set()] * len(routes), [1e9] * 2 * n, [0.0] * 2 * n
    with interpreted(), mock.patch.object(amend, "note", side_effect=amend.note) as note:
        right = ours(case).end
        with mock.patch.object(groups, "amend", return_value=False):
            anew = ours(case).end
    assert note.call_count > n
    assert right == pytest.approx(anew, rel=1e-12)


def test_the_compiled_kernel_puts_shares_right_as_the_plain_one_does():
    blocks = 1e6 + 1e4 * np.random.default_rng(2).permutation(144)

    def run():
        return simulate(build("switch:ranks=12"), ALGORITHMS["alltoallv.linear"].schedule(12), blocks=blocks).end

    with interpreted(few=groups.FEW):
        slow = run()
    with mock.patch.object(engine, "is_compiled", return_value=True):
        assert run().tobytes() == slow.tobytes()


@given(cases())
def test_memory_that_was_never_written_is_never_read(case):
    class Soiled:
        """numpy whose fresh memory holds plausible rubbish."""

        def __getattr__(self, name):
            return getattr(np, name)

        @staticmethod
        def empty(shape, dtype=np.float64):
            return np.full(shape, 3, dtype)

    with mock.patch.object(arena, "np", Soiled()):
        assert ours(case).end.tobytes() == ours(case).end.tobytes()
        soiled = ours(case).end
    assert soiled.tobytes() == ours(case).end.tobytes()


@given(cases(), st.sampled_from([0, groups.FEW]))
def test_what_was_sent_is_what_arrived_and_no_link_carries_more_than_it_can(case, few):
    routes, sizes, _, capacity, _ = case
    with interpreted(few):
        trace = ours(case, history=True)
    for i, size in enumerate(sizes):
        assert trace.delivered(i, trace.ended) == 1.0
        times, rates = trace.rates(i)
        spans = np.diff([*times, trace.arrived[i]])
        if routes[i]:
            assert (rates * spans).sum() == pytest.approx(size, rel=1e-9, abs=1e-3)
    moments = np.unique(np.concatenate([trace.start, trace.end]))
    for t in (moments[1:] + moments[:-1]) / 2:
        load = np.zeros(len(capacity))
        for i in range(len(sizes)):
            if trace.start[i] < t < trace.end[i] and routes[i]:
                times, rates = trace.rates(i)
                np.add.at(load, routes[i], rates[np.searchsorted(times, t, side="right") - 1])
        assert (load <= np.array(capacity) * (1 + 1e-9)).all()


def test_the_way_to_a_groups_root_is_shorter_when_it_has_been_gone():
    parent = np.array([0, 0, 1, 2, 3, 5])
    assert links.find(parent, 4) == 0
    assert parent.tolist() == [0, 0, 0, 0, 0, 5]


def test_room_for_rates_is_made_in_time():
    """Every millisecond a long flow and one of 1.5 ms join those of a link: thousands of rates, and all are kept."""
    count = 64
    every = range(count)
    sizes = [1e6] * count + [1e8 * (k + 1) for k in every] + [1.5e6 / (k + 3) for k in every]
    waits = [{k - 1} if k else set() for k in every] + [{k} for k in every] * 2
    trace = ours(([[1]] * count + [[0]] * count * 2, sizes, waits, [1e9, 1e9], [0.0, 0.0]), history=True)
    for i, size in enumerate(sizes):
        times, rates = trace.rates(i)
        assert (rates * np.diff([*times, trace.arrived[i]])).sum() == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("lacking", [0, 1])
@pytest.mark.parametrize(("entries", "flows"), [(5, 0), (0, 7), (5, 7)])
def test_there_is_room_for_two_rates_of_every_entry_and_flow(entries, flows, lacking):
    kept = 3
    net = SimpleNamespace(history=range(kept + 2 * (entries + flows) + 1 - lacking), count=np.zeros(8, np.int64))
    net.count[links.HISTORY] = kept
    size = np.zeros(3, np.int64)
    size[calendar.NODES] = entries
    world = SimpleNamespace(
        net=net, calendar=SimpleNamespace(size=size), connections=SimpleNamespace(flows=np.array([flows]))
    )
    assert fabric.history_is_short(world) == bool(lacking)


def test_a_long_run_goes_on_compiled_where_it_stopped_interpreted():
    machine, schedule = build("ring:ranks=12"), ALGORITHMS["allreduce.ring"].schedule(12)

    def ends(allowance, times=1):
        cluster = engine.Cluster(machine)
        cluster.kernel = fabric
        event = cluster.start(schedule, 1 << 20)
        with mock.patch.multiple(engine, INTERPRETED=allowance, patience=lambda: times, spent=lambda *_: False):
            return cluster.run(event).end, cluster.kernel

    slow, stayed = ends(1 << 40)
    fast, switched = ends(100)
    later, switched_later = ends(100, 3)
    patient, stayed_too = ends(100, 1 << 20)
    assert stayed is stayed_too is fabric
    assert switched is switched_later is compiled(fabric)
    assert slow.tobytes() == fast.tobytes() == later.tobytes() == patient.tobytes()


@pytest.mark.parametrize("twin", [lambda module: module, compiled], ids=["interpreted", "compiled"])
def test_a_lead_is_the_overhead_and_the_latencies_of_the_route_in_one_order(twin):
    random = np.random.default_rng(5)
    counts = np.array([0, 3, 0, *range(1, 130), 0])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    crossed, latency = random.integers(0, 50, offsets[-1], np.int32), random.random(50)
    overhead, lead = random.random(len(counts)), np.full(len(counts), np.nan)
    twin(links).leads(overhead, latency, offsets, crossed, lead)
    for r, count in enumerate(counts):
        first, *rest = latency[crossed[offsets[r] : offsets[r + 1]]] if count else [0.0]
        assert lead[r] == overhead[r] + (first + np.sum(rest)), count
