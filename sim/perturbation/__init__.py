"""What makes a run differ from the plain machine: of which trouble is one use, a library's protocol another."""

from sim.perturbation.helpers import checked_span, device_index, limit_links, links_between
from sim.perturbation.model import Controls, Perturbation, Process, Running

__all__ = [
    "Controls",
    "Perturbation",
    "Process",
    "Running",
    "checked_span",
    "device_index",
    "limit_links",
    "links_between",
]
