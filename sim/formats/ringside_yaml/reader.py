"""Ringside's own description of a machine, in YAML; every key is explained in docs/topology-yaml.md.

Nothing is assumed: what a file leaves out has one documented meaning or is asked for.
"""

import difflib
import re
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TypeVar, get_args

from sim.base.numbers import whole
from sim.base.pasted import bare_lines
from sim.base.size import LARGEST, room_for
from sim.base.yaml import YamlNode, parse_yaml
from sim.errors import InputError, Message
from sim.formats import reader
from sim.machines import build
from sim.parameters import parse_spec
from sim.topology import Device, DeviceKind, Link, LinkKind, Topology
from sim.topology.generations import GENERATIONS
from sim.topology.rails import join_by_rails
from sim.topology.routing.tables import links_between, tabled
from sim.units import parse_bandwidth, parse_time

Word = TypeVar("Word", bound=str)
VERSION = "1"
MACHINE_KEYS = ("ringside", "name", "machine", "parameters", "assumed")
OWN_KEYS = (
    "ringside", "name", "devices", "links", "ranks", "overhead", "gamma", "forwarding", "relays", "hosts", "routes",
    "routing", "pairs", "generation", "assumed",
)  # fmt: skip
DEVICE_KEYS = ("name", "count", "kind", "numa", "host")
LINK_KEYS = ("from", "to", "bandwidth", "latency", "kind", "duplex", "lanes")
HOSTS_KEYS = ("count", "bandwidth", "latency")
ROUTE_KEYS = ("route", "nth")
DUPLEX = ("full", "half", "simplex")
"""Two links, one each way; one link that both ways share; one link from `from` to `to` alone."""

_MARK = re.compile(r"^[ \t]*(?:\{[ \t]*)?[\"']?ringside[\"']?[ \t]*:", re.MULTILINE)
_ALIKE = re.compile(r"^(devices|machine)[ \t]*:", re.MULTILINE)


def matches(text: str) -> bool:
    """Whether it says `ringside:`."""
    return "ringside" in text and _MARK.search(bare_lines(text)) is not None


def explain(text: str) -> str:
    """That the first line is missing, where the rest is there."""
    return "instead.no_first_line" if _ALIKE.search(text) else ""


@reader(
    "ringside_yaml",
    "a machine in Ringside's own YAML",
    matches=matches,
    explain=explain,
    endings=("yaml", "yml", "json"),
)
def read(text: str, *, name: str = "YAML") -> Topology:
    """The machine a file describes, as docs/topology-yaml.md says.

    Raises InputError naming the line, the key and the mend.
    """
    root = parse_yaml(text, name)
    said = root.mapping("the file", tuple(dict.fromkeys((*MACHINE_KEYS, *OWN_KEYS))))
    version = said["ringside"].text("ringside") if "ringside" in said else root.refuse("machine.no_version")
    if version != VERSION:
        said["ringside"].refuse("machine.version", version=version, own=VERSION)
    title = said["name"].text("name") if "name" in said else name
    if "machine" in said:
        root.mapping("a file with `machine`", MACHINE_KEYS)
        machine = _named_machine(said)
        return machine.but(name=title if "name" in said else machine.name, assumed=_assumed(said) or machine.assumed)
    root.mapping("a file without `machine`", OWN_KEYS)
    host = _whole(root, said, title)
    return _joined(host, said)


def _named_machine(said: dict[str, YamlNode]) -> Topology:
    """A machine of `list machines`, with parameters behind its name or below it."""
    node = said["machine"]
    spec = node.text("machine")
    below = said["parameters"].mapping("parameters") if "parameters" in said else {}
    behind = parse_spec(spec)[1]
    twice = next((key for key in below if key in behind), None)
    if twice is not None:
        below[twice].refuse("machine.given_twice", key=twice)
    try:
        return build(spec, **{key: value.text(key) for key, value in below.items()})
    except InputError as error:
        node.refuse(error)


MOST_RELAYS = 64
"""More GPUs in a row pass nothing on."""


