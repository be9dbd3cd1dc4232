"""Machines as NCCL's topology XML: CPUs, the PCIe tree below them, GPUs with their ranks and NVLinks, NICs.

The format has few words for rates: PCIe by generation and width, NVLinks by the GPU's compute capability, sockets by
the CPU's make. The nearest word is taken, and a comment at the top lists whatever is not exactly kept.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from sim.errors import InputError, Message
from sim.formats import LARGEST_TEXT, writer
from sim.formats.nccl_xml.reader import NVLINK_BY_SM, PCI_LANE, XGMI
from sim.topology import Device, Link, Topology
from sim.topology.generations import BY_GCN, of_sm
from sim.topology.host import between_sockets
from sim.units import GBps, fmt_bandwidth, fmt_size

SWITCH = ("fffffff:ffff:ff", "0x068000")
"""Where NVLinks to an NVSwitch end in NCCL's own dumps, and its class."""
CODES = {"GPU": "0x030200", "NIC": "0x020000", "PCI": "0x060400"}
DEEPEST = 64
CPUS = (
    ('arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1"', between_sockets("AuthenticAMD", 1)),
    *(
        (f'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="{model}"', between_sockets("GenuineIntel", model))
        for model in (79, 85, 143, 207)
    ),
    ('arch="ppc64" vendor="IBM"', between_sockets("IBM", 0, "ppc64")),
)
"""What a <cpu> says of its make, and what NCCL takes between two of them (B/s)."""


@dataclass(slots=True)
class _Page:
    """Lines gathered on the way, and what they do not keep."""

    machine: Topology
    out: dict[str, list[Link]] = field(default_factory=dict)
    bus: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    def device(self, name: str) -> Device:
        return self.machine.devices[self.machine.index[name]]

    def nearest(self, what: str, words: Iterable[tuple[str, float]], rate: float) -> str:
        """The word that stands for a rate (B/s), or for the one closest to it; noted when that is another."""
        word, stands_for = min(words, key=lambda pair: abs(pair[1] - rate))
        if abs(stands_for - rate) > 1e-6 * rate:
            self.notes[f"{what} of {fmt_bandwidth(rate)} stands here as {fmt_bandwidth(stands_for)}"] = None
        return word


@writer("nccl_xml")
def write(topology: Topology) -> str:
    """The machine as `NCCL_TOPO_FILE` takes it, ranks included.

    Raises InputError for a machine that is no PCIe trees below CPUs, has several NVSwitches in a host or one across
    hosts, or half-duplex links: NCCL has no words for those.
    """
    page = _Page(topology)
    for link in topology.links:
        if link.both:
            raise InputError("nccl_xml.half_duplex", topology=topology.name, src=link.src, dst=link.dst)
        page.out.setdefault(link.src, []).append(link)
    _check(page)
    hosts = sorted({device.host for device in topology.devices if device.kind == "CPU"})
    trees = {cpu: _tree(page, cpu) for cpu in _roots(page)}
    for number, name in enumerate(name for tree in trees.values() for name in tree if page.device(name).kind != "CPU"):
        page.bus[name] = f"{number >> 8:04x}:{number & 255:02x}:00.0"
    _check_all_written(page, trees)
    for host in hosts:
        _host(page, host, {cpu: tree for cpu, tree in trees.items() if page.device(cpu).host == host}, len(hosts) > 1)
    _general_notes(page, hosts)
    text = "\n".join(
        ['<system version="1">', *(f"  <!-- {note} -->" for note in page.notes), *page.lines, "</system>\n"]
    )
    if len(text) > LARGEST_TEXT:
        raise InputError(
            "nccl_xml.too_large", topology=topology.name, size=fmt_size(len(text)), largest=fmt_size(LARGEST_TEXT)
        )
    return text


def _check(page: _Page) -> None:
    """What no file of NCCL can hold. Raises InputError."""
    machine = page.machine
    if not any(device.kind == "CPU" for device in machine.devices):
        raise InputError("nccl_xml.no_cpu_above", machine=machine.name)
    for switch in (device.name for device in machine.devices if device.kind == "NVS"):
        hosts = {page.device(link.dst).host for link in page.out.get(switch, ())}
        others = {d.name for d in machine.devices if d.kind == "NVS" and d.host in hosts}
        if len(hosts) > 1 or len(others) > 1:
            what = Message("nccl_xml.joins_hosts") if len(hosts) > 1 else Message("nccl_xml.one_of", count=len(others))
            raise InputError("nccl_xml.nvswitch", machine=machine.name, switch=switch, what=what)


