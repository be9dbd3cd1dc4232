"""What happened in a run: columns, loads of links, and the ways to write them down."""

from sim.trace.kept import from_json
from sim.trace.model import FORMAT, NO_CAPACITIES, NO_HITS, Alone, Capacities, Excerpt, History, Hits, Stall, Trace
from sim.trace.timing import Rows, Timing

__all__ = [
    "FORMAT",
    "NO_CAPACITIES",
    "NO_HITS",
    "Alone",
    "Capacities",
    "Excerpt",
    "History",
    "Hits",
    "Rows",
    "Stall",
    "Timing",
    "Trace",
    "from_json",
]
