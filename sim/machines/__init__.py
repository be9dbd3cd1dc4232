"""One function per machine; `@machine` puts it on the only list.

A machine is a function from keyword parameters to a Topology. Parameters, defaults and bounds are read from
the signature: `switch:ranks=64,bandwidth=25GBps` calls `switch(ranks=64, bandwidth=25e9)`. Every machine has two more,
unless it names them itself: `overhead`, paid once per message, and `gamma`, paid once per byte reduced; one of several
hosts has `per_host`, how many GPUs of each take part, `p2p` and `gdr`, whether other GPUs and NICs reach into a GPU's
memory. A server is less: `@server` takes a function giving its parts.
Names that people use for a machine are `@called` above it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Annotated, Any

from sim.errors import expect_kind
from sim.machines.through_memory import through_memory, without_gpudirect
from sim.parameters import Bounds, bind, described, parse_spec, spread
from sim.placement import placed
from sim.registry import Registry, returned
from sim.topology import Topology
from sim.topology.host import Rates
from sim.topology.servers import Hosts, Nics, Server, joined, with_nics
from sim.units import Bandwidth, Time

MachineFunction = Callable[..., Topology]
PRICES = {"overhead": (Time, 0.0), "gamma": (Time, 0.0)}
"""What every machine may be asked to cost, in s per message and s per byte reduced."""

SEATS: Mapping[str, tuple[Any, Any]] = {"per_host": (Annotated[int, Bounds(0, 64)], 0)}
"""How many GPUs of every host play ranks, the first ones; 0 for all."""
REACH: Mapping[str, tuple[Any, Any]] = {"p2p": (bool, True), "gdr": (bool, True)}
"""Whether GPUs of every host write to each other's memory, and NICs to that of GPUs (GPUDirect)."""
SEVERAL = ("hosts", "trays")
"""Parameters of machines that may have several hosts."""

PCI = ("pix", "pxb", "phb", "node")
NVLINK_PCIE_NIC = ("nvlink", "nvlink_latency", "pcie", "sys", "nic", "nic_latency")
NVLINK_NIC = ("nvlink", "nic", "nic_latency")
PCIE_NIC = ("pcie", "nic", "nic_latency")
"""Rates that a caller may change; `pcie` is every PCIe link."""

MACHINES: Registry[MachineFunction] = Registry(__name__, "machine", function=lambda function: function, lenient=True)
_COUNTED = re.compile(r"(?:(\d{1,5}) ?x ?)?(\d{1,5}) ?x ?([a-z0-9][a-z0-9 ._-]{1,40})", re.IGNORECASE)
"""GPUs, or hosts and GPUs of each, before a name: `8xH100`, `2x8xA100`."""


def machine(function: MachineFunction) -> MachineFunction:
    """Register a machine under the name of its function.

    Parameters
    ----------
    function : callable
        A function from keyword parameters, annotated, to a Topology; its docstring describes the machine.

    Returns
    -------
    callable
        The function with its parameters and those of all machines.

    Raises
    ------
    AdditionError
        If the name is taken, the function has no docstring, or an annotation cannot be used.
    """
    whole = _priced(function)
    MACHINES.add(function.__name__, whole)
    return whole


def called(*names: str) -> Callable[[MachineFunction], MachineFunction]:
    """Let these names stand for the machine below; letters and hyphens do not matter."""

    def register(function: MachineFunction) -> MachineFunction:
        MACHINES.alias(function.__name__, *names)
        return function

    return register


def server(
    rates: Rates,
    takes: tuple[str, ...] = NVLINK_PCIE_NIC,
    *,
    hosts: int = 1,
    xgmi: bool = False,
    **defaults: float,
) -> Callable[[Callable[[], Server]], MachineFunction]:
    """Register a server under its function's name: the function gives its parts, everything else is a parameter.

    `rates` are those of its generation, in B/s and s; `takes` names the ones a caller may change, `defaults` the ones
    that differ. With `xgmi` what joins its GPUs is called so. `hosts` of them are joined by their NICs, NIC k of each
    on rail k.
    """

    def register(parts: Callable[[], Server]) -> MachineFunction:
        own = {name: defaults.get(name, rates.pix if name == "pcie" else getattr(rates, name)) for name in takes}
        called = {name: name.replace("nvlink", "xgmi") if xgmi else name for name in takes}

        def build_server(*, hosts: Hosts = hosts, nics: Nics = 0, arguments: Mapping[str, float]) -> Topology:
            values: dict[str, Any] = {name: arguments[called[name]] for name in takes}
            pcie = values.pop("pcie", None)
            pci: dict[str, Any] = dict.fromkeys(PCI, pcie) if pcie is not None else {}
            whole = with_nics(parts(), nics) if nics else parts()
            return joined(parts.__name__, whole, replace(rates, **pci, **values), hosts)

        build_server.__name__, build_server.__doc__ = parts.__name__, parts.__doc__
        more = {called[name]: (Time if name.endswith("latency") else Bandwidth, value) for name, value in own.items()}
        whole = spread("arguments", more)(build_server)
        setattr(whole, "__wrapped__", parts)  # noqa: B010  so that messages name the file it stands in
        return machine(whole)

    return register


