"""What `sensitivity` and `failures` say of the run they change."""

from typing import Any

from ops.work import Outcome
from sim.units import fmt_size, fmt_time
from terminal.shared.facts import origin


def title(plain: Outcome) -> str:
    """The run as it is, in one line."""
    trace = plain.trace
    load = f", {fmt_size(trace.size)}" if trace.size else ""
    return f"{plain.work.name} on {trace.topology.name}: {trace.schedule.n} ranks{load}, {fmt_time(trace.time)}"


def described(plain: Outcome) -> dict[str, Any]:
    """The run as it is, as data."""
    trace = plain.trace
    return {
        "algorithm": plain.work.name,
        **origin(plain),
        "size_bytes": int(trace.size),
        "time_s": trace.time,
    }
