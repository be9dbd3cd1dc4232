"""Numbers about a run: bandwidths as nccl-tests defines them, link use, the critical path, a lower bound."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.schedule import NOTHING, Promise
from sim.topology import Floats, Ints, Topology
from sim.trace import Trace


def algbw(trace: Trace) -> float:
    """Size over time, B/s (nccl-tests doc/PERFORMANCE.md); zero for a collective that moves no data."""
    return trace.size / trace.time if trace.time > 0 else 0.0


def busbw(trace: Trace, factor: float) -> float:
    """Algorithm bandwidth times the collective's factor, B/s: comparable with what a link can do."""
    return algbw(trace) * factor


class Use(NamedTuple):
    """How one link was used: its index, the bytes that crossed it, and the share of the run it was full."""

    link: int
    bytes: float
    share: float


def link_use(trace: Trace) -> Floats:
    """For every link, the seconds it needs for its bytes at full speed over the run's seconds."""
    needed = trace.link_bytes / trace.topology.bandwidth
    return needed / trace.time if trace.time > 0 else np.zeros_like(needed)


def bottleneck(trace: Trace) -> Use | None:
    """The link nearest to being full throughout, or None when nothing crossed any."""
    use = link_use(trace)
    if not use.size or use.max() <= 0:
        return None
    link = int(np.argmax(use))
    return Use(link, float(trace.link_bytes[link]), float(use[link]))


def critical_path(trace: Trace) -> list[int]:
    """The transfers that made the run as long as it was: each waited for the one before it."""
    if not trace.schedule.transfers:
        return []
    path = [int(np.argmax(trace.end))]
    while trace.cause[path[-1]] >= 0:
        path.append(int(trace.cause[path[-1]]))
    return [i for i in reversed(path) if i < trace.schedule.transfers]


def lower_bound(
    topology: Topology, promise: Promise, weights: Floats, devices: Ints, *, in_switch: bool = False
) -> float:
    """No schedule that only moves and adds blocks between these devices can be faster, in seconds.

    `weights[b]` is block b's bytes, `devices[r]` rank r's device. Three arguments, of which the strongest
    counts: a far contribution must cross the latency to where it is owed; what must enter or leave a rank,
    NUMA domain or host must pass its links; and a block summed over c groups and owed to o of them takes at
    least c - 1 + o - 1 messages between groups, which share all links that leave groups. The last one does not
    hold where switches add and copy, too: `in_switch`.
    """
    best = _latency_bound(topology, promise, devices)
    for group in _groupings(topology, devices):
        best = max(best, _cut_bound(topology, promise, weights, devices, group, in_switch=in_switch))
    return best


def _groupings(topology: Topology, devices: Ints) -> list[NDArray[np.int64]]:
    """Ways to cut the machine: a group number per device, -1 for devices outside every group."""
    alone = np.full(len(topology.devices), -1)
    alone[devices] = np.arange(len(devices))
    numa = np.array([d.host * 4096 + d.numa if d.numa >= 0 and d.kind != "NET" else -1 for d in topology.devices])
    host = np.array([-1 if d.kind == "NET" else d.host for d in topology.devices])
    found = [alone]
    for labels in (numa, host):
        numbers = np.unique(labels[devices])
        if numbers[0] >= 0 and 1 < len(numbers) < len(devices):
            found.append(np.where(np.isin(labels, numbers), np.searchsorted(numbers, labels), -1))
    return found


