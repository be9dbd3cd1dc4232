"""The lower bound of a run, against the same theorems in loops over sets, and against numbers worked out by hand."""

import heapq
from collections import defaultdict
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.collectives import COLLECTIVES
from sim.machines import build
from sim.schedule import NOTHING, Promise
from sim.topology import Device, Link, Topology
from sim.trace.metrics import cut, distinct, least_sent, lower_bound
from sim.trace.metrics import groupings as partitions
from tests.tables import each_row


def groupings(topology, devices):
    """Which group each device is in, by rank, NUMA domain and host; None for a device that is in none."""
    boxes = topology.devices
    numa = [None if d.numa < 0 or d.kind == "NET" else (d.host, d.numa) for d in boxes]
    host = [None if d.kind == "NET" else d.host for d in boxes]
    yield [devices.index(i) if i in devices else None for i in range(len(boxes))]
    for label in (numa, host):
        own = {label[i] for i in devices}
        if None not in own and 1 < len(own) < len(devices):
            yield [each if each in own else None for each in label]


def parts(label, outside):
    """The devices of every group."""
    return {frozenset(i for i, each in enumerate(label) if each == group) for group in {*label} - {outside}}


def moved(promise, group):
    """Blocks that must enter and leave each group, and how many messages between groups each block takes."""
    has = [(group[r], int(promise.given[r, s]), r) for r, s in np.argwhere(promise.given != NOTHING).tolist()]
    due = [
        (group[r], int(promise.owed[r, s]), frozenset(range(promise.first[r, s], promise.last[r, s])))
        for r, s in np.argwhere(promise.owed != NOTHING).tolist()
    ]
    members = {g: {r for r in range(len(group)) if group[r] == g} for g in set(group)}
    enters = {(g, block) for g, block, ranks in due if not ranks <= members[g]}
    leaves, messages = set(), {}
    for block in range(promise.blocks):
        sums = {ranks for _, what, ranks in due if what == block}
        givers, takers = {g for g, what, _ in has if what == block}, {g for g, what, _ in due if what == block}
        if len(sums) == 1:
            leaves |= {(g, block) for g in givers if takers - {g}}
            messages[block] = max(0, len(givers) + len(takers) - 1 - bool(givers & takers))
    return enters, leaves, messages


def by_cut(topology, promise, weights, devices, label, *, in_switch):
    """The seconds that one cut of the machine takes."""
    out_of, into, waits = defaultdict(float), defaultdict(float), []
    for link in topology.links:
        a, b = (label[topology.index[end]] for end in (link.src, link.dst))
        if a == b:
            continue
        waits.append(link.latency)
        for source, target in ((a, b), (b, a))[: 1 + link.both]:
            out_of[source] += link.bandwidth
            into[target] += link.bandwidth
    out_of.pop(None, None)
    into.pop(None, None)
    if not out_of or not into:
        return 0.0
    enters, leaves, messages = moved(promise, [label[i] for i in devices])
    seconds = [0.0]
    for pairs, rate in ((enters, into), (leaves, out_of)):
        for group in {group for group, _ in pairs}:
            through = sum(weights[block] for g, block in pairs if g == group)
            seconds.append(through / rate[group] if rate[group] else np.inf if through else 0.0)
    if not promise.union and not in_switch:
        seconds.append(sum(weights[block] * k for block, k in messages.items()) / sum(out_of.values()))
    return topology.overhead + min(waits) + max(seconds) if max(seconds) > 0 else 0.0


def reach(topology, source):
    """Least latency to every device, nearest first."""
    ways = defaultdict(list)
    for link in topology.links:
        ways[link.src].append((link.dst, link.latency))
        if link.both:
            ways[link.dst].append((link.src, link.latency))
    order, far = count(), {}
    heap = [(0.0, next(order), topology.devices[source].name)]
    while heap:
        wait, _, name = heapq.heappop(heap)
        if name not in far:
            far[name] = wait
            for other, more in ways[name]:
                heapq.heappush(heap, (wait + more, next(order), other))
    return far


