"""What happened in a run: columns, loads of links, and the ways to write them down."""

from sim.trace.kept import from_json
from sim.trace.model import FORMAT, NO_CAPACITIES, NO_HITS, Capacities, History, Hits, Stall, Trace

__all__ = ["FORMAT", "NO_CAPACITIES", "NO_HITS", "Capacities", "History", "Hits", "Stall", "Trace", "from_json"]
