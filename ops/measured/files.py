"""Files of measurements, whatever tool wrote them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ops.libraries.nccl.constants import LAUNCH
from ops.libraries.nccl.layers import NETWORK_UNTOLD, machine_word
from ops.libraries.nccl.variables import machine_with
from ops.measured.formats import MEASUREMENTS
from ops.measured.machine import find_machine, names_system
from ops.measured.rows import Table
from ops.measured.run_words import forced, mtu_of, names_network, transport_of
from sim.errors import InputError
from sim.machines import MACHINES, build
from sim.machines.through_memory import through_memory
from sim.parameters import parse_spec
from sim.placement import placed
from sim.topology import Topology
from sim.units import fmt_time

HOST_COPIED = ("geforce_4090", "l20", "l40s", "rtx_5090")
"""Machines whose GPUs copy through host memory by themselves."""
USUAL_MTU, HEADERS = 4096, 82
"""Bytes of a packet's data that networks of clusters have, and what RoCE v2 sends beside them: gap and preamble 20,
Ethernet 18, IP 20, UDP 8, base transport 12 and its checksum 4 (InfiniBand Architecture, annex A17)."""

MOST_FILES = 1000
"""Of a folder: more are somebody's whole disk."""


def read_tables(text: str, name: str) -> list[Table]:
    """The tables in a text. Raises InputError where it holds none that are known."""
    return MEASUREMENTS.read(text, name)


def read_file(path: str | Path) -> list[Table]:
    """`read_tables` of a file. Raises InputError when it cannot be read or is too large."""
    return MEASUREMENTS.read_file(path)


def read_all(paths: Iterable[str | Path]) -> tuple[list[Table], list[tuple[str, str]]]:
    """The tables of files and of all files in folders, and what in these holds none with the reason.

    Raises InputError for a file that is named and cannot be read, and for a folder that holds none.
    """
    tables: list[Table] = []
    outside: list[tuple[str, str]] = []
    for name in paths:
        path = Path(name)
        if not str(name) or not path.is_dir():  # a name of nothing is no folder, though it leads to this one
            tables += read_file(name)
            continue
        before = len(tables)
        for file in _files_in(path):
            try:
                tables += read_file(file)
            except InputError as error:
                outside.append((str(file), str(error).removeprefix(f"{file} ")))
        if len(tables) == before:
            raise InputError("measurements.none", path=path, titles=MEASUREMENTS.expected.kinds())
    return tables, outside


def _files_in(folder: Path) -> list[Path]:
    """All files in a folder and those in it, by name, hidden ones left out."""
    files = []
    for file in folder.rglob("*"):
        inner = file.relative_to(folder).parts
        if file.is_file() and not any(part.startswith(".") for part in inner):
            files.append(file)
        if len(files) > MOST_FILES:
            raise InputError("measurements.too_many", folder=folder, most=MOST_FILES)
    return sorted(files)


def place(
    table: Table, machine: str | Topology = "", ranks: int = 0, collective: str = "", placement: str = ""
) -> tuple[Topology, Table, str]:
    """The machine a table is from, the table with what a caller adds to it, and what told the machine.

    `machine` is a caller's own, built or by its spec; a spec of one that is too small and takes hosts gets as many as
    the ranks need. So is `placement`, which GPUs of it took part; without, they are those that the table lists.
    Raises InputError where the file does not tell and the caller does not either.
    """
    rows = table.rows
    if ranks or collective:
        rows = tuple(replace(r, ranks=ranks or r.ranks, collective=collective or r.collective) for r in rows)
    table = replace(table, rows=rows, ranks=ranks or table.ranks)
    if not machine:
        spec_of_machine, why = find_machine(table)
        return _as_told(_seated(build(spec_of_machine), table, placement), table, by_caller=False), table, why
    topology = _seated(build(machine) if isinstance(machine, str) else machine, table, placement)
    if isinstance(machine, str) and 0 < topology.n < table.ranks:
        topology = _seated(build(_with_hosts(machine, topology.n, table.ranks)), table, placement)
    if not table.ranks:
        table = replace(table, ranks=topology.n, rows=tuple(replace(r, ranks=r.ranks or topology.n) for r in rows))
    return _as_told(topology, table), table, "given"


def _with_hosts(spec: str, gpus: int, ranks: int) -> str:
    """A machine's spec with as many hosts of so many GPUs as the ranks need; itself where they are told, or none."""
    name, arguments = parse_spec(spec)
    if "hosts" not in MACHINES.parameters(name) or "hosts" in arguments:
        return spec
    return f"{spec}{',' if arguments else ':'}hosts={-(-ranks // gpus)}"


