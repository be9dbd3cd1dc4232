"""What a library would run, as a work: `gloo.allreduce` is what Gloo takes for an allreduce, at Gloo's costs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ops.backends import AUTO, BACKENDS, SHAPES, burdened, shaped
from ops.collectives import COLLECTIVES
from ops.communicators.selection import Selection
from ops.libraries import LIBRARIES, CollectiveCall, Members
from ops.libraries.nccl.choice import POINT_TO_POINT
from ops.libraries.nccl.constants import ABLE
from ops.libraries.nccl.variables import Variables
from ops.registry import ALGORITHMS
from ops.run.budget import expect_algorithm
from ops.run.work import Work
from sim.errors import InputError
from sim.faults import Perturbation
from sim.parameters import Parameter, parameters
from sim.schedule import Schedule
from sim.schedule.dependencies import waits
from sim.topology import Floats, Topology


def library_of(algorithm: str) -> str:
    """The library in `LIBRARY.COLLECTIVE`; nothing in any other name.

    >>> library_of("gloo.allreduce"), library_of("allreduce.ring")
    ('gloo', '')
    """
    library, _, collective = algorithm.partition(".")
    return library if library in LIBRARIES and collective in COLLECTIVES else ""


def collective_of(algorithm: str) -> str:
    """The collective in `COLLECTIVE.ALGORITHM` and in `LIBRARY.COLLECTIVE`.

    >>> collective_of("gloo.allreduce"), collective_of("allreduce.ring")
    ('allreduce', 'allreduce')
    """
    first, _, second = algorithm.partition(".")
    return second if library_of(algorithm) else first


def collectives_of(library: str) -> Sequence[str]:
    """The collectives for which a library's choice is known."""
    return (*ABLE, *POINT_TO_POINT) if library == "nccl" else tuple(COLLECTIVES)


def options_of(library: str) -> Mapping[str, Parameter]:
    """What a library may be told of its choice."""
    if library == "nccl":
        return parameters(Variables)
    return {"algorithm": Parameter("algorithm", "str", AUTO, words=(AUTO, *SHAPES))}


def chosen_work(
    topology: Topology, library: str, collective: str, size: float, n: int, options: Mapping[str, str], root: int = 0
) -> Work:
    """What a library takes for so many bytes on the first n ranks, with the costs of its backend.

    `options` may have `algorithm`: `ring`, `tree`, or another of the collective's own names. Raises InputError.
    """
    for key in options.keys() - {"algorithm"}:
        raise InputError("library.no_parameter", library=library, collective=collective, name=key)
    members = Members(topology, topology.ranks[:n])
    call = CollectiveCall.counted(collective, members, size, size / 4, root)
    decision = Selection(library, _forced(collective, options.get("algorithm", AUTO))).choose(call)
    entry = ALGORITHMS[decision.algorithm]
    settings = entry.settle(n, root=root if entry.collective.rooted else 0, **decision.settings)
    expect_algorithm(entry, n, settings, root if entry.collective.rooted else 0, topology.hops)
    return Work(decision.schedule(n, root), entry.collective, entry, {"library": library, **settings}, _costs(library))


def _forced(collective: str, word: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """What leaves the library no choice: a person's algorithm, or the only one. Raises InputError for none there is."""
    if word == AUTO:
        every = [name for name in ALGORITHMS if name.partition(".")[0] == collective]
        return {collective: (every[0], {})} if len(every) == 1 else {}
    name = shaped(word, collective) if word in SHAPES else f"{collective}.{word}"
    if not name:
        raise InputError("library.no_shape", collective=collective, shape=word)
    return {collective: (ALGORITHMS[name].name, {})}


def _costs(library: str) -> Perturbation:
    """The machine at a backend's costs, whose first messages wait for the launch; without a name: it is no fault."""
    backend = next(backend for backend in BACKENDS.values() if backend.library == library)

    def delay(schedule: Schedule, sizes: Floats) -> Floats:
        first = waits(schedule).pending[: schedule.transfers] == 0
        return np.where(first, backend.launch, 0.0)

    return Perturbation(machine=partial(burdened, backend=backend), delay=delay)