def _roots(page: _Page) -> list[str]:
    """CPUs that stand for NUMA nodes, not the host bridges below them."""
    cpus = [device for device in page.machine.devices if device.kind == "CPU"]
    return [cpu.name for cpu in cpus if not cpu.name.startswith(tuple(f"{other.name}." for other in cpus))]


def _tree(page: _Page, cpu: str) -> dict[str, Link]:
    """Everything below a CPU, parents first, each with the link that leads down to it."""
    reached_by: dict[str, Link] = {}

    def down(parent: str, came_by: str, depth: int) -> None:
        if depth > DEEPEST:
            raise InputError("nccl_xml.switches", machine=page.machine.name, most=DEEPEST)
        for link in page.out.get(parent, ()):
            at = page.device(link.dst)
            bridge = at.kind == "CPU" and at.name.startswith(f"{cpu}.")
            if link.kind != "PCI" or link.dst in (came_by, cpu) or not (bridge or at.kind in CODES):
                continue
            if link.dst not in reached_by:
                reached_by[link.dst] = link
                if at.kind in ("PCI", "CPU"):
                    down(link.dst, parent, depth + 1)

    down(cpu, cpu, 0)
    return reached_by


def _check_all_written(page: _Page, trees: dict[str, dict[str, Link]]) -> None:
    """Raises InputError naming a device that would be lost, or that hangs in two places."""
    placed = [name for tree in trees.values() for name in tree]
    twice = next((name for name in placed if placed.count(name) > 1), None)
    if twice is not None:
        raise InputError("nccl_xml.two_cpus", machine=page.machine.name, device=twice)
    lost = [d.name for d in page.machine.devices if d.kind in CODES and d.name not in placed]
    if lost:
        raise InputError("nccl_xml.no_pcie", machine=page.machine.name, device=lost[0])


def _host(page: _Page, host: int, trees: dict[str, dict[str, Link]], many: bool) -> None:
    """The CPUs of a host, numbered by NUMA node where those differ."""
    numa = [page.device(cpu).numa for cpu in trees]
    by_numa = len(set(numa)) == len(numa) and (min(numa) >= 0 or len(numa) == 1)
    between = [link for cpu in trees for link in page.out.get(cpu, ()) if link.dst in trees and link.kind == "SYS"]
    if between and len(between) != len(trees) * (len(trees) - 1):
        page.notes["NUMA nodes of a host are all joined to all here"] = None
    make, hash_of = CPUS[0][0], f' host_hash="{host + 1:#x}"' if many else ""
    for link in between:
        make = page.nearest("a link between sockets", CPUS, link.bandwidth)
    for i, (cpu, tree) in enumerate(trees.items()):
        page.lines.append(f'  <cpu numaid="{numa[i] if by_numa else i}"{hash_of} {make}>')
        page.lines += _below(page, cpu, tree, "    ")
        page.lines.append("  </cpu>")


def _below(page: _Page, parent: str, tree: dict[str, Link], space: str) -> Iterator[str]:
    """The elements below a device."""
    for name, link in tree.items():
        if link.src != parent:
            continue
        device = page.device(name)
        if device.kind == "CPU":
            page.notes["host bridges of a NUMA node are not told apart: NODE reads as PHB"] = None
            yield from _below(page, name, tree, space)
            continue
        width = page.nearest("a PCIe link", _PCI, link.bandwidth)
        yield f'{space}<pci busid="{page.bus[name]}" class="{CODES[device.kind]}" {width}>'
        if device.kind == "GPU":
            yield from _gpu(page, device, link, space + "  ")
        elif device.kind == "NIC":
            yield from _nic(page, device, link, space + "  ")
        yield from _below(page, name, tree, space + "  ")
        yield f"{space}</pci>"


_PCI = [
    (f'link_speed="{float(speed)} GT/s PCIe" link_width="{width}"', width * lane / 80 * GBps)
    for width in (16, 8, 4, 2, 1)
    for speed, lane in PCI_LANE.items()
]
"""What a <pci> says of its link, and the B/s it stands for."""


