"""Every transfer of every rank has a row in the kernel's memory."""

from collections.abc import Sequence

import numpy as np

from ops.run.bound import in_pieces, largest_buffer, lower_bound, own_blocks
from ops.run.budget import HOP, HOP_S, TRANSFER, TRANSFER_S, expect_messages, of_schedule
from ops.run.strategies import Setup, Simulated, strategy
from sim.base import watch
from sim.base.watch import Estimate
from sim.engine import simulate
from sim.faults import Perturbation
from sim.symmetry.bound import lower_bound as lower_bound_folded
from sim.trace import Timing


def _cost(setup: Setup) -> Estimate:
    """Every work can be written out."""
    transfers, hops = setup.work.transfers, setup.topology.hops(setup.work.n)
    return Estimate(transfers, transfers * (TRANSFER + HOP * hops), transfers * (TRANSFER_S + HOP_S * hops))


@strategy(cost=_cost)
def written(setup: Setup) -> Simulated:
    """Simulate every transfer of every rank, with any faults, sizes and history."""
    work, topology = setup.work, setup.topology
    schedule, promise = work.schedule, work.schedule.promise
    whole = work.whole if setup.is_equal else None
    needs = of_schedule(schedule, topology.hops(schedule.n), alike=whole is not None)
    work.expect("written", needs)
    own = schedule.fixed_bytes is not None
    proof = work.proof(blocks=own or setup.blocks is not None)
    weights = own_blocks(proof) if own and promise is not None else in_pieces(setup.blocks, work)
    size = setup.size
    if promise is not None and weights is not None and len(weights) == promise.blocks:
        size = largest_buffer(weights, promise)
    perturbations = (*((work.pace,) if work.pace else ()), *setup.faults)

    if whole is not None and not setup.lockstep:
        work.order()

    def bound() -> float:
        if promise is None:
            return 0.0
        share = size * schedule.unit_share
        if whole is not None and promise.blocks <= whole.one.slots:  # those of every pair are counted faster one by one
            return lower_bound_folded(topology, whole, share, block_by_block=True)
        bytes_of = np.full(promise.blocks, share) if weights is None else np.asarray(weights, np.float64)
        return lower_bound(topology, schedule, promise, bytes_of)

    watch.begin()
    if any(perturbation.messages for perturbation in perturbations):
        expect_messages(schedule.name, _messages(perturbations, bound()))
    trace = simulate(
        topology,
        schedule,
        size,
        blocks=weights,
        lockstep=setup.lockstep,
        history=setup.history,
        proof=proof,
        perturbations=perturbations,
    )
    return Simulated(Timing.written(trace), bound(), needs, None if promise is None else weights)


def _messages(perturbations: Sequence[Perturbation], bound: float) -> float:
    """How many messages perturbations send beside a run that takes `bound` seconds and its latest rank's at least."""
    seconds = bound + max((late for one in perturbations for late in one.late.values()), default=0.0)
    return sum(one.messages(seconds) for one in perturbations if one.messages)
