"""Machines written as NCCL's XML and read back: the same places, ranks, NVLinks and rates; losses are told."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sim.errors import InputError
from sim.formats import read_topology, read_topology_file, write_topology
from sim.machines import build
from sim.topology import Device, Topology, both_ways
from sim.topology.path_classes import pair_classes
from terminal import commands
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "nccl-topo-xml"


def again(machine):
    return read_topology(write_topology(machine, "nccl_xml"), "again")


def wires(machine):
    return Counter((x.src, x.dst, x.lanes, round(x.bandwidth)) for x in machine.links if x.kind == "NVL")


def gpu_classes(machine):
    rows = pair_classes(machine)
    return {
        a: {b: "PHB" if word == "NODE" else word for b, word in row.items() if "GPU" in b}
        for a, row in rows.items()
        if "GPU" in a
    }


@each_row(
    "spec",
    [
        "dgx1v", "dgx2", "dgx_a100", "dgx_h100", "dgx_b200", "a100_quad", "gh200_quad", "a100_pcie_pairs", "mi250x",
        "mi300x", "dual_socket_pcie:gpus=5,switches_per_socket=2", "dgx_a100:hosts=3", "dgx_h100:hosts=2",
    ],
)  # fmt: skip
def test_a_machine_comes_back_as_it_was(spec):
    machine = build(spec)
    back = again(machine)
    assert [back.devices[i].name for i in back.ranks] == [machine.devices[i].name for i in machine.ranks]
    assert wires(back) == wires(machine)
    assert gpu_classes(back) == gpu_classes(machine)
    numa = {d.name: (d.numa, d.host) for d in machine.devices if d.kind in ("GPU", "CPU") and ".HB" not in d.name}
    assert {d.name: (d.numa, d.host) for d in back.devices if d.kind in ("GPU", "CPU")} == numa
    assert Counter(d.kind for d in back.devices)["NIC"] == Counter(d.kind for d in machine.devices)["NIC"]
    assert back.relays >= machine.relays
    assert not back.forwarding


@each_row("file", [file for file in sorted(DATA.glob("*.xml")) if not file.name.startswith("005")])
def test_a_file_comes_back_as_it_was(file):
    machine = read_topology_file(file)
    back = again(machine)
    assert wires(back) == wires(machine)
    assert pair_classes(back) == pair_classes(machine)
    assert len(back.devices) == len(machine.devices)
    assert [back.devices[i].name for i in back.ranks] == [machine.devices[i].name for i in machine.ranks]
    assert again(back).links == back.links


def test_ranks_and_the_nearest_rate_are_written():
    machine = build("dgx_a100")
    reordered = replace(machine, ranks=machine.ranks[::-1])
    assert [again(reordered).devices[i].name for i in again(reordered).ranks] == [f"GPU{7 - r}" for r in range(8)]
    slow = build("dual_socket_pcie:pcie=23GBps")
    text = write_topology(slow, "nccl_xml")
    assert "a PCIe link of 23 GB/s stands here as 24 GB/s" in text
    assert {x.bandwidth for x in read_topology(text, "it").path("GPU0", "GPU1")} == {24e9}


def test_volta_is_not_mistaken_for_ampere():
    assert 'sm="70"' in write_topology(build("dgx1v"), "nccl_xml")
    assert 'sm="80"' in write_topology(build("dgx_a100"), "nccl_xml")
    assert 'sm="90"' in write_topology(build("dgx_h100"), "nccl_xml")


def test_a_link_beside_pcie_is_chip_to_chip():
    cpu, gpu = Device("CPU0", "CPU", 0), Device("GPU0", "GPU", 0)
    links = both_ways("CPU0", "GPU0", 48e9, 0.0, "PCI") + both_ways("GPU0", "CPU0", 372e9, 0.0, "PCI")
    back = again(Topology("it", (cpu, gpu), links))
    assert sorted(x.bandwidth for x in back.links if x.src == "GPU0") == [48e9, 372e9]


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (build("switch:ranks=4"), "has no CPU"),
        (build("gb200_nvl72"), "joins several hosts"),
        (Topology("it", (Device("CPU0", "CPU"), Device("GPU0", "GPU")), ()), "no PCIe link leads from a CPU to GPU0"),
        (
            Topology(
                "it",
                (Device("CPU0", "CPU"), Device("GPU0", "GPU")),
                (replace(both_ways("CPU0", "GPU0", 1e9, 0.0, "PCI")[0], both=True),),
            ),
            "half-duplex",
        ),
        (
            Topology(
                "it",
                (Device("CPU0", "CPU", 0), Device("CPU1", "CPU", 1), Device("GPU0", "GPU")),
                both_ways("CPU0", "GPU0", 1e9, 0.0, "PCI") + both_ways("CPU1", "GPU0", 1e9, 0.0, "PCI"),
            ),
            "hangs below two CPUs",
        ),
    ],
)
def test_what_nccl_has_no_words_for_is_refused(machine, told):
    with pytest.raises(InputError, match=told):
        write_topology(machine, "nccl_xml")


def test_the_terminal_writes_it(tmp_path):
    from cli import main

    path = tmp_path / "it.xml"
    assert "export" in commands()
    assert main(["export", "--machine", "dgx1v", "--to", "nccl-xml", "-o", str(path)]) == 0
    assert wires(read_topology_file(path)) == wires(build("dgx1v"))