def _whole(root: YamlNode, said: dict[str, YamlNode], title: str) -> Topology:
    """The machine, or the one host, that devices and links make."""
    for key in ("devices", "links"):
        if key not in said:
            root.refuse("machine.no_key", key=key)
    devices = _devices(said["devices"])
    names = {device.name: i for i, device in enumerate(devices)}
    links = _links(said["links"], devices, names)
    ranks = _ranks(said["ranks"], names) if "ranks" in said else ()
    if not ranks and all(device.kind != "GPU" for device in devices):
        said["devices"].refuse("machine.no_ranks")
    overhead, gamma = (_time(said[key], key) if key in said else 0.0 for key in ("overhead", "gamma"))
    made = Topology(
        title,
        tuple(devices),
        tuple(links),
        ranks,
        forwarding=_yes(said["forwarding"], "forwarding") if "forwarding" in said else False,
        relays=_number(said["relays"], "relays", 0, MOST_RELAYS) if "relays" in said else 0,
        assumed=_assumed(said),
        generation=_word(said["generation"], "generation", GENERATIONS) if "generation" in said else "",
        pairs=_pairs(said["pairs"], names) if "pairs" in said else {},
        overhead=overhead,
        gamma=gamma,
    )
    alone = "routing" in said and _word(said["routing"], "routing", ("shortest", "listed")) == "listed"
    if "routes" not in said and not alone:
        return made
    table = _routes(said["routes"], made) if "routes" in said else {}
    return made.but(router=tabled(made, table, alone=alone))


def _joined(host: Topology, said: dict[str, YamlNode]) -> Topology:
    """As many hosts as asked for."""
    if "hosts" not in said:
        return host
    node = said["hosts"]
    if "ranks" in said:
        said["ranks"].refuse("machine.hosts_ranks")
    values = node.mapping("hosts", HOSTS_KEYS)
    for key in HOSTS_KEYS:
        if key not in values:
            node.refuse("machine.hosts", key=key)
    try:
        return join_by_rails(
            host,
            _number(values["count"], "count", 1, 1024),
            _bandwidth(values["bandwidth"]),
            _time(values["latency"], "latency"),
        )
    except InputError as error:
        node.refuse(error)


def _devices(node: YamlNode) -> list[Device]:
    devices: list[Device] = []
    seen: set[str] = set()
    for entry in node.items("devices"):
        values = entry.mapping("a device", DEVICE_KEYS)
        name, kind = _required(entry, values, "device", ("name", "kind"))
        word = _word(kind, "kind", get_args(DeviceKind))
        numa = _number(values["numa"], "numa", -1, 4095) if "numa" in values else -1
        host = _number(values["host"], "host", -1, 1 << 20) if "host" in values else 0
        names = [name.text("name")]
        if "count" in values:
            count = _number(values["count"], "count", 1, LARGEST)
            room_for(len(devices) + count, entry.place)
            names = [f"{names[0]}{i}" for i in range(count)]
        for each in names:
            if each in seen:
                entry.refuse("machine.device_twice", name=each)
            seen.add(each)
            devices.append(Device(each, word, numa, host))
    return devices


def _links(node: YamlNode, devices: list[Device], names: dict[str, int]) -> list[Link]:
    links: list[Link] = []
    for entry in node.items("links"):
        values = entry.mapping("a link", LINK_KEYS)
        ends = _required(entry, values, "link", ("from", "to", "bandwidth", "latency"))
        a, b = (_matching(end, names) for end in ends[:2])
        duplex = _word(values["duplex"], "duplex", DUPLEX) if "duplex" in values else "full"
        rate, wait = _bandwidth(values["bandwidth"]), _time(values["latency"], "latency")
        kind = _word(values["kind"], "kind", get_args(LinkKind)) if "kind" in values else None
        lanes = _number(values["lanes"], "lanes", 1, 1 << 20) if "lanes" in values else 1
        room_for(0, entry.place, len(links) + 2 * len(a) * len(b))
        pairs = dict.fromkeys((x, y) for x in a for y in b if x != y)
        if duplex != "simplex":
            pairs = dict.fromkeys((x, y) for x, y in pairs if x < y or (y, x) not in pairs)
        if not pairs:
            entry.refuse("machine.to_itself", name=devices[a[0]].name)
        for x, y in pairs:
            one, other = devices[x], devices[y]
            link = Link(one.name, other.name, rate, wait, kind or _usual(one, other), duplex == "half", lanes)
            links += [link, link.turned()] if duplex == "full" else [link]
    return links


def _usual(a: Device, b: Device) -> LinkKind:
    """What kind of link joins two kinds of devices, where a file leaves it open."""
    kinds = {a.kind, b.kind}
    if "NET" in kinds:
        return "NET"
    if kinds <= {"GPU", "NVS"}:
        return "NVL"
    return "SYS" if kinds == {"CPU"} else "PCI"


