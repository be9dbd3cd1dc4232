"""One function per machine; `@machine` puts it on the only list.

A machine is a function from keyword parameters to a Topology. Parameters, defaults and bounds are read from
the signature: `switch:ranks=64,bandwidth=25GBps` calls `switch(ranks=64, bandwidth=25e9)`.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim.parameters import Parameter, bind, parameters, parse_spec
from sim.registry import Registry
from sim.topology import Topology

MachineFunction = Callable[..., Topology]


MACHINES = Registry[MachineFunction](__name__, "machine")


def machine(function: MachineFunction) -> MachineFunction:
    """Register a machine under its function's name; returned unchanged."""
    MACHINES.add(function.__name__, function)
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
