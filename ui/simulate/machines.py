"""Machines that pages show, each built once for all visits while there is room for it, and what runs on them."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.plan import Plan
from ops.run.work import able
from sim.base.formats import Format
from sim.errors import InputError, StalledError
from sim.formats import FORMATS
from sim.topology import Topology
from ui.text import tell
from ui.workers import reading
from ui.workers.asking import read

ROOM = 50_000
"""Devices and links of the machines that are kept, in all."""
LETTERS = 512
"""So many characters of a capture or a kept run take as much memory as a device."""
_KEPT: OrderedDict[Plan, Topology] = OrderedDict()
_LOCK = threading.Lock()


def able_on(plans: Iterable[Plan], names: Iterable[str]) -> list[str]:
    """Return the algorithms that one of several machines can run, and those that the plans name; all of no machine."""
    every, said = list(names), {plan.algorithm for plan in plans}
    try:
        able_names = {name for plan in plans for name in able(machine_of(plan), every)}
    except (InputError, StalledError):  # told where the machine is shown
        return every
    return [name for name in every if name in able_names | said]


@cache
def offered() -> list[str]:
    """Collectives that there are algorithms for."""
    return [name for name in COLLECTIVES if any(a.startswith(f"{name}.") for a in ALGORITHMS)]


def likely(collective: str, name: str, among: Iterable[str] = ALGORITHMS) -> str:
    """The algorithm of a collective that a person would expect who has just looked at one of this name."""
    algorithms = [a for a in among if a.startswith(f"{collective}.")]
    usual = (f"{collective}.{word}" for word in (name, "ring", "linear", "binomial"))
    return next((a for a in usual if a in algorithms), algorithms[0])


def machine_of(plan: Plan) -> Topology:
    """The plan's machine, joined by its network and edited; nobody may change it. Raises InputError.

    What texts from outside tell, a worker reads: such a machine comes without a way of its own of finding routes.
    """
    words = Plan(
        machine=plan.machine,
        capture=plan.capture,
        rates=plan.rates,
        network=plan.network,
        placement=plan.placement,
        edits=plan.edits,
        calibration=plan.calibration,
        schedule=plan.schedule if plan.is_kept else "",
        capture_name=plan.capture_name,
    )
    with _LOCK:
        if words in _KEPT:
            _KEPT.move_to_end(words)
            return _KEPT[words]
    topology = read(reading.machine, words) if _is_told(words) else words.topology()
    with _LOCK:
        _KEPT[words] = topology
        while sum(_size(*entry) for entry in _KEPT.items()) > ROOM:
            _KEPT.popitem(last=False)
    return topology


def format_of(plan: Plan) -> Format[Topology]:
    """The format of the plan's capture. Raises InputError for none."""
    return FORMATS[read(reading.machine_format, plan.capture, tell("page.capture.name"))]


def _is_told(words: Plan) -> bool:
    """Whether texts from outside tell a machine, or what is done to it."""
    return bool(words.capture or words.schedule or words.placement or words.edits)


def plain_machine(plan: Plan) -> Plan:
    """The plan on its machine as that came, with the network it has of its own."""
    return replace(plan, network="", placement="", edits="", calibration="")


def is_on(plan: Plan, plain: Topology) -> bool:
    """Whether a plan's machine came as this one, however it is written: `ring` is `ring:ranks=8`."""
    with suppress(InputError):
        own = machine_of(plain_machine(plan))
        return (own.devices, own.links) == (plain.devices, plain.links)
    return False


def _size(words: Plan, topology: Topology) -> int:
    return len(topology.devices) + len(topology.links) + (len(words.capture) + len(words.schedule)) // LETTERS
