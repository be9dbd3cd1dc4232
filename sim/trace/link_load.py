"""How loaded every link was, moment by moment: step functions straight from the flows' changes of rate."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import row_numbers, take
from sim.topology import Floats, Ints, Topology
from sim.trace.model import Capacities, Trace


class Spell(NamedTuple):
    """Link `link` can carry `bandwidth` B/s, not its own, from `begin` to `end` s."""

    link: int
    begin: float
    end: float
    bandwidth: float


class Spanned(Protocol):
    """A run on a machine whose links could at times carry other than their own bandwidth."""

    @property
    def topology(self) -> Topology:
        """The machine."""

    @property
    def began(self) -> float:
        """When it started, s."""

    @property
    def ended(self) -> float:
        """When it had ended, s."""

    @property
    def capacities(self) -> Capacities:
        """What links could carry, wherever it was not their own bandwidth throughout."""


def spells(trace: Spanned) -> list[Spell]:
    """Where links could carry other than the machine says, within the run: by link, then in time order."""
    changes, own = trace.capacities, trace.topology.bandwidth
    spells = []
    order = np.argsort(changes.link, kind="stable")
    for k, j in zip(order, [*order[1:], -1][: len(order)], strict=True):
        link, bandwidth = int(changes.link[k]), float(changes.bandwidth[k])
        begin = max(trace.began, float(changes.time[k]))
        end = float(changes.time[j]) if j >= 0 and changes.link[j] == link else trace.ended
        if end > begin and bandwidth != own[link]:
            spells.append(Spell(link, begin, end, bandwidth))
    return spells


def capacity(trace: Spanned, t: float) -> Floats:
    """What every link can carry at time t, B/s."""
    now = trace.topology.bandwidth.copy()
    for spell in spells(trace):
        if spell.begin <= t and (t < spell.end or spell.end >= trace.ended):
            now[spell.link] = spell.bandwidth
    return now


def capacities(trace: Spanned, edges: Floats) -> Floats:
    """What every link could carry on average between `edges[j]` and `edges[j + 1]`, B/s; a row per link."""
    own = trace.topology.bandwidth
    average = np.repeat(own[:, None], len(edges) - 1, axis=1)
    width = np.diff(edges)
    for spell in spells(trace):
        within = np.clip(np.minimum(edges[1:], spell.end) - np.maximum(edges[:-1], spell.begin), 0.0, None)
        share = np.divide(within, width, out=np.zeros_like(width), where=width > 0)
        average[spell.link] += (spell.bandwidth - own[spell.link]) * share
    return average


class LinkLoads(NamedTuple):
    """Link k carries `rate[j]` B/s from `time[j]` s on, for j in `offsets[k]:offsets[k + 1]`."""

    offsets: NDArray[np.int64]
    time: Floats
    rate: Floats


def intervals(trace: Trace) -> tuple[Ints, Floats, Floats, Floats]:
    """Every stretch of constant rate: transfer, from (s), to (s), B/s; empty stretches left out."""
    flowing = np.nonzero((trace.arrived > trace.start) & (np.diff(trace.routes.offsets)[trace.route] > 0))[0]
    if trace.history is None:
        transfer, begin = flowing.astype(np.int32), trace.start[flowing]
        until = trace.arrived[flowing]
        return transfer, begin, until, trace.bytes[flowing] / (until - begin)
    order = np.argsort(trace.history.transfer, kind="stable")
    transfer, begin, rate = trace.history.transfer[order], trace.history.time[order], trace.history.rate[order]
    last = np.append(transfer[1:] != transfer[:-1], True) if len(transfer) else np.zeros(0, bool)
    until = np.where(last, trace.arrived[transfer], np.append(begin[1:], 0.0)) if len(begin) else begin
    lasting = until > begin
    return transfer[lasting], begin[lasting], until[lasting], rate[lasting]


def link_load(trace: Trace) -> LinkLoads:
    """The total rate on every link over time, as steps."""
    transfer, begin, until, rate = intervals(trace)
    link, row = _crossed(trace, transfer)
    links = np.concatenate([link, link])
    times = np.concatenate([begin[row], until[row]])
    steps = rate[row]
    changes = np.concatenate([steps, -steps])
    order = np.lexsort((times, links))
    links, times, changes = links[order], times[order], changes[order]
    total = np.cumsum(changes)
    last = np.append((links[1:] != links[:-1]) | (times[1:] != times[:-1]), True) if len(links) else np.zeros(0, bool)
    offsets = np.searchsorted(links[last], np.arange(len(trace.topology.links) + 1))
    capacity = trace.topology.bandwidth[links[last]]
    rates = total[last]
    # every link's changes cancel out, so what is left where nothing flows is rounding
    return LinkLoads(offsets, times[last], np.where(np.abs(rates) < 1e-9 * capacity, 0.0, rates))


def utilisation(trace: Trace, edges: Floats) -> Floats:
    """The share of what it could carry that each link used, on average, between `edges[j]` and `edges[j + 1]`.

    One row per link, one column per stretch of time; exact, whatever the stretches; zero
    in one of no length.
    """
    links, stretches = len(trace.topology.links), len(edges) - 1
    transfer, begin, until, rate = intervals(trace)
    begin, until = np.clip(begin, edges[0], edges[-1]), np.clip(until, edges[0], edges[-1])
    first = np.clip(np.searchsorted(edges, begin, "right") - 1, 0, stretches - 1)
    last = np.clip(np.searchsorted(edges, until, "left") - 1, first, stretches - 1)
    within = first == last
    head = rate * (np.where(within, until, edges[first + 1]) - begin)
    tail = np.where(within, 0.0, rate * (until - edges[last]))
    through = np.where(within, 0.0, rate)  # fills every stretch between the first and the last

    link, row = _crossed(trace, transfer)

    def summed(column: NDArray[np.int64], values: Floats) -> Floats:
        cells = np.bincount(link * (stretches + 1) + column[row], values[row], links * (stretches + 1))
        return cells.astype(np.float64).reshape(links, stretches + 1)

    throughout = np.cumsum(summed(first + 1, through) - summed(last, through), axis=1)[:, :-1]
    # what cancels out leaves rounding
    throughout[np.abs(throughout) < 1e-9 * trace.topology.bandwidth.reshape(-1, 1)] = 0.0
    width = np.diff(edges)
    carried = summed(first, head)[:, :-1] + summed(last, tail)[:, :-1] + throughout * width
    room, whole_room = capacities(trace, edges) * width, trace.topology.bandwidth.reshape(-1, 1) * width
    return np.divide(carried, room, out=np.zeros_like(carried), where=room > 1e-9 * whole_room)


def _crossed(trace: Trace, transfer: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every link that each of some transfers crosses, and the number of the transfer among them."""
    route = trace.route[transfer]
    offsets, link = take(*trace.routes, route)
    return link.astype(np.int64), row_numbers(offsets)
