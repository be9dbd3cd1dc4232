"""What the reader of machines makes of a drawing: the YAML, and what is wrong, with the devices to look at."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sim.errors import InputError, Message, UnreachableError
from sim.formats import LARGEST_TEXT, read_topology
from sim.topology import Topology
from sim.topology.routing.tables import row
from sim.units import fmt_size, parse_bandwidth, parse_time
from ui.draw.document import OUTSIDE, DrawnDevice, DrawnLink, LinkClass, MachineDrawing, YamlText, read_drawing

MOST_PAIRS = 4
"""GPUs whose missing routes are reported one by one; the rest are counted."""
_SWITCHES = ("NET", "NVS", "PCI")
"""Kinds of devices that need no host."""
_NAME = "YAML"


class DrawnProblem(NamedTuple):
    """A sentence about the drawing, and the ids of the devices that it names."""

    sentence: Message
    devices: tuple[int, ...] = ()


class DrawingChecks(NamedTuple):
    """The machine's YAML, what is wrong with it, and how many GPUs, devices and links it has."""

    yaml: str
    problems: tuple[DrawnProblem, ...] = ()
    gpus: int = 0
    devices: int = 0
    links: int = 0


def check_drawing(text: str) -> DrawingChecks:
    """Check a drawing, given as JSON. Raises InputError for a text that is not a drawing."""
    drawing = read_drawing(text)
    yaml = YamlText(drawing)
    if not drawing.devices:
        return DrawingChecks(yaml.text)
    problems = (*_of_devices(drawing), *_of_classes(drawing))
    machine, late = (None, ()) if problems else _machine(drawing, yaml)
    problems += late
    if machine is None:
        return DrawingChecks(yaml.text, problems)
    problems += tuple(_unreached(drawing, machine))
    return DrawingChecks(yaml.text, problems, machine.n, len(machine.devices), len(drawing.links))


def machine_of_drawing(drawing: MachineDrawing) -> Topology:
    """The machine that is drawn. Raises InputError as the reader of its YAML does."""
    return read_topology(YamlText(drawing).text, _NAME)


def _machine(drawing: MachineDrawing, yaml: YamlText) -> tuple[Topology | None, tuple[DrawnProblem, ...]]:
    if len(yaml.text) > LARGEST_TEXT:
        size, largest = fmt_size(len(yaml.text)), fmt_size(LARGEST_TEXT)
        return None, (DrawnProblem(Message("machine.too_large", topology=drawing.name, size=size, largest=largest)),)
    try:
        return read_topology(yaml.text, _NAME), ()
    except InputError as error:
        return None, (_placed(error, drawing, yaml),)


def _of_devices(drawing: MachineDrawing) -> Iterator[DrawnProblem]:
    """What is wrong with the devices, whatever joins them."""
    if drawing.hosts:
        for device in drawing.devices:
            if device.host == OUTSIDE and device.kind not in _SWITCHES:
                yield DrawnProblem(Message("draw.outside", name=device.name), (device.id,))
    yaml = YamlText(drawing, ())
    _, problems = _machine(drawing, yaml)
    yield from problems


def _of_classes(drawing: MachineDrawing) -> Iterator[DrawnProblem]:
    """What is wrong with the rates of each class that has a link: a machine of this one link is read."""
    for group in drawing.classes:
        link = next((link for link in drawing.links if link.group == group.id), None)
        if link is None:
            continue
        problem = _of_rates(group)
        if problem is None:
            problem = next(iter(_machine(drawing, YamlText(_with_ends(drawing, link)))[1]), None)
        if problem is not None:
            yield problem


def _with_ends(drawing: MachineDrawing, link: DrawnLink) -> MachineDrawing:
    """One link and its two devices as GPUs, whose names are right: a machine where the class is."""
    ends = [device for device in drawing.devices if device.id in (link.src, link.dst)]
    gpus = tuple(replace(device, kind="GPU", name=str(device.id)) for device in ends)
    return replace(drawing, devices=gpus, links=(link,))


def _of_rates(group: LinkClass) -> DrawnProblem | None:
    """What is wrong with a rate that is there."""
    try:
        if group.bandwidth:
            parse_bandwidth(group.bandwidth, f"{group.name}: bandwidth")
        if group.latency:
            parse_time(group.latency, f"{group.name}: latency")
    except InputError as error:
        return DrawnProblem(error.message)
    return None


def _placed(error: InputError, drawing: MachineDrawing, yaml: YamlText) -> DrawnProblem:
    """An error of the reader with the device or link of its line in the place of the line's number."""
    message = error.message
    if message.text != "at.line":
        return DrawnProblem(message)
    line, what = message.values["line"], message.values["what"]
    is_of_all = isinstance(what, Message) and what.text == "machine.no_ranks"  # the list begins on its first line
    part = yaml.parts.get(line) if isinstance(line, int) and not is_of_all else None
    if isinstance(part, DrawnDevice):
        return DrawnProblem(Message("draw.at_device", name=part.name, what=what), (part.id,))
    if isinstance(part, DrawnLink):
        names = {device.id: device.name for device in drawing.devices}
        group = next(each for each in drawing.classes if each.id == part.group)
        said = Message("draw.at_link", name=group.name, src=names[part.src], dst=names[part.dst], what=what)
        return DrawnProblem(said, (part.src, part.dst))
    return DrawnProblem(what if isinstance(what, Message) else Message(str(what)))


def _unreached(drawing: MachineDrawing, machine: Topology) -> Iterator[DrawnProblem]:
    """The pairs of GPUs without a route: the first of each GPU in the router's words, the others counted."""
    ids = {device.name: device.id for device in drawing.devices}
    ranks = np.array(machine.ranks)
    named = pairs = 0
    for k, src in enumerate(machine.ranks):
        missing = ranks[k + 1 :][~row(machine, src).reached[ranks[k + 1 :]]]
        pairs += len(missing)
        if not len(missing) or named == MOST_PAIRS:
            continue
        ends = [machine.devices[i].name for i in (src, missing[0])]
        try:
            machine.path(*ends)
        except UnreachableError as error:
            named += 1
            yield DrawnProblem(error.message, tuple(ids[name] for name in ends))
    if pairs > named:
        yield DrawnProblem(Message("draw.more_pairs", count=pairs - named))