def _priced(function: MachineFunction) -> MachineFunction:
    """A machine that also takes what messages and additions cost, and how many GPUs of a host take part.

    Each where it does not say so itself, the last where it may have several hosts.
    """
    own = described(function).parameters
    hosts = {**REACH, **SEATS} if own.keys() & set(SEVERAL) else {}
    hosts = {name: parameter for name, parameter in hosts.items() if name not in own}
    more = {**({} if PRICES.keys() <= own.keys() else PRICES), **hosts}
    if not more:
        return function

    @wraps(function)
    def whole(*, beside: Mapping[str, Any], **values: Any) -> Topology:
        topology, rest = returned(function, function(**values), Topology), dict(beside)
        per_host, p2p, gdr = rest.pop("per_host", 0), rest.pop("p2p", True), rest.pop("gdr", True)
        topology = replace(topology, **rest) if any(rest.values()) else topology
        topology = topology if p2p else through_memory(topology)
        topology = topology if gdr else without_gpudirect(topology)
        return placed(topology, f"per_host={per_host}") if per_host else topology

    return spread("beside", more)(whole)


def build(spec: str, **values: Any) -> Topology:
    """Build the machine that `name:key=value,…` describes.

    Parameters
    ----------
    spec : str
        A name of `MACHINES` with parameters, like `switch:ranks=8,bandwidth=25GBps`.
    **values : Any
        More parameters; they override those of `spec`. Texts are parsed, numbers are in SI units.

    Returns
    -------
    Topology
        The machine.

    Raises
    ------
    InputError
        If a name or a parameter does not exist, or a value is out of bounds.

    Examples
    --------
    >>> build("mesh:ranks=3").n
    3
    """
    if not isinstance(spec, str):
        expect_kind(spec, str, "the machine", "give a text like 'dgx_h100' or 'switch:ranks=8'")
    spec = canonical(spec)
    name, texts = parse_spec(spec)
    function = MACHINES[name]
    topology = function(**bind(function, {**texts, **values}, name))
    return topology.but(name=spec) if texts else topology


def canonical(spec: str) -> str:
    """A machine's spec by its own name, for one of its names in any spelling or with a number of GPUs before it.

    A spec whose name no machine has stays as it is.

    >>> canonical("P4D.24xlarge:hosts=2"), canonical("8xH100"), canonical("2x4xA100"), canonical("toaster")
    ('aws_p4d:hosts=2', 'dgx_h100', 'dgx_a100:hosts=2,per_host=4', 'toaster')
    """
    name, colon, rest = spec.strip().partition(":")
    own, counted = MACHINES.resolved(name.strip()), _COUNTED.fullmatch(name.strip())
    if own not in MACHINES and counted and (machine := MACHINES.resolved(counted[3])) in MACHINES:
        own, more = machine, _counted(machine, int(counted[1] or 0), int(counted[2]))
        rest = ",".join(filter(None, (more, rest)))
    return f"{own}:{rest}" if rest or colon else own


def _counted(name: str, hosts: int, gpus: int) -> str:
    """Parameters that give a machine so many hosts of so many GPUs, or so many GPUs in all where hosts are 0."""
    takes = MACHINES.parameters(name)
    several = next((word for word in SEVERAL if word in takes), "")
    one = MACHINES[name](**({several: 1} if several else {})).n
    if "gpus" in takes:
        words = {"gpus": gpus, "hosts": hosts}
    elif hosts or not several or gpus % one:
        words = {several: hosts, "per_host": 0 if gpus == one else gpus}
    else:
        words = {several: gpus // one}
        if "racks" in takes and gpus // one > takes[several].default:
            words = {"racks": -(-gpus // one // takes[several].default)}
    usual = {word: takes[word].default if word in takes else 0 for word in words}
    return ",".join(f"{word}={count}" for word, count in words.items() if word and count and count != usual[word])
