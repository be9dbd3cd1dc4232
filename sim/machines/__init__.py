"""One function per machine; `@machine` puts it on the only list.

A machine is a function from keyword parameters to a Topology. Parameters, defaults and bounds are read from
the signature: `switch:ranks=64,bandwidth=25GBps` calls `switch(ranks=64, bandwidth=25e9)`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim.parameters import bind, parse_spec
from sim.registry import Registry
from sim.topology import Topology

MachineFunction = Callable[..., Topology]


MACHINES: Registry[MachineFunction] = Registry(__name__, "machine", function=lambda function: function)


def machine(function: MachineFunction) -> MachineFunction:
    """Register a machine under its function's name; returned unchanged."""
    MACHINES.add(function.__name__, function)
    return function


def build(spec: str, **values: Any) -> Topology:
    """The machine that `name:key=value,…` describes; `values` add to these or override them. Raises InputError.

    >>> build("mesh:ranks=3").n
    3
    """
    name, texts = parse_spec(spec)
    function = MACHINES[name]
    topology = function(**bind(function, {**texts, **values}, name))
    return replace(topology, name=spec.strip()) if texts else topology
