"""Every machine fits on the stage without two devices in one place."""

from pathlib import Path

import pytest

from ops.plan.examples import example_captures
from sim.formats import read_topology
from sim.machines import MACHINES, build
from sim.topology import Device, Topology, both_ways
from tests.tables import each_row
from ui.layout.lines import between
from ui.layout.machine_layout import arrange

WORDS = ("CORE", "POD", "LEAF", "GPU")
CAPTURES = Path(__file__).parents[1] / "data" / "nvidia-smi-topo"
SPECS = [
    *MACHINES,
    "nodes:nodes=16,gpus=8,nics=4",
    "switch:ranks=64",
    "switch:ranks=1024",
    "ring:ranks=40",
    "dgx_h100:hosts=4",
    "torus:dims=8x16",
    "torus:dims=3x4x5",
    "torus:dims=2x2x2x2",
    "torus:dims=4x4,wrap=no",
    "fat_tree:pods=8,leaves=4,gpus=8",
    "fat_tree:pods=2,leaves=1,gpus=1",
    "dragonfly:groups=9,routers=4,gpus=1",
    "dragonfly:groups=33,routers=8,gpus=4",
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


@each_row("spec", SPECS)
def test_no_two_devices_of_a_machine_overlap(spec):
    check(build(spec))


@pytest.mark.parametrize("name", sorted(example_captures()))
def test_no_two_devices_of_an_example_overlap(name):
    check(read_topology(example_captures()[name], name))


def test_no_two_devices_of_any_capture_overlap():
    checked = 0
    for path in sorted(CAPTURES.glob("*.txt")):
        if path.name.startswith(("009", "037")):
            continue
        check(read_topology(path.read_text(encoding="utf-8"), path.name))
        checked += 1
    assert checked >= 30


@each_row("dims", ["5x4", "4x4", "3x4x5", "2x3"])
@each_row("wrap", ["yes", "no"])
def test_neighbours_of_a_grid_stand_next_to_each_other(dims, wrap):
    topology = build(f"torus:dims={dims},wrap={wrap}")
    stage = arrange(topology)
    columns = int(dims.split("x")[-1])
    for r in range(topology.n):
        if (r + 1) % columns:
            assert stage.y[r + 1] == stage.y[r]
            assert 1.2 < stage.x[r + 1] - stage.x[r] == pytest.approx(stage.x[1] - stage.x[0])
    level = [abs(stage.x[a] - stage.x[b]) for a, b in zip(*topology.ends, strict=True) if stage.y[a] == stage.y[b]]
    assert min(level) < stage.bow.level
    assert (max(level) > stage.bow.level) == (wrap == "yes" and columns > 2)


def test_a_ring_is_no_grid():
    assert len(set(arrange(build("ring:ranks=12")).y)) > 4


def test_switches_of_a_fat_tree_stand_in_tiers_above_their_gpus():
    topology = build("fat_tree")
    stage = arrange(topology)
    heights = {word: {stage.y[i] for i, d in enumerate(topology.devices) if d.name.startswith(word)} for word in WORDS}
    assert [len(heights[word]) for word in WORDS[:3]] == [1, 1, 1]
    assert max(heights["CORE"]) < max(heights["POD"]) < max(heights["LEAF"]) < min(heights["GPU"])
    leaf = topology.index["LEAF3"]
    below = [topology.index[link.dst] for link in topology.links if link.src == "LEAF3" and link.dst.startswith("GPU")]
    assert sum(stage.x[i] for i in below) / len(below) == pytest.approx(stage.x[leaf])


def test_groups_of_a_dragonfly_stand_together():
    topology = build("dragonfly")
    stage = arrange(topology)
    centres = []
    for group in range(4):
        routers = [topology.index[f"R{r}"] for r in range(4 * group, 4 * group + 4)]
        assert len({stage.y[i] for i in routers}) == 1
        assert max(stage.x[i] for i in routers) - min(stage.x[i] for i in routers) < stage.width / 2
        centres.append((sum(stage.x[i] for i in routers) / 4, stage.y[routers[0]]))
    assert len(set(centres)) == 4


def test_groups_that_make_no_even_rows_are_no_tower():
    for spec in ("dragonfly:groups=5,routers=3,gpus=2", "dragonfly:groups=7", "fat_tree:pods=5,leaves=3,gpus=4"):
        stage = arrange(build(spec))
        assert 1 < stage.width / stage.height < 3, spec
        check(build(spec))


@pytest.mark.parametrize("racks", [2, 3])
def test_trays_stand_in_the_rack_whose_switch_joins_them(racks):
    topology = build(f"gb200_nvl72:racks={racks}")
    stage = arrange(topology)
    check(topology)
    frames = [box for box in stage.boxes if box.kind == "rack"]
    assert [box.label for box in frames] == [f"rack {k}" for k in range(racks)]
    home = [next((k for k, b in enumerate(frames) if inside(b, *at)), -1) for at in zip(stage.x, stage.y, strict=True)]
    for link in topology.links:
        ends = {home[topology.index[name]] for name in (link.src, link.dst)}
        assert len(ends) == 1 or link.kind == "NET", link
    assert all(home[i] >= 0 for i, device in enumerate(topology.devices) if device.kind != "NET")


def test_one_rack_has_no_frame_around_all():
    assert all(box.kind != "rack" for box in arrange(build("gb200_nvl72")).boxes)


def test_two_ranks_stand_side_by_side_as_pages_are_wide():
    stage = arrange(build("switch:ranks=2"))
    assert stage.y[0] == pytest.approx(stage.y[1])
    assert stage.x[0] < stage.x[2] < stage.x[1]
    assert stage.width > 2 * stage.height


def network(gpus, switches, cables):
    devices = [Device(f"GPU{i}", "GPU") for i in range(gpus)] + [Device(f"S{i}", "NET") for i in range(switches)]
    links = tuple(link for a, b in cables for link in both_ways(a, b, 1e9, 1e-6, "NET"))
    return Topology("network", tuple(devices), links)


UNEVEN = [("GPU0", "S0"), ("GPU1", "S1"), ("GPU2", "S2"), ("S1", "S3"), ("S2", "S3"), ("S3", "S4"), ("S0", "S5")]
TWO_RAILS = [(f"GPU{i}", f"S{k}") for i in range(4) for k in (i // 2, 2 + i // 2)] + [
    *((f"S{k}", "S4") for k in (0, 1)),
    *((f"S{k}", "S5") for k in (2, 3)),
]


@pytest.mark.parametrize(
    "topology",
    [
        network(3, 6, UNEVEN),
        network(3, 6, [*UNEVEN, ("S5", "S4")]),
        network(4, 6, TWO_RAILS),
        network(2, 2, [("GPU0", "S0"), ("GPU1", "S1")]),
        network(4, 7, [*UNEVEN, ("GPU3", "S6"), ("S5", "S4")]),
        network(2, 1500, [("GPU0", "S0"), ("GPU1", "S0"), *((f"S{i}", f"S{i + 1}") for i in range(1499))]),
    ],
    ids=["uneven tiers", "uneven tiers joined", "two rails", "two islands", "an island", "a long way"],
)
def test_networks_of_any_shape_find_a_place(topology):
    stage = arrange(topology)
    spots = set(zip(stage.x, stage.y, strict=True))
    assert len(spots) == len(topology.devices)
    if len(spots) < 100:
        check(topology)


def test_gpus_behind_a_pci_switch_without_a_host_have_places():
    devices = (Device("PLX", "PCI"), *(Device(f"GPU{i}", "GPU") for i in range(4)))
    links = tuple(link for i in range(4) for link in both_ways("PLX", f"GPU{i}", 1e9, 1e-6, "NVL"))
    stage = arrange(Topology("plx", devices, links))
    assert len({*zip(stage.x, stage.y, strict=True)}) == 5


def lines_of(topology, stage):
    return between(stage.x, stage.y, *topology.ends, stage.bow, stage.bars)


def test_rails_are_lanes_that_network_cards_stand_right_above_or_below():
    topology = build("dgx_h100:hosts=4")
    stage = arrange(topology)
    lanes = [i for i, device in enumerate(topology.devices) if device.kind == "NET"]
    assert len({stage.y[i] for i in lanes}) == len(lanes) == 9
    assert all(stage.bars[i] > 0.9 * stage.width for i in lanes)
    cables = [line for line, link in zip(lines_of(topology, stage), topology.links, strict=True) if link.kind == "NET"]
    assert all(abs(line[0, 0] - line[-1, 0]) < 1e-9 for line in cables)
    nearest = {i: min(abs(stage.y[i] - stage.y[lane]) for lane in lanes) for i in range(len(topology.devices))}
    for link in topology.links:
        if link.kind == "PCI" and ".GPU" in link.dst:  # network cards and GPUs are nearer than what they hang on
            assert nearest[topology.index[link.dst]] < nearest[topology.index[link.src]]
    up = [link.dst == "SPINE" for link in topology.links]
    uplinks = [line[0, 0] for line, one in zip(lines_of(topology, stage), up, strict=True) if one]
    assert len({round(x, 6) for x in uplinks}) == 8  # side by side, not one on top of the other


def test_what_hangs_on_a_cpu_stands_below_it_and_sockets_are_joined_by_a_straight_line():
    topology = build("a40_pairs")
    stage, at = arrange(topology), topology.index
    for cpu in ("CPU0", "CPU1"):
        bridges = [i for name, i in at.items() if name.startswith(f"{cpu}.")]
        assert len({stage.y[i] for i in bridges}) == 1
        assert stage.y[bridges[0]] > stage.y[at[cpu]]
        assert min(stage.x[i] for i in bridges) < stage.x[at[cpu]] < max(stage.x[i] for i in bridges)
    gpus = [at[f"GPU{k}"] for k in range(8)]
    assert [stage.x[i] for i in gpus] == sorted(stage.x[i] for i in gpus)
    sockets = [line for line, link in zip(lines_of(topology, stage), topology.links, strict=True) if link.kind == "SYS"]
    assert [len(line) for line in sockets] == [2, 2]


def test_links_of_many_gpus_to_one_switch_pass_between_the_others():
    topology = build("switch:ranks=64")
    stage = arrange(topology)
    for gpu, (x, y) in enumerate(zip(stage.x[:64], stage.y, strict=False)):
        low, high = sorted((y, stage.y[topology.index["SW"]]))
        crossed = [i for i in range(64) if i != gpu and low < stage.y[i] < high and abs(stage.x[i] - x) < 0.65]
        assert crossed == []
