"""How loaded every link was, moment by moment: step functions straight from the flows' changes of rate."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.topology import Floats, Ints
from sim.trace import Trace


class Load(NamedTuple):
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


def link_load(trace: Trace) -> Load:
    """The total rate on every link over time, as steps."""
    transfer, begin, until, rate = intervals(trace)
    route = trace.route[transfer]
    hops = np.diff(trace.routes.offsets)[route].astype(np.int64)
    run = np.arange(hops.sum()) - np.repeat(np.cumsum(hops) - hops, hops)
    link = trace.routes.links[np.repeat(trace.routes.offsets[:-1][route], hops) + run]
    links = np.concatenate([link, link])
    times = np.concatenate([np.repeat(begin, hops), np.repeat(until, hops)])
    steps = np.repeat(rate, hops)
    changes = np.concatenate([steps, -steps])
    order = np.lexsort((times, links))
    links, times, changes = links[order], times[order], changes[order]
    total = np.cumsum(changes)
    last = np.append((links[1:] != links[:-1]) | (times[1:] != times[:-1]), True) if len(links) else np.zeros(0, bool)
    offsets = np.searchsorted(links[last], np.arange(len(trace.topology.links) + 1))
    capacity = trace.topology.bandwidth[links[last]]
    kept = total[last]
    # every link's changes cancel out, so what is left where nothing flows is rounding
    return Load(offsets, times[last], np.where(np.abs(kept) < 1e-9 * capacity, 0.0, kept))


def utilisation(trace: Trace, edges: Floats) -> Floats:
    """The share of its bandwidth each link used, on average, between `edges[j]` and `edges[j + 1]`.

    One row per link, one column per stretch of time; exact, whatever the stretches; zero
    in one of no length.
    """
    load = link_load(trace)
    shares = np.zeros((len(trace.topology.links), len(edges) - 1))
    for link in np.nonzero(np.diff(load.offsets))[0]:
        steps = slice(load.offsets[link], load.offsets[link + 1])
        time, rate = load.time[steps], load.rate[steps]
        carried = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(time))])
        shares[link] = np.diff(np.interp(edges, time, carried)) / trace.topology.bandwidth[link]
    width = np.diff(edges)
    return np.divide(shares, width, out=np.zeros_like(shares), where=width > 0)