def _cut_bound(
    topology: Topology,
    promise: Promise,
    weights: Floats,
    devices: Ints,
    group: NDArray[np.int64],
    *,
    in_switch: bool,
) -> float:
    """The bound of one cut. Who gives, takes or is entered by what are lists of `group * blocks + block`."""
    src, dst = topology.ends
    groups = int(group.max()) + 1
    crossing = group[src] != group[dst]
    leaving, entering = crossing & (group[src] >= 0), crossing & (group[dst] >= 0)
    if not leaving.any() or not entering.any():
        return 0.0
    both = np.array([link.both for link in topology.links]) & crossing
    out_capacity = np.bincount(group[src][leaving], topology.bandwidth[leaving], groups)
    in_capacity = np.bincount(group[dst][entering], topology.bandwidth[entering], groups)
    for ends, capacity in ((dst, out_capacity), (src, in_capacity)):
        back = both & (group[ends] >= 0)
        capacity += np.bincount(group[ends][back], topology.bandwidth[back], groups)
    of_rank = group[devices]
    given, owed = promise.given != NOTHING, promise.owed != NOTHING
    gives = _distinct(of_rank[np.nonzero(given)[0]] * promise.blocks + promise.given[given], groups * promise.blocks)
    block, first, last = (column[owed] for column in (promise.owed, promise.first, promise.last))
    home = of_rank[np.nonzero(owed)[0]]
    # ranks of a group need not be neighbours: count how many of first..last-1 are inside the group
    inside = np.zeros((groups, len(devices) + 1), np.int64)
    inside[:, 1:] = np.cumsum(of_rank[None, :] == np.arange(groups)[:, None], axis=1)
    foreign = (last - first) > inside[home, last] - inside[home, first]
    taken = home * promise.blocks + block
    takes, enters = (_distinct(pairs, groups * promise.blocks) for pairs in (taken, taken[foreign]))
    lowest, narrowest = (np.full(promise.blocks, most, first.dtype) for most in (len(devices), len(devices) + 1))
    highest = np.zeros(promise.blocks, last.dtype)
    np.minimum.at(lowest, block, first)
    np.maximum.at(highest, block, last)
    np.minimum.at(narrowest, block, last - first)
    whole = (narrowest == highest - lowest) & (highest > lowest)
    givers, takers = (np.bincount(pairs % promise.blocks, minlength=promise.blocks) for pairs in (gives, takes))
    both_do = np.isin(gives, takes, assume_unique=True)
    leaves = gives[whole[gives % promise.blocks] & (takers[gives % promise.blocks] > both_do)]
    overhead = topology.overhead + float(topology.latency[crossing].min())
    seconds = [0.0]
    with np.errstate(divide="ignore", invalid="ignore"):
        for pairs, capacity in ((enters, in_capacity), (leaves, out_capacity)):
            needed = np.bincount(pairs // promise.blocks, weights[pairs % promise.blocks], groups)
            seconds.append(float(np.max(np.where(needed > 0, needed / capacity, 0.0))))
    meets = np.zeros(promise.blocks, bool)
    meets[gives[both_do] % promise.blocks] = True
    messages = np.where(whole & (takers > 0), np.maximum(0, givers + takers - 1 - meets), 0)
    if not (promise.union or in_switch):
        seconds.append(float(messages @ weights / out_capacity.sum()))
    return overhead + max(seconds) if max(seconds) > 0 else 0.0


def _distinct(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Which numbers below `most` there are, in order: by a table where that is small, else by sorting."""
    if most > 8 * len(numbers) + 4096:
        ordered = np.sort(numbers)
        return ordered[np.diff(ordered, prepend=-1) > 0]
    there = np.zeros(most, bool)
    there[numbers] = True
    return np.flatnonzero(there)


def _latency_bound(topology: Topology, promise: Promise, devices: Ints) -> float:
    """The longest of the quickest ways from a few ranks to where their contributions are owed."""
    owed = promise.owed != NOTHING
    sources = {0, len(devices) // 2, len(devices) - 1, int(np.argmax((promise.given != NOTHING).any(axis=1)))}
    best = 0.0
    for source in sources:
        needed = (owed & (promise.first <= source) & (promise.last > source)).any(axis=1)
        needed &= (promise.given[source] != NOTHING).any()
        needed[source] = False
        if needed[: len(devices)].any():
            reach = _quickest(topology, int(devices[source]))[devices]
            best = max(best, topology.overhead + float(reach[needed[: len(devices)]].max()))
    return best


def _quickest(topology: Topology, source: int) -> Floats:
    """Least latency from one device to every other over any links, in seconds; relaxed until it settles."""
    src, dst = topology.ends
    both = np.array([link.both for link in topology.links], bool)
    a, b = np.concatenate([src, dst[both]]), np.concatenate([dst, src[both]])
    wait = np.concatenate([topology.latency, topology.latency[both]])
    reach = np.full(len(topology.devices), np.inf)
    reach[source] = 0.0
    while True:
        nearer = reach.copy()
        np.minimum.at(nearer, b, reach[a] + wait)
        if np.array_equal(nearer, reach):
            return reach
        reach = nearer
