"""Names that people use for machines, and what each stands for."""

import pytest

from ops.plan import Plan
from ops.plan.link import to_link
from sim.errors import InputError
from sim.machines import MACHINES, build, canonical
from sim.units import GBps

NAMES = {
    "p4d": "aws_p4d", "p4de.24xlarge": "aws_p4d", "p5": "aws_p5", "p5e": "aws_p5", "p5en.48xlarge": "aws_p5",
    "p6": "aws_p6", "p6-b200.48xlarge": "aws_p6", "p6-b300": "aws_p6_b300", "P6e-GB200": "gb200_nvl72",
    "a3-high": "gcp_a3_high", "a3-megagpu-8g": "gcp_a3_mega", "A3 Ultra": "gcp_a3_ultra", "a4": "gcp_a4",
    "ND A100 v4": "dgx_a100", "Standard_ND96isr_H100_v5": "dgx_h100", "nd-h200-v5": "dgx_h200",
    "Standard_ND96isr_MI300X_v5": "mi300x", "BM.GPU4.8": "oci_a100", "BM.GPU.A100-v2.8": "oci_a100",
    "BM.GPU.H100.8": "oci_h100", "bm.gpu.b200.8": "oci_b200", "BM.GPU.MI300X.8": "mi300x", "DGX-H100": "dgx_h100",
    "h100": "dgx_h100", "H800": "h800", "h20": "h20", "L20": "l20", "RTX 5090": "rtx_5090", "DGX Spark": "gb10",
    "MI350X": "mi350x", "mi355": "mi355x", "GB300": "gb300_nvl72",
    "8xH100": "dgx_h100", "16xH100:nics=4": "dgx_h100:hosts=2,nics=4", "2x4xA100": "dgx_a100:hosts=2,per_host=4",
    "4xL40S": "l40s:gpus=4", "144xGB200": "gb200_nvl72:racks=2", "36 x GB200": "gb200_nvl72:trays=9",
}  # fmt: skip


@pytest.mark.parametrize(("name", "spec"), NAMES.items())
def test_a_machine_is_found_by_the_names_people_use(name: str, spec: str) -> None:
    assert canonical(name) == spec
    assert build(name).name == spec
    assert Plan(machine=name).machine == spec


def test_links_have_the_machines_own_name() -> None:
    assert to_link(Plan(machine="p4d.24xlarge:hosts=2"))["machine"] == "aws_p4d:hosts=2"


@pytest.mark.parametrize(
    ("name", "near"), [("dgx_h10", "dgx_h100"), ("p7", "p5"), ("mi3500x", "mi350x"), ("a3-hihg", "gcp_a3_high")]
)
def test_an_unknown_name_gets_the_nearest_ones(name: str, near: str) -> None:
    with pytest.raises(InputError) as error:
        build(name)
    assert str(error.value).startswith(f"no machine is called '{name}': choose from ")
    assert MACHINES.resolved(near) in str(error.value)[:120]


@pytest.mark.parametrize("spec", [name for name in MACHINES if "nics" in MACHINES.parameters(name)])
def test_hosts_have_as_many_nics_as_are_asked_for(spec: str) -> None:
    machine = build(f"{spec}:nics=3" if spec not in ("gb200_nvl72", "gb300_nvl72") else f"{spec}:nics=3,trays=2")
    nics = [device for device in machine.devices if device.kind == "NIC"]
    assert len(nics) % 3 == 0
    assert {sum(nic.host == host for nic in nics) for host in {nic.host for nic in nics}} <= {3, 6}


def test_an_h800_has_fewer_nvlinks_and_adds_in_its_switch() -> None:
    machine = build("h800")
    assert machine.generation == "Hopper"
    assert machine.links[machine.routes([0], [1]).links[0]].bandwidth == pytest.approx(8 * 20.6 * GBps)
