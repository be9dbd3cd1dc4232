"""`rocm-smi --showtopo`: what a person sees in the tables, other machines, cut and mistaken pastes."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.formats import read_topology, read_topology_file
from sim.machines import build
from sim.topology.path_classes import describe, pair_classes
from sim.topology.routing import shortest_routes
from tests.tables import each_row

MI300X = Path(__file__).parents[1] / "data" / "rocm-smi-topo" / "001-mi300x-8x.txt"


def table(title, names, cells):
    head = "       " + "         ".join(names)
    rows = [f"{a}   " + "            ".join(str(cells(i, j)) for j in range(len(names))) for i, a in enumerate(names)]
    return "\n".join([f"{'=' * 20} {title} between two GPUs {'=' * 20}", head, *rows, ""])


def output(n, kind, hops=None, weight=None, numa=None):
    names = [f"GPU{i}" for i in range(n)]
    parts = ["============ ROCm System Management Interface ============"]
    if weight:
        parts.append(table("Weight", names, lambda i, j: weight(i, j) if i != j else 0))
    if hops:
        parts.append(table("Hops", names, lambda i, j: hops(i, j) if i != j else 0))
    if kind:
        parts.append(table("Link Type", names, lambda i, j: kind(i, j) if i != j else 0))
    parts += [
        f"GPU[{gpu}]\t\t: (Topology) Numa Node: {numa(gpu)}\nGPU[{gpu}]\t\t: (Topology) Numa Affinity: 0"
        for gpu in range(n if numa else 0)
    ]
    return "\n".join(parts)


def test_eight_mi300x_are_what_the_tables_say():
    machine = read_topology_file(MI300X)
    assert machine.format == "rocm_smi"
    assert [d.numa for d in machine.devices if d.kind == "GPU"] == [0, 0, 0, 0, 1, 1, 1, 1]
    found = describe(machine)
    assert (found["gpus"], found["nics"], found["numa_nodes"]) == (8, 0, 2)
    wires = [link for link in machine.links if link.kind == "NVL"]
    assert len(wires) == 2 * 28
    assert {link.bandwidth for link in wires} == {48e9}
    assert all(word == "NV1" for row in found["pairs"].values() for word in row.values())


def test_it_is_the_registered_machine_without_its_nics():
    read, built = read_topology_file(MI300X), build("mi300x")
    gpus = [f"GPU{i}" for i in range(8)]
    for a, b in combinations(gpus, 2):
        assert [(x.bandwidth, x.latency) for x in read.path(a, b)] == [
            (x.bandwidth, x.latency) for x in built.path(a, b)
        ]


def test_rates_that_are_given_are_not_assumed():
    machine = read_topology(MI300X.read_text(), "it", xgmi="40GBps", pcie="50GBps", sys="20GBps", xgmi_latency="1us")
    assert machine.path("GPU0", "GPU7")[0].bandwidth == 40e9
    assert machine.path("GPU0", "GPU7")[0].latency == pytest.approx(1e-6)
    assert not any(note.startswith("assumed") for note in machine.assumed)


def test_cards_on_two_sockets_without_xgmi():
    apart = lambda i, j: 3 if i // 2 != j // 2 else 2  # noqa: E731
    text = output(4, lambda i, j: "PCIE", hops=apart, weight=lambda i, j: 52 if apart(i, j) == 3 else 40)
    machine = read_topology(text, "it")
    classes = pair_classes(machine)
    assert classes["GPU0"] == {"GPU1": "NODE", "GPU2": "SYS", "GPU3": "SYS"}
    assert any("NUMA nodes of GPU0, GPU1, GPU2, GPU3 are not told" in note for note in machine.assumed)
    told = read_topology(output(4, lambda i, j: "PCIE", hops=apart, numa=lambda i: 5 * (i // 2)), "it")
    assert pair_classes(told) == classes
    assert sorted({d.numa for d in told.devices}) == [0, 5]


def test_a_ring_of_xgmi_is_forwarded_over():
    hops = lambda i, j: min((i - j) % 4, (j - i) % 4)  # noqa: E731
    machine = read_topology(output(4, lambda i, j: "XGMI", hops=hops, numa=lambda i: 0), "it")
    assert (machine.relays, machine.forwarding) == (1, False)
    assert len(machine.path("GPU0", "GPU1")) == 1
    assert {link.kind for link in machine.path("GPU0", "GPU2")} == {"NVL"}
    assert len(machine.path("GPU0", "GPU2")) == 2
    assert shortest_routes(machine) is not None
    by_weight = read_topology(
        output(4, lambda i, j: "XGMI", hops=lambda i, j: 1, weight=lambda i, j: 15 * hops(i, j)), "it"
    )
    assert [link.src for link in by_weight.links if link.kind == "NVL"] == [
        link.src for link in machine.links if link.kind == "NVL"
    ]


def test_more_hops_than_there_are_gpus_lead_no_further(monkeypatch):
    searched = []
    isin = np.isin
    monkeypatch.setattr(np, "isin", lambda *args: (searched.append(1), isin(*args))[1])
    machine = read_topology(
        output(
            4, lambda i, j: "XGMI", hops=lambda i, j: 1 if j == i ^ 1 or {i, j} == {1, 2} else 99_999, numa=lambda i: 0
        ),
        "it",
    )
    assert machine.relays >= 4
    assert machine.path("GPU0", "GPU3")
    assert len(searched) < 100


def test_a_paste_that_ends_early_is_read_as_far_as_it_tells():
    whole = MI300X.read_text()
    without_numa = whole[: whole.index("======================================= Numa")]
    assert read_topology(without_numa, "it").n == 8
    weights_only = whole[: whole.index("================================= Hops")]
    machine = read_topology(weights_only, "it")
    assert len([link for link in machine.links if link.kind == "NVL"]) == 56
    assert any("read off their weights" in note for note in machine.assumed)
    half = whole.replace("GPU3   XGMI", "lost   XGMI")
    assert read_topology(half, "it").n == 8, "the other rows and the weights tell it"


@each_row(
    "text, told",
    [
        (output(4, None, hops=lambda i, j: 1), "nothing says how GPU0 and GPU1 are joined"),
        (output(4, lambda i, j: "XGMI").replace("GPU2   XGMI", "GPU2   "), "row GPU2 has 3 entries for 4 GPUs"),
        (output(2, lambda i, j: "XGMI" if i else "PCIE"), "GPU0 calls its type to GPU1 PCIE"),
        (output(3, lambda i, j: "UNKNOWN"), "neither XGMI nor PCIE"),
        (output(4, lambda i, j: "XGMI", hops=lambda i, j: 2), "no pairs one hop apart lead there"),
        (output(2, lambda i, j: "XGMI", hops=lambda i, j: "one"), "no number"),
        ("==== Link Type between two GPUs ====\n", "no table of GPUs"),
        ("==== Link Type between two GPUs ====\nGPU0 GPU0\n", "some of them twice"),
        ("==== Link Type between two GPUs ====\nsome words\n", "a row of GPU names is due"),
        (output(2, lambda i, j: "XGMI") + output(3, lambda i, j: "XGMI"), "other GPUs than the first"),
    ],
)
def test_bad_tables_are_told_in_one_sentence(text, told):
    with pytest.raises(InputError, match=told) as error:
        read_topology(text, "paste")
    assert "paste" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("======= ROCm System Management Interface =======\nGPU  Temp  AvgPwr\n", "without paths"),
        ("ACCESS TABLE:\n             0000:0c:00.0\n0000:0c:00.0 ENABLED\n", "amd-smi topology"),
    ],
)
def test_other_outputs_are_told_apart(text, told):
    with pytest.raises(InputError, match=told):
        read_topology(text, "paste")


def test_gpus_of_numa_nodes_are_told_with_brackets_and_without():
    """Guides of computing centres print `GPU 0` where the tool prints `GPU[0]`."""
    text = output(4, lambda i, j: "XGMI", numa=lambda gpu: gpu)
    plain = text.replace("GPU[", "GPU ").replace("]\t\t:", "          :")
    assert "GPU 3          : (Topology)" in plain
    machines = [read_topology(some, "node") for some in (text, plain)]
    assert [[d.numa for d in m.devices if d.kind == "GPU"] for m in machines] == [[0, 1, 2, 3]] * 2
