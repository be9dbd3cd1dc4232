"""`bandwidth` and `scaling`: curves over size and over ranks, as tables and figures."""

import argparse
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, Answer, command
from terminal.lab import AXES, FIGURE, JOBS, draw, figure_ending, grid, jobs, rows, table

if TYPE_CHECKING:
    from ops.lab.cells import Row
    from ops.lab.grid import Grid

KEPT = (
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
)


@command(*AXES, JOBS, FIGURE)
def bandwidth(given: argparse.Namespace) -> Answer:
    """Bus bandwidth against size, as nccl-tests prints it."""
    figure_ending(given.output)
    asked = grid(given, sizes="8..1GiB*4")
    found = rows(asked, jobs(given))
    curves = _curves(found, "size_bytes", "busbw_Bps")
    draw(given.output, lambda charts: charts.bandwidths(curves, _name(asked)))
    return Answer(DONE, {"rows": _plain(found)}, _nccl(found))


@command(*AXES, JOBS, FIGURE)
def scaling(given: argparse.Namespace) -> Answer:
    """Time against the number of ranks, at one size: of --ranks, or of a machine's parameter in --vary."""
    from sim.units import fmt_size

    figure_ending(given.output)
    asked = grid(given)
    found = rows(asked, jobs(given))
    sizes = {row["size_bytes"] for row in found}
    if len(sizes) > 1:
        raise InputError(f"a curve over ranks is for one size, not {len(sizes)}: give one in --sizes")
    curves = _curves(found, "ranks", "time_s", machines=len(asked.machines) > 1)
    draw(given.output, lambda charts: charts.scaling(curves, f"{_name(asked)}, {fmt_size(max(sizes))}"))
    return Answer(DONE, {"rows": _plain(found)}, _scaled(curves, found))


def _name(asked: "Grid") -> str:
    varied = (f"{key}={','.join(values)}" for key, values in asked.vary.items())
    return ", ".join([*asked.machines, *varied])


def _plain(found: "list[Row]") -> list[dict[str, Any]]:
    return [{key: row.get(key) for key in KEPT} for row in found]


def _curves(
    found: "list[Row]", x: str, y: str, *, machines: bool | None = None
) -> dict[str, tuple[list[float], list[float]]]:
    """Points by name; the machine and the ranks are part of it where they differ."""
    from ops.lab.winners import named

    several = len({row["machine"] for row in found}) > 1 if machines is None else machines
    ranks = x != "ranks" and len({(row["machine"], row["ranks"]) for row in found}) > len(
        {row["machine"] for row in found}
    )
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for row in found:
        if row.get("reason") is None:
            machine = (row["machine"] if x != "ranks" else row["machine"].partition(":")[0]) if several else ""
            name = " ".join(filter(None, [named(row), machine, f"{row['ranks']} ranks" if ranks else ""]))
            xs, ys = curves.setdefault(name, ([], []))
            xs.append(row[x])
            ys.append(row[y])
    return curves


def _nccl(found: "list[Row]") -> str:
    """Blocks of lines as nccl-tests prints them: size, time in us, algbw and busbw in GB/s."""
    from ops.lab.winners import named

    blocks: dict[str, list[Row]] = {}
    for row in found:
        blocks.setdefault(f"# {named(row)} on {row['machine']}, {row['ranks']} ranks", []).append(row)
    lines = []
    for title, several in blocks.items():
        lines.append(title)
        reasons = {row["reason"] for row in several if row.get("reason")}
        head = ["size (B)", "time (us)", "algbw (GB/s)", "busbw (GB/s)"]
        body = [
            [
                f"{row['size_bytes']}",
                f"{row['time_s'] * 1e6:.2f}",
                f"{row['algbw_Bps'] / 1e9:.2f}",
                f"{row['busbw_Bps'] / 1e9:.2f}",
            ]
            for row in several
            if row.get("reason") is None
        ]
        lines += [f"# {reason}" for reason in sorted(reasons)]
        lines += [f"  {line}" for line in table([head, *body])] if body else []
        if body:
            mean = sum(row["busbw_Bps"] for row in several if row.get("reason") is None) / len(body)
            lines.append(f"# Avg bus bandwidth    : {mean / 1e9:.4g}")
    return "\n".join(lines)


def _scaled(curves: dict[str, tuple[list[float], list[float]]], found: "list[Row]") -> str:
    from sim.units import fmt_time

    ranks = sorted({x for xs, _ in curves.values() for x in xs})
    head = ["ranks", *(f"{n:g}" for n in ranks)]
    body = [
        [name, *(fmt_time(times[n]) if n in times else "-" for n in ranks)]
        for name, times in ((name, dict(zip(*curve, strict=True))) for name, curve in curves.items())
    ]
    reasons = sorted({f"{row['algorithm']}: {row['reason']}" for row in found if row.get("reason")})
    return "\n".join([*table([head, *body]), *reasons])
