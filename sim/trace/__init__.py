"""What happened: every transfer's times as columns, and what is read off them."""

from sim.trace.model import FORMAT, NO_CAPACITIES, NO_HITS, Capacities, History, Hits, Stall, Trace, from_json

__all__ = ["FORMAT", "NO_CAPACITIES", "NO_HITS", "Capacities", "History", "Hits", "Stall", "Trace", "from_json"]
