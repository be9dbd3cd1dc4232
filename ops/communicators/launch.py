"""From a call to bytes on the move: the library's decision, its schedule proved once, the weight of every block."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ops.communicators.selection import Selection
from ops.libraries import CollectiveCall, Decision, Members
from ops.registry import ALGORITHMS
from sim.schedule import Schedule
from sim.schedule.verify import Proof, prove
from sim.topology import Floats

if TYPE_CHECKING:
    from sim.engine import Cluster, Event


class Prepared(NamedTuple):
    """A collective of some ranks that may start: what its library decided, and the schedule of that, proved."""

    decision: Decision
    schedule: Schedule
    proof: Proof

    @property
    def algorithm(self) -> str:
        """The registered algorithm's name."""
        return self.decision.algorithm

    def start(self, cluster: "Cluster", members: Members, units: Floats) -> "Event":
        """Start it now with unit blocks of so many bytes; the event happens at its end, with the trace as value."""
        return cluster.start(self.schedule, blocks=self._blocks(units), group=members.devices, proof=self.proof)

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
        self._plans: dict[Any, tuple[Schedule, Proof]] = {}

    def prepare(self, call: CollectiveCall, algorithm: str = "") -> Prepared:
        """What a call comes to, or an algorithm that is taken whatever the library's rule says. Raises InputError."""
        key = (
            call.members.devices, call.collective, call.size, call.count, call.root, call.commutes, call.builtin,
            call.library, algorithm,
        )  # fmt: skip
        if key not in self._prepared:
            decision = self.choose(call, algorithm)
            self._prepared[key] = Prepared(decision, *self._plan(decision, call.n, call.root))
        return self._prepared[key]

    def choose(self, call: CollectiveCall, algorithm: str = "") -> Decision:
        """What the library takes, or the algorithm that is taken whatever it says. Raises InputError."""
        return Decision(algorithm) if algorithm else self._selection.choose(call)

    def _plan(self, decision: Decision, n: int, root: int) -> tuple[Schedule, Proof]:
        """A schedule and its proof, made once: many sizes run the same."""
        root = root if ALGORITHMS[decision.algorithm].collective.rooted else 0
        key = decision.algorithm, n, root, tuple(sorted(decision.settings.items())), decision.orders
        if key not in self._plans:
            schedule = decision.schedule(n, root)
            self._plans[key] = schedule, prove(schedule, blocks=True)
        return self._plans[key]
