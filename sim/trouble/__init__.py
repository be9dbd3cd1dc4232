"""What goes wrong, one file per family; `@trouble` puts a kind on the only list.

A kind is a function from a machine and keyword parameters to a Perturbation: what it changes before anything runs,
what it adds to transfers, and the process it is in the SimPy world. `straggler:rank=3,late=1ms` calls
`straggler(topology, rank=3, late=1e-3)`. Several can be combined.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace

from sim.errors import InputError
from sim.parameters import bind, parse_spec
from sim.perturbation import Perturbation
from sim.registry import Registry
from sim.topology import Topology

MOST = 64
"""Troubles at once."""

Kind = Callable[..., Perturbation]
TROUBLES: Registry[Kind] = Registry(__name__, "trouble", function=lambda kind: kind, leading=("topology",))


def trouble(kind: Kind) -> Kind:
    """Register a kind of trouble under its function's name; returned unchanged."""
    TROUBLES.add(kind.__name__, kind)
    return kind


def troubles(specs: Iterable[str], topology: Topology) -> tuple[Perturbation, ...]:
    """What `name:key=value,…` describe, on this machine. Raises InputError.

    >>> from sim.machines import build
    >>> [t.late for t in troubles(["straggler:rank=3,late=1ms"], build("switch:ranks=4"))]
    [{3: 0.001}]
    """
    perturbations = []
    for spec in specs:
        name, texts = parse_spec(spec)
        kind = TROUBLES[name]
        values = bind(kind, texts, name, skip=("topology",))
        missing = [key for key, p in TROUBLES.parameters(name).items() if p.default is None and key not in values]
        needed = [key for key in missing if inspect.signature(kind).parameters[key].default is inspect.Parameter.empty]
        if needed:
            raise InputError(f"{name} needs {needed[0]}: write {name}:{needed[0]}=…")
        perturbations.append(replace(kind(topology, **values), name=spec.strip()))
    if len(perturbations) > MOST:
        raise InputError(f"{len(perturbations)} troubles at once are more than {MOST}: leave some out")
    return tuple(perturbations)
