"""Machines that pages show: each is built once for all visits, while there is room for it."""

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace

from ops.request import Request
from sim.errors import InputError
from sim.topology import Topology

ROOM = 50_000
"""Devices and links of the machines that are kept, in all; of captures and kept runs as many characters."""
_KEPT: OrderedDict[Request, Topology] = OrderedDict()
_LOCK = threading.Lock()


def machine_of(scene: Request) -> Topology:
    """The scene's machine, joined by its network and edited; nobody may change it. Raises InputError."""
    words = Request(
        machine=scene.machine,
        capture=scene.capture,
        rates=scene.rates,
        network=scene.network,
        placement=scene.placement,
        edits=scene.edits,
        schedule=scene.schedule if scene.is_kept else "",
        capture_name=scene.capture_name,
    )
    with _LOCK:
        if words in _KEPT:
            _KEPT.move_to_end(words)
            return _KEPT[words]
    topology = words.topology()
    with _LOCK:
        _KEPT[words] = topology
        while sum(_size(*entry) for entry in _KEPT.items()) > ROOM:
            _KEPT.popitem(last=False)
    return topology


def plain_machine(scene: Request) -> Request:
    """The scene on its machine as that came, with the network it has of its own."""
    return replace(scene, network="", placement="", edits="")


def is_on(scene: Request, plain: Topology) -> bool:
    """Whether a scene's machine came as this one, however it is written: `ring` is `ring:ranks=8`."""
    with suppress(InputError):
        own = machine_of(plain_machine(scene))
        return (own.devices, own.links) == (plain.devices, plain.links)
    return False


def _size(words: Request, topology: Topology) -> int:
    return len(topology.devices) + len(topology.links) + len(words.capture) + len(words.schedule)