def _gpu(page: _Page, device: Device, down: Link, space: str) -> Iterator[str]:
    machine = page.machine
    wires = [link for link in page.out.get(device.name, ()) if link.kind == "NVL"]
    digits = device.name.rpartition("GPU")[2]
    alike = [d.name for d in machine.devices if d.kind == "GPU" and d.host == device.host]
    dev = digits if digits.isdecimal() and len(digits) < 5 else str(alike.index(device.name))
    index = machine.index[device.name]
    rank = f' rank="{machine.ranks.index(index)}"' if index in machine.ranks else ""
    rates = {link.bandwidth / link.lanes for link in wires}
    amd = _is_amd(machine, rates)
    tag = "xgmi" if amd else "nvlink"
    words = _architectures(machine) if amd else _compute_capabilities(machine, down.bandwidth)
    kind = page.nearest("an NVLink", words, max(rates)) if rates else words[0][0]
    if len(rates) > 1:
        page.notes["NVLinks of one GPU differ: those of the fastest are kept"] = None
    made = f'sm="94" gcn="{kind}"' if amd else f'sm="{kind}"'
    yield f'{space}<gpu dev="{dev}" {made}{rank}>'
    for wire in wires:
        end = page.device(wire.dst)
        target, code = SWITCH if end.kind == "NVS" else (page.bus[end.name], CODES["GPU"])
        yield f'{space}  <{tag} target="{target}" count="{wire.lanes}" tclass="{code}"/>'
    extra = [link for link in page.out.get(device.name, ()) if link.kind == "PCI" and link.dst == down.src]
    for link in extra[1:]:
        yield f'{space}  <c2c count="1" bw="{round(link.bandwidth / GBps * 1000)}"/>'
    yield f"{space}</gpu>"


def _is_amd(machine: Topology, rates: Iterable[float]) -> bool:
    """Whether GPUs are AMD's: by their generation, or where nothing says it, by what their links carry."""
    if machine.generation:
        return machine.generation in XGMI
    return min(rates, default=0.0) in {rate * GBps for rate in XGMI.values()}


def _architectures(machine: Topology) -> list[tuple[str, float]]:
    """Each with the B/s of one of its xGMI links: those of the machine's generation, or all where it says none."""
    return [(gcn, XGMI[of] * GBps) for gcn, of in BY_GCN if machine.generation in ("", of)]


def _compute_capabilities(machine: Topology, pcie: float) -> list[tuple[str, float]]:
    """Each with the B/s of one of its NVLinks: those of the machine's generation, or all where it says none.

    Those whose PCIe fits come first, as Volta's links equal Ampere's.
    """
    usual = 70 if pcie < 24 * GBps else 80 if pcie < 48 * GBps else 90
    able = [(sm, rate) for sm, rate in NVLINK_BY_SM if machine.generation in ("", of_sm(sm))]
    return sorted(((str(sm), rate * GBps) for sm, rate in able), key=lambda pair: abs(int(pair[0]) - usual))


def _nic(page: _Page, device: Device, down: Link, space: str) -> Iterator[str]:
    port = next((link.bandwidth for link in page.out.get(device.name, ()) if link.kind == "NET"), down.bandwidth)
    number = page.machine.index[device.name]
    name = quoteattr(device.name)
    yield f'{space}<nic><net name={name} dev="{number}" speed="{round(port / GBps * 8000)}" port="1" gdr="1"/></nic>'


def _general_notes(page: _Page, hosts: list[int]) -> None:
    machine = page.machine
    page.notes["latencies are not part of this format"] = None
    if machine.overhead or machine.gamma:
        page.notes["overhead and gamma are not part of this format"] = None
    networks = [device for device in machine.devices if device.kind == "NET"]
    if len(networks) > 1:
        page.notes["rails and spine are left out: all NICs read as on one network"] = None
    if machine.router is not None and len(hosts) == 1:
        page.notes["the routes this machine prescribes are left out: the shortest are taken"] = None
    xgmi = _is_amd(machine, {x.bandwidth / x.lanes for x in machine.links if x.kind == "NVL"})
    if machine.forwarding and not xgmi:
        page.notes["that GPUs pass on what is not for them is left out"] = None
