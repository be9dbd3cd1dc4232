"""What makes a run differ from the plain machine: of which fault is one use, a library's protocol another."""

from sim.faults.helpers import (
    checked_share,
    checked_span,
    device_index,
    limit_links,
    links_between,
    rank_device,
    rank_index,
)
from sim.faults.model import Controls, Perturbation, Process, Running
from sim.faults.places import Endpoint, LinkEnd, LinkStart, NicName, RankNumber

__all__ = [
    "Controls",
    "Endpoint",
    "LinkEnd",
    "LinkStart",
    "NicName",
    "Perturbation",
    "Process",
    "RankNumber",
    "Running",
    "checked_share",
    "checked_span",
    "device_index",
    "limit_links",
    "links_between",
    "rank_device",
    "rank_index",
]