def _matching(node: YamlNode, names: dict[str, int]) -> list[int]:
    """The devices a name or a pattern with * stands for."""
    text = node.text("a device")
    if text in names:
        return [names[text]]
    pattern = text.replace("[", "[[]").replace("?", "[?]")
    matches = [i for name, i in names.items() if fnmatchcase(name, pattern)] if "*" in text else []
    if not matches:
        near = difflib.get_close_matches(text, names, 1)
        mend = Message("choose.near", name=near[0]) if near else Message("machine.list_it")
        node.refuse("machine.no_device_but", name=text, remedy=mend)
    return matches


def _ranks(node: YamlNode, names: dict[str, int]) -> tuple[int, ...]:
    ranks = [i for entry in node.items("ranks") for i in _matching(entry, names)]
    if len(set(ranks)) != len(ranks):
        node.refuse("machine.two_ranks")
    return tuple(ranks)


def _routes(node: YamlNode, topology: Topology) -> dict[tuple[int, int], tuple[int, ...]]:
    """Listed routes; a hop takes the `nth` of the links between its two devices, the first unless said."""
    between = links_between(topology)
    table: dict[tuple[int, int], tuple[int, ...]] = {}
    for entry in node.items("routes"):
        values = entry.mapping("a route", ROUTE_KEYS)
        (way,) = _required(entry, values, "route", ("route",))
        devices = [stop.text("a device") for stop in way.items("route")]
        unknown = next((device for device in devices if device not in topology.index), None)
        if unknown is not None or len(devices) < 2:
            way.refuse("machine.no_device" if unknown else "machine.route_short", name=unknown)
        nth = [_number(each, "nth", 0, 1 << 20) for each in values["nth"].items("nth")] if "nth" in values else []
        if nth and len(nth) != len(devices) - 1:
            values["nth"].refuse("machine.nth", count=len(nth), hops=len(devices) - 1)
        links = []
        for k, hop in enumerate(pairwise(devices)):
            choice, n = between.get(hop, []), nth[k] if nth else 0
            if n >= len(choice):
                way.refuse("machine.no_nth", src=hop[0], dst=hop[1], count=len(choice), needed=n + 1)
            links.append(choice[n])
        ends = topology.index[devices[0]], topology.index[devices[-1]]
        if ends in table:
            way.refuse("machine.route_twice", src=devices[0], dst=devices[-1])
        table[ends] = tuple(links)
    return table


def _pairs(node: YamlNode, names: dict[str, int]) -> dict[str, dict[str, str]]:
    rows = node.mapping("pairs")
    for key, row in rows.items():
        for name in (key, *row.mapping("a row of pairs")):
            if name not in names:
                row.refuse("machine.no_device_but", node.lines[key], name=name, remedy=Message("machine.list_it"))
    return {
        a: {b: cell.text("a class") for b, cell in row.mapping("a row of pairs").items()} for a, row in rows.items()
    }


def _assumed(said: dict[str, YamlNode]) -> tuple[str, ...]:
    return tuple(note.text("a note") for note in said["assumed"].items("assumed")) if "assumed" in said else ()


def _required(entry: YamlNode, values: dict[str, YamlNode], what: str, keys: tuple[str, ...]) -> list[YamlNode]:
    missing = next((key for key in keys if key not in values), None)
    if missing is not None:
        entry.refuse("machine.lacks", what=Message(what), key=missing)
    return [values[key] for key in keys]


def _what(node: YamlNode, key: str) -> str:
    return f"{node.name}, line {node.line}: {key}"


def _bandwidth(node: YamlNode) -> float:
    return parse_bandwidth(node.text("bandwidth"), _what(node, "bandwidth"))


def _time(node: YamlNode, key: str) -> float:
    return parse_time(node.text(key), _what(node, key))


def _number(node: YamlNode, key: str, low: int, high: int) -> int:
    text = node.text(key)
    value = whole(text)
    if value is None or not low <= value <= high:
        node.refuse("machine.whole", key=key, text=text, low=low, high=high)
    return value


def _yes(node: YamlNode, key: str) -> bool:
    word = _word(node, key, ("yes", "no", "true", "false"))
    return word in ("yes", "true")


def _word(node: YamlNode, key: str, words: tuple[Word, ...]) -> Word:
    text = node.text(key)
    for word in words:
        if text == word:
            return word
    return node.refuse("yaml.choose", key=key, text=text, choices=words)
