"""Names of devices and boxes in pictures: what people call them, in both languages, none without."""

import re
from pathlib import Path

from sim.formats import read_topology
from sim.machines import MACHINES, build
from tests.tables import each_row
from ui.layout.machine_layout import arrange
from ui.layout.names import box_names, device_names
from ui.text import languages

TWELVE_NICS = Path(__file__).parents[1] / "data" / "nvidia-smi-topo" / "026-8gpu-12nic-topo-mp-no-nvlink.txt"


def names_of(machine, language="en"):
    topology = build(machine)
    names = device_names(topology, range(len(topology.ranks)), language)
    return {device.name: named for device, named in zip(topology.devices, names, strict=True)}


@each_row("machine", [*MACHINES, "dgx_h100:hosts=2", "fat_tree:pods=2,leaves=1,gpus=1"])
def test_every_device_has_a_name_that_is_no_id(machine):
    for language in languages():
        for name, (longest, *others) in names_of(machine, language).items():
            assert longest, name
            assert not re.search(r"[A-Z]{2}\d|\.[A-Z]", longest), longest
            assert all(len(other) <= len(longest) for other in others)


def test_names_for_people():
    names = {name: named[0] for name, named in names_of("dgx_h100:hosts=2").items()}
    assert names["H1.GPU3"] == "GPU 11"
    assert names["H0.NVS0"] == "NVSwitch"
    assert names["H0.PCI0"] == "PCIe switch 0"
    assert (names["H1.NIC7"], names["H1.CPU0"], names["RAIL3"]) == ("NIC 7", "CPU 0", "Rail 3")


def test_a_rank_that_is_another_gpu_is_called_a_rank():
    topology = build("dgx_a100")
    names = device_names(topology, [4, 5])
    assert [names[d][0] for d in topology.ranks[:2]] == ["rank 4", "rank 5"]
    assert names[topology.ranks[2]][0] == "GPU 2"


def test_boxes_are_sockets_or_numa_domains():
    def labels(machine):
        return {box.label for box in box_names(arrange(build(machine)).boxes)}

    assert {"Socket 0", "Socket 1"} <= labels("dual_socket_pcie")
    assert {"Host 0", "Host 1", "Socket 0", "Socket 1"} <= labels("dgx_h100:hosts=2")
    assert "NUMA 3" in labels("dgx_a100")


def test_all_twelve_nics_of_a_capture_are_named():
    topology = read_topology(TWELVE_NICS.read_text(encoding="utf-8"), TWELVE_NICS.stem)
    names = device_names(topology, range(len(topology.ranks)))
    nics = [name for device, name in zip(topology.devices, names, strict=True) if device.kind == "NIC"]
    assert nics == [[f"NIC {k}", str(k)] for k in range(12)]  # what fits into any box, too
