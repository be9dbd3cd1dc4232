"""What a named algorithm of an MPI library does: the registry's claims, and what libraries do beside them.

The claims are steps, bytes and additions on an ideal switch. Libraries also copy (the vector into the buffer that is
reduced in, blocks into an order that a step can send), take buffers from the system that are touched for the first
time, send messages one after the other in one step, and ask before they send much. None of these has a number per
system: the constants below are the same for all, and turn everything into steps, bytes and additions.
Which buffers, copies and orders of children there are follows open-mpi/ompi `ompi/mca/coll/base`, pmodels/mpich's
brucks and HLC-Lab/pico's `libbine` (labels `*_over`), but for the two blocks that a ring of allreduce takes; malloc's
bounds are those of mallopt(3), `INLINE` is libfabric's CXIP_INJECT_SIZE, and that neighbours are pinned together, anew,
is openucx/ucx's `ucs_rcache_check_overlap`. What these cost (`MESSAGE` to `EAGER`, `TOUCH` to `PAIRED`, `NEAR`) nobody
publishes: it was chosen on the tables of MareNostrum 5, LUMI and Leonardo together.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from ops.measured.comparison import algorithm_of, is_own
from ops.measured.rows import Measured, Table
from ops.registry import ALGORITHMS, Cost
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.topology import Topology
from sim.units import KiB, MiB

MESSAGE = 0.1
"""Of a step: what a message takes that a rank sends right after another."""
ARRIVING = 0.25
"""Of such a message: one that a rank only receives."""
SAME_PEER, RINGS = 0.7, re.compile(r"\.(?:ring|neighbor)|_ring_")
"""Of a step: one to the rank that the last one went to, over connections (UCX; Slingshot has none), unless it asks
first; such algorithms."""
INLINE, SHORT = 192, 0.65
"""Up to this length a message travels in the command, and a step takes so much of one."""
EAGER, HANDSHAKE = 16 * KiB, 2.0
"""From this length on a message asks first, and a step takes so many times as long."""
DOUBLING = re.compile(
    r"allgather\.(?:k_)?(?:bruck|recursive_doubling)|rabenseifner|recursive_halving|_doubling_allgather"
)
"""Algorithms whose messages double or halve from step to step."""
TOUCH = 1.5
"""Of a byte's addition: touching a byte of memory that the system hands out anew, page by page."""
TURNS = 2 / 3
"""How much longer that takes where many ranks of a node do it at once, and wait for the system's lists of pages."""
PINNED = 0.4
"""Of a byte's addition: pinning it for the network."""
KEPT, PAIRS = 32 * MiB, 256 * KiB
"""malloc keeps what is freed, but not blocks from `KEPT` on (the most M_MMAP_THRESHOLD becomes), and not two of one
length, which are more than twice that threshold: `PAIRS` unless more was freed before (mallopt(3))."""
PAIRED, LONG = 0.7, 2 * MiB
"""How much longer two ranks take that each send the other a message at once by reads of remote memory (UCX), from this
length on."""
CROSSING = re.compile(r"doubling|halving|bruck|pairwise|rabenseifner|alltoall|sparbit")
"""Algorithms in which the ranks of a node all reach for other nodes at once, and share its port."""
RADIX = {"allgather.k_bruck": {"radix": 2}}
"""What a label means where the registry's own default is another: `libbine`'s radix."""
IN_TURN = re.compile(r"^(?:gather|scatter|reduce)\.linear$")
"""Algorithms whose root waits for every message that asks first before it turns to the next rank."""
NEAR = 0.3
"""Of a step: one to a rank of the same node, by shared memory, unless it asks first. From 0.15 to 0.5
as many winners are named."""
INSIDE = re.compile(
    r"^(?:broadcast|reduce|gather|scatter)\.(?:binomial|knomial|(?:in_order_|split_)?binary_tree)$"
    r"|^allgather\.recursive_doubling$"
)
"""Algorithms that go part of their way within a node: how much, and what passes its port, is simulated."""
INTERIOR = ("reduce.binomial", "reduce.binary_tree", "reduce.in_order_binary_tree")


