"""What a named algorithm of an MPI library does: the registry's claims, and what libraries do beside them.

The claims are steps, bytes and additions on an ideal switch. Libraries also copy (the vector into the buffer that is
reduced in, blocks into an order that a step can send), take buffers from the system that are touched for the first
time, send messages one after the other in one step, and ask before they send much. None of these has a number per
system: the constants below are the same for all, and turn everything into steps, bytes and additions.
Which buffers, copies and orders of children there are follows open-mpi/ompi `ompi/mca/coll/base`, but for the two
blocks that a ring of allreduce takes; malloc's bounds are those of mallopt(3). What they cost (`MESSAGE` to `EAGER`,
`TOUCH` to `PAIRED`) nobody publishes: it was chosen on the tables of MareNostrum 5, LUMI and Leonardo together.
"""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ops.measured.comparison import algorithm_of
from ops.measured.rows import Measured, Table
from ops.registry import ALGORITHMS, Cost
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.units import KiB, MiB

MESSAGE = 0.1
"""Of a step: what a message takes that a rank sends right after another."""
ARRIVING = 0.25
"""Of such a message: one that a rank only receives."""
NEAR, NEIGHBOURS = 0.7, re.compile(r"\.(?:ring|pairwise|neighbor)|_ring_")
"""Of a step: one to the next rank, which is on the same switch more often than others are; algorithms of such steps."""
EAGER, HANDSHAKE = 16 * KiB, 2.0
"""From this length on a message asks first, and a step takes so many times as long."""
TOUCH = 1.5
"""Of a byte's addition: touching a byte of memory that the system hands out anew, page by page."""
PINNED = 2.0
"""Touches of a byte of such memory that is sent block by block: the network pins every block anew."""
KEPT, SMALL = 32 * MiB, 128 * KiB
"""malloc keeps what is freed, but not blocks from `KEPT` on (the most M_MMAP_THRESHOLD becomes), and not two of one
length, which are more than twice that threshold; shorter ones than `SMALL` are always kept (mallopt(3))."""
PAIRED = 0.7
"""How much longer two ranks take that each send the other a message at once by reads of remote memory (UCX)."""
CROSSING = re.compile(r"doubling|halving|bruck|pairwise|rabenseifner|alltoall|sparbit")
"""Algorithms in which the ranks of a node all reach for other nodes at once, and share its port."""
INTERIOR = ("reduce.binomial", "reduce.binary_tree", "reduce.in_order_binary_tree")


class Beside(NamedTuple):
    """What is done beside the claims: messages sent after others, and shares of the size.

    They are exchanged with one partner at a time, copied, or buffers that are taken and given back, `blocks` of which
    are sent block by block.
    """

    messages: float = 0.0
    paired: float = 0.0
    copied: float = 0.0
    buffers: tuple[float, ...] = ()
    blocks: float = 0.0


class MpiLibrary(NamedTuple):
    """How it sends and keeps memory; `per_node` ranks share a port.

    `reads`: two that exchange are in each other's way. `frees`: buffers go back to the system, and all vectors that are
    reduced are copied first, not those of rings alone.
    """

    reads: bool
    frees: bool
    per_node: int


def library_of(table: Table) -> MpiLibrary:
    """The library by the labels: Open MPI over UCX, or Cray MPICH, which keeps its memory; ranks by the file's name."""
    open_mpi = not any(row.algorithm.endswith("_mpich") for row in table.rows)
    each = re.search(r"\dn-x(\d{1,4})(-gpu)?", table.file)  # a GPU has a port of its own
    return MpiLibrary(open_mpi, open_mpi, int(each[1]) if each and not each[2] else 1)


def cost_of(row: Measured, library: MpiLibrary) -> Cost | None:
    """Steps, and bytes moved and added as shares of the size; None for labels that mean no algorithm here."""
    entry = algorithm_of(row.collective, row.algorithm)
    claim = _claim(entry.name, row.ranks) if entry else None
    if entry is None or claim is None:
        return None
    beside = _beside(entry.name, row.ranks, claim)
    message = row.size * min(1.0, claim.betas / max(claim.alphas, 1.0))
    steps = claim.alphas * (NEAR if NEIGHBOURS.search(entry.name) else 1.0) * (HANDSHAKE if message > EAGER else 1.0)
    shared: float = library.per_node if CROSSING.search(entry.name) else 1
    shared = (1 + shared) / 2 if entry.name.startswith("broadcast") else shared  # the root's half goes out once
    in_place = not library.frees and "reduce" in entry.name and not entry.name.endswith(".ring")
    touched = _touched(beside.buffers, row.size) + PINNED * beside.blocks * (row.size >= KEPT)
    return Cost(
        steps + MESSAGE * beside.messages,
        claim.betas * shared + PAIRED * beside.paired * library.reads,
        claim.gammas + (0.0 if in_place else beside.copied) + TOUCH * touched * library.frees,
    )


