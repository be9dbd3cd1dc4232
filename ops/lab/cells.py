"""One cell of a sweep: a run told in plain words, its name for ever, and the row it becomes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from ops.registry import ALGORITHMS
from ops.work import Outcome, Work, carry_out, registered
from sim import metrics
from sim.base.compiled import compiled
from sim.errors import InputError, StalledError
from sim.fabric import kernel
from sim.formats import read_topology
from sim.machines import build
from sim.parameters import parse_assignments
from sim.schedule import replay
from sim.schedule.verify import Proof, prove
from sim.topology import Topology

Texts = Mapping[str, str]
"""The text of every machine that was read from a file, by the name its cells call it."""
Row = dict[str, Any]

BUDGET = 1.0
"""Seconds after which a process tells what it has finished; what is killed loses no more than that, or one cell."""
MANY = 8
"""Runs from which on compiled kernels are worth the second they take to load."""
_ONE = Lock()
"""Threads of one process take turns: they would not be faster together, and share the caches."""


class Cell(NamedTuple):
    """A run. `settings` are an algorithm's parameters as `key=value,…`; `trouble` several specs with ` + ` between.

    `ranks` is 0 for the whole machine; `seed` is -1 where nothing is drawn.
    """

    algorithm: str
    settings: str
    machine: str
    ranks: int
    size: int
    trouble: str = ""
    seed: int = -1

    def name(self, texts: Texts) -> str:
        """The same for the same run, whatever grid it is in: a hash of all it is made of, the machine's file too."""
        told = json.dumps([*self, texts.get(self.machine, "")])
        return hashlib.sha256(told.encode()).hexdigest()[:20]

    def troubles(self) -> list[str]:
        """Its troubles one by one."""
        return self.trouble.split(" + ") if self.trouble else []


def prepare(runs: int) -> None:
    """Load the compiled kernels before many runs, of which each alone would be too short to ask for them."""
    if runs >= MANY:
        compiled(kernel)
        compiled(replay)


def row(cell: Cell, texts: Texts) -> Row:
    """What a cell found, or in `reason` why it could not be. Never raises for a cell that cannot be."""
    try:
        return _scenario(cell, texts) | _found(outcome(cell, texts))
    except (InputError, StalledError) as error:
        return failed(cell, texts, str(error))
    except MemoryError:
        return failed(cell, texts, "it does not fit into memory: use fewer ranks, or an algorithm of fewer transfers")


def failed(cell: Cell, texts: Texts, reason: str) -> Row:
    """The row of a cell that could not be run."""
    return _scenario(cell, texts) | {"verified": False, "reason": reason}


def rows(cells: Sequence[Cell], texts: Texts, budget: float = BUDGET) -> list[Row]:
    """The rows of the first cells, as many as fit into `budget` seconds and one at least."""
    with _ONE:
        prepare(len(cells))
        begun, found = monotonic(), [row(cells[0], texts)]
        while len(found) < len(cells) and monotonic() - begun < budget:
            found.append(row(cells[len(found)], texts))
        return found


def outcome(cell: Cell, texts: Texts) -> Outcome:
    """A cell's run. Raises InputError or StalledError for one that cannot be."""
    topology = _topology(cell.machine, texts.get(cell.machine, ""))
    work, proof = _work(cell.algorithm, cell.settings, cell.machine, texts.get(cell.machine, ""), cell.ranks)
    if work.sized and not cell.size:
        raise InputError(f"{cell.algorithm} moves data, but no size is given: add sizes")
    return carry_out(topology, work, cell.size, proof=proof, trouble=cell.troubles())


@lru_cache(4)
def _topology(machine: str, text: str) -> Topology:
    return read_topology(text, machine) if text else build(machine)


@lru_cache(1)
def _work(algorithm: str, settings: str, machine: str, text: str, ranks: int) -> tuple[Work, Proof]:
    """Cells that differ in size alone follow each other, and share their schedule and its proof."""
    entry, topology = ALGORITHMS[algorithm], _topology(machine, text)
    if ranks > topology.n:
        raise InputError(f"{machine} holds {topology.n} ranks, not {ranks}: ask for {topology.n} or fewer")
    given = parse_assignments(settings.split(",") if settings else [], algorithm)
    work = registered(entry, ranks or topology.n, topology=topology, given=given)
    return work, prove(work.schedule)


def _scenario(cell: Cell, texts: Texts) -> Row:
    return {
        "cell": cell.name(texts),
        "collective": cell.algorithm.split(".")[0],
        "algorithm": cell.algorithm,
        "settings": cell.settings,
        "machine": cell.machine,
        "ranks": cell.ranks or _whole(cell, texts),
        "size_bytes": cell.size,
        "trouble": cell.trouble,
        "seed": cell.seed if cell.seed >= 0 else None,
    }


def _whole(cell: Cell, texts: Texts) -> int | None:
    """How many ranks the whole machine holds, if there can be such a machine."""
    try:
        return _topology(cell.machine, texts.get(cell.machine, "")).n
    except (InputError, MemoryError):
        return None


def _found(outcome: Outcome) -> Row:
    trace, worst, verdict = outcome.trace, outcome.bottleneck, outcome.trace.verdict
    return {
        "ranks": outcome.work.schedule.n,
        "time_s": trace.time,
        "algbw_Bps": metrics.algbw(trace),
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "transfers": outcome.work.schedule.messages,
        "steps": outcome.work.schedule.steps,
        "instants": trace.instants,
        "bottleneck": f"{worst[1].src} -> {worst[1].dst}" if worst else None,
        "bottleneck_share": worst[0].share if worst else None,
        "verified": verdict.verdict == "ok",
        "reason": None if verdict.ok else verdict.reason,
    }
