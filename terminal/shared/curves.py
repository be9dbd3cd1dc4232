"""Curves over size and over ranks, from the rows of a grid."""

from collections.abc import Sequence
from typing import Any

from ops.lab.cells import Row
from ops.lab.winners import named
from sim.units import fmt_time
from terminal.shared.lab import table

Curves = dict[str, tuple[list[float], list[float]]]
"""Points by name: x and y."""
COLUMNS = (
    "machine",
    "algorithm",
    "settings",
    "ranks",
    "size_bytes",
    "time_s",
    "algbw_Bps",
    "busbw_Bps",
    "bound_s",
    "reason",
    "root",
    "counts",
    "nccl",
    "expected_error",
)


def plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What an answer keeps of rows."""
    return [{key: row.get(key) for key in COLUMNS} for row in rows]


def over_size(rows: Sequence[Row]) -> Curves:
    """Bus bandwidth against size; the machine and the ranks are part of a curve's name where they differ."""
    machines = {row["machine"] for row in rows}
    places = {(row["machine"], row["ranks"]) for row in rows}
    curves: Curves = {}
    for row in rows:
        machine = row["machine"] if len(machines) > 1 else ""
        ranks = f"{row['ranks']} ranks" if len(places) > len(machines) else ""
        _add(curves, row, (named(row), machine, ranks), "size_bytes", "busbw_Bps")
    return curves


def over_ranks(rows: Sequence[Row], *, machines: bool) -> Curves:
    """Time against ranks; the machine without its parameters is part of a curve's name where there are several."""
    curves: Curves = {}
    for row in rows:
        machine = row["machine"].partition(":")[0] if machines else ""
        _add(curves, row, (named(row), machine), "ranks", "time_s")
    return curves


def _add(curves: Curves, row: Row, name: Sequence[str], x: str, y: str) -> None:
    if row.get("reason") is None:
        xs, ys = curves.setdefault(" ".join(filter(None, name)), ([], []))
        xs.append(row[x])
        ys.append(row[y])


def as_nccl_tests(rows: Sequence[Row]) -> str:
    """Blocks of lines as nccl-tests prints them: size, time in µs, algbw and busbw in GB/s."""
    blocks: dict[str, list[Row]] = {}
    for row in rows:
        blocks.setdefault(f"# {named(row)} on {row['machine']}, {row['ranks']} ranks", []).append(row)
    return "\n".join(line for title, several in blocks.items() for line in (title, *_block(several)))


def _block(rows: Sequence[Row]) -> list[str]:
    well = [row for row in rows if row.get("reason") is None]
    reasons = sorted({row["reason"] for row in rows if row.get("reason")})
    lines = [f"# {reason}" for reason in reasons]
    if well:
        head = ("size (B)", "time (µs)", "algbw (GB/s)", "busbw (GB/s)")
        lines += [f"  {line}" for line in table([head, *map(_figures, well)])]
        mean = sum(row["busbw_Bps"] for row in well) / len(well)
        lines.append(f"# Avg bus bandwidth    : {mean / 1e9:.4g}")
    return lines


def _figures(row: Row) -> list[str]:
    time, algbw, busbw = row["time_s"] * 1e6, row["algbw_Bps"] / 1e9, row["busbw_Bps"] / 1e9
    return [f"{row['size_bytes']}", f"{time:.2f}", f"{algbw:.2f}", f"{busbw:.2f}"]


def as_table(curves: Curves, rows: Sequence[Row]) -> str:
    """A line of times for each curve, a column for each number of ranks."""
    ranks = sorted({x for xs, _ in curves.values() for x in xs})
    head = ["ranks", *(f"{n:g}" for n in ranks)]
    times = {name: dict(zip(*curve, strict=True)) for name, curve in curves.items()}
    body = [[name, *(fmt_time(at[n]) if n in at else "-" for n in ranks)] for name, at in times.items()]
    reasons = sorted({f"{row['algorithm']}: {row['reason']}" for row in rows if row.get("reason")})
    return "\n".join([*table([head, *body]), *reasons])


def where(machines: Sequence[str], vary: dict[str, Sequence[str]]) -> str:
    """The machines of a grid in a title."""
    return ", ".join([*machines, *(f"{key}={','.join(values)}" for key, values in vary.items())])
