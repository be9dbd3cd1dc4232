"""A set-up's own numbers as the file that `calibrate -o` writes."""

from collections.abc import Sequence
from typing import Any

from ops.libraries.nccl.own.saved import VERSION
from ops.measured.own.fit import FittedNumber, OwnFit
from ops.measured.rows import Table
from sim.topology import Topology


def as_dict(fit: OwnFit, tables: Sequence[tuple[Topology, Table]]) -> dict[str, Any]:
    """The numbers with their units, intervals and rows, and how near they come to rows that were left out."""
    return {
        "ringside": VERSION,
        "calibration": str(fit.numbers),
        "machines": sorted({topology.name for topology, _ in tables}),
        "tables": [table.file for _, table in tables],
        "hosts": fit.numbers.hosts,
        "numbers": [_number(one) for one in fit.fitted],
        "dropped": list(fit.dropped),
        "left_out": {"rows": fit.left_out.rows, "below_1MiB": fit.left_out.small, "from_1MiB": fit.left_out.large},
        "without": {"rows": fit.stock.rows, "below_1MiB": fit.stock.small, "from_1MiB": fit.stock.large},
    }


def _number(one: FittedNumber) -> dict[str, Any]:
    sizes = [row.size for row in one.rows]
    return {
        "name": one.name,
        "value": one.value,
        "unit": one.unit,
        "interval": [one.low, one.high],
        "usual": one.stock,
        "rows": len(one.rows),
        "lines": [row.line for row in one.rows],
        "sizes_bytes": [min(sizes), max(sizes)],
    }
