"""ASTRA-sim networks: counts, units and routes a person works out by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.formats import read_topology, read_topology_file
from sim.machines import build
from tests.tables import each_row

NETWORKS = Path(__file__).parents[1] / "data" / "astra-sim"

# file: (NPUs, switches, links), read off the files by eye
SEEN = {
    "FullyConnected.yml": (16, 0, 16 * 15),
    "HGX-H100-validated.yml": (8, 1, 16),
    "Ring.yml": (16, 0, 32),
    "Ring_16npus.yml": (16, 0, 32),
    "Ring_4npus.yml": (4, 0, 8),
    "Ring_FullyConnected_Switch.yml": (64, 16, 64 + 64 * 7 + 2 * 64),
    "Switch.yml": (16, 1, 32),
}


def read(text):
    return read_topology(text, "net.yml")


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(path.name for path in NETWORKS.glob("*.yml")))
def test_npus_switches_and_links_are_those_a_person_counts(file):
    found = read_topology_file(NETWORKS / file)
    npus, switches, links = SEEN[file]
    assert (found.n, len(found.devices) - found.n, len(found.links)) == (npus, switches, links)
    assert found.format == "astra_yaml"
    assert "1 GB is 2^30 bytes" in found.assumed[0]
    assert simulate(found, ALGORITHMS["allreduce.ring"].schedule(found.n), size=1e6).verdict.ok


def test_a_ring_on_the_validated_h100_takes_what_the_formula_says():
    found = read_topology_file(NETWORKS / "HGX-H100-validated.yml")
    trace = simulate(found, ALGORITHMS["allreduce.ring"].schedule(8), size=2**30)
    # 14 steps of 2 hops, each with 2^30 / 8 bytes at 400 * 2^30 B/s
    assert trace.time == pytest.approx(14 * (2 * 936.25e-9 + 1 / 8 / 400), rel=1e-12)


@each_row("shape, spec", [("Ring", "ring"), ("Switch", "switch"), ("FullyConnected", "mesh")])
@each_row("n", [2, 3, 7, 8])
def test_one_dimension_is_the_generic_machine(shape, spec, n):
    found = read(f"topology: [ {shape} ]\nnpus_count: [ {n} ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n")
    same = build(f"{spec}:ranks={n},bandwidth=50GiBps,latency=500ns")
    pairs = np.array([(a, b) for a in range(n) for b in range(n)])
    for a, b in pairs.tolist():
        mine, theirs = (
            [
                (x.src.replace("SW0.0", "SW"), x.dst.replace("SW0.0", "SW"), x.bandwidth, x.latency)
                for x in t.path(f"GPU{a}", f"GPU{b}")
            ]
            for t in (found, same)
        )
        assert mine == theirs
    together = found.routes(pairs[:, 0], pairs[:, 1])
    assert np.diff(together.offsets).tolist() == [len(found.path(f"GPU{a}", f"GPU{b}")) for a, b in pairs.tolist()]


def test_dimensions_are_crossed_in_order_and_npus_count_the_first_fastest():
    found = read_topology_file(NETWORKS / "Ring_FullyConnected_Switch.yml")
    # NPU 63 is at (1, 7, 3) of 2 x 8 x 4
    way = found.path("GPU0", "GPU63")
    assert [x.dst for x in way] == ["GPU1", "GPU15", "SW2.15", "GPU63"]
    assert [x.bandwidth / 2**30 for x in way] == [200, 100, 50, 50]
    assert [x.latency * 1e9 for x in way] == pytest.approx([50, 500, 2000, 2000])
    assert [d.host for d in found.devices[:4]] == [0, 0, 1, 1]
    assert [x.dst for x in found.path("GPU5", "GPU4")] == ["GPU4"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["Ring", "FullyConnected", "Switch"]), st.integers(2, 5)), min_size=1, max_size=3
    ),
    st.data(),
)
def test_every_route_is_connected_and_as_long_as_its_dimensions_say(dims, data):
    rows = {"topology": [d[0] for d in dims], "npus_count": [d[1] for d in dims]}
    rows |= {"bandwidth": [1 + i for i in range(len(dims))], "latency": [10 * i for i in range(len(dims))]}
    found = read("".join(f"{key}: [{', '.join(map(str, values))}]\n" for key, values in rows.items()))
    a, b = (data.draw(st.integers(0, found.n - 1)) for _ in "ab")
    here, way, hops, stride = f"GPU{a}", found.path(f"GPU{a}", f"GPU{b}"), 0, 1
    for link in way:
        assert link.src == here
        here = link.dst
    assert here == f"GPU{b}"
    for shape, size in dims:
        apart = (b // stride - a // stride) % size
        hops += {"Ring": min(apart, size - apart), "FullyConnected": min(apart, 1), "Switch": 2 * min(apart, 1)}[shape]
        stride *= size
    assert len(way) == hops


GOOD = "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n"


@each_row(
    "text, message",
    [
        (GOOD.replace("Ring", "Torus"), "net.yml, line 1: topology 'Torus' is unknown: choose from Ring"),
        (GOOD.replace("[4]", "[4, 4]"), "net.yml, line 2: npus_count has 2 entries, topology 1: write one"),
        (GOOD.replace("[4]", "[1]"), "net.yml, line 2: npus_count '1' is no whole number of 2 or more"),
        (GOOD.replace("[4]", "[4.5]"), "npus_count '4.5' is no whole number"),
        (GOOD.replace("[4]", "[999999]"), "line 2: 999,999 devices are more than 32,768: .*--max-devices 999999"),
        (GOOD.replace("[4]", "[2000]").replace("Ring", "FullyConnected"), "line 1: 3,998,000 links are more than"),
        (GOOD.replace("[4]", "4"), "line 2: npus_count is one value: write a list"),
        (GOOD.replace("[4]", "[]"), "npus_count has 0 entries"),
        (GOOD.replace("50.0", "fast"), "line 3: bandwidth 'fast' is not a finite number: write one like 50.0"),
        (GOOD.replace("50.0", "0"), "line 3: bandwidth must be above zero"),
        (GOOD.replace("500.0", "-1"), "line 4: bandwidth must be above zero and latency zero or more"),
        (GOOD.replace("500.0", ".nan"), "line 4: latency '.nan' is not a finite number"),
        (GOOD.replace("latency", "latencies"), "line 4: the file has no key 'latencies': did you mean latency"),
        (GOOD.replace("latency: [500.0]\n", ""), "line 1: no key latency"),
        ("topology-name: Hierarchical\ndimensions-count: 2\n", "net.yml is a network file of ASTRA-sim 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_the_mend(text, message):
    with pytest.raises(InputError, match=message):
        read(text)