def _touched(buffers: tuple[float, ...], size: int) -> float:
    """The share of a size that a call touches for the first time in buffers of such shares."""
    longest = max(buffers, default=0.0)
    if buffers.count(longest) > 1 and longest * size >= SMALL:
        return sum(buffers)
    return sum(share for share in buffers if share * size >= KEPT)


@lru_cache(maxsize=1024)
def _claim(name: str, n: int) -> Cost | None:
    """What the registry claims, unsegmented as labels mean it; a tree's broadcast sends to all children at once."""
    entry = ALGORITHMS[name]
    if entry.cost is None:
        return None
    try:
        settings = dict(entry.settle(n))
        settings |= {"segments": 1} if "segments" in settings else {}
        cost = Cost(*entry.cost(n, **settings))
    except InputError:  # not for so many ranks
        return None
    if entry.name == "reduce.linear":
        return cost._replace(alphas=1.0)  # nobody waits for anybody
    if entry.collective.name != "broadcast" or re.search(r"scatter|linear|bine", entry.name):
        return cost
    schedule = replace(entry, ordered=False).schedule(n, **settings)
    machine = build(f"switch:ranks={n}", bandwidth=1.0, latency=0.0)
    return cost._replace(betas=simulate(machine, schedule, float(MiB)).time / MiB)


def _beside(name: str, n: int, claim: Cost) -> Beside:
    collective, _, way = name.partition(".")
    rounds = (n - 1).bit_length()
    of_tree = {"binomial": math.comb(rounds + 1, 2), "knomial": 3 * math.comb(int(claim.alphas) + 1, 2)}
    beside = BESIDE[name](n, claim) if name in BESIDE else Beside()
    if name in INTERIOR:
        beside = beside._replace(buffers=(1.0, 1.0, 1.0))
    if collective == "scatter" and way in ("binomial", "bine"):
        beside = beside._replace(buffers=tuple(0.5**k for k in range(1, rounds + 1)))
    return beside._replace(messages=of_tree.get(way, beside.messages))  # the nearest child first, the widest last


BESIDE: dict[str, Callable[[int, Cost], Beside]] = {
    "allgather.recursive_doubling": lambda n, c: Beside(paired=c.betas),
    "allgather.neighbor_exchange": lambda n, c: Beside(paired=c.betas),
    "allgather.sparbit": lambda n, c: Beside(messages=n - 1 - c.alphas),
    "allgather.k_bruck": lambda n, c: Beside(messages=2 * c.alphas, copied=1.0),
    "allreduce.recursive_doubling": lambda n, c: Beside(paired=c.betas, copied=1.0, buffers=(1.0,)),
    "allreduce.rabenseifner": lambda n, c: Beside(paired=c.betas, copied=1.0, buffers=(1.0,)),
    "allreduce.ring": lambda n, c: Beside(copied=1.0),
    "broadcast.scatter_doubling_allgather": lambda n, c: Beside(paired=c.betas / 2),
    "reduce.linear": lambda n, c: Beside(ARRIVING * (n - 1), buffers=(1.0,)),
    "gather.linear": lambda n, c: Beside(ARRIVING * (n - 1)),
    "reduce.rabenseifner": lambda n, c: Beside(paired=c.betas / 2, copied=1.0, buffers=(1.0, 1.0)),
    "scatter.linear": lambda n, c: Beside(messages=n - 1),
    "gather.binomial": lambda n, c: Beside(buffers=(0.5,)),
    "gather.bine": lambda n, c: Beside(buffers=(0.5,)),
    "alltoall.linear": lambda n, c: Beside(messages=n - 1),
    "alltoall.bruck": lambda n, c: Beside(copied=2 + 2 * c.betas, buffers=(1.0,)),
    "alltoall.bine": lambda n, c: Beside(copied=2 + 2 * c.betas, buffers=(1.0,)),
    "reduce_scatter.recursive_halving": lambda n, c: Beside(paired=c.betas, copied=1.0, buffers=(1.0, 1.0)),
    "reduce_scatter.ring": lambda n, c: Beside(copied=1.0, buffers=(1.0, 1 / n, 1 / n), blocks=1.0),
}
"""What algorithms do beside their claims, but for trees."""
