"""Ranks that the machine or its faults tell apart: one of each orbit is simulated, in the worst case every rank."""

from ops.run.budget import HOP_S, TRANSFER_S
from ops.run.strategies import FEW, LEAST, Setup, Simulated, strategy
from ops.run.strategies.symmetric import LINK
from sim.base.arrays import each_once
from sim.base.watch import Estimate
from sim.fabric.alike import FIRST
from sim.symmetry.bound import lower_bound
from sim.symmetry.edges import side_by_side
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.orbit_run import WrittenOutError, simulate_apart

ROW, SHARED, ROUTE = 100, 16, 24
"""Bytes of a row for a transfer that is not written down, of one that has shared links, and of a route for it."""


def _cost(setup: Setup) -> Estimate | None:
    """What every rank takes; None for small works, for lockstep, and where one rank stands for all."""
    schedule = setup.work.folded if setup.is_equal and not setup.lockstep else None
    if schedule is None or schedule.transfers < FEW or setup.links is not None:
        return None
    return _estimate(schedule, setup)


@strategy(cost=_cost)
def orbits(setup: Setup) -> Simulated | None:
    """Simulate one rank of each orbit; None where single messages are held back, sent beside it, or rerouted."""
    schedule = setup.work.folded
    assert schedule is not None
    needs, verdict = _estimate(schedule, setup), setup.work.folded_verdict
    setup.work.expect("orbits", needs)
    try:
        timing = simulate_apart(
            setup.topology, schedule, verdict, setup.size, perturbations=setup.faults, orbits=setup.orbits
        )
    except (WrittenOutError, MemoryError):
        return None
    return Simulated(timing, lower_bound(setup.topology, schedule, setup.size * schedule.unit_share), needs)


def _estimate(schedule: FoldedSchedule, setup: Setup) -> Estimate:
    """What it takes to run every rank, or one of so many: rows for what is under way, lists for all that share links.

    A rank that sends one message after the other shares its links with hardly any.
    """
    topology, copies = setup.topology, setup.orbits.copies if setup.orbits else 1
    hops, transfers = topology.hops(schedule.n), schedule.transfers // copies
    turns, wide = len(each_once(schedule.turn)), side_by_side(schedule)
    rows = min(transfers, schedule.n // copies * (FIRST + 2 * wide))
    size = LEAST + ROW * rows + (ROUTE + 4 * hops) * turns * schedule.n + LINK * len(topology.links)
    if wide == 1:
        return Estimate(transfers, size, transfers * TRANSFER_S)
    return Estimate(transfers, size + SHARED * transfers, transfers * (TRANSFER_S + HOP_S * hops))