class Beside(NamedTuple):
    """What is done beside the claims: messages sent after others, and shares of the size.

    They are copied, or buffers that are taken and given back, or what of those is `pinned`; `paired` is the share of
    what is moved that is exchanged with one partner at a time.
    """

    messages: float = 0.0
    paired: float = 0.0
    copied: float = 0.0
    buffers: tuple[float, ...] = ()
    pinned: float = 0.0


class MpiLibrary(NamedTuple):
    """How it sends and keeps memory; `per_node` ranks share a port, and `near` of them a host's memory, GPUs none.

    `reads`: two that exchange are in each other's way, and connections are kept. `frees`: buffers go back to the
    system, two of one length from `pairs` bytes on, and all vectors that are reduced are copied first, not those of
    rings alone. `merges`: a block is pinned together with all of its buffer that was pinned before it.
    """

    reads: bool
    frees: bool
    pairs: float
    merges: bool
    per_node: int
    near: int


def library_of(table: Table, *, keeps: bool = False) -> MpiLibrary:
    """The library by the labels, `default-NAME` an Open MPI on a network of its own; ranks by the file's name.

    It is Open MPI over UCX or Cray MPICH, which keeps its memory. Whether the first `keeps` pairs of buffers, too, and
    pins none anew, is a matter of how it was built and set up, which differs from run to run and no label tells: a
    site's 4.1 does not, another 5 does.
    """
    labels = [row.algorithm for row in table.rows]
    open_mpi = not any(label.endswith("_mpich") for label in labels)
    merges = open_mpi and not any(map(is_own, labels)) and not keeps
    each = re.search(r"\dn-x(\d{1,4})(-gpu)?", table.file)
    per_node = int(each[1]) if each else 1
    near = 1 if each and each[2] else per_node
    return MpiLibrary(open_mpi, open_mpi, PAIRS if merges else KEPT, merges, per_node, near)


def cost_of(row: Measured, library: MpiLibrary) -> Cost | None:
    """Steps, and bytes moved and added as shares of the size; None for labels that mean no algorithm here."""
    entry = algorithm_of(row.collective, row.algorithm)
    claim = _claim(entry.name, row.ranks) if entry else None
    if entry is None or claim is None:
        return None
    beside = _beside(entry.name, row.ranks, claim, library.near)
    near = _near(entry.name, row.ranks, library.near)
    messages = _messages(entry.name, row.ranks, claim, row.size)
    again = SAME_PEER if library.reads and RINGS.search(entry.name) else 1.0
    steps = sum(count * _step(share * row.size, again, near) for count, share in messages)
    long = sum(count * share for count, share in messages if share * row.size > LONG)
    passed = _passed(entry.name, claim) if library.near > 1 else 0.0
    anew = _anew(beside, row.size, library) * library.frees
    return Cost(
        steps + MESSAGE * beside.messages,
        _through(entry.name, row.ranks, claim.betas - passed, library.per_node)
        + PAIRED * beside.paired * long * library.reads,
        claim.gammas + passed + _copied(entry.name, row, beside, library) + anew,
    )


def _through(name: str, n: int, moved: float, per_node: int) -> float:
    """How often the size passes the busiest port where ranks of a node share it."""
    if per_node > 1 and INSIDE.search(name):
        return _moved(name, n, per_node)
    shared: float = per_node if CROSSING.search(name) else 1
    return moved * ((1 + shared) / 2 if name.startswith("broadcast") else shared)  # the root's half goes out once


def _copied(name: str, row: Measured, beside: Beside, library: MpiLibrary) -> float:
    """The share of the size that is copied: Cray MPICH's own reductions begin where the vector is, but for rings."""
    in_place = (
        not library.frees and row.algorithm.endswith("_mpich") and "reduce" in name and not name.endswith(".ring")
    )
    return 0.0 if in_place else beside.copied