def by_latency(topology, promise, devices):
    """The longest of the quickest ways from the first, middle and last rank and the first that holds anything."""
    n, best = len(devices), 0.0
    holds = [r for r in range(len(promise.given)) if (promise.given[r] != NOTHING).any()]
    for source in {0, n // 2, n - 1, *holds[:1]} & {*holds}:
        far = reach(topology, devices[source])
        for rank, slot in np.argwhere(promise.owed != NOTHING).tolist():
            if rank not in (source, *range(n, len(promise.owed))) and (
                promise.first[rank, slot] <= source < promise.last[rank, slot]
            ):
                name = topology.devices[devices[rank]].name
                best = max(best, topology.overhead + far.get(name, np.inf))
    return best


def test_a_link_of_both_directions_leads_out_of_either_end_and_into_it():
    pair = Topology("pair", (Device("A", "GPU"), Device("B", "GPU")), (Link("A", "B", 3e9, 1e-6, both=True),))
    across = cut(pair, np.array([0, 1]))
    assert across.out_of.tolist() == across.into.tolist() == [3e9, 3e9]


def test_a_byte_takes_its_share_of_a_second():
    pair = build("switch:ranks=2,bandwidth=4GBps,latency=0s")
    promise = COLLECTIVES["broadcast"].promise(2, 1, 0)
    assert lower_bound(pair, promise, np.ones(1), np.array(pair.ranks)) == pytest.approx(1 / 4e9)


@st.composite
def machines(draw):
    """Two hosts of two NUMA domains at most, GPUs among switches and cards, links of which some are shared ones."""
    few = st.integers(0, 1)
    numa = draw(st.sampled_from(((0,), (0, 1), (0, 1), (-1, 0))))
    kinds = ["GPU"] * draw(st.integers(2, 6)) + draw(
        st.lists(st.sampled_from(("NIC", "NET", "NVS", "CPU")), max_size=3)
    )
    devices = tuple(Device(f"D{i}", kind, draw(st.sampled_from(numa)), draw(few)) for i, kind in enumerate(kinds))
    end, whole = st.integers(0, len(kinds) - 1), st.integers(1, 9)
    ends = draw(st.lists(st.tuples(end, end, whole, st.integers(0, 9), st.integers(0, 3)), min_size=2, max_size=14))
    links = [Link(f"D{a}", f"D{b}", rate * 1e9, wait * 1e-6, both=not how) for a, b, rate, wait, how in ends if a != b]
    links += [Link(f"D{b}", f"D{a}", rate * 1e9, wait * 1e-6) for a, b, rate, wait, how in ends if a != b and how > 1]
    return Topology("any", devices, tuple(links), overhead=draw(few) * 1e-6, forwarding=True)


@st.composite
def promises(draw, n):
    """What few ranks hold and are owed; often all are owed the same sum, over all ranks or some."""
    blocks, slots = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    given, owed, first, last = np.full((4, n, slots), NOTHING, np.int32)
    block = st.integers(0, blocks - 1)
    low = draw(st.integers(0, n - 1))
    whole = draw(st.sampled_from((None, (0, n), (low, draw(st.integers(low + 1, n))))))
    for rank in range(n):
        for slot in range(slots):
            given[rank, slot] = draw(st.sampled_from((NOTHING, slot % blocks, draw(block))))
            if draw(st.booleans()):
                low = draw(st.integers(0, n - 1))
                owed[rank, slot] = draw(block)
                first[rank, slot], last[rank, slot] = whole or (low, draw(st.integers(low + 1, n)))
    one = range(slots)
    return Promise("any", blocks, given, owed, first, last, one, one, draw(st.integers(0, 5)) == 0)


@pytest.mark.slow
@given(st.data(), machines(), st.booleans())
def test_the_bound_is_the_strongest_of_its_arguments(data, topology, in_switch):
    devices = [*topology.ranks]
    if data.draw(st.booleans()):
        devices = data.draw(st.permutations(devices))[: data.draw(st.integers(2, len(devices)))]
    promise = data.draw(promises(len(devices)))
    weights = np.array([data.draw(st.integers(0, 5)) * 1e6 for _ in range(promise.blocks)])
    cuts = [
        by_cut(topology, promise, weights, devices, label, in_switch=in_switch)
        for label in groupings(topology, devices)
    ]
    ours = [parts(group.tolist(), -1) for group in partitions(topology, np.array(devices))]
    assert ours == [parts(label, None) for label in groupings(topology, devices)]
    bound = lower_bound(topology, promise, weights, np.array(devices), in_switch=in_switch)
    assert bound == pytest.approx(max(by_latency(topology, promise, devices), *cuts), rel=1e-12)
    _, leaves, messages = moved(promise, range(len(devices)))
    sent = [sum(weights[block] for g, block in leaves if g == rank) for rank in range(len(devices))]
    if not promise.union and not in_switch:
        sent.append(sum(weights[block] * k for block, k in messages.items()) / len(devices))
    assert least_sent(promise, weights, in_switch=in_switch) == pytest.approx(max(sent), rel=1e-12)


@pytest.mark.parametrize(
    ("machine", "seconds"),
    [
        # 4 + 4 ranks on two sockets: 8 blocks of 1 GB, 1 + 1 messages each, over the two 4 GB/s ways between them
        ("dual_socket_pcie:sys=4GBps", 8 * 1e9 * 2 / 8e9),
        # 4 hosts: 8 blocks, 3 + 3 messages each, leave through 4 cards of 10 GB/s
        ("nodes:nodes=4,gpus=2,nic=10GBps", 8 * 1e9 * 6 / 40e9),
        # links of a GPU bind: 8 blocks, 7 + 7 messages each, over 8 links of 1 GB/s
        ("nodes:nodes=2,gpus=4,nvlink=1GBps,nic=1000GBps", 8 * 1e9 * 14 / 8e9),
    ],
)
def test_an_allreduce_is_held_up_by_whatever_is_narrowest(machine, seconds):
    topology = build(machine)
    promise = COLLECTIVES["allreduce"].promise(8, 8, 0)
    bound = lower_bound(topology, promise, np.full(8, 1e9), np.array(topology.ranks))
    assert bound == pytest.approx(seconds, rel=1e-5)


@pytest.mark.parametrize(
    ("places", "parted"),
    [
        # hosts and NUMA domains of hosts
        ([(0, 1), (1, 0), (0, 0), (0, 0), (1, 1)], [[{0}, {1}, {2, 3}, {4}], [{0, 2, 3}, {1, 4}]]),
        # a rank whose domain is not known
        ([(0, -1), (0, 0), (0, 1), (0, 1)], []),
    ],
)
def test_ranks_are_parted_by_host_and_by_domain(places, parted):
    devices = tuple(Device(f"D{i}", "GPU", numa, host) for i, (host, numa) in enumerate(places))
    machine = Topology("places", devices, (Link("D0", "D1", 1e9, 0.0),), forwarding=True)
    alone, *others = (parts(group.tolist(), -1) for group in partitions(machine, np.arange(len(places))))
    assert alone == {frozenset([i]) for i in range(len(places))}
    assert others == [{frozenset(part) for part in each} for each in parted]


def star(out_of, into, *, rate=1e9):
    """Ranks around a switch: the seconds from each to it, and the B/s from it to each."""
    n = len(out_of)
    devices = (*(Device(f"G{i}", "GPU") for i in range(n)), Device("S", "NVS"))
    ways = [Link(f"G{i}", "S", rate, wait) for i, wait in enumerate(out_of)]
    back = [Link("S", f"G{i}", capacity, 1e-6) for i, capacity in enumerate(into)]
    return Topology("star", devices, (*ways, *back), forwarding=True)


def promised(n, holds, owes):
    """Rank r holds the blocks `holds[r]`, and is owed block b summed over the ranks from `owes[r][b][0]` on."""
    blocks = 1 + max(block for each in (*holds.values(), *owes.values()) for block in each)
    given, owed, first, last = np.full((4, n, blocks), NOTHING, np.int32)
    for rank, each in holds.items():
        given[rank, each] = each
    for rank, sums in owes.items():
        for block, (begin, stop) in sums.items():
            owed[rank, block], first[rank, block], last[rank, block] = block, begin, stop
    return Promise("any", blocks, given, owed, first, last, range(blocks), range(blocks))


@pytest.mark.parametrize(
    ("promise", "blocks"),
    [
        # what stays where it is crosses nothing
        (promised(2, {0: [0]}, {0: {0: (0, 1)}}), 0),
        # three ranks must each send what two are owed the sum of
        (promised(4, {1: [0], 2: [0], 3: [0]}, {0: {0: (1, 4)}, 1: {0: (1, 4)}}), 1),
        # an allreduce takes 3 + 3 messages of 4 ranks; a block of which each is owed another sum, none for certain
        (promised(4, {r: [0, 1] for r in range(4)}, {r: {0: (0, 4), 1: (0, r + 1)} for r in range(4)}), 6 / 4),
        # three send what one of four is owed the sum of
        (promised(4, {r: [0] for r in range(4)}, {0: {0: (0, 4)}}), 1),
    ],
)
def test_the_rank_that_sends_most_sends_so_many_blocks(promise, blocks):
    assert least_sent(promise, np.full(promise.blocks, 1e9)) == pytest.approx(blocks * 1e9)


@pytest.mark.parametrize("far", [0, 2, 3, 5])
def test_a_contribution_that_is_far_away_must_come(far):
    """The first, the middle, the last and the first that holds anything are asked; rank 0 holds nothing."""
    machine = star([9e-6 if r == far else 1e-6 for r in range(6)], [1e9] * 6)
    for begin in (0, 2):
        promise = promised(6, {r: [0] for r in range(2, 6)}, {r: {0: (begin, 6)} for r in range(6)})
        seconds = 10e-6 if far else 2e-6
        assert lower_bound(machine, promise, np.zeros(1), np.arange(6)) == pytest.approx(seconds)


@pytest.mark.parametrize("slow", [1, 6, 69])
def test_what_must_enter_many_groups_is_counted_for_each(slow):
    machine = star([1e-6] * 70, [1e8 if r == slow else 1e9 for r in range(70)])
    everybody = promised(70, {0: [0]}, {r: {0: (0, 1)} for r in range(70)})
    assert lower_bound(machine, everybody, np.full(1, 1e9), np.arange(70)) == pytest.approx(10 + 1e-6)
    stays = promised(70, {r: [0] for r in range(70)}, {r: {0: (r, r + 1)} for r in range(70)})
    assert lower_bound(machine, stays, np.full(1, 1e9), np.arange(70)) == 0


@each_row("most", [4000, 1 << 20])
@each_row("numbers", [[], [0], [1, 0, 1], [3999, 7, 8, 7]])
def test_numbers_are_told_apart_by_a_table_or_by_sorting(numbers, most):
    assert distinct(np.array(numbers, np.int64), most).tolist() == sorted({*numbers})
