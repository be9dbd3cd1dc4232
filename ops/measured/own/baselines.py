"""What others come to on the same rows: NCCL's tuner, a line fitted to a table's other rows, autoparallel."""

from collections.abc import Sequence
from statistics import median

import numpy as np

from ops.libraries.nccl.layers import LARGE
from ops.measured.layers import TableGroup
from ops.measured.own.fit import FOLDS
from ops.measured.rivals import RIVALS
from ops.measured.rows import Measured
from sim.errors import InputError
from sim.topology import Topology

LINE = "α-β fit"
NAMES = ("NCCL's tuner", LINE, "autoparallel")
Medians = tuple[float | None, float | None]


def medians_of(group: TableGroup) -> dict[str, Medians]:
    """Each one's medians of absolute errors over a set-up's rows, below and from 1 MiB; None without an answer."""
    errors: dict[str, list[tuple[int, float]]] = {name: [] for name in NAMES}
    for sample in group.samples:
        runs: dict[tuple[str, str, int], list[Measured]] = {}
        for row in sample.table.rows:
            runs.setdefault((row.collective, row.algorithm, row.ranks), []).append(row)
        for rows in runs.values():
            errors[LINE] += _line(rows)
        for name in NAMES:
            if name in RIVALS:
                errors[name] += [found for row in sample.table.rows for found in _rival(name, sample.topology, row)]
    return {name: _halves(some) for name, some in errors.items()}


def _rival(name: str, topology: Topology, row: Measured) -> list[tuple[int, float]]:
    if row.algorithm:
        return []
    try:
        seconds = RIVALS[name](topology, row.collective, row.ranks, row.size)
    except InputError:
        seconds = None
    return [] if seconds is None else [(row.size, abs(seconds / row.seconds - 1))]


def _line(rows: Sequence[Measured]) -> list[tuple[int, float]]:
    """Errors of a line through the other rows of a run, by least squares of relative errors."""
    errors = []
    for fold in range(FOLDS):
        rest = [row for k, row in enumerate(rows) if k % FOLDS != fold]
        if len(rest) < 2:
            continue
        terms = np.array([[1 / row.seconds, row.size / row.seconds] for row in rest])
        alpha, beta = np.linalg.lstsq(terms, np.ones(len(rest)), rcond=None)[0]
        errors += [(row.size, abs((alpha + beta * row.size) / row.seconds - 1)) for row in rows[fold::FOLDS]]
    return errors


def _halves(errors: Sequence[tuple[int, float]]) -> Medians:
    small, large = ([error for size, error in errors if (size >= LARGE) is half] for half in (False, True))
    return (median(small) if small else None, median(large) if large else None)
