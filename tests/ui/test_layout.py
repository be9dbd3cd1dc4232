"""Every machine fits on the stage without two devices in one place."""

from pathlib import Path

import pytest

from sim.formats import read_topology
from sim.machines import MACHINES, build
from ui.layout import arrange
from ui.scenes import examples

CAPTURES = Path(__file__).parents[1] / "data" / "nvidia-smi-topo"
SPECS = [
    *MACHINES,
    "nodes:nodes=16,gpus=8,nics=4",
    "switch:ranks=64",
    "switch:ranks=1024",
    "ring:ranks=40",
    "dgx_h100:hosts=4",
]


def check(topology):
    stage = arrange(topology)
    spots = list(zip(stage.x, stage.y, strict=True))
    assert len(spots) == len(topology.devices)
    for x, y in spots:
        assert 0 < x < stage.width
        assert 0 < y < stage.height
    grid = {}
    for i, (x, y) in enumerate(spots):
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                for j in grid.get((int(x) + dx, int(y) + dy), ()):
                    a, b = topology.devices[i], topology.devices[j]
                    apart = abs(x - spots[j][0]) >= 1.15 or abs(y - spots[j][1]) >= 0.9
                    assert apart, (a.name, b.name)
        grid.setdefault((int(x), int(y)), []).append(i)
    for device, (x, y) in zip(topology.devices, spots, strict=True):
        if device.numa >= 0 and device.kind != "NVS":
            homes = [b for b in stage.boxes if b.label == f"NUMA {device.numa}" and inside(b, x, y)]
            assert len(homes) == 1, device.name
    assert stage.width / stage.height < 8


def inside(box, x, y):
    return box.x < x < box.x + box.width and box.y < y < box.y + box.height


@pytest.mark.parametrize("spec", SPECS)
def test_no_two_devices_of_a_machine_overlap(spec):
    check(build(spec))


@pytest.mark.parametrize("name", sorted(examples()))
def test_no_two_devices_of_an_example_overlap(name):
    check(read_topology(examples()[name], name))


def test_no_two_devices_of_any_capture_overlap():
    checked = 0
    for path in sorted(CAPTURES.glob("*.txt")):
        if path.name.startswith(("009", "037")):
            continue
        check(read_topology(path.read_text(encoding="utf-8"), path.name))
        checked += 1
    assert checked >= 30
