"""The report of a machine: what was read and assumed, its best ring, what saves most, what NCCL should reach."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ops.answers.remedy import fastest
from ops.diagnosis import LEAST_GAIN, Diagnosis, diagnose, ordered, ring_of
from ops.expected import SIZES, USUAL, ExpectedRow, rows_of, with_hosts
from ops.lab.grid import sizes_of, split
from ops.plan import Plan
from ops.plan.notation import assignments, entries, listed
from ops.run.budget import expect_pairs
from sim.errors import InputError
from sim.parameters import written
from sim.topology import Topology
from sim.topology.path_classes import describe

CHANGES = 3
"""Changes that a report names."""
MOST_RANKS = 64
"""Ranks up to which other algorithms are tried."""


@dataclass(frozen=True)
class SavingChange:
    """A change of a run, and the times without and with it, s.

    `kind` is `order`, `algorithm`, `class` or `link`; `name` the order, the algorithm, the kind of links or the ends of
    the link. `edit` makes the change, except for an algorithm. `after_order` says that both times are of a ring in the
    best order.
    """

    kind: str
    name: str
    before: float
    after: float
    edit: str = ""
    after_order: bool = False

    @property
    def saves(self) -> float:
        """Seconds that the change saves."""
        return self.before - self.after


@dataclass(frozen=True)
class MachineReport:
    """All that is said of a machine; `topology` and `classes` are what was read, `rows` what NCCL should reach."""

    topology: dict[str, Any]
    classes: dict[str, int]
    hosts: int
    assumed: tuple[str, ...]
    diagnosis: Diagnosis
    changes: tuple[SavingChange, ...]
    rows: tuple[ExpectedRow, ...]

    @property
    def largest(self) -> ExpectedRow:
        """The row of the largest all-reduce, which tells bandwidths."""
        return max((row for row in self.rows if row.collective == USUAL[0]), key=lambda row: row.size)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: `topology`, `diagnosis` and `expected` are what the commands of these names print."""
        changes = [
            {
                "kind": change.kind,
                "name": change.name,
                "edit": change.edit or None,
                "after_order": change.after_order,
                "before_s": change.before,
                "after_s": change.after,
                "saves_s": change.saves,
            }
            for change in self.changes
        ]
        return {
            "topology": self.topology,
            "diagnosis": self.diagnosis.as_dict(),
            "changes": changes,
            "expected": [row.as_dict() for row in self.rows],
        }


def with_hosts_and_nics(plan: Plan, hosts: int, nics: int) -> Plan:
    """A plan's machine with so many hosts, and so many NICs on each; 0 leaves either as it is. Raises InputError."""
    if nics:
        counts = {"count": str(nics)} | ({"hosts": str(hosts)} if hosts > 1 else {})
        plan = replace(plan, edits=listed([f"set_nics:{written(counts)}", *entries(plan.edits)]))
        return _hosts(plan, 1) if hosts else plan
    return _hosts(plan, hosts) if hosts else plan


def _hosts(plan: Plan, hosts: int) -> Plan:
    if not plan.capture:
        return replace(plan, machine=with_hosts(plan.machine, hosts))
    rates = assignments(plan.rates, plan.capture_name) | {"hosts": str(hosts)}
    return replace(plan, rates=written(rates))


def report_of(plan: Plan) -> MachineReport:
    """Report on the machine of a plan. Raises InputError, also for one without two GPUs, and StalledError."""
    topology = plan.topology()
    if topology.n < 2:
        raise InputError("diagnosis.ring", topology=topology.name, n=topology.n)
    expect_pairs(topology.name, len(topology.devices))
    read = describe(topology) | {"differs": plan.differences()}
    gpus = {device["name"] for device in read["devices"] if device["kind"] == "GPU"}
    pairs = {(*sorted((a, b)), word) for a, row in read["pairs"].items() for b, word in row.items() if {a, b} <= gpus}
    judged = diagnose(plan)
    return MachineReport(
        topology=read,
        classes=dict(Counter(sorted(word for a, b, word in pairs if a != b)).most_common()),
        hosts=len({int(topology.nodes[device]) for device in topology.ranks}),
        assumed=topology.assumed,
        diagnosis=judged,
        changes=tuple(_changes(plan, topology, judged)),
        rows=tuple(rows_of(plan, topology, USUAL, sizes_of(split(SIZES)))),
    )


def _changes(plan: Plan, topology: Topology, judged: Diagnosis) -> list[SavingChange]:
    """The changes that save most, each simulated; where another order is better, the others are tried with it."""
    ring, before, is_after = ring_of(plan), judged.time, bool(judged.edit)
    changes = []
    if judged.edit:
        order = " ".join(map(str, judged.order))
        changes.append(SavingChange("order", order, before, judged.best_time, judged.edit))
        ring, before = ordered(ring, judged.order), judged.best_time
    run = ring.run(written=0)
    used = {topology.links[link].kind for link in np.flatnonzero(run.link_use > 0).tolist()}
    tried: list[tuple[str, str, str]] = [("class", kind, f"set_class:kind={kind},times=2") for kind in sorted(used)]
    for cable in judged.cables:
        src, dst = cable.name.split(" - ")[:2]
        if (src in topology.index) and (dst in topology.index):
            tried.append(("link", f"{src} - {dst}", f"set_link:src={src},dst={dst},times=2"))
    for kind, name, edit in tried:
        after = replace(ring, edits=listed([*entries(ring.edits), edit])).run(written=0).time
        changes.append(SavingChange(kind, name, before, after, edit, is_after))
    best = fastest(ring) if topology.n <= MOST_RANKS else None
    if best and best.algorithm != ring.algorithm:
        changes.append(SavingChange("algorithm", best.algorithm, before, best.time, after_order=is_after))
    links = [change.after for change in changes if change.kind == "link"]
    worth = [
        change
        for change in changes
        if change.after < LEAST_GAIN * change.before
        and not (change.kind == "class" and any(time <= change.after * (1 + 1e-9) for time in links))
    ]
    return sorted(worth, key=lambda change: -change.saves)[:CHANGES]
