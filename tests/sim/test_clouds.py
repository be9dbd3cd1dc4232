"""Clouds' servers: what a host sends at most, by the pages of the instances, and which GPU uses which NIC."""

import pytest

from sim.machines import build
from sim.topology.path_classes import pair_classes


@pytest.mark.parametrize(
    ("name", "total", "nics"),
    [
        ("aws_p4d", 50e9, 4),
        ("aws_p5", 400e9, 8),
        ("gcp_a3_high", 100e9, 4),
        ("gcp_a3_mega", 200e9, 8),
        ("gcp_a3_ultra", 400e9, 8),
        ("h100_quad", 100e9, 4),
    ],
)
def test_what_a_host_sends_at_most(name, total, nics):
    machine = build(f"{name}:hosts=2")
    ports = [x for x in machine.links if x.kind == "NET" and x.src.startswith("H0.NIC")]
    assert len(ports) == nics
    assert sum(port.bandwidth for port in ports) == pytest.approx(total)


@pytest.mark.parametrize("name", ["aws_p4d", "aws_p5", "gcp_a3_high", "gcp_a3_mega", "gcp_a3_ultra"])
def test_every_gpu_is_one_switch_from_its_nic(name):
    machine = build(f"{name}:hosts=2")
    for gpu in range(8):
        stations = [link.dst for link in machine.path(f"H0.GPU{gpu}", f"H1.GPU{gpu}")]
        assert not any("CPU" in stop for stop in stations)
        assert sum("NIC" in stop for stop in stations) == 2
    classes = pair_classes(build(name))
    assert classes["GPU0"]["NIC0"] == "PIX"
    assert {classes["GPU0"][f"GPU{i}"] for i in range(1, 8)} == {"NV18" if name != "aws_p4d" else "NV12"}


def test_bridged_pairs_and_hosts_of_one():
    assert pair_classes(build("a40_pairs"))["GPU0"]["GPU1"] == "NV4"
    assert pair_classes(build("a40_pairs"))["GPU1"]["GPU2"] == "NODE"
    assert pair_classes(build("a40_pairs"))["GPU3"]["GPU4"] == "SYS"
    assert build("geforce_rdma").n == 2
    assert min(x.bandwidth for x in build("geforce_rdma").path("H0.GPU0", "H1.GPU0")) == 12.5e9
