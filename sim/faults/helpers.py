"""What writing a perturbation takes: names become indices, moments are checked, links are slow for a while."""

from collections.abc import Callable

import numpy as np

from sim.errors import InputError
from sim.faults.model import Controls, Process, Running
from sim.topology import DeviceIndex, Topology


def checked_span(kind: str, start: float, end: float | None) -> tuple[float, float]:
    """Start and end in s, infinite where there is no end. Raises InputError unless the end comes later."""
    if end is not None and end <= start:
        raise InputError("fault.ends", kind=kind, end=end, start=start)
    return start, np.inf if end is None else end


def checked_share(kind: str, share: float, name: str = "share") -> float:
    """A share of a bandwidth; `name` is the parameter's. Raises InputError for nothing and for more than all."""
    if not 0 < share <= 1:
        raise InputError("fault.share", kind=kind, name=name, share=share)
    return share


def rank_index(topology: Topology, kind: str, rank: int) -> DeviceIndex:
    """Return which device plays a rank. Raises InputError for a rank that the machine has not."""
    if not 0 <= rank < topology.n:
        raise InputError("fault.rank", kind=kind, topology=topology.name, last=topology.n - 1, rank=rank)
    return DeviceIndex(topology.ranks[rank])


def rank_device(topology: Topology, kind: str, rank: int) -> str:
    """Return the name of a rank's device. Raises InputError for a rank that the machine has not."""
    return topology.devices[rank_index(topology, kind, rank)].name


def device_index(topology: Topology, kind: str, name: str) -> DeviceIndex:
    """Return the index of a named device. Raises InputError."""
    if name not in topology.index:
        raise InputError("fault.device", kind=kind, topology=topology.name, name=name)
    return DeviceIndex(topology.index[name])


def links_between(topology: Topology, kind: str, src: str, dst: str, *, both: bool) -> list[int]:
    """Indices of the links from one device to another, and back with `both`. Raises InputError where there is none."""
    (a, b), (begin, end) = (device_index(topology, kind, name) for name in (src, dst)), topology.ends
    links: list[int] = np.flatnonzero((begin == a) & (end == b)).tolist()
    links += np.flatnonzero((begin == b) & (end == a) & (topology.shared | both)).tolist()
    if not links:
        raise InputError("fault.link", kind=kind, topology=topology.name, src=src, dst=dst)
    return links


def limit_links(find: Callable[[Topology], list[int]], share: float, start: float, end: float) -> Process:
    """A process that leaves links only a share of their bandwidth from `start` to `end` (s), 0 for nothing.

    `find` looks the links up on the machine as all perturbations left it.
    """

    def process(controls: Controls) -> Running:
        links = find(controls.topology)
        yield from controls.wait_until(start)
        for link in links:
            controls.limit(link, share)
        controls.mark(links, start, end)
        if end < np.inf:
            yield from controls.wait_until(end)
            for link in links:
                controls.limit(link, 1.0)

    return process
