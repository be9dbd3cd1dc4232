"""The clock: closed forms, SimGrid's times, contention, several schedules in one world."""

import math

import numpy as np
import pytest

from ops import ALGORITHMS
from sim.engine import Cluster, simulate
from sim.errors import InputError, StalledError
from sim.machines import build
from sim.schedule import copy, unroll
from sim.topology import Device, Link, Topology
from tests.sim.simgrid import TIMES
from tests.tables import each_row

ALPHA, BETA, GAMMA, OVERHEAD = 2e-6, 1 / 25e9, 1e-11, 3e-7
SWITCH = "switch:ranks={n},bandwidth=25GBps,latency=1us,overhead=0.3us"


def messages(pairs, n):
    """A schedule of independent one-slot messages, one per pair, all in one step."""
    src, dst = (np.array(x) for x in zip(*pairs, strict=True))
    return unroll([copy(src, dst, slot=0, to=1 + np.arange(len(pairs)))], name="test", n=n, promise=None)


def line(*bandwidths, latencies=None):
    """Devices in a row, joined by links of the given bandwidths."""
    latencies = latencies or [1e-6] * len(bandwidths)
    devices = tuple(Device(f"D{i}", "GPU") for i in range(len(bandwidths) + 1))
    links = tuple(Link(f"D{i}", f"D{i + 1}", b, a) for i, (b, a) in enumerate(zip(bandwidths, latencies, strict=True)))
    return Topology("line", devices, links, forwarding=True)


@each_row("n", range(2, 18))
@each_row("size", [4096, 64 * 2**20])
def test_ring_allreduce_takes_exactly_its_closed_form(n, size):
    trace = simulate(build(SWITCH.format(n=n), gamma=GAMMA), ALGORITHMS["allreduce.ring"].schedule(n), size)
    closed = 2 * (n - 1) * (ALPHA + OVERHEAD) + size * (n - 1) / n * (2 * BETA + GAMMA)
    assert trace.time == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=f"{c.name}-{c.ranks}", marks=[pytest.mark.slow] * (c.transfers > 100_000)) for c in TIMES],
)
def test_times_are_those_of_simgrid(case):
    trace = simulate(case.machine(), case.schedule(), **case.load())
    assert trace.schedule.messages == case.transfers
    assert trace.time == pytest.approx(case.seconds, rel=1e-9)
    assert trace.verdict.verdict == "ok"


def test_one_flow_over_two_links_is_held_by_the_slower():
    trace = simulate(line(25e9, 100e9, latencies=[1e-6, 3e-6]), messages([(0, 2)], 3), 1e9)
    assert trace.time == pytest.approx(0.040004, rel=1e-12)


def test_two_schedules_started_apart_share_a_link_while_both_flow():
    cluster = Cluster(line(10e9))
    ended = {}

    def starter(delay, name):
        yield cluster.env.timeout(delay)
        trace = yield cluster.start(messages([(0, 1)], 2), 1e9)
        ended[name] = trace.ended

    done = [cluster.env.process(starter(0.0, "first")), cluster.env.process(starter(0.05, "second"))]
    cluster.run(cluster.env.all_of(done))
    assert ended["first"] == pytest.approx(0.150001, rel=1e-9)
    assert ended["second"] == pytest.approx(0.200001, rel=1e-9)


def test_the_parking_lot_is_shared_max_min_fairly():
    machine = line(10e9, 10e9, 4e9, latencies=[1e-6, 1e-6, 1e-6])
    trace = simulate(machine, messages([(0, 3), (0, 1), (1, 2), (2, 3)], 4), 1e9, history=True)
    # the last link is busy from 1 us on and carries 2 GB at 4 GB/s; the first two keep 8 GB/s for their own flow,
    # but for the 2 us before the long flow arrives, in which they have all 10
    assert trace.ended == pytest.approx(0.500001, rel=1e-9)
    assert trace.end[1:3] == pytest.approx(0.125001 - 2e-6 * (10 / 8 - 1), rel=1e-9)
    assert trace.rates(0)[1].tolist() == pytest.approx([2e9, 4e9])
    assert trace.rates(1)[1].tolist() == pytest.approx([10e9, 8e9])


