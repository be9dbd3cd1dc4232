"""Barriers: one rank prepares, the others wait."""

from typing import Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.options import Ranks
from ops.training.step import TrainingStep
from ops.training.world import Process
from ops.workloads import workload
from sim.errors import InputError
from sim.parameters import Choice
from sim.topology import Topology
from sim.units import Time, ms, parse_time


@workload
@communicates("nccl")
def zero_first(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    prepare: Time = 2.0,
    load: Time = 0.3,
    spread: Time = 500 * ms,
    arrivals: str = "",
    first: Annotated[str, Choice(("host", "world"))] = "host",
    transport: BackendChoice,
) -> TrainingStep:
    """Rank 0 prepares, the others wait at a barrier, then load: `torch_distributed_zero_first`.

    The first rank of every `host` (its local rank 0), or rank 0 of the `world`, takes `prepare` seconds, say for a
    download, and then joins the barrier where the others have been waiting since they came; they `load` what is
    there now. Ranks come `spread` over this much time, the last rank last, or at `arrivals` like `0s+1s+200ms`.
    """
    world = world_of(topology, ranks, transport)
    n = world.ranks
    come = _arrivals(arrivals, n) if arrivals else [spread * r / max(n - 1, 1) for r in range(n)]
    hosts = [topology.devices[device].host for device in topology.ranks[:n]]
    preparing = [r == 0 if first == "world" else hosts.index(hosts[r]) == r for r in range(n)]
    reached, left = [0.0] * n, [0.0] * n

    def rank(rank: int) -> Process:
        yield world.env.timeout(come[rank])
        if preparing[rank]:
            yield from world.compute(rank, prepare, "prepare")
        reached[rank] = world.env.now
        yield world.everyone.post(rank, "barrier")
        left[rank] = world.env.now
        if not preparing[rank]:
            yield from world.compute(rank, load, "load")

    step = world.step(world.run(rank))
    latest = max(range(n), key=lambda r: reached[r])
    step.facts.update(
        barrier_opens_s=max(left),
        waited_for_rank=latest,
        waited_in_all_s=sum(left) - sum(reached),
        per_rank=[
            {
                "rank": r, "arrives_s": come[r], "prepares": preparing[r], "at_barrier_s": reached[r],
                "waits_s": left[r] - reached[r],
            }
            for r in range(n)
        ],
    )  # fmt: skip
    return step


def _arrivals(text: str, n: int) -> list[float]:
    parts = [part for part in text.replace(",", "+").replace(" ", "+").split("+") if part]
    if len(parts) != n:
        raise InputError("zero_first.arrivals", count=len(parts), n=n)
    return [parse_time(part, f"zero_first: arrivals, rank {r}") for r, part in enumerate(parts)]