def _anew(beside: Beside, size: int, library: MpiLibrary) -> float:
    """What it costs to touch and to pin buffers that come from the system, in additions of the size."""
    longest = max(beside.buffers, default=0.0)
    pairs = beside.buffers.count(longest) > 1 and longest * size >= library.pairs
    touched = sum(share for share in beside.buffers if pairs or share * size >= KEPT)
    pinned = beside.pinned * (size >= KEPT) * library.merges
    return (TOUCH * touched + PINNED * pinned) * (1 + TURNS * (1 - 1 / library.per_node))


def _step(message: float, again: float, near: float) -> float:
    """What a message of so many bytes takes, in steps, to the same rank `again`, over ways that are `near` in part."""
    return HANDSHAKE if message > EAGER else near * again * (SHORT if message <= INLINE else 1.0)


def _messages(name: str, n: int, claim: Cost, size: int) -> list[tuple[float, float]]:
    """How many steps have messages of which shares of the size."""
    own = 1.0 if name.startswith("reduce.") else 1 / n
    if IN_TURN.search(name) and own * size > EAGER:
        return [(n - 1, own)]
    if name == "allgather.sparbit":  # a message a block
        return [(claim.alphas, own)]
    if not DOUBLING.search(name):
        return [(claim.alphas, min(1.0, claim.betas / max(claim.alphas, 1.0)))]
    ways = max(1, round(claim.betas))
    return [(ways, 0.5**k) for k in range(1, round(claim.alphas / ways) + 1)]


@lru_cache(maxsize=1024)
def _claim(name: str, n: int) -> Cost | None:
    """What the registry claims, unsegmented as labels mean it; a tree's broadcast sends to all children at once."""
    entry = ALGORITHMS[name]
    if entry.cost is None:
        return None
    try:
        cost = Cost(*entry.cost(n, **_settings(name, n)))
    except InputError:  # not for so many ranks
        return None
    if entry.name == "reduce.linear":
        return cost._replace(alphas=1.0)  # nobody waits for anybody
    tree = entry.collective.name == "broadcast" and not re.search(r"scatter|linear|bine", entry.name)
    return cost._replace(betas=_moved(name, n, 1)) if tree else cost


@lru_cache(maxsize=1024)
def _moved(name: str, n: int, per_node: int) -> float:
    """How often the size passes the busiest port, which the ranks of a node share for what leaves it."""
    return _simulated(name, n, _nodes(n, per_node, 1.0, 0.0, 0.0)) / MiB


def _settings(name: str, n: int) -> dict[str, Any]:
    settings = dict(ALGORITHMS[name].settle(n))
    return settings | ({"segments": 1} if "segments" in settings else {}) | RADIX.get(name, {})


def _nodes(n: int, per_node: int, rate: float, near: float, far: float) -> Topology:
    """Nodes with a port each; a message between them takes `far` seconds longer than one inside."""
    rates = {"nvlink": rate, "nic": rate, "nvlink_latency": near / 2, "nic_latency": far / 2}
    return build(f"nodes:nodes={-(-n // per_node)},gpus={per_node}", **rates)


def _simulated(name: str, n: int, machine: Topology) -> float:
    schedule = replace(ALGORITHMS[name], ordered=False).schedule(n, **_settings(name, n))
    return simulate(machine, schedule, float(MiB)).time


def _passed(name: str, claim: Cost) -> float:
    """The share of the size that ranks of a ring pass on within a node: a core copies that, slower than a port."""
    if not RINGS.search(name):
        return 0.0
    return claim.betas / (2 if "_ring_" in name else 1)  # a scatter goes before


