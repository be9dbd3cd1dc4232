"""What people call devices and the boxes around them; ids stay in cards and where one types."""

import re
from collections import Counter
from collections.abc import Sequence

from sim.topology import Topology
from ui.layout.boxes import Box
from ui.text import say

_PARTS = re.compile(r"(?:H\d+\.)?(?:[A-Z]+\d+\.)?([A-Za-z]+)([\d.]*)")
WORDS = {
    "CORE": ("device.core",),
    "CPU": ("device.cpu",),
    "GPU": ("device.gpu",),
    "HB": ("device.bridge", "device.bridge.short"),
    "LEAF": ("device.leaf",),
    "MEM": ("device.memory",),
    "NIC": ("device.nic",),
    "NVS": ("device.nvs", "device.nvs.short"),
    "PCI": ("device.pci", "device.pci.short"),
    "POD": ("device.pod",),
    "R": ("device.router",),
    "RAIL": ("device.rail",),
    "SPINE": ("device.spine",),
    "SW": ("device.switch",),
}
"""Texts of devices by what their ids begin with, the longest first."""
BOXES = {
    "group": "box.group",
    "host": "box.host",
    "idle": "box.idle",
    "NUMA": "box.numa",
    "plane": "box.plane",
    "rack": "box.rack",
    "tree": "box.tree",
}
"""Texts of boxes by the words of their labels."""
SOCKETS = 2
"""So many NUMA domains of a host are its sockets; more are not."""


def device_names(topology: Topology, numbers: Sequence[int], language: str = "en") -> list[list[str]]:
    """Return the names of every device, the longest first; `numbers[r]` is what rank r is called.

    Ranks are called after their GPUs where rank r is the r-th GPU of all.
    """
    gpus = [d for d, device in enumerate(topology.devices) if device.kind == "GPU"]
    ranks = list(topology.ranks[: len(numbers)])
    are_gpus = ranks == gpus[: len(ranks)] and list(numbers) == list(range(len(ranks)))
    called = "device.gpu" if are_gpus else "device.rank"
    rank_of = {device: str(number) for device, number in zip(ranks, numbers, strict=True)}
    switches = Counter(device.host for device in topology.devices if device.kind == "NVS")
    names = []
    for d, device in enumerate(topology.devices):
        if d in rank_of:
            names.append([say(called, language, number=rank_of[d]), rank_of[d]])
            continue
        is_alone = device.kind == "NVS" and switches[device.host] == 1
        names.append(_named(device.name, language, is_alone=is_alone))
    return names


def _named(name: str, language: str, *, is_alone: bool = False) -> list[str]:
    """A device by its id; `is_alone` where it needs no number."""
    parts = _PARTS.fullmatch(name)
    if parts is None or parts[1] not in WORDS:
        return [name, name.split(".")[-1]]
    number = "" if is_alone else parts[2]
    texts = [say(text, language, number=number).strip() for text in WORDS[parts[1]]]
    return [*texts, number] if number else texts


def box_names(boxes: Sequence[Box], language: str = "en") -> list[Box]:
    """Return the boxes with labels for people: hosts, racks, sockets, groups by their switches."""
    hosts = sum(box.kind == "host" for box in boxes)
    domains = sum(box.kind == "numa" and bool(box.label) for box in boxes)
    texts = BOXES | ({"NUMA": "box.socket"} if domains <= SOCKETS * max(1, hosts) else {})

    def named(label: str) -> str:
        word, _, number = label.partition(" ")
        return say(texts[word], language, number=number) if word in texts else _named(label, language)[0]

    return [box._replace(label=named(box.label)) if box.label else box for box in boxes]
