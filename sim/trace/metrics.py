"""Numbers about a run: bandwidths as nccl-tests defines them, link use, the critical path, a lower bound."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.schedule import NOTHING, Promise
from sim.topology import Floats, Ints, Link, Topology
from sim.trace import Trace
from sim.trace.link_load import Spanned, capacities
from sim.units import fmt_object, fmt_share, fmt_size


class Timed(Protocol):
    """What bandwidths are worked out from."""

    @property
    def size(self) -> float:
        """Bytes, as nccl-tests counts them."""

    @property
    def time(self) -> float:
        """Seconds from start to end."""


def algbw(trace: Timed) -> float:
    """Divide size by time: the algorithm bandwidth (nccl-tests doc/PERFORMANCE.md).

    Parameters
    ----------
    trace : Trace or Run
        What ran.

    Returns
    -------
    float
        Bandwidth in B/s; zero for a collective that moves no data.
    """
    return trace.size / trace.time if trace.time > 0 else 0.0


def busbw(trace: Timed, factor: float) -> float:
    """Return the bus bandwidth, comparable with the bandwidth of a link.

    Parameters
    ----------
    trace : Trace or Run
        What ran.
    factor : float
        The factor of the collective, like 2 (n - 1) / n for an allreduce of n ranks: `COLLECTIVES[name].busbw(n)`.

    Returns
    -------
    float
        Algorithm bandwidth times the factor, B/s.
    """
    return algbw(trace) * factor


class Loaded(Timed, Spanned, Protocol):
    """What the use of links is worked out from."""

    @property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link, shape (links,)."""


class _LinkUse(NamedTuple):
    link: int
    bytes: float
    share: float


class Use(_LinkUse):
    """How one link was used in a run.

    It is three numbers, and has the names of the link, too.

    Parameters
    ----------
    link : int
        The number of the link: `topology.links[link]`.
    bytes : float
        Bytes that crossed it.
    share : float
        Share of the run in which it was full, 0 to 1: its bytes over those that it could carry.

    Attributes
    ----------
    src : str
        The device it starts at.
    dst : str
        The device it ends at.
    kind : str
        NVL, PCI, SYS or NET.
    bandwidth : float
        Bandwidth, B/s.

    Examples
    --------
    >>> from sim.machines import build
    >>> Use.of(build("switch:ranks=4").links, 0, 2**20, 0.5)
    <Use GPU0 -> SW: 1 MiB, full for 50% of the run>
    """

    src: str = ""
    dst: str = ""
    kind: str = ""
    bandwidth: float = 0.0

    @classmethod
    def of(cls, links: Sequence[Link], link: int, size: float, share: float) -> "Use":
        """Return the use of `links[link]`: `size` bytes, and the share of the run, 0 to 1."""
        use, ends = cls(link, size, share), links[link]
        use.src, use.dst, use.kind, use.bandwidth = ends.src, ends.dst, ends.kind, ends.bandwidth
        return use

    @property
    def name(self) -> str:
        """The link by its two ends."""
        return f"{self.src} -> {self.dst}"

    def __repr__(self) -> str:
        return fmt_object("Use", f"{self.name}: {fmt_size(self.bytes)}, full for {fmt_share(self.share)} of the run")


def capacity(trace: Loaded) -> Floats:
    """What every link could carry on average in the run, as faults left it, B/s, shape (links,)."""
    average: Floats = capacities(trace, np.array([trace.began, trace.ended]))[:, 0]
    return average


def link_use(trace: Loaded) -> Floats:
    """For every link, the bytes that crossed it over those it could carry in the run, as faults left it."""
    room = capacity(trace) * trace.time
    return np.divide(trace.link_bytes, room, out=np.zeros_like(room), where=room > 0)


def bottleneck(trace: Loaded) -> Use | None:
    """Find the busiest link of a run, by load over bandwidth.

    Parameters
    ----------
    trace : Trace or Timing
        What ran.

    Returns
    -------
    Use or None
        The link, by name and number, and its load; None if no link carried data.
    """
    use = link_use(trace)
    if not use.size or use.max() <= 0:
        return None
    link = int(np.argmax(use))
    return Use.of(trace.topology.links, link, float(trace.link_bytes[link]), float(use[link]))


def critical_path(trace: Trace) -> list[int]:
    """The transfers that made the run as long as it was: each waited for the one before it."""
    if not trace.schedule.transfers:
        return []
    path = [int(np.argmax(trace.end))]
    while trace.cause[path[-1]] >= 0:
        path.append(int(trace.cause[path[-1]]))
    return path[::-1]


