"""Expected times as text: a table, CSV, output of nccl-tests, rules for Prometheus."""

import csv as csv_module
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from itertools import groupby

from ops.expected import ExpectedRow
from sim.units import fmt_bandwidth, fmt_size, fmt_time

PROGRAMS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "alltoall": "alltoall",
    "sendrecv": "sendrecv",
}
"""Programs of nccl-tests, without `_perf`."""
FUNCTIONS = {
    "allreduce": "AllReduce",
    "allgather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
}
"""Values of the label `collective` that NCCL Inspector writes (ncclFuncToString); it has no alltoall."""
ELEMENT = 4
"""Bytes of a float."""


def table(rows: Sequence[ExpectedRow]) -> str:
    """A line per row, with heads."""
    head = f"{'collective':14} {'size':>9} {'time':>10} {'busbw':>12} {'within':>7} {'bound':>10}  limiting link"
    lines = [head]
    for row in rows:
        within = "" if row.band is None else f"{row.band:.0%}"
        bound = fmt_time(row.bound) if row.bound else ""
        lines.append(
            f"{row.collective:14} {fmt_size(row.size):>9} {fmt_time(row.time):>10} {fmt_bandwidth(row.busbw):>12}"
            f" {within:>7} {bound:>10}  {row.link}"
        )
    untold = sum(row.band is None for row in rows)
    notes = [f"note: no measurement stands behind {untold} of {len(rows)} rows: they have no band"] if untold else []
    return "\n".join([*lines, *notes])


def csv(rows: Sequence[ExpectedRow]) -> str:
    """Comma-separated values, in s, B and B/s."""
    text = io.StringIO()
    writer = csv_module.DictWriter(text, [field.name for field in fields(ExpectedRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, rows))
    return text.getvalue().rstrip("\n")


def nccl_tests(rows: Sequence[ExpectedRow]) -> str:
    """What the programs of nccl-tests would print, in place as well as out of place."""
    parts = []
    for collective, several in groupby(rows, key=lambda row: row.collective):
        of_one = list(several)
        parts.append(f"# Collective test starting: {PROGRAMS.get(collective, collective)}_perf")
        parts.append(f"# nThread 1 nGpus 1 minBytes {of_one[0].size} maxBytes {of_one[-1].size} expected, not measured")
        parts.append(f"#{'out-of-place':>70} {'in-place':>32}")
        parts.append(f"#{'size':>12}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}{COLUMNS}{COLUMNS}")
        parts.append(f"#{'(B)':>12}{'(elements)':>14}{'':26}{UNITS}{UNITS}")
        parts += [_printed(row) for row in of_one]
    return "\n".join(parts)


COLUMNS = f"{'time':>10}{'algbw':>9}{'busbw':>9}{'#wrong':>8}"
UNITS = f"{'(us)':>10}{'(GB/s)':>9}{'(GB/s)':>9}{'':8}"


def _printed(row: ExpectedRow) -> str:
    redop = "sum" if row.collective in ("allreduce", "reduce_scatter", "reduce") else "none"
    half = f"{row.time * 1e6:10.2f}{row.algbw / 1e9:9.3f}{row.busbw / 1e9:9.3f}{0:8}"
    return f"{row.size:13}{row.size // ELEMENT:14}{'float':>10}{redop:>8}{-1:8}{half}{half}"


def prometheus(rows: Sequence[ExpectedRow]) -> str:
    """Alerts for the metric and the labels that NCCL Inspector exports (plugins/profiler/inspector/README.md)."""
    lines = ["groups:", "  - name: ringside-expected", "    rules:"]
    left = []
    for row in rows:
        if row.least_busbw is None or row.collective not in FUNCTIONS:
            left.append(row)
            continue
        labels = {
            "collective": FUNCTIONS[row.collective],
            "nranks": str(row.ranks),
            "n_nodes": str(row.hosts),
            "message_size": size_range(row.size),
        }
        chosen = ",".join(f'{key}="{value}"' for key, value in labels.items())
        lines += [
            "      - alert: NcclBelowExpected",
            f"        expr: nccl_bus_bandwidth_gbs{{{chosen}}} < {row.least_busbw / 1e9:.6g}",
            "        for: 5m",
            "        labels:",
            "          severity: warning",
            "        annotations:",
            f"          summary: {labels['collective']} of {fmt_size(row.size)} on {row.ranks} ranks is below"
            f" {row.least_busbw / 1e9:.4g} GB/s, expected {row.busbw / 1e9:.4g} GB/s within {row.band:.0%}",
        ]
    if len(left) == len(rows):
        lines[-1] = "    rules: []"
    why = "no band, or no label of NCCL Inspector"
    return "\n".join([*lines, *(f"# no rule for {row.collective} {fmt_size(row.size)}: {why}" for row in left)])


def size_range(size: int) -> str:
    """The label `message_size` of NCCL Inspector: a whole number of its largest decimal unit, and the next.

    >>> size_range(134217728), size_range(1 << 20), size_range(4 << 30), size_range(512)
    ('134-135MB', '1-2MB', '4-5GB', '512-513B')
    """
    unit, name = next(((u, n) for u, n in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")) if size >= u), (1, "B"))
    return f"{size // unit}-{size // unit + 1}{name}"
