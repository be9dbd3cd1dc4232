"""Machines that pages show: each is built once for all visits, while there is room for it."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from ops.request import Request
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
_KEPT: OrderedDict[Request, Topology] = OrderedDict()
_LOCK = threading.Lock()


def able_on(scenes: Iterable[Request], names: Iterable[str]) -> list[str]:
    """Return the algorithms that one of several machines can run, and those that the scenes name; all of no machine."""
    every, said = list(names), {scene.algorithm for scene in scenes}
    try:
        able_names = {name for scene in scenes for name in able(machine_of(scene), every)}
    except (InputError, StalledError):  # told where the machine is shown
        return every
    return [name for name in every if name in able_names | said]


def machine_of(scene: Request) -> Topology:
    """The scene's machine, joined by its network and edited; nobody may change it. Raises InputError.

    What texts from outside tell, a worker reads: such a machine comes without a way of its own of finding routes.
    """
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
    topology = read(reading.machine, words) if _is_told(words) else words.topology()
    with _LOCK:
        _KEPT[words] = topology
        while sum(_size(*entry) for entry in _KEPT.items()) > ROOM:
            _KEPT.popitem(last=False)
    return topology


def format_of(scene: Request) -> Format[Topology]:
    """The format of the scene's capture. Raises InputError for none."""
    return FORMATS[read(reading.machine_format, scene.capture, tell("page.capture.name"))]


def _is_told(words: Request) -> bool:
    """Whether texts from outside tell a machine, or what is done to it."""
    return bool(words.capture or words.schedule or words.placement or words.edits)


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
    return len(topology.devices) + len(topology.links) + (len(words.capture) + len(words.schedule)) // LETTERS
