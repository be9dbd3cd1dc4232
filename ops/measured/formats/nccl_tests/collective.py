"""What a table of nccl-tests ran, by its program, its columns, the name of its file, or its bandwidths."""

import re

from ops.measured.formats.nccl_tests.printed import NAMES, PrintedRow, PrintedTable, number

Factors = list[tuple[float, float]]
"""algbw and busbw of every row, GB/s."""
REDUCING = {"sum", "prod", "max", "min", "avg", "mulsum"}


def collective_of(table: PrintedTable, name: str, shared: int, factors: Factors, ranks: int = 0) -> str:
    """What ran: by the program's name, by columns, by the file's `name`, or by how bandwidths and counts relate.

    `shared` is by how many ranks a size is divided to make its count, 0 where it is the count; `ranks` are those that
    took part, 0 where that is not told. Empty where none tells.
    """
    if collective := NAMES.get(table.program, "") or _by_columns(table, shared, factors):
        return collective
    plain = re.sub(r"[^a-z]+", "_", name.lower().rpartition("/")[2])
    for word in sorted(NAMES, key=len, reverse=True):
        if word in plain:
            return NAMES[word]
    ratio = max((busbw / algbw for algbw, busbw in factors if busbw > 1), default=0.0)
    if ratio > 1.005 or (ratio > 0 and ranks == 2 and not shared and _is_checked_sum(table)):
        return "allreduce"
    return "reduce_scatter" if shared and _reduces(table) else ""


def _by_columns(table: PrintedTable, shared: int, factors: Factors) -> str:
    """What ran, by redop, root, counts and busbw over algbw; empty where columns are missing or leave it open.

    What has a root is a reduce if it reduces, and a broadcast if busbw is algbw, which gather and scatter have less of.
    What has none is a reduce_scatter if it reduces and the count is a rank's share, and a sendrecv if it does not and
    busbw is algbw, which allgather and alltoall have less of.
    """
    rooted = {_root(row) >= 0 for row in table.rows if row.redop}
    if len(rooted) != 1 or "root" not in table.header:
        return ""
    ratios = [busbw / algbw for algbw, busbw in factors if busbw > 1]
    alike = bool(ratios) and all(abs(ratio - 1) < 0.01 for ratio in ratios)
    if True in rooted:
        return "reduce" if _reduces(table) else "broadcast" * alike
    if _reduces(table):
        return "reduce_scatter" if shared else ""
    return "sendrecv" * (alike and not shared)


def _reduces(table: PrintedTable) -> bool:
    return any(row.redop in REDUCING for row in table.rows)


def _root(row: PrintedRow) -> float:
    root = number(row.rest[0]) if row.rest else None
    return -1.0 if root is None else root


def _is_checked_sum(table: PrintedTable) -> bool:
    """Whether it adds and its results were looked at: between two, busbw of an allreduce and of a sendrecv is algbw.

    A sendrecv prints `sum` too in old releases, but N/A where an allreduce counts what came out wrong in place.
    """
    return _reduces(table) and any(len(row.rest) in (8, 9) and row.rest[-1] != "N/A" for row in table.rows)
