"""What is kept of a folded schedule's run, however much of it was simulated."""

from dataclasses import dataclass, field

from sim.fold.folded import FoldedSchedule
from sim.schedule.verify import Verdict
from sim.topology import Topology
from sim.trace import NO_HITS, Hits


@dataclass(frozen=True, eq=False, kw_only=True)
class SymmetricTrace:
    """A run of a folded schedule; names and units are those of `sim.trace.Trace`.

    In `hits`, transfer `k * n + r` is that of class k which rank r sends.
    """

    topology: Topology
    schedule: FoldedSchedule
    verdict: Verdict
    size: float
    real: dict[str, float] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()
    hits: Hits = NO_HITS