def test_other_processes_run_in_the_same_world():
    cluster = Cluster(build("switch:ranks=4"))
    seen = []

    def compute():
        for _ in range(3):
            yield cluster.env.timeout(1e-3)
            seen.append(cluster.env.now)

    work = cluster.env.process(compute())
    event = cluster.start(ALGORITHMS["allreduce.ring"].schedule(4), 64e6)
    trace = cluster.run(event)
    cluster.run(work)
    assert trace.time == pytest.approx(6 * 2e-6 + 1.5 * 64e6 / 25e9, rel=1e-12)
    assert seen == pytest.approx([1e-3, 2e-3, 3e-3])


def test_a_link_slowed_half_way_takes_the_rest_at_the_new_speed():
    cluster = Cluster(line(10e9, latencies=[0.0]), history=True)

    def slow():
        yield cluster.env.timeout(0.05)
        cluster.set_bandwidth(0, 5e9)

    cluster.env.process(slow())
    trace = cluster.run(cluster.start(messages([(0, 1)], 2), 1e9))
    assert trace.time == pytest.approx(0.05 + 0.5e9 / 5e9, rel=1e-12)
    assert trace.delivered(0, 0.05) == pytest.approx(0.5)
    assert trace.delivered(0, 0.10) == pytest.approx(0.75)


def test_a_link_that_comes_back_lets_the_flow_end_and_a_dead_one_is_named():
    def world(back):
        cluster = Cluster(line(10e9, latencies=[0.0]))

        def cut():
            yield cluster.env.timeout(0.05)
            cluster.set_bandwidth(0, 0.0)
            if back:
                yield cluster.env.timeout(0.1)
                cluster.set_bandwidth(0, 10e9)

        cluster.env.process(cut())
        return cluster, cluster.start(messages([(0, 1)], 2), 1e9)

    cluster, event = world(back=True)
    assert cluster.run(event).time == pytest.approx(0.2, rel=1e-12)
    cluster, event = world(back=False)
    with pytest.raises(StalledError, match=r"rank 0 -> rank 1 cannot move; dead links: D0 -> D1"):
        cluster.run(event)


def test_lockstep_waits_for_the_slowest_of_every_step():
    machine = build("nodes:nodes=2,gpus=4")
    schedule = ALGORITHMS["allreduce.ring"].schedule(8)
    free, locked = (simulate(machine, schedule, 64e6, lockstep=flag) for flag in (False, True))
    ends = [locked.end[locked.schedule.step_of == k].max() for k in range(schedule.steps)]
    for k in range(1, schedule.steps):
        assert (locked.ready[locked.schedule.step_of == k] == ends[k - 1]).all()
    assert free.time <= locked.time * (1 + 1e-12)


def test_a_zero_byte_block_still_pays_its_latency():
    trace = simulate(build("switch:ranks=4"), ALGORITHMS["allgatherv.linear"].schedule(4), blocks=[0, 0, 0, 0])
    assert trace.time == pytest.approx(ALPHA, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "blocks", "says"),
    [
        (0, None, "between 1 byte"),
        (math.nan, None, "between 1 byte"),
        (1, None, "size of 4 bytes or more"),
        (64, [1, 2], "one size per block"),
        (64, [1, 2, -3, 4], "0 bytes or more"),
        (64, [1, 2, math.nan, 4], "0 bytes or more"),
    ],
)
def test_impossible_sizes_are_refused(size, blocks, says):
    with pytest.raises(InputError, match=says):
        simulate(build("switch:ranks=4"), ALGORITHMS["allgatherv.linear"].schedule(4), size, blocks=blocks)


def test_more_ranks_than_the_machine_holds_are_refused():
    with pytest.raises(InputError, match="holds 4 ranks, not 8"):
        simulate(build("switch:ranks=4"), ALGORITHMS["allreduce.ring"].schedule(8), 1024)
