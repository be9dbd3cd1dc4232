"""Ranks that all do and see the same: rank 0 is simulated, on a machine of link classes."""

from ops.run.budget import Counts, estimate
from ops.run.strategies import LEAST, Setup, Simulated, strategy
from sim.base.arrays import each_once
from sim.base.watch import Estimate
from sim.symmetry.bound import lower_bound
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.folded_run import simulate_folded

BLOCK, LINK, PAIR_S = 120, 100, 60e-9
"""Bytes of a block in the bound and of a link in the classes; seconds for a pair of ranks and its route."""


def _cost(setup: Setup) -> Estimate | None:
    """What rank 0's transfers take; None with faults, and where the machine does not look the same from every rank."""
    if not setup.is_equal or setup.faults or setup.work.folded is None:
        return None
    needs = _estimate(setup, setup.work.folded)
    setup.work.expect("symmetric", needs)
    return None if setup.links is None else needs


def _estimate(setup: Setup, schedule: FoldedSchedule) -> Estimate:
    """What they take beside the promise's blocks and the machine's links."""
    one, topology = schedule.one, setup.topology
    links, pairs = len(topology.links), schedule.n * len(each_once(schedule.turn))
    part = estimate(Counts(one.transfers, len(one.from_slot), one.slots), 1, topology.hops(schedule.n))
    size = LEAST + part.bytes + BLOCK * schedule.promise.blocks + LINK * links
    return Estimate(part.transfers, size, part.seconds + PAIR_S * pairs)


@strategy(cost=_cost)
def symmetric(setup: Setup) -> Simulated:
    """Simulate rank 0 for all ranks."""
    schedule, links = setup.work.folded, setup.links
    assert schedule is not None
    assert links is not None
    verdict = setup.work.folded_verdict
    timing = simulate_folded(setup.topology, schedule, links, verdict, setup.size, lockstep=setup.lockstep)
    bound = lower_bound(setup.topology, schedule, setup.size * schedule.unit_share)
    return Simulated(timing, bound, _estimate(setup, schedule))
