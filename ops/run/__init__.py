"""Run a work on a machine: the cheapest strategy that is exact for it, and one outcome whichever that is."""

from collections.abc import Sequence

from ops.run.model import Run, kept
from ops.run.strategies import FEW, STRATEGIES, Setup, Strategy
from ops.run.work import Work
from sim.faults import Perturbation
from sim.topology import Topology

__all__ = ["FEW", "Run", "Setup", "Work", "execute", "kept"]


def execute(
    topology: Topology,
    work: Work,
    size: float = 0,
    *,
    blocks: Sequence[float] | None = None,
    lockstep: bool = False,
    history: bool = False,
    fault: Sequence[str | Perturbation] = (),
    written: float = FEW,
) -> Run:
    """Prove a work and run it alone on a machine, with faults or without.

    `size` is what nccl-tests would call it, in bytes; `blocks` gives every block its own bytes instead, or every whole
    block where an algorithm cuts them into pieces. `history` keeps every change of every rate where every transfer is
    simulated. `fault` are faults, in words or made. A work of at most `written` transfers and moves has every
    transfer simulated, a larger one is simulated as cheaply as is exact. Raises InputError for what cannot be run,
    StalledError for what never ends.
    """
    return carry_out(Setup(topology, work, size, blocks, lockstep, history, fault), written)


def carry_out(setup: Setup, written: float = FEW) -> Run:
    """Run a setup; arguments as for `execute`."""
    alone = not setup.is_equal or setup.work.length <= written
    for entry in [STRATEGIES["written"]] if alone else cheapest_first(setup):
        simulated = entry.run(setup)
        if simulated is not None:
            setup.work.remember()
            real = {"build_s": 0.0, "verify_s": 0.0} | setup.work.spent
            real |= {"estimated_s": simulated.estimate.seconds, "estimated_bytes": round(simulated.estimate.bytes)}
            return Run(setup.work, simulated.timing, simulated.bound, simulated.blocks, real, entry.name)
    raise AssertionError("every work can be written out")


def cheapest_first(setup: Setup) -> list[Strategy]:
    """Return the strategies that are exact for a setup, by the seconds that they take."""
    costs = [(needs.seconds, entry) for entry in STRATEGIES.values() if (needs := entry.cost(setup)) is not None]
    return [entry for _, entry in sorted(costs, key=lambda pair: pair[0])]