def lower_bound(
    topology: Topology, promise: Promise, weights: Floats, devices: Ints, *, in_switch: bool = False
) -> float:
    """No schedule that only moves and adds blocks between these devices can be faster, in seconds.

    `weights[b]` is block b's bytes, `devices[r]` rank r's device. Three arguments, of which the strongest
    counts: a far contribution must cross the latency to where it is owed; what must enter or leave a rank,
    NUMA domain or host must pass its links (a cut of the machine, of which the bisection is the best known); and a
    block summed over c groups and owed to o of them takes at least c - 1 + o - 1 messages between groups, which share
    all links that leave groups. The last one does not hold where switches add and copy, too: `in_switch`.

    Four ranks with links of 1 GB/s add up four blocks of 1 GB each. Four blocks must enter every rank, which takes
    4 s; every block takes 3 + 3 messages, and 24 GB leave four ranks at 4 GB/s in 6 s, the 2 (n - 1) / n of the papers:

    >>> from ops.collectives import COLLECTIVES
    >>> from sim.machines import build
    >>> machine = build("switch:ranks=4,bandwidth=1GBps,latency=0")
    >>> lower_bound(machine, COLLECTIVES["allreduce"].promise(4, 4, 0), np.full(4, 1e9), np.array(machine.ranks))
    6.0
    """
    best = _latency_bound(topology, promise, devices)
    for group in groupings(topology, devices):
        best = max(best, _cut_bound(topology, promise, weights, devices, group, in_switch=in_switch))
    return best


