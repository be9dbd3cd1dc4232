"""From a call to bytes on the move: the library's decision, its schedule proved once, the weight of every block."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ops.communicators.selection import Selection
from ops.libraries import CollectiveCall, Decision, Members
from ops.registry import ALGORITHMS
from sim.schedule import Schedule
from sim.topology import Floats

if TYPE_CHECKING:
    from ops.run.work import Work
    from sim.engine import Cluster, Event


class Prepared(NamedTuple):
    """A collective of some ranks that may start: what its library decided, and that as a work, proved."""

    decision: Decision
    work: "Work"

    @property
    def schedule(self) -> Schedule:
        """All transfers of its ranks."""
        return self.work.schedule

    @property
    def algorithm(self) -> str:
        """The registered algorithm's name."""
        return self.decision.algorithm

    def start(self, cluster: "Cluster", members: Members, units: Floats) -> "Event":
        """Start it now with unit blocks of so many bytes; the event happens at its end, with the trace as value."""
        return cluster.start(
            self.schedule, blocks=self._blocks(units), group=members.devices, proof=self.work.proof(blocks=True)
        )

    def _blocks(self, units: Floats) -> Floats | None:
        """Bytes of every block of the schedule, which may cut each unit block into equal pieces."""
        if not ALGORITHMS[self.algorithm].collective.sized:
            return None
        if self.decision.size is not None:
            units = np.array([self.decision.size])
        assert self.schedule.promise is not None
        return self.schedule.promise.in_pieces(units)


class Launcher:
    """Prepares the collectives of a run. What it has decided and proved it knows when a call comes again."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._prepared: dict[Any, Prepared] = {}
        self._works: dict[Any, Work] = {}

    def prepare(self, call: CollectiveCall, algorithm: str = "") -> Prepared:
        """What a call comes to, or an algorithm that is taken whatever the library's rule says. Raises InputError."""
        key = (
            call.members.devices, call.collective, call.size, call.count, call.root, call.commutes, call.builtin,
            call.library, algorithm,
        )  # fmt: skip
        if key not in self._prepared:
            decision = self.choose(call, algorithm)
            self._prepared[key] = prepared = Prepared(decision, self.work(decision, call.n, call.root))
            prepared.work.proof(blocks=True)
            prepared.work.remember()
        return self._prepared[key]

    def choose(self, call: CollectiveCall, algorithm: str = "") -> Decision:
        """What the library takes, or the algorithm that is taken whatever it says. Raises InputError."""
        return Decision(algorithm) if algorithm else self._selection.choose(call)

    def work(self, decision: Decision, n: int, root: int = 0) -> "Work":
        """A decision for n ranks, ready to be carried out, made once: many sizes run the same. Raises InputError."""
        from ops.run.work import Work, registered  # whoever only lists programs need not load the engine

        entry = ALGORITHMS[decision.algorithm]
        root = root if entry.collective.rooted else 0
        key = decision.algorithm, n, root, tuple(sorted(decision.settings.items())), decision.orders, decision.via
        if key not in self._works:
            self._works[key] = (
                Work(decision.schedule(n, root), entry.collective, entry, decision.settings)
                if decision.orders or decision.via
                else registered(entry, n, root=root, settings=decision.settings)
            )
        return self._works[key]
