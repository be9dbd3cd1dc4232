"""What a topology refuses, and how it is described."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from sim.errors import InputError
from sim.machines import build
from sim.topology import Device, Link, Topology, both_ways
from sim.topology.path_classes import describe, pair_classes

TWO = (Device("GPU0", "GPU"), Device("GPU1", "GPU"))


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, math.nan, math.inf])
def test_a_link_without_a_usable_bandwidth_is_refused_by_name(bandwidth):
    with pytest.raises(InputError, match=r"link GPU0 -> GPU1 has bandwidth .*: give one above zero"):
        Topology("t", TWO, (Link("GPU0", "GPU1", bandwidth, 0.0),))


@pytest.mark.parametrize("latency", [-1e-9, math.nan, math.inf])
def test_a_link_without_a_usable_latency_is_refused_by_name(latency):
    with pytest.raises(InputError, match=r"link GPU0 -> GPU1 has latency .*: give zero or more seconds"):
        Topology("t", TWO, (Link("GPU0", "GPU1", 1.0, latency),))


@pytest.mark.parametrize("what", ["overhead", "gamma"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_an_impossible_cost_is_refused(what, value):
    with pytest.raises(InputError, match=f"{what} is .*: give zero or more"):
        Topology("t", TWO, (), **{what: value})


def test_two_devices_of_one_name_are_refused():
    with pytest.raises(InputError, match="two devices are called GPU0: give each its own name"):
        Topology("t", (TWO[0], TWO[0]), ())


def test_a_link_that_ends_nowhere_is_refused():
    with pytest.raises(InputError, match="link GPU0 -> GPU7 ends at GPU7, which is no device"):
        Topology("t", TWO, (Link("GPU0", "GPU7", 1.0, 0.0),))


def test_a_path_from_an_unknown_device_is_refused():
    with pytest.raises(InputError, match="no device called GPU9"):
        build("switch:ranks=2").path("GPU9", "GPU0")


def test_a_description_is_plain_data_with_every_device_and_link():
    host = Topology(
        "box",
        (
            Device("GPU0", "GPU", 0),
            Device("GPU1", "GPU", 1),
            Device("NIC0", "NIC", 1),
            Device("CPU0", "CPU", 0),
            Device("CPU1", "CPU", 1),
        ),
        (
            *both_ways("GPU0", "CPU0", 24e9, 2e-7, "PCI"),
            *both_ways("GPU1", "CPU1", 24e9, 2e-7, "PCI"),
            *both_ways("NIC0", "CPU1", 12e9, 2e-7, "PCI"),
            *both_ways("CPU0", "CPU1", 10e9, 1e-7, "SYS"),
        ),
        assumed=("all of it",),
    )
    told = json.loads(json.dumps(describe(host)))
    assert (told["name"], told["gpus"], told["nics"], told["numa_nodes"]) == ("box", 2, 1, 2)
    assert told["devices"][1] == {"name": "GPU1", "kind": "GPU", "numa": 1, "host": 0}
    assert told["links"][4] == {
        "src": "NIC0", "dst": "CPU1", "bandwidth_Bps": 12e9, "latency_s": 2e-7, "kind": "PCI",
    }  # fmt: skip
    assert len(told["links"]) == 8
    assert told["pairs"]["GPU1"] == {"GPU0": "SYS", "NIC0": "PHB"}
    assert told["assumed"] == ["all of it"]
    assert told["format"] == ""


def test_numa_nodes_of_different_hosts_are_different_and_unknown_ones_do_not_count():
    devices = (Device("A", "GPU", 0, 0), Device("B", "GPU", 0, 1), Device("C", "GPU", -1, 1))
    mesh = tuple(Link(a, b, 1.0, 0.0) for a in "ABC" for b in "ABC" if a != b)
    assert describe(Topology("t", devices, mesh))["numa_nodes"] == 2


def via(*middle):
    """GPU0 and GPU1 at the two ends of devices and link kinds: `via("PCI", ("PCI", "CPU"), "PCI")`."""
    devices, links, at = [*TWO], [], "GPU0"
    for i, part in enumerate(middle):
        if isinstance(part, tuple):
            devices.append(Device(f"M{i}", part[1]))
            links += both_ways(at, f"M{i}", 1.0, 0.0, part[0], lanes=3)
            at = f"M{i}"
        else:
            links += both_ways(at, "GPU1", 1.0, 0.0, part, lanes=2)
    return pair_classes(Topology("t", tuple(devices), tuple(links)))["GPU0"]["GPU1"]


def test_classes_are_read_off_what_a_route_crosses():
    assert via("NVL") == "NV2"
    assert via(("NVL", "NVS"), "NVL") == "NV2"
    assert via("PCI") == "PIX"
    assert via(("PCI", "PCI"), "PCI") == "PIX"
    assert via(("PCI", "PCI"), ("PCI", "PCI"), "PCI") == "PXB"
    assert via(("PCI", "CPU"), "PCI") == "PHB"
    assert via(("PCI", "PCI"), ("PCI", "CPU"), ("PCI", "PCI"), "PCI") == "PHB"
    assert via(("PCI", "CPU"), ("PCI", "CPU"), "PCI") == "NODE"
    assert via(("PCI", "CPU"), ("SYS", "CPU"), "PCI") == "SYS"
    assert via(("PCI", "NIC"), ("NET", "NET"), "PCI") == "NET"


def test_a_half_duplex_route_has_the_same_class_both_ways():
    bus = Topology(
        "bus",
        (*TWO, Device("A", "PCI"), Device("B", "PCI")),
        tuple(Link(a, b, 1.0, 0.0, "PCI", both=True) for a, b in (("GPU0", "A"), ("A", "B"), ("B", "GPU1"))),
    )
    assert pair_classes(bus) == {"GPU0": {"GPU1": "PXB"}, "GPU1": {"GPU0": "PXB"}}


@pytest.mark.parametrize(
    ("devices", "links", "says"),
    [
        ([Device("SW", "SWITCH")], (), "two: device SW is of kind 'SWITCH': write one of GPU, NVS, PCI, CPU, NIC, NET"),
        ([], both_ways("GPU0", "GPU1", 1e9, 1e-6, "ETH"), "link GPU0 -> GPU1 is of kind 'ETH': write one of NVL, PCI"),
    ],
)
def test_kinds_that_there_are_not_are_refused_where_a_machine_is_made(devices, links, says):
    with pytest.raises(InputError, match=says):
        Topology("two", (Device("GPU0", "GPU"), Device("GPU1", "GPU"), *devices), links)


def test_columns_look_like_the_tuples_they_stand_for():
    machine = build("nodes:nodes=2,gpus=2")
    devices, links = tuple(machine.devices), tuple(machine.links)
    assert machine.devices == devices
    assert links == machine.links
    assert hash(machine.links) == hash(links)
    assert machine.links != links[:-1]
    assert machine.devices[-1] == devices[-1] == Device("SPINE", "NET", host=-1)
    assert machine.devices[1:4] == devices[1:4]
    assert [device.name for device in devices] == [*machine.index]
    with pytest.raises(IndexError):
        machine.links[len(links)]
    written = replace(machine, devices=devices, links=links)
    for column in ("bandwidth", "latency", "kinds", "shared"):
        np.testing.assert_array_equal(getattr(machine, column), getattr(written, column))
    for column in ("ends", "places"):
        np.testing.assert_array_equal(getattr(machine, column), getattr(written, column))
    assert machine.ranks == written.ranks


def test_a_rack_around_nvswitches_is_a_node_and_so_is_each_host_alone():
    rack = build("gb200_nvl72:racks=3,trays=2")
    assert [rack.nodes[r] for r in rack.ranks] == [0] * 8 + [2] * 8 + [4] * 8
    assert [rack.nodes[rack.index[f"NVS{k}"]] for k in range(3)] == [0, 2, 4]
    assert rack.nodes[rack.index["RAIL0"]] < 0
    hosts = build("dgx_h100:hosts=2")
    assert [hosts.nodes[r] for r in hosts.ranks] == [0] * 8 + [1] * 8


def test_hosts_in_a_chain_of_nvlinks_are_one_node_however_long():
    devices = tuple(Device(f"GPU{i}", "GPU", host=i * 7 % 1009) for i in range(1009))
    chain = tuple(link for i in range(1008) for link in both_ways(f"GPU{i}", f"GPU{i + 1}", 1e9, 0.0, "NVL"))
    assert set(Topology("chain", devices, chain).nodes.tolist()) == {0}
    assert len(set(Topology("apart", devices, ()).nodes.tolist())) == 1009
