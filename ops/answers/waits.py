"""Who waits for what: the link or the rank that holds up the end of a run, and how many ranks it holds up."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.run import Run
from sim.base.ragged import row_numbers, take
from sim.topology import Floats, Topology
from sim.topology.devices import names_of
from sim.trace import Trace
from sim.trace.breakdown import PARTS, Breakdown

FLOWING = [PARTS.index(part) for part in ("bytes", "slowed", "sharing")]
"""What a link costs a transfer beside its latency."""
WAITING = PARTS.index("waiting")
MOST = 1 << 18
"""Transfers of a run up to which it is counted who waits."""


class Holder(NamedTuple):
    """A link or a rank of a run, the share of the run that its critical path spends on it, and who waits for it.

    `ranks` counts the ranks whose last message comes after a chain of messages that passes it; 0 where not every
    transfer has a row. The name is `A ↔ B` where more ranks wait for one of both directions than for this one.
    """

    name: str
    share: float
    ranks: int
    link: int = -1


def link_waited_for(run: Run) -> Holder | None:
    """Return the link that the critical path spends most time on; None where it spends none.

    Raises InputError where too many transfers differ.
    """
    path = run.path
    if not run.time:
        return None
    busiest = _busiest_links(run, run.breakdown.path)
    crosses = busiest >= 0
    seconds = np.bincount(busiest[crosses], _spent(run.breakdown, FLOWING)[crosses], len(run.topology.links))
    if not seconds.any():
        return None
    link = int(np.argmax(seconds))
    ends, share = run.topology.links[link], float(seconds[link]) / run.time
    name = link_name(run.topology, link)
    if not _is_counted(run):
        return Holder(name, share, 0, link)
    back = [i for i, other in enumerate(run.topology.links) if (other.src, other.dst) == (ends.dst, ends.src)]
    one, both = (_ranks_behind(path, _crossing(path, links)) for links in ([link], [link, *back]))
    return Holder(f"{ends.src} ↔ {ends.dst}" if both > one else name, share, both, link)


def _busiest_links(run: Run, transfers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the link that the run uses most on the way of each transfer, the first of several; -1 where none is."""
    offsets, links = take(*run.path.routes, run.path.route[transfers])
    row, use = row_numbers(offsets), run.link_use[links]
    order = np.lexsort((-np.arange(len(row)), use, row))  # the last of each row has the greatest use
    busiest = np.full(len(transfers), -1, np.int64)
    busiest[row[order]] = links[order]
    return busiest


def link_names(topology: Topology) -> Iterator[str]:
    """Return all links by their two ends."""
    names, (src, dst) = [*names_of(topology.devices)], (end.tolist() for end in topology.ends)
    return (f"{names[a]} → {names[b]}" for a, b in zip(src, dst, strict=True))


def link_name(topology: Topology, link: int) -> str:
    """Return a link by its two ends."""
    ends = topology.links[link]
    return f"{ends.src} → {ends.dst}"


def _is_counted(run: Run) -> bool:
    return run.is_written_out and run.work.transfers <= MOST


def _crossing(trace: Trace, several: list[int]) -> NDArray[np.bool_]:
    """Which transfers cross one of some links."""
    offsets, links = take(*trace.routes, trace.route)
    row = row_numbers(offsets)
    return np.asarray(np.bincount(row[np.isin(links, several)], minlength=len(trace.route)) > 0)


def rank_waited_for(run: Run) -> Holder | None:
    """Return the rank whose being late or slow costs the critical path most; None where none does.

    Raises InputError where too many transfers differ.
    """
    path = run.path
    if not run.time:
        return None
    lost = _spent(run.breakdown, [WAITING])
    if not lost.any():
        return None
    senders = path.schedule.src[run.breakdown.path]
    seconds = np.bincount(senders, lost)
    rank = int(np.argmax(seconds))
    behind = _ranks_behind(path, path.schedule.src == rank) if _is_counted(run) else 0
    return Holder(str(rank), float(seconds[rank]) / run.time, behind)


def _spent(why: Breakdown, parts: list[int]) -> Floats:
    """Seconds that every transfer of the critical path spends on some parts."""
    return np.asarray(why.seconds[:, parts].sum(axis=1))


def _ranks_behind(trace: Trace, marked: NDArray[np.bool_]) -> int:
    """Count the ranks whose last message comes after a chain of causes with a marked transfer in it."""
    behind, cause = np.append(marked, False), np.append(trace.cause, -1).astype(np.int64)
    for _ in range(len(cause).bit_length()):
        behind |= behind[cause]
        cause = np.where(cause >= 0, cause[cause], -1)
    order = np.argsort(trace.end, kind="stable")
    last = np.full(trace.schedule.places, -1)
    last[trace.schedule.dst[order]] = order
    return int(behind[last[: trace.schedule.n]].sum())
