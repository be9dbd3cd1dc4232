"""Where NCCL's tuner and the simulation disagree, or another algorithm is faster, and how long NICs wait for CPUs."""

from collections.abc import Mapping

from ops.libraries.nccl.choice import choose, pace_of
from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.protocol_cost import Way
from ops.libraries.nccl.tuner import Candidate
from ops.plan import Plan
from ops.plan.model import NCCL
from ops.run import Run
from sim.errors import Message
from sim.units import fmt_bandwidth, fmt_share, fmt_time, us

APART = 1.5
"""From this ratio of two times on they contradict each other."""
BUSY = 0.6
"""A link that is busy for this share of a run bounds it; below, waiting for hops does."""
MOST_OF_IT = 0.5
"""From this share of a run on, what its busiest NIC waits for is said."""


def contradiction(plan: Plan, run: Run) -> Message | None:
    """How a run of `nccl.COLLECTIVE` contradicts the tuner's prediction, with the cause; None where it does not."""
    if not plan.algorithm.startswith(NCCL) or plan.faults:
        return None
    machine = plan.topology()  # that of the run carries no more than its protocol leaves
    collective, variables = plan.algorithm.removeprefix(NCCL), plan.variables()
    choice = choose(machine, collective, plan.bytes, run.timing.ranks, options=variables)
    return against_tuner(run, choice.chosen)


def against_tuner(run: Run, candidate: Candidate) -> Message | None:
    """How a run contradicts the prediction of its algorithm, with the cause; None where it does not."""
    ratio = run.time / candidate.time if candidate.time else 1.0
    if 1 / APART <= ratio <= APART:
        return None
    busiest = run.bottleneck
    if ratio > 1 and busiest and busiest.share >= BUSY:
        why = Message("contradiction.link", src=busiest.src, dst=busiest.dst, share=busiest.share)
    elif ratio > 1:
        why = _hops(run)
    else:
        why = Message("contradiction.rate", rate=fmt_bandwidth(candidate.bandwidth))
    return Message(
        "contradiction.tuner",
        simulated=fmt_time(run.time),
        predicted=fmt_time(candidate.time),
        times=max(ratio, 1 / ratio),
        why=why,
    )


def _hops(run: Run) -> Message:
    """Whose hops take longer than the tuner reckons."""
    family = family_of(run.topology)
    name = family.name if family else Message("contradiction.none")
    if family and len(family.layers) > 1 and family.pace.net_hop > 0:
        return Message("contradiction.hops_between", family=name, hop=family.pace.net_hop / us)
    return Message("contradiction.hops", family=name)


def against_others(times: Mapping[Candidate, float], chosen: Candidate) -> Message | None:
    """How much faster than the chosen algorithm another one is simulated; None where none is by `APART`.

    `times` has the simulated seconds of each algorithm.
    """
    best = min(times, key=times.__getitem__)
    if times[chosen] <= APART * times[best]:
        return None
    return Message(
        "contradiction.choice",
        chosen=f"{chosen.algorithm} {chosen.protocol}",
        best=f"{best.algorithm} {best.protocol}",
        times=times[chosen] / times[best],
        predicted=fmt_time(best.time),
        instead=fmt_time(chosen.time),
        simulated=fmt_time(times[best]),
    )


def posting(plan: Plan, run: Run) -> Message | None:
    """Say how much of a ring's time its busiest NIC waits for the next message to be posted; None for less than half.

    NCCL's tuner counts it, too: `getNetOverhead` of `src/graph/tuning.cc`, once for every step between nodes.
    """
    busiest = run.bottleneck
    if not plan.algorithm.startswith(NCCL) or busiest is None:
        return None
    machine, collective = plan.topology(), plan.algorithm.removeprefix(NCCL)
    choice = choose(machine, collective, plan.bytes, run.timing.ranks, options=plan.variables())
    taken = choice.chosen
    way = Way(choice.seen, collective, taken.algorithm, taken.protocol, plan.bytes, pace_of(machine))
    link = next(x for x in run.topology.links if (x.src, x.dst) == (busiest.src, busiest.dst))
    if way.posted is None or link.kind != "NET":
        return None
    share = busiest.share * min(1.0, link.bandwidth * way.posted.seconds / way.posted.message)
    if share < MOST_OF_IT:
        return None
    return Message("posting", nic=busiest.src, share=fmt_share(share), each=fmt_time(way.posted.seconds))
