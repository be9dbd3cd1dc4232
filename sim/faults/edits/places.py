"""Which device plays which rank."""

from dataclasses import replace

from sim.base.numbers import whole
from sim.errors import InputError
from sim.faults.edits import edit
from sim.faults.places import RankNumber
from sim.topology import Topology

BETWEEN = "-"
"""Stands between ranks in an order; commas and spaces are taken otherwise."""


@edit(first="order=1")
def order_ranks(topology: Topology, *, order: str) -> Topology:
    """Ranks in another order: those named, like 0-2-1-3, become rank 0, 1, … and the others follow as they were."""
    words = order.replace(BETWEEN, " ").split()
    ranks = []
    for word in words:
        rank = whole(word)
        if rank is None or not 0 <= rank < topology.n:
            raise InputError("edits.order_rank", word=word, topology=topology.name, n=topology.n)
        ranks.append(rank)
    if not ranks or len(set(ranks)) < len(ranks):
        raise InputError("edits.no_order", order=order)
    named = set(ranks)
    now = (*ranks, *(rank for rank in range(topology.n) if rank not in named))
    if now == tuple(range(topology.n)):
        raise InputError("edits.same_order", topology=topology.name)
    return replace(topology, ranks=tuple(topology.ranks[rank] for rank in now), router=topology.routes)


@edit(first="other=1")
def swap_ranks(topology: Topology, *, rank: RankNumber, other: RankNumber) -> Topology:
    """Two ranks change places: each is played by the other's device."""
    for number in (rank, other):
        if number >= topology.n:
            raise InputError("edits.swap_rank", number=number, topology=topology.name, n=topology.n)
    if rank == other:
        raise InputError("edits.one_rank", rank=rank, other=other)
    ranks = list(topology.ranks)
    ranks[rank], ranks[other] = ranks[other], ranks[rank]
    return replace(topology, ranks=tuple(ranks), router=topology.routes)
