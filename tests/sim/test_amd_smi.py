"""`amd-smi topology`: what a person sees in its tables, JSON and CSV; behind prefixes, cut and mistaken pastes."""

import csv
import io
import json

import pytest

from sim.errors import InputError
from sim.formats import read_topology
from sim.topology.path_classes import describe, pair_classes
from tests.tables import each_row

TITLES = {"access": "ACCESS", "weight": "WEIGHT", "hops": "HOPS", "type": "LINK TYPE", "bandwidth": "NUMA BW"}
LEGEND = (
    "\n\nLegend:\n  SELF = Current GPU\n  ENABLED / DISABLED = Link is enabled or disabled\n  N/A = Not supported\n"
)


def bus(gpu):
    return f"0000:{13 + 16 * gpu:02x}:00.0"


def mesh(a, b):
    return {"access": "ENABLED", "weight": "15", "hops": "1", "type": "XGMI", "bandwidth": "50000-50000"}


def cards(a, b):
    far = a // 2 != b // 2
    return {"access": "ENABLED", "weight": "52" if far else "40", "hops": "3" if far else "2", "type": "PCIE",
            "bandwidth": "N/A"}  # fmt: skip


CARDS = {(0, 1): 4, (2, 3): 4, (0, 2): 1, (1, 3): 1}


def dies(a, b):
    """Two MI250X: four links in a card, one between dies of a number, two hops across."""
    links = CARDS.get((min(a, b), max(a, b)), 0)
    return {"access": "ENABLED", "weight": "15" if links else "30", "hops": "1" if links else "2", "type": "XGMI",
            "bandwidth": f"50000-{50000 * links}" if links else "0-0"}  # fmt: skip


SELF = {"access": "ENABLED", "weight": "0", "hops": "0", "type": "SELF", "bandwidth": "N/A"}


def tables(n, cell, kinds=tuple(TITLES), title="{} TABLE:"):
    lines = []
    for kind in kinds:
        lines += [title.format(TITLES[kind]), " " * 13 + " ".join(map(bus, range(n)))]
        for a in range(n):
            row = (SELF[kind] if a == b else cell(a, b)[kind] for b in range(n))
            lines.append(f"{bus(a)} " + " ".join(word.ljust(12) for word in row))
    lines += ["DMA TABLE:", " " * 13 + " ".join(map(bus, range(n)))]
    lines += [f"{bus(a)} " + " ".join("SELF" if a == b else "T" for b in range(n)) for a in range(n)]
    return "\n".join(lines) + LEGEND


NEW = {"access": "link_status", "weight": "weight", "hops": "num_hops", "type": "link_type", "bandwidth": "bandwidth"}
OLD = {
    "access": "link_accessibility",
    "weight": "weight",
    "hops": "hops",
    "type": "link_type",
    "bandwidth": "numa_bandwidth",
}


def number(word):
    return int(word) if word.isdecimal() else word


def new_json(n, cell):
    links = [[SELF if a == b else cell(a, b) for b in range(n)] for a in range(n)]
    return json.dumps(
        [
            {"gpu": a, "bdf": bus(a), "links": [
                {"gpu": b, "bdf": bus(b)} | {NEW[kind]: number(word) for kind, word in links[a][b].items()}
                for b in range(n)
            ]}
            for a in range(n)
        ],
        indent=4,
    )  # fmt: skip


def old_json(n, cell):
    return json.dumps([
        {"gpu": a} | {
            OLD[k]: {f"gpu_{b}": number((SELF if a == b else cell(a, b))[k]) for b in range(n)} for k in OLD
        }
        for a in range(n)
    ])  # fmt: skip


def wide_csv(n, cell):
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["gpu", *(f"{OLD[kind]}_gpu_{b}" for kind in OLD for b in range(n))])
    for a in range(n):
        rows.writerow([a, *((SELF if a == b else cell(a, b))[kind] for kind in OLD for b in range(n))])
    return file.getvalue()


def long_csv(n, cell):
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["gpu", "bdf", "link_gpu", "link_bdf", *NEW.values()])
    for a in range(n):
        for b in range(n):
            words = SELF if a == b else cell(a, b)
            rows.writerow([a, bus(a), b, bus(b), *(words[kind] for kind in NEW)])
    return file.getvalue()


FORMS = {"tables": tables, "JSON": new_json, "JSON of 6.1": old_json, "wide CSV": wide_csv, "long CSV": long_csv}