@lru_cache(maxsize=1024)
def _near(name: str, n: int, per_node: int) -> float:
    """What its steps take where ranks of a node follow each other, of what they would between nodes.

    What passes along a ring leaves the node once in `per_node` steps, what neighbours exchange every other step; of a
    tree it is the longest way down.
    """
    if RINGS.search(name) and n > per_node > 1:
        between = 2 if "neighbor" in name else per_node
        return (1 + (between - 1) * NEAR) / between
    if per_node == 1 or not INSIDE.search(name):
        return 1.0
    inside, apart = (_simulated(name, n, _nodes(n, per_node, 1e18, near, 1 - near)) for near in (NEAR, 1.0))
    return inside / apart


def _waits(rounds: int, radix: int, per_node: int) -> float:
    """Messages that the last rank of a tree waits for, one after the other at each level; ranks of a node are near."""
    inside = sum(bool(radix**k <= per_node) for k in range(1, rounds + 1))
    return (radix - 1) * sum(k - (1 - NEAR) * min(k, inside) for k in range(1, rounds + 1))


def _beside(name: str, n: int, claim: Cost, per_node: int) -> Beside:
    collective, _, way = name.partition(".")
    rounds = (n - 1).bit_length()
    of_tree = {
        "binomial": _waits(rounds, 2, per_node),
        "knomial": _waits(int(claim.alphas), 4, per_node),
        "split_binary_tree": claim.alphas - 2,
        "binary_tree": (claim.alphas - 1) * (ARRIVING if collective == "reduce" else 1),
    }
    beside = BESIDE[name](n, claim) if name in BESIDE else Beside()
    if name in INTERIOR:
        beside = beside._replace(buffers=(1.0, 1.0, 1.0))
    if collective == "scatter" and way in ("binomial", "bine"):
        beside = beside._replace(buffers=tuple(0.5**k for k in range(1, rounds + 1)))
    return beside._replace(messages=of_tree.get(way, beside.messages))  # the nearest child first, the widest last


BESIDE: dict[str, Callable[[int, Cost], Beside]] = {
    "allgather.recursive_doubling": lambda n, c: Beside(paired=1.0),
    "allgather.neighbor_exchange": lambda n, c: Beside(paired=1.0),
    "allgather.sparbit": lambda n, c: Beside(messages=n - 1 - c.alphas),
    "allgather.bruck": lambda n, c: Beside(copied=1.0, buffers=(1.0,)),
    "allgather.k_bruck": lambda n, c: Beside(copied=2.0, buffers=(1.0,)),
    "allreduce.recursive_doubling": lambda n, c: Beside(paired=1.0, copied=2.0, buffers=(1.0,)),
    "allreduce.rabenseifner": lambda n, c: Beside(paired=1.0, copied=1.0, buffers=(1.0,)),
    "allreduce.ring": lambda n, c: Beside(copied=1.0),
    "broadcast.scatter_doubling_allgather": lambda n, c: Beside(paired=0.5),
    "reduce.linear": lambda n, c: Beside(ARRIVING * (n - 1), buffers=(1.0,)),
    "gather.linear": lambda n, c: Beside(ARRIVING * (n - 1)),
    "reduce.rabenseifner": lambda n, c: Beside(paired=0.5, copied=1.0, buffers=(1.0, 1.0)),
    "scatter.linear": lambda n, c: Beside(messages=n - 1),
    "gather.binomial": lambda n, c: Beside(buffers=(0.5,)),
    "gather.bine": lambda n, c: Beside(buffers=(0.5,)),
    "alltoall.linear": lambda n, c: Beside(messages=n - 1),
    "alltoall.bruck": lambda n, c: Beside(copied=2 + 2 * c.betas, buffers=(1.0,)),
    "alltoall.bine": lambda n, c: Beside(copied=2 + 2 * c.betas, buffers=(1.0,)),
    "reduce_scatter.recursive_halving": lambda n, c: Beside(paired=1.0, copied=1.0, buffers=(1.0, 1.0)),
    "reduce_scatter.ring": lambda n, c: Beside(copied=1.0, buffers=(1.0, 1 / n, 1 / n), pinned=(n - 1) / 2),
}
"""What algorithms do beside their claims, but for trees."""
