"""Kinds of ranks, links and pairs: refined round after round by what is beside them, never by what follows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sim.base.arrays import Floats, Ints
from sim.base.compiled import twin
from sim.fabric.memory import leads
from sim.symmetry.classes import kernels
from sim.symmetry.classes.listing import Colours, Listing
from sim.topology import Routes, Topology

LEAST = 1 << 14
"""So many kinds there may always be; of more, one for every `SHARE` pairs."""
SHARE = 4
FEW = 1 << 10
"""Kinds of pairs that are told apart further before they are tried: to try them costs little less than many more."""


class Kinds(NamedTuple):
    """`of[i]` is the kind of the i-th, `first[k]` the first of kind k."""

    of: Ints
    first: Ints


@dataclass(frozen=True, eq=False)
class Round:
    """Kinds as far as one round has told them apart.

    Ranks of a kind have the same pairs but for names, as many of each kind, and so have links of a kind. Pairs of a
    kind do the same, but their ranks and links may be of several kinds; those of a variant have them of the same.
    """

    pairs: Kinds
    ranks: Kinds
    links: Kinds
    variants: Kinds


@dataclass(frozen=True, eq=False)
class Ways:
    """The route of every pair, and seconds from ready to the first byte."""

    routes: Routes
    lead: Floats

    @cached_property
    def pair(self) -> Ints:
        """The pair of every link on a route."""
        hops = np.diff(self.routes.offsets)
        return np.repeat(np.arange(len(hops), dtype=np.int32), hops)


def ways_of(listing: Listing, topology: Topology) -> Ways:
    """How pairs of ranks are joined. Raises InputError where one is not."""
    devices = np.array(topology.ranks[: listing.n], np.int32)
    src, dst = listing.pair[:, kernels.SRC], listing.pair[:, kernels.DST]
    routes = topology.routes(devices[src], devices[dst])
    return Ways(routes, leads(topology, routes))


def rounds(listing: Listing, topology: Topology, ways: Ways) -> Iterator[Round]:
    """Ever more kinds, until they are too many to be worth it, or pairs of a kind are all of one variant."""
    pair, (offsets, links) = listing.pair, ways.routes
    lead = ways.lead.view(np.uint64)
    ranks, wide = np.zeros(listing.n, np.uint64), topology.bandwidth.astype(np.float64).view(np.uint64).copy()
    colour, variant = np.empty(len(pair), np.uint64), np.empty(len(pair), np.uint64)
    most = max(LEAST, len(pair) // SHARE)
    kernel, before = twin(kernels, 40 * len(pair)), 0
    while True:
        with np.errstate(over="ignore"):
            kernel.tell_pairs(pair, lead, offsets, links, ranks, wide, colour)
            kernel.tell_places(pair, offsets, links, colour, ranks, wide)
            of_pairs = _kinds(kernel, colour, most)
            if of_pairs is None:
                return
            if before < len(of_pairs.first) < FEW:
                before = len(of_pairs.first)
                continue
            before = FEW
            of_ranks, of_links = _kinds(kernel, ranks, most), _kinds(kernel, wide, most)
            if of_ranks is None or of_links is None:
                return
            kernel.tell_variants(pair, offsets, links, of_pairs.of, of_ranks.of, of_links.of, variant)
            variants = _kinds(kernel, variant, most)
        if variants is None:
            return
        yield Round(of_pairs, of_ranks, of_links, variants)
        if len(variants.first) == len(of_pairs.first):
            return


def _kinds(kernel: Any, keys: Colours, most: int) -> Kinds | None:
    """Equal keys as kinds; None where there are too many. They are few as a rule, so that a small table does."""
    of = np.empty(len(keys), np.int32)
    for room in (min(LEAST, len(keys)), min(most, len(keys))):
        first = np.empty(room, np.int32)
        table = np.full(1 << (2 * room + 1).bit_length(), kernels.NONE, np.int32)
        count = int(kernel.number(keys, table, of, first))
        if count != kernels.NONE:
            return Kinds(of, first[:count])
    return None
