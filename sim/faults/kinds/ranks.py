"""Ranks that come late or are slow, and messages that take a little longer each time."""

from dataclasses import replace
from typing import Annotated

import numpy as np

from sim.errors import InputError
from sim.faults import Perturbation, RankNumber, rank_device, rank_index
from sim.faults.kinds import Offer, fault
from sim.parameters import Bounds, Choice
from sim.schedule import Schedule
from sim.topology import Floats, Topology
from sim.units import Time, us

SLOWEST = 1e6


@fault(
    first="slower=2",
    offers=[
        Offer("late", "late={late}", "Comes late by"),
        Offer("slow", "slower={slower}", "Slower by"),
    ],
)
def straggler(topology: Topology, *, rank: RankNumber, late: Time = 0.0, slower: float = 1.0) -> Perturbation:
    """A rank that takes part in nothing before `late`, or whose device is `slower`.

    Every link at the device of a rank that is slower by a factor carries that much less.
    """
    name = rank_device(topology, "straggler", rank)
    if not 1 <= slower <= SLOWEST:
        raise InputError("straggler.slower", slower=slower, most=SLOWEST)
    device = rank_index(topology, "straggler", rank)

    def slowed(machine: Topology) -> Topology:
        links = tuple(
            replace(link, bandwidth=link.bandwidth / slower) if name in (link.src, link.dst) else link
            for link in machine.links
        )
        return replace(machine, links=links, router=machine.routes)

    unchanged = Perturbation(late={device: late} if late > 0 else {})
    return replace(unchanged, machine=slowed) if slower > 1 else unchanged


@fault
def jitter(
    topology: Topology,
    *,
    mean: Time = 1 * us,
    distribution: Annotated[str, Choice(("exponential", "uniform", "normal", "constant"))] = "exponential",
    seed: Annotated[int, Bounds(0, (1 << 31) - 1)] = 0,
) -> Perturbation:
    """Every message waits a random time longer before it flows, `mean` on average.

    uniform is from nothing to twice the mean; normal has a quarter of the mean as its deviation, cut at nothing;
    constant is the mean itself. The same seed gives the same times.
    """

    def delay(schedule: Schedule, sizes: Floats) -> Floats:
        count, draw = schedule.transfers, np.random.default_rng(seed)
        match distribution:
            case "exponential":
                waits = draw.exponential(mean, count)
            case "uniform":
                waits = draw.uniform(0, 2 * mean, count)
            case "normal":
                waits = np.maximum(0.0, draw.normal(mean, mean / 4, count))
            case _:
                waits = np.full(count, mean)
        return np.where(schedule.src != schedule.dst, waits, 0.0)

    return Perturbation(delay=delay)
