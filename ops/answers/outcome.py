"""How a plan ended: with a run, or standing still for ever."""

from dataclasses import dataclass, replace

import numpy as np

from ops.plan import Plan
from ops.run import Run
from sim.errors import InputError, StalledError
from sim.topology import Floats, Topology
from sim.trace import Trace, metrics

FULL = 1 << 18
"""Runs of at most so many transfers have every row, so that who waits for what can be followed."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A plan and how it ended: exactly one of `run` and `stalled` is set."""

    plan: Plan
    run: Run | None = None
    stalled: Trace | None = None

    @property
    def time(self) -> float:
        """Seconds from start to end; infinite where there is no end."""
        return self.run.time if self.run else np.inf

    @property
    def topology(self) -> Topology:
        """The machine, as faults left it."""
        ended = self.run or self.stalled
        assert ended is not None
        return ended.topology

    @property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link, shape (links,)."""
        return self.run.timing.link_bytes if self.run else self.stalled.link_bytes if self.stalled else np.zeros(0)

    @property
    def capacity(self) -> Floats:
        """Bytes per second that every link could carry on average in the run, shape (links,)."""
        if not self.run or self.run.time <= 0:
            return self.topology.bandwidth
        return metrics.capacity(self.run.timing)

    @property
    def path(self) -> Trace | None:
        """Rows that have the critical path among them; None where too many transfers differ, or nothing ended."""
        try:
            return self.run.path if self.run else None
        except InputError:
            return None


def outcome_of(plan: Plan) -> Outcome:
    """Run a plan, whatever stands beside it. Raises InputError where it cannot be run at all."""
    try:
        return Outcome(plan, replace(plan, against="").run(written=FULL))
    except (InputError, StalledError) as error:
        if error.trace is None:
            raise
        return Outcome(plan, stalled=error.trace)
