"""One function per machine; `@machine` puts it on the only list.

A machine is a function from keyword parameters to a Topology. Parameters, defaults and bounds are read from
the signature: `switch:ranks=64,bandwidth=25GBps` calls `switch(ranks=64, bandwidth=25e9)`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sim.errors import InputError
from sim.parameters import Parameter, bind, parameters, parse_spec
from sim.topology import Topology

MachineFunction = Callable[..., Topology]


class _Machines(Mapping[str, MachineFunction]):
    """Fills itself from this package at the first look."""

    def __init__(self) -> None:
        self._found: dict[str, MachineFunction] = {}
        self._loaded = False

    def _all(self) -> dict[str, MachineFunction]:
        if not self._loaded:
            self._loaded = True
            for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
                importlib.import_module(f"{__name__}.{module}")
        return self._found

    def add(self, function: MachineFunction) -> None:
        if function.__name__ in self._found:
            raise ValueError(f"two machines are called {function.__name__}")
        self._found[function.__name__] = function

    def __getitem__(self, name: str) -> MachineFunction:
        found = self._all()
        if name not in found:
            raise InputError(f"no machine is called {name[:40]!r}: choose from {', '.join(sorted(found))}")
        return found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __len__(self) -> int:
        return len(self._all())


MACHINES = _Machines()


def machine(function: MachineFunction) -> MachineFunction:
    """Register a machine under its function's name; returned unchanged."""
    MACHINES.add(function)
    return function


def machine_parameters(name: str) -> dict[str, Parameter]:
    """The keyword parameters of a machine, for help texts and widgets."""
    return parameters(MACHINES[name])


def machine_summary(name: str) -> str:
    """The first line of the machine's docstring."""
    return (inspect.getdoc(MACHINES[name]) or "").split("\n")[0]


def build(spec: str, **given: Any) -> Topology:
    """The machine that `name:key=value,…` describes; `given` adds or overrides. Raises InputError.

    >>> build("mesh:ranks=3").n
    3
    """
    name, texts = parse_spec(spec)
    function = MACHINES[name]
    topology = function(**bind(function, {**texts, **given}, name))
    return replace(topology, name=spec.strip()) if texts else topology
