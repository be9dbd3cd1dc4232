"""Training steps as cells of a sweep: workloads with parameters in every combination, and the rows they become."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ops.communicators.expectation import expectation
from ops.lab.sources import combinations
from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.workloads import WORKLOADS
from sim.parameters import bind, parse_spec, written
from sim.topology import Topology

NAMED = "workload"
"""What stands before all else in what a step's name for ever is made of."""


def taken(specs: Sequence[str], values: Mapping[str, Sequence[str]]) -> set[str]:
    """Return those of some parameters that a workload among `specs` has. Raises InputError."""
    return {key for spec in specs for key in values if key in WORKLOADS[parse_spec(spec)[0]].params}


def training_steps(
    specs: Sequence[str], values: Mapping[str, Sequence[str]], ranks: Sequence[int], machines: Sequence[Plan]
) -> Iterator[WorkloadPlan]:
    """Yield every workload everywhere, on every number of ranks, with all of `values` combined. Raises InputError."""
    for spec in specs:
        name, arguments = parse_spec(spec)
        entry = WORKLOADS[name]
        many = {key: some for key, some in values.items() if key in entry.params and key not in arguments}
        for combination in combinations(many):
            settings = arguments | combination
            bind(entry.function, settings, name, skip=("topology",))
            for machine in machines:
                for n in ranks:
                    words = settings | ({"ranks": str(n)} if n else {})
                    yield WorkloadPlan(name, tuple(words.items()), machine)


def hashed(cell: WorkloadPlan) -> list[Any]:
    """Return what a step's name for ever is made of."""
    machine = cell.machine
    said = [NAMED, cell.workload, sorted(cell.settings), machine.machine, machine.capture, machine.network]
    return [*said, *([machine.calibration] if machine.calibration else [])]


def words_of(cell: WorkloadPlan) -> dict[str, Any]:
    """Return what a row says of a step before it has run."""
    settings = dict(cell.settings)
    ranks = settings.pop("ranks", "")
    return {
        "collective": None,
        "algorithm": cell.workload,
        "settings": written(settings),
        "machine": cell.machine.capture_name if cell.machine.capture else cell.machine.machine,
        "network": cell.machine.network or None,
        "calibration": cell.machine.calibration or None,
        "ranks": int(ranks) if ranks else None,
        "size_bytes": 0,
        "fault": "",
    }


def facts_of(cell: WorkloadPlan) -> dict[str, Any]:
    """Return what a step came to. Raises InputError and StalledError."""
    step = cell.entry.run(_topology(cell.machine), dict(cell.settings))
    links, busiest = step.topology.links, step.busiest
    return {
        "ranks": step.ranks,
        "time_s": step.time,
        "exposed_s": step.exposed_s,
        "peak_memory_bytes": max(step.peaks, default=0.0),
        "bottleneck": None if busiest is None else f"{links[busiest].src} -> {links[busiest].dst}",
        "verified": step.verified,
        "nccl": expectation(step.calls)["nccl"],
    }


@lru_cache(4)
def _topology(machine: Plan) -> Topology:
    return machine.topology()