def _as_told(topology: Topology, table: Table, *, by_caller: bool = True) -> Topology:
    """The machine with what a table tells of the run: how ranks were joined, how long packets were, what was asked for.

    One that no caller named also assumes its network where neither log nor name tells that.
    """
    transport = transport_of(table)
    variables = forced(table) if transport != "shm" else replace(forced(table), p2p_disable=False, p2p_level="")
    machine = framed(machine_with(joined_as(transport, topology), variables), mtu_of(table))
    notes = _notes(machine, table)
    if not by_caller and not names_network(table) and not names_system(table):
        notes.append(NETWORK_UNTOLD)
    several = notes and len({machine.devices[device].host for device in machine.ranks[: table.ranks]}) > 1
    all_notes = (*table.notes, *_launch_notes(table), *(notes if several else ()))
    return replace(machine, assumed=(*machine.assumed, *all_notes), router=machine.routes) if all_notes else machine


def _launch_notes(table: Table) -> list[str]:
    """What it costs that a thread launches on several GPUs."""
    gpus = int(table.forced.get("launches", 1))
    least = fmt_time(gpus * LAUNCH)
    return [f"a thread launches on {gpus} GPUs, one after the other: no time is below {least}"] if gpus > 1 else []


def _notes(machine: Topology, table: Table) -> list[str]:
    """What a run between hosts was told to do that is not simulated."""
    notes, nics = [], int(table.forced.get("nics", 0))
    if table.forced.get("collnet") or table.forced.get("algorithm", "").lower().startswith("collnet"):
        notes.append(
            "NCCL was asked for CollNet, sums in the network's switches: a ring or a tree is simulated instead"
        )
    hosts = {device.host for device in machine.devices if device.kind == "GPU"}
    has = sum(device.kind == "NIC" for device in machine.devices) // max(1, len(hosts))
    if 0 < nics < has:
        notes.append(
            f"NCCL was given {nics} NICs a host where this machine has {has}: all are simulated, which is faster"
        )
    return notes


def joined_as(transport: str, topology: Topology) -> Topology:
    """The machine with its ranks joined as a log tells: by host memory, or by NICs that do not reach into GPUs."""
    if transport == "shm" and machine_word(topology) not in HOST_COPIED:
        return replace(through_memory(topology), name=f"{topology.name} through host memory")
    if transport == "no-gdr":
        note = "the log tells of no GPUDirect: the stop in host memory is not simulated, large sizes come out faster"
        return replace(topology, assumed=(*topology.assumed, note), router=topology.routes)
    return topology


def framed(topology: Topology, mtu: int) -> Topology:
    """The machine with packets of so many bytes of data, whose headers take more of its network the shorter they are.

    The machine itself for 0 and for the usual ones.
    """
    if mtu in (0, USUAL_MTU):
        return topology
    share = mtu / (mtu + HEADERS) / (USUAL_MTU / (USUAL_MTU + HEADERS))
    links = tuple(replace(x, bandwidth=x.bandwidth * share) if x.kind == "NET" else x for x in topology.links)
    note = f"packets hold {mtu} bytes: headers leave its network {share:.0%} of the data that {USUAL_MTU} would"
    return replace(topology, links=links, assumed=(*topology.assumed, note), router=topology.routes)


def _seated(topology: Topology, table: Table, placement: str) -> Topology:
    return placed(topology, placement) if placement else seated(topology, table)


def seated(topology: Topology, table: Table) -> Topology:
    """The machine with the ranks where a table's devices say they are, else on the first so many GPUs of every host.

    The machine itself where the table tells of whole hosts, or of more than the machine has.
    """
    each, hosts = table.each, dict[int, list[int]]()
    for device in topology.ranks:
        hosts.setdefault(topology.devices[device].host, []).append(device)
    listed = _listed(table, [*hosts.values()])
    if listed and listed != topology.ranks[: len(listed)]:
        return replace(topology, ranks=listed, router=topology.routes)
    needed = -(-table.ranks // each) if each else 0
    if needed < 2 or needed > len(hosts) or any(len(gpus) <= each for gpus in hosts.values()):
        return topology
    ranks = tuple(device for gpus in hosts.values() for device in gpus[:each])
    return replace(topology, ranks=ranks, router=topology.routes)


def _listed(table: Table, hosts: list[list[int]]) -> tuple[int, ...]:
    """The devices that a table lists, hosts in the order in which they appear; none where the machine lacks one."""
    names = list(dict.fromkeys(host for host, _ in table.devices))
    if len(names) > len(hosts):
        return ()
    of_host = dict(zip(names, hosts, strict=False))
    if any(device >= len(of_host[host]) for host, device in table.devices):
        return ()
    return tuple(of_host[host][device] for host, device in table.devices)
