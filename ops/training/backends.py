"""What workloads take to communicate by: a network, an algorithm, and a backend with its costs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, TypeVar

from ops.backends import AUTO, BACKENDS, SHAPES, burdened
from ops.libraries.nccl.own.numbers import embodied
from ops.training.standins.folded import Replicas, folded_world
from ops.training.standins.uniform import MOST_RANKS, UniformWorld
from ops.training.world import World, WorldOptions, ranks_at_work
from sim.parameters import Choice, spread
from sim.topology import Topology
from sim.topology.networks import NETWORKS, networked

Function = TypeVar("Function", bound=Callable[..., Any])

BackendName = Annotated[str, Choice(tuple(BACKENDS))]
MACHINE = "machine"
"""The machine's own network."""
NetworkName = Annotated[str, Choice((MACHINE, *NETWORKS))]
ShapeName = Annotated[str, Choice((AUTO, *SHAPES))]


@dataclass(frozen=True)
class BackendChoice:
    """A backend and the shape of algorithm that is preferred to its own choice; none where it is empty."""

    backend: str
    shape: str = ""


def communicates(backend: str) -> Callable[[Function], Function]:
    """Give a workload `network`, `algorithm` and `backend` in the place of its argument `transport`.

    The machine it gets has that network already.
    """
    fields = {"network": (NetworkName, MACHINE), "algorithm": (ShapeName, AUTO), "backend": (BackendName, backend)}

    def put(function: Function) -> Function:
        @spread("transport", fields)
        @wraps(function)
        def with_transport(topology: Topology, *values: Any, transport: dict[str, str], **named: Any) -> Any:
            machine = topology if transport["network"] == MACHINE else networked(topology, transport["network"])
            shape = "" if transport["algorithm"] == AUTO else transport["algorithm"]
            return function(machine, *values, transport=BackendChoice(transport["backend"], shape), **named)

        return with_transport  # type: ignore[return-value]

    return put


def world_of(
    topology: Topology,
    ranks: int,
    transport: BackendChoice,
    interference: float = 0.0,
    alike: Replicas | None = None,
    *,
    variation: float = 0.0,
    uniform: bool = False,
) -> World:
    """So many ranks of a machine that communicate so; one for all that are `alike`, where the machine agrees.

    In a `uniform` step all ranks do the same and call only collectives of all: where they are many, one is simulated.
    """
    costs = BACKENDS[transport.backend]
    if transport.shape and costs.forced:
        first = SHAPES[transport.shape]
        served = {name.partition(".")[0] for name in first}
        names = (*first, *(name for name in costs.forced if name.partition(".")[0] not in served))
    else:
        names = costs.forced
    forced = {name.partition(".")[0]: (name, dict[str, Any]()) for name in names}
    own = embodied(topology) if costs.library == "nccl" else topology
    machine = burdened(own, costs)
    options = WorldOptions(costs.library, forced, transport.shape, costs.launch, interference, variation)
    if uniform and ranks_at_work(machine, ranks) > MOST_RANKS:
        return UniformWorld(machine, ranks, options)
    folded = folded_world(machine, ranks, options, alike) if alike is not None else None
    return folded or World(machine, ranks, **options._asdict())
