"""What `sensitivity` and `failures` say of the run they change."""

from typing import Any

from ops.run import Run
from sim.units import fmt_size, fmt_time
from terminal.shared.facts import origin


def title(plain: Run) -> str:
    """The run as it is, in one line."""
    load = f", {fmt_size(plain.size)}" if plain.size else ""
    return f"{plain.work.name} on {plain.topology.name}: {plain.timing.ranks} ranks{load}, {fmt_time(plain.time)}"


def described(plain: Run) -> dict[str, Any]:
    """The run as it is, as data."""
    return {
        "algorithm": plain.work.name,
        **origin(plain),
        "size_bytes": int(plain.size),
        "time_s": plain.time,
    }
