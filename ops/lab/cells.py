"""One cell of a sweep: a plan, its name for ever, and the row it becomes."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from ops.lab.steps import facts_of, hashed, words_of
from ops.libraries.nccl.own.band import band_of
from ops.plan import Plan, PreparedRun
from ops.plan.library_choice import collective_of
from ops.plan.python_file import python_file
from ops.plan.training import WorkloadPlan
from ops.run import Run
from sim.base.compiled import compiled
from sim.errors import InputError, StalledError
from sim.fabric import kernel
from sim.schedule import replay
from sim.topology import Topology

Row = dict[str, Any]
Cell = Plan | WorkloadPlan

BUDGET = 1.0
"""Seconds after which a process tells what it has finished; what is killed loses no more than that, or one cell."""
MANY = 8
"""Runs from which on compiled kernels are worth the second they take to load."""
_ONE = Lock()
"""Threads of one process take turns: they would not be faster together, and share the caches."""


def name_of(cell: Cell) -> str:
    """The same for the same run, whatever grid it is in: a hash of all it is made of, the machine's file too.

    Tables of every age are continued by these names, so what is hashed stays as it was written first.
    """
    said = hashed(cell) if isinstance(cell, WorkloadPlan) else _said(cell)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:20]


def _said(cell: Plan) -> list[Any]:
    words = (cell.algorithm, cell.settings, machine_of(cell), cell.ranks, cell.bytes, " + ".join(cell.faults))
    network = [cell.network] if cell.network else []
    more = {
        key: getattr(cell, key) for key in ("root", "counts", "schedule", "python", "calibration") if getattr(cell, key)
    }
    if cell.python:
        more["code"] = _code(cell.python)
    return [*words, cell.seed, cell.capture, *network, *([more] if more else [])]


@lru_cache(8)
def _code(python: str) -> str:
    """What a Python file says, as a hash."""
    file, _ = python_file(python) or (python, "")
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def machine_of(cell: Plan) -> str:
    """What a table calls the machine: its spec, or its file."""
    return cell.capture_name if cell.capture else cell.machine


def prepare(runs: int) -> None:
    """Load the compiled kernels before many runs, of which each alone would be too short to ask for them."""
    if runs >= MANY:
        compiled(kernel)
        compiled(replay)


def row(cell: Cell) -> Row:
    """What a cell's run came to, or in `reason` why it could not be. Never raises for a cell that cannot be."""
    try:
        facts = facts_of(cell) if isinstance(cell, WorkloadPlan) else _facts(outcome(cell))
        return _words(cell) | facts
    except (InputError, StalledError) as error:
        return failed(cell, str(error))
    except MemoryError:
        return failed(cell, "it does not fit into memory: use fewer ranks, or an algorithm of fewer transfers")


def failed(cell: Cell, reason: str) -> Row:
    """The row of a cell that could not be run."""
    return _words(cell) | {"verified": False, "reason": reason}


def rows(cells: Sequence[Cell], budget: float = BUDGET) -> list[Row]:
    """The rows of the first cells, as many as fit into `budget` seconds and one at least."""
    with _ONE:
        prepare(len(cells))
        begun, done = monotonic(), [row(cells[0])]
        while len(done) < len(cells) and monotonic() - begun < budget:
            done.append(row(cells[len(done)]))
        return done


def outcome(cell: Plan) -> Run:
    """A cell's run. Raises InputError or StalledError for one that cannot be."""
    size = cell.size if cell.depends_on_size else ""
    return _prepared(replace(cell, size=size, fault="", seed=-1)).run(cell)


@lru_cache(4)
def _topology(machine: Plan) -> Topology:
    return machine.topology()


def _on(cell: Plan) -> Topology:
    """The cell's machine, kept for those that follow."""
    return _topology(
        Plan(
            machine=cell.machine,
            capture=cell.capture,
            capture_name=cell.capture_name,
            network=cell.network,
            calibration=cell.calibration,
        )
    )


@lru_cache(1)
def _prepared(cell: Plan) -> PreparedRun:
    """Cells that differ in size and faults alone follow each other, and share their schedule and its proof."""
    return cell.prepare(_on(cell))


def _words(cell: Cell) -> Row:
    if isinstance(cell, WorkloadPlan):
        return {"cell": name_of(cell)} | words_of(cell)
    return {
        "cell": name_of(cell),
        "collective": collective_of(cell.algorithm) or None,
        "algorithm": cell.algorithm or cell.schedule_name,
        "settings": cell.settings,
        "machine": machine_of(cell),
        "network": cell.network or None,
        "ranks": cell.ranks or _whole(cell),
        "size_bytes": cell.bytes or sum(cell.block_bytes),
        "fault": cell.fault,
        "seed": cell.seed if cell.seed >= 0 else None,
        "root": cell.root or None,
        "counts": cell.counts or None,
        "calibration": cell.calibration or None,
    }


def _whole(cell: Plan) -> int | None:
    """How many ranks the whole machine holds, if there can be such a machine."""
    try:
        return _on(cell).n
    except (InputError, MemoryError):
        return None


def _facts(outcome: Run) -> Row:
    timing, worst, verdict = outcome.timing, outcome.bottleneck, outcome.verdict
    return {
        "collective": outcome.work.collective.name if outcome.work.collective else "custom",
        "ranks": timing.ranks,
        "time_s": timing.time,
        "algbw_Bps": outcome.algbw,
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "transfers": timing.messages,
        "steps": timing.steps,
        "instants": timing.instants,
        "bottleneck": worst.name if worst else None,
        "bottleneck_share": worst.share if worst else None,
        "verified": verdict.verdict == "ok",
        "reason": None if verdict.ok else verdict.reason,
        "nccl": outcome.work.settings.get("release"),
        "expected_error": band_of(timing.topology, outcome.work.settings, timing.size, timing.faults, timing.ranks),
    }
