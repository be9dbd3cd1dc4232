"""What goes wrong, one file per family; `@trouble` puts a kind on the only list.

A kind is a function from a machine and keyword parameters to a Trouble: what it changes before anything runs, what
it adds to transfers, and the process it is in the SimPy world. `straggler:rank=3,late=1ms` calls
`straggler(topology, rank=3, late=1e-3)`. Several can be combined.
"""

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from sim.parameters import Parameter, bind, parameters, parse_spec
from sim.registry import Registry
from sim.schedule import Schedule
from sim.topology import Floats, Topology

if TYPE_CHECKING:
    from sim.harm import Harm

MOST = 64
"""Troubles at once."""
Running = Generator[Any, Any, None]
"""A process of the SimPy world; it yields events."""
Process = Callable[["Harm", int], Running]


@dataclass(frozen=True, eq=False)
class Trouble:
    """Effects of one trouble; a kind sets those it has.

    `machine` is the machine as it is from the beginning. `late` are seconds from the world's beginning before which a
    device, by its index, takes part in nothing; `delay(schedule, bytes)` is how much longer every transfer waits
    before its first byte flows. `process(world, number)` runs in the SimPy world, `number` being this trouble's own.
    """

    name: str = ""
    machine: Callable[[Topology], Topology] = lambda topology: topology
    late: Mapping[int, float] = field(default_factory=dict)
    delay: Callable[[Schedule, Floats], Floats] | None = None
    process: Process | None = None


Kind = Callable[..., Trouble]
TROUBLES = Registry[Kind](__name__, "trouble")


def trouble(kind: Kind) -> Kind:
    """Register a kind of trouble under its function's name; returned unchanged."""
    TROUBLES.add(kind.__name__, kind)
    return kind


def trouble_parameters(name: str) -> dict[str, Parameter]:
    """The keyword parameters of a kind, for help texts and widgets."""
    return parameters(TROUBLES[name], skip=("topology",))


def trouble_summary(name: str) -> str:
    """The first line of the kind's docstring."""
    return (inspect.getdoc(TROUBLES[name]) or "").split("\n")[0]


def troubles(specs: Iterable[str], topology: Topology) -> tuple[Trouble, ...]:
    """What `name:key=value,…` describe, on this machine. Raises InputError.

    >>> from sim.machines import build
    >>> [t.late for t in troubles(["straggler:rank=3,late=1ms"], build("switch:ranks=4"))]
    [{3: 0.001}]
    """
    found = []
    for spec in specs:
        name, texts = parse_spec(spec)
        kind = TROUBLES[name]
        values = bind(kind, texts, name, skip=("topology",))
        missing = [key for key, p in trouble_parameters(name).items() if p.default is None and key not in values]
        needed = [key for key in missing if inspect.signature(kind).parameters[key].default is inspect.Parameter.empty]
        if needed:
            raise InputError(f"{name} needs {needed[0]}: write {name}:{needed[0]}=…")
        found.append(replace(kind(topology, **values), name=spec.strip()))
    if len(found) > MOST:
        raise InputError(f"{len(found)} troubles at once are more than {MOST}: leave some out")
    return tuple(found)
