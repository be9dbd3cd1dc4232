"""One pair of each kind as a schedule, on a machine with one link of each kind, for the kernel.

Pairs of a kind may lie between ranks and links of several kinds, and be held back by all of them: one flow stands for
the pairs, waits for whatever any of their ranks waits for, and crosses all of their links. Whether each pair would
alone have been where that flow was is looked at afterwards (`sim.symmetry.classes.claim`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints, Numbers, each_once
from sim.base.ragged import offsets_of, ranges, row_numbers, take
from sim.schedule import Schedule, dependencies, in_rank_order
from sim.symmetry.classes import kernels
from sim.symmetry.classes.colours import Round, Ways
from sim.symmetry.classes.listing import Listing
from sim.topology import Device, Link, Routes, Topology

UNBOUNDED = 1e300
"""B/s of a link that holds nobody back."""
MESSAGES, CROSSINGS = 1 << 22, 1 << 22
"""More messages of kinds, or links on their ways, are not worth it."""


@dataclass(frozen=True, eq=False)
class Views:
    """The messages of one rank of each kind, and what each waits for there.

    Row i is message `message[i]` of the quotient as seen by a rank of kind `rank[i]`, which sends it or, if
    `receives[i]`, receives it. `later[e]` waits for `earlier[e]`; rows from `len(message)` up are marks.
    """

    rank: Numbers
    message: Numbers
    receives: NDArray[np.bool_]
    earlier: Numbers
    later: Numbers
    marks: int


@dataclass(frozen=True, eq=False)
class Crossings:
    """`count[i]` pairs of kind `pair[i]` cross each link of kind `link[i]`, in order of the links."""

    link: Numbers
    pair: Numbers
    count: Numbers


@dataclass(frozen=True, eq=False)
class Quotient:
    """What the kernel runs; message i is of a pair of kind `kind[i]`, the `place[i]`-th of it."""

    schedule: Schedule
    machine: Topology
    sizes: Floats
    kind: Numbers
    first: Numbers
    """Messages of kind k are `order[first[k]:first[k + 1]]`."""
    order: Numbers
    views: Views
    crossings: Crossings
    capacity: Floats
    """B/s of each kind of links."""


def quotient(listing: Listing, topology: Topology, ways: Ways, level: Round, size: float) -> Quotient | None:
    """One pair of each kind, as far as they are told apart; None where they have too many messages or links."""
    programs, pair = listing.programs, listing.pair[level.pairs.first]
    program = pair[:, kernels.PROGRAM]
    lengths = np.diff(programs.first)[program]
    crossings = _crossings(ways, level)
    machine = _machine(topology, ways, level, crossings)
    if machine is None or lengths.sum() > MESSAGES:
        return None
    line = ranges(programs.first[program], lengths)
    by_step = np.argsort(programs.step[line], kind="stable")
    order = np.empty(len(line), np.int64)
    order[by_step] = np.arange(len(line))
    line, kind = line[by_step], np.repeat(np.arange(len(pair)), lengths)[by_step]
    first = offsets_of(lengths)
    views = _views(listing, level, first, order)
    rows = len(line) + views.marks
    of_row = np.concatenate([views.message, len(line) + np.arange(views.marks)])
    later, earlier = np.divmod(each_once(of_row[views.later] * rows + of_row[views.earlier]), rows)
    schedule = Schedule(
        name=listing.name,
        n=2 * len(pair),
        slots=1,
        promise=None,
        unit_share=listing.unit_share,
        steps=listing.steps,
        step_start=np.searchsorted(programs.step[line], np.arange(listing.steps + 1)).astype(np.int64),
        op=programs.op[line],
        src=(2 * kind).astype(np.int32),
        dst=(2 * kind + (pair[:, kernels.SRC] != pair[:, kernels.DST])[kind]).astype(np.int32),
        channel=pair[kind, kernels.CHANNEL],
        moves=np.zeros(len(line) + 1, np.int32),
        from_slot=np.zeros(0, np.int32),
        to_slot=np.zeros(0, np.int32),
        after=(earlier.astype(np.int32), later.astype(np.int32)),
    )
    sizes = np.diff(programs.moves)[line] * (size * listing.unit_share)
    capacity = topology.bandwidth[level.links.first]
    return Quotient(schedule, machine, sizes, kind, first, order, views, crossings, capacity)


def _crossings(ways: Ways, level: Round) -> Crossings:
    """What crosses the first link of each kind."""
    shown = np.zeros(len(level.links.of), np.bool_)
    shown[level.links.first] = True
    hop = np.flatnonzero(shown[ways.routes.links])
    kinds = len(level.pairs.first)
    link, pair = level.links.of[ways.routes.links[hop]].astype(np.int64), level.pairs.of[ways.pair[hop]]
    both, count = np.unique(link * kinds + pair, return_counts=True)
    return Crossings(both // kinds, both % kinds, count)


def _machine(topology: Topology, ways: Ways, level: Round, crossings: Crossings) -> Topology | None:
    """A link for each kind of links, and one with the latency of each kind of pairs; None where ways are too long."""
    kinds, bandwidth = len(level.pairs.first), topology.bandwidth[level.links.first]
    common = np.zeros(len(bandwidth), np.int64)
    np.gcd.at(common, crossings.link, crossings.count)
    times = crossings.count // common[crossings.link]
    if times.sum() > CROSSINGS:
        return None
    common = np.maximum(common, 1)
    lead = ways.lead[level.pairs.first]
    devices = tuple(Device(f"R{k}", "GPU") for k in range(2 * kinds))
    links = [Link("R0", "R0", wide, 0.0) for wide in (bandwidth / common).tolist()]
    links += [Link(f"R{2 * k}", f"R{2 * k + 1}", UNBOUNDED, late) for k, late in enumerate(lead.tolist())]
    pair = np.concatenate([np.repeat(crossings.pair, times), np.arange(kinds)])
    link = np.concatenate([np.repeat(crossings.link, times), len(bandwidth) + np.arange(kinds)])
    offsets = np.concatenate([[0, 0], np.cumsum(np.bincount(pair, minlength=kinds))]).astype(np.int32)
    way = link[np.argsort(pair, kind="stable")].astype(np.int32)

    def route(src: Ints, dst: Ints) -> Routes:
        return Routes(*take(offsets, way, np.where(src == dst, 0, 1 + src // 2)))

    return Topology(
        topology.name, devices, tuple(links), ranks=tuple(range(2 * kinds)), gamma=topology.gamma, router=route
    )


def _views(listing: Listing, level: Round, first: Numbers, order: Numbers) -> Views:
    """What messages wait for at the first rank of each kind: its transfers with partners of their own."""
    programs, pair, kinds = listing.programs, listing.pair, len(level.ranks.first)
    src, dst = pair[:, kernels.SRC], pair[:, kernels.DST]
    shown = np.zeros(listing.n, np.bool_)
    shown[level.ranks.first] = True
    sent = np.flatnonzero(shown[src])
    heard = np.flatnonzero(shown[dst] & (src != dst))
    both = np.concatenate([sent, heard])
    program = pair[both, kernels.PROGRAM]
    lengths = np.diff(programs.first)[program]
    line, of = ranges(programs.first[program], lengths), np.repeat(np.arange(len(both)), lengths)
    message = order[ranges(first[level.pairs.of[both]], lengths)]
    by_step = np.argsort(programs.step[line], kind="stable")
    line, of, message = line[by_step], of[by_step], message[by_step]
    receives = of >= len(sent)
    local = (src == dst)[both[of]]
    rank = level.ranks.of[np.where(receives, dst[both[of]], src[both[of]])].astype(np.int64)
    partner = kinds + np.arange(len(of))
    moves = np.diff(programs.moves)[line]
    move = ranges(programs.moves[line], moves)
    seen = Schedule(
        name=listing.name,
        n=kinds + len(of),
        slots=1 + int(max(programs.from_slot.max(initial=0), programs.to_slot.max(initial=0))),
        promise=None,
        unit_share=listing.unit_share,
        steps=listing.steps,
        step_start=np.searchsorted(programs.step[line], np.arange(listing.steps + 1)).astype(np.int64),
        op=programs.op[line],
        src=np.where(receives, partner, rank).astype(np.int32),
        dst=np.where(receives | local, rank, partner).astype(np.int32),
        channel=pair[both[of], kernels.CHANNEL],
        moves=offsets_of(moves).astype(np.int32),
        from_slot=programs.from_slot[move],
        to_slot=programs.to_slot[move],
    )
    waits = dependencies.derive(in_rank_order(seen) if listing.ordered else seen)
    earlier = row_numbers(waits.start)
    return Views(rank, message, receives, earlier, waits.after.astype(np.int64), waits.rows - len(of))