def least_sent(promise: Promise, weights: Floats, *, in_switch: bool = False) -> float:
    """The rank that sends most cannot send fewer bytes than this, whatever the schedule and the machine.

    Arguments as for `lower_bound`; the messages' theorem there, with every rank a group of its own.

    >>> from ops.collectives import COLLECTIVES
    >>> least_sent(COLLECTIVES["allreduce"].promise(4, 4, 0), np.full(4, 1e9))
    6000000000.0
    """
    ranks = len(promise.given)
    traffic = _traffic(promise, np.arange(ranks), ranks)
    leaving = np.bincount(traffic.leaves // promise.blocks, weights[traffic.leaves % promise.blocks], ranks)
    shared = 0.0 if promise.union or in_switch else math.fsum(traffic.messages * weights) / ranks
    return max(float(leaving.max()), shared)


def groupings(topology: Topology, devices: Ints) -> list[NDArray[np.int64]]:
    """Ways to cut the machine: a group number per device, -1 for devices outside every group."""
    alone = np.full(len(topology.devices), -1)
    alone[devices] = np.arange(len(devices))
    hosts, domains = topology.places
    inside = topology.kinds != "NET"
    numa = np.where((domains >= 0) & inside, hosts * 4096 + domains, -1)
    host = np.where(inside, hosts, -1)
    groupings = [alone]
    for labels in (numa, host):
        numbers = np.unique(labels[devices])
        if numbers[0] >= 0 and 1 < len(numbers) < len(devices):
            groupings.append(np.where(np.isin(labels, numbers), np.searchsorted(numbers, labels), -1))
    return groupings


class _Cut(NamedTuple):
    """What joins the groups of a cut: B/s out of and into each, and the least seconds of a message between two."""

    out_of: Floats
    into: Floats
    shortest: float


class _Traffic(NamedTuple):
    """What must cross a cut: `enters` and `leaves` list `group * blocks + block`, `messages` count per block."""

    enters: NDArray[np.int64]
    leaves: NDArray[np.int64]
    messages: NDArray[np.int64]


def _cut_bound(
    topology: Topology,
    promise: Promise,
    weights: Floats,
    devices: Ints,
    group: NDArray[np.int64],
    *,
    in_switch: bool,
) -> float:
    """The bound of one cut: what must cross it, over what it lets pass.

    Theorem: a block to which c groups contribute and which o groups are owed, summed over all of them, is the load of
    at least c + o - 1 messages between groups, and of one less where a group both contributes and is owed it.
    For let G be the first group that holds the whole sum. Every contributing group but G has sent something before,
    and every owed group but G receives the sum after: these messages are all different. (For groups of one rank,
    Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69, 2009.) It takes
    for granted that messages carry one block or sum and arrive in one group, so a switch that adds or copies is exempt.
    """
    across = cut(topology, group)
    if across is None:
        return 0.0
    traffic = _traffic(promise, group[devices], len(across.into))
    seconds = [0.0]
    with np.errstate(divide="ignore", invalid="ignore"):
        for pairs, capacity in ((traffic.enters, across.into), (traffic.leaves, across.out_of)):
            needed = np.bincount(pairs // promise.blocks, weights[pairs % promise.blocks], len(capacity))
            seconds.append(float(np.max(np.where(needed > 0, needed / capacity, 0.0))))
    if not (promise.union or in_switch):
        seconds.append(math.fsum(traffic.messages * weights) / float(across.out_of.sum()))
    return across.shortest + max(seconds) if max(seconds) > 0 else 0.0


def cut(topology: Topology, group: NDArray[np.int64]) -> _Cut | None:
    """The links between groups, or between a group and the rest; None where they lead out or in nowhere."""
    src, dst = topology.ends
    groups = int(group.max()) + 1
    crossing = group[src] != group[dst]
    leaving, entering = crossing & (group[src] >= 0), crossing & (group[dst] >= 0)
    out_of: Floats = np.bincount(group[src][leaving], topology.bandwidth[leaving], groups).astype(np.float64)
    into: Floats = np.bincount(group[dst][entering], topology.bandwidth[entering], groups).astype(np.float64)
    shared = topology.shared & crossing
    for ends, capacity in ((dst, out_of), (src, into)):
        back = shared & (group[ends] >= 0)
        capacity += np.bincount(group[ends][back], topology.bandwidth[back], groups)
    if not out_of.any() or not into.any():
        return None
    return _Cut(out_of, into, topology.overhead + float(topology.latency[crossing].min()))


def _traffic(promise: Promise, group: NDArray[np.int64], groups: int) -> _Traffic:
    """What a promise moves between groups; `group[r]` is rank r's.

    A block enters a group that is owed a sum to which ranks outside contribute. It leaves one that contributes if
    another is owed it, provided that all who are owed it are owed the same sum: of a scan's sums each is another.
    """
    blocks, ranks = promise.blocks, len(group)
    has_first, is_owed = promise.given != NOTHING, promise.owed != NOTHING
    block, first, last = (column[is_owed] for column in (promise.owed, promise.first, promise.last))
    home = group[np.nonzero(is_owed)[0]]
    foreign = (last - first) > _inside(group, groups, home, first, last)
    gives = distinct(group[np.nonzero(has_first)[0]] * blocks + promise.given[has_first], groups * blocks)
    takes = distinct(home * blocks + block, groups * blocks)
    enters = distinct((home * blocks + block)[foreign], groups * blocks)
    givers, takers = (np.bincount(pairs % blocks, minlength=blocks) for pairs in (gives, takes))
    same = _owed_the_same_everywhere(blocks, ranks, block, first, last)
    both = among(gives, takes)
    leaves = gives[same[gives % blocks] & (takers[gives % blocks] > both)]
    meets = np.zeros(blocks, bool)
    meets[gives[both] % blocks] = True
    messages = np.where(same & (takers > 0), np.maximum(0, givers + takers - 1 - meets), 0)
    return _Traffic(enters, leaves, messages)


def _inside(
    group: NDArray[np.int64], groups: int, home: NDArray[np.int64], first: Ints, last: Ints
) -> NDArray[np.int64]:
    """How many of ranks `first[i] .. last[i] - 1`, which need not be neighbours, are of group `home[i]`."""
    ranks = len(group)
    if groups * (ranks + 1) > 4 * len(home) + 4096:
        members = np.sort(group * ranks + np.arange(ranks))
        return np.searchsorted(members, home * ranks + last) - np.searchsorted(members, home * ranks + first)
    inside = np.zeros((groups, ranks + 1), np.int64)
    inside[:, 1:] = np.cumsum(group[None, :] == np.arange(groups)[:, None], axis=1)
    counts: NDArray[np.int64] = inside[home, last] - inside[home, first]
    return counts


def _owed_the_same_everywhere(blocks: int, ranks: int, block: Ints, first: Ints, last: Ints) -> NDArray[np.bool_]:
    """For each block, whether every place that is owed it is owed the sum over the same ranks."""
    lowest, narrowest = (np.full(blocks, most, first.dtype) for most in (ranks, ranks + 1))
    highest = np.zeros(blocks, last.dtype)
    np.minimum.at(lowest, block, first)
    np.maximum.at(highest, block, last)
    np.minimum.at(narrowest, block, last - first)
    same: NDArray[np.bool_] = (narrowest == highest - lowest) & (highest > lowest)
    return same


def among(numbers: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of some numbers are among others; both are in order, each once.

    >>> among(np.array([1, 4, 9]), np.array([0, 4, 8]))
    array([False,  True, False])
    """
    if not len(others):
        return np.zeros(len(numbers), np.bool_)
    present: NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, numbers), len(others) - 1)] == numbers
    return present


def distinct(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Which numbers below `most` there are, in order: as they are, by a table where that is small, else by sorting."""
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    if most > 8 * len(numbers) + 4096:
        ordered = np.sort(numbers)
        return ordered[np.diff(ordered, prepend=-1) > 0]
    present = np.zeros(most, bool)
    present[numbers] = True
    return np.flatnonzero(present)


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
            reach = quickest(topology, int(devices[source]))[devices]
            best = max(best, topology.overhead + float(reach[needed[: len(devices)]].max()))
    return best


def quickest(topology: Topology, source: int) -> Floats:
    """Least latency from one device to every other over any links, in seconds; relaxed until it settles."""
    src, dst = topology.ends
    both = topology.shared
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