@each_row("form", FORMS)
@each_row("prompt", ["", "$ amd-smi topology --json\n"])
def test_eight_mi300x_are_a_full_mesh(form, prompt):
    prompt = prompt if "CSV" not in form else ""
    machine = read_topology(prompt + FORMS[form](8, mesh), "it")
    assert machine.format == "amd_smi"
    wires = [link for link in machine.links if link.kind == "NVL"]
    assert (machine.n, len(wires), {link.bandwidth for link in wires}) == (8, 56, {48e9})
    assert all(word == "NV1" for row in describe(machine)["pairs"].values() for word in row.values())
    assert "8 GPUs with xGMI between all pairs read as MI300X, rates as in RCCL's src/graph/topo.h" in machine.assumed


@pytest.mark.parametrize("form", FORMS)
def test_a_range_of_bandwidths_tells_how_many_links_a_pair_has(form):
    machine = read_topology(FORMS[form](4, dies), "it")
    lanes = {(link.src, link.dst): link.lanes for link in machine.links if link.kind == "NVL" and link.src < link.dst}
    assert lanes == {(f"GPU{a}", f"GPU{b}"): n for (a, b), n in CARDS.items()}
    assert machine.path("GPU0", "GPU1")[0].bandwidth == 4 * 36e9
    assert [link.dst for link in machine.path("GPU0", "GPU3")] in (["GPU1", "GPU3"], ["GPU2", "GPU3"])
    assert not [note for note in machine.assumed if "do not tell their number" in note]
    assert read_topology(FORMS[form](4, dies), "it", xgmi="99GBps").path("GPU0", "GPU1")[0].bandwidth == 99e9


@pytest.mark.parametrize("form", FORMS)
def test_cards_on_pcie_are_apart_by_hops_or_by_their_numa_nodes(form):
    text = FORMS[form](4, cards)
    assert pair_classes(read_topology(text, "it"))["GPU0"] == {"GPU1": "NODE", "GPU2": "SYS", "GPU3": "SYS"}
    if form == "tables":
        numa = "".join(f"GPU: {gpu}\n    NUMA:\n        NODE: {gpu % 2}\n        AFFINITY: 0\n\n" for gpu in range(4))
        told = read_topology(f"{text}\n{numa}", "it")
        assert [d.numa for d in told.devices if d.kind == "GPU"] == [0, 1, 0, 1]
        assert pair_classes(told)["GPU0"] == {"GPU1": "SYS", "GPU2": "NODE", "GPU3": "SYS"}


def test_a_selection_of_tables_is_enough():
    for kinds in (("type",), ("weight", "type"), ("weight",), ("access", "hops", "type")):
        machine = read_topology(tables(8, mesh, kinds), "it")
        assert sum(link.kind == "NVL" for link in machine.links) == 56
    with pytest.raises(InputError, match="it has no table of link types or weights: paste the whole output"):
        read_topology(tables(8, mesh, ("access", "hops")), "it")


TEXT = tables(4, mesh)


@each_row(
    "text, told",
    [
        (TEXT.replace("XGMI         XGMI", "XGMI", 1), r"line 21: row 0000:0d:00.0 has 3 entries for 4 GPUs"),
        (TEXT.replace(bus(3), bus(4), 1), "line 2: row|this table has other GPUs than the first|row 0000:3d"),
        (TEXT.replace("SELF         XGMI", "SELF         PCIE", 1), "GPU0 calls its type to GPU1 PCIE, that one says"),
        (TEXT.replace("XGMI", "UNKNOWN"), "joined by 'UNKNOWN', which is neither XGMI nor PCIE"),
        (new_json(4, mesh)[:-20], "it is no whole JSON: give what `amd-smi topology --json` printed"),
        ('[{"link_type": 1}]', "it is no list of GPUs"),
        ('[{"gpu": 0, "links": [{"gpu": 7, "link_type": "XGMI"}]}]', "links to GPU 7, which has no entry"),
        (wide_csv(4, mesh).replace("XGMI,", "", 1), "it, row 2: 20 cells for 21 columns"),
        ("AMDSMI Tool: 24.6.2+2b02a07 | AMDSMI Library version: 24.6.2\n", "an output of amd-smi without paths"),
        ("GPU: 0\n    DRIVER:\n        NAME: amdgpu\n", "without paths: paste `amd-smi topology`"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_the_mend(text, told):
    with pytest.raises(InputError, match=told):
        read_topology(text, "it")


def test_rocm_smi_is_recommended_only_where_it_still_exists():
    with pytest.raises(InputError, match=r"paste `rocm-smi --showtopo` or `amd-smi topology`$"):
        read_topology("============ ROCm System Management Interface ============\nGPU  Temp\n", "it")
    for text in ("AMDSMI Tool: 26.0\n", tables(4, mesh, ("access",))):
        with pytest.raises(InputError, match=r"`amd-smi topology`$"):
            read_topology(text, "it")
