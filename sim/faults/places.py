"""Where a perturbation may be on a machine: parameters that point there, what they may be, and where to look first."""

from collections.abc import Iterable
from typing import Annotated

from sim.parameters import Bounds, Parameter, PointsAt
from sim.topology import Topology

LinkStart = Annotated[str, PointsAt("start")]
"""The device that a link leads from."""
LinkEnd = Annotated[str, PointsAt("end")]
"""The device that a link leads to; the parameter before it says from where."""
NicName = Annotated[str, PointsAt("device", ("NIC",))]
"""A NIC."""
Endpoint = Annotated[str, PointsAt("device", ("GPU", "NIC", "CPU"))]
"""A device that messages may come from and go to."""
RankNumber = Annotated[int, Bounds(0, 1 << 16), PointsAt("rank")]
"""A rank."""

SMALL = {"int": "1", "float": "1", "bandwidth": "1GBps", "time": "1us", "size": "1MiB", "bool": "no", "dims": "1"}
"""What stands for a parameter of a kind that has no default and no bounds."""


def choices(points_at: PointsAt, topology: Topology, start: str = "") -> list[str]:
    """Names of what a parameter may point at; for a link's end, what the link's `start` is joined to."""
    match points_at.what:
        case "start":
            return list(dict.fromkeys(link.src for link in topology.links))
        case "end":
            return list(dict.fromkeys(link.dst for link in topology.links if link.src == start))
        case "rank":
            return [str(rank) for rank in range(topology.n)]
        case _:
            return [device.name for device in topology.devices if device.kind in points_at.kinds]


def first_values(parameters: Iterable[Parameter], topology: Topology) -> dict[str, str]:
    """A value for each parameter: the first rank, its device and its widest link, the least that is allowed.

    Of two devices the second is that of the last rank. A device of a kind that the machine has not is named all the
    same, so that what is refused says which.
    """
    values: dict[str, str] = {}
    start, devices = "", 0
    for parameter in parameters:
        points_at = parameter.points_at
        if points_at is None:
            values[parameter.name] = parameter.words[0] if parameter.words else _least(parameter)
            continue
        names = [_widest(topology, start)] if points_at.what == "end" else choices(points_at, topology)
        if points_at.what != "rank":
            names = _ranks_first(names, topology)
        devices += points_at.what == "device"
        values[parameter.name] = (names or [f"{kind}0" for kind in points_at.kinds] or [""])[-1 if devices > 1 else 0]
        start = values[parameter.name] if points_at.what == "start" else start
    return {name: value for name, value in values.items() if value}


def _least(parameter: Parameter) -> str:
    return str(parameter.low) if parameter.high else SMALL.get(parameter.kind, "")


def _ranks_first(names: list[str], topology: Topology) -> list[str]:
    """Those that are ranks' devices, in the order of ranks; where there is none, all."""
    allowed = set(names)
    return [name for name in (topology.devices[d].name for d in topology.ranks) if name in allowed] or names


def _widest(topology: Topology, start: str) -> str:
    links = [link for link in topology.links if link.src == start]
    return max(links, key=lambda link: link.bandwidth).dst if links else ""
