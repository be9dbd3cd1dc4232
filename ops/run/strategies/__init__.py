"""Ways to simulate a work, one file each; `@strategy` puts one on the only list.

A strategy is exact for the works for which its `cost` gives an estimate; the cheapest is tried first. Every one gives
the times of the run that is written out, to rounding (1e-12).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ops.run.work import Work
from sim.base.watch import Estimate
from sim.faults import Perturbation
from sim.faults.kinds import faults
from sim.registry import Registry
from sim.symmetry.link_classes import LinkClasses, link_classes
from sim.symmetry.orbits import Orbits, orbits_of
from sim.topology import Topology
from sim.trace import Timing

LEAST = 4_000_000
"""Bytes of any run."""
FEW = 1 << 20
"""Transfers up to which a work is written out where nobody asks for less."""


@dataclass(frozen=True, eq=False)
class Setup:
    """One run of a work alone on a machine: `size` in bytes, or `blocks`, the bytes of every block.

    `lockstep` makes every step wait for the whole step before; `history` keeps every change of every rate where every
    transfer is simulated.
    """

    topology: Topology
    work: Work
    size: float = 0.0
    blocks: Sequence[float] | None = None
    lockstep: bool = False
    history: bool = False
    fault: Sequence[str | Perturbation] = ()

    @cached_property
    def faults(self) -> tuple[Perturbation, ...]:
        """What makes the machine differ, without what a library's way of sending costs."""
        if not self.fault:
            return ()
        made = iter(faults([fault for fault in self.fault if isinstance(fault, str)], self.topology))
        return tuple(next(made) if isinstance(fault, str) else fault for fault in self.fault)

    @cached_property
    def links(self) -> LinkClasses | None:
        """The machine's links by what crosses them, where it looks the same from every rank."""
        return None if self.work.folded is None or self.faults else link_classes(self.topology, self.work.folded)

    @cached_property
    def orbits(self) -> Orbits | None:
        """Ranks that stay alike on this machine with these faults; None where each is alone."""
        return None if self.work.folded is None else orbits_of(self.topology, self.work.folded, self.faults)

    @property
    def is_equal(self) -> bool:
        """Whether nothing but the machine and its faults can tell ranks apart."""
        return self.blocks is None and self.work.made is None and self.work.pace is None


class Simulated(NamedTuple):
    """What a strategy came to: the timing, the lower bound in s, the bytes of blocks that differ, and the estimate."""

    timing: Timing
    bound: float
    estimate: Estimate
    blocks: Sequence[float] | None = None


@dataclass(frozen=True)
class Strategy:
    """`cost(setup)` is None where it is not exact, `run(setup)` where the machine turns out not to allow it."""

    run: Callable[[Setup], Simulated | None]
    cost: Callable[[Setup], Estimate | None]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.run.__name__


STRATEGIES: Registry[Strategy] = Registry(__name__, "strategy", function=lambda entry: entry.run, leading=("setup",))


def strategy(
    *, cost: Callable[[Setup], Estimate | None]
) -> Callable[[Callable[[Setup], Simulated | None]], Callable[[Setup], Simulated | None]]:
    """Register a strategy under its function's name; returned unchanged."""

    def register(run: Callable[[Setup], Simulated | None]) -> Callable[[Setup], Simulated | None]:
        STRATEGIES.add(run.__name__, Strategy(run, cost))
        return run

    return register
