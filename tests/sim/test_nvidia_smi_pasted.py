"""Matrices of `nvidia-smi topo -m` survive what they are pasted through, or are refused where they are broken."""

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import InputError
from sim.formats import read_topology
from sim.topology.path_classes import describe, pair_classes
from tests.tables import each_row

CAPTURES = Path(__file__).parents[1] / "data" / "nvidia-smi-topo"


def read(text, **options):
    return read_topology(text, "pasted", **options)


PLAIN = """\
        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity
GPU0     X      SYS     PIX     0-7     0
GPU1    SYS      X      SYS     8-15    1
NIC0    PIX     SYS      X
"""


def changed(old, new):
    assert old in PLAIN
    return PLAIN.replace(old, new)


@each_row(
    "text",
    [
        pytest.param(PLAIN + "```\n", id="trailing fence"),
        pytest.param("$ nvidia-smi topo -m\n" + PLAIN + "\n$ exit\n", id="prompt around"),
        pytest.param(PLAIN.replace("GPU1", "GPU1\n", 1).replace("GPU1\n   ", "GPU1\n"), id="header wrapped"),
        pytest.param(changed("NUMA Affinity", "NUMA\nAffinity"), id="title wrapped"),
        pytest.param(changed("SYS     PIX     0-7     0", "SYS\n   PIX     0-7     0"), id="row wrapped"),
        pytest.param(changed("0-7     0", "0-7\n 0"), id="affinity wrapped"),
        pytest.param(changed("SYS     PIX     0-7", "SYSPIX0-7"), id="cells glued"),
        pytest.param(changed("GPU0    GPU1    NIC0    CPU Affinity", "GPU0GPU1NIC0CPU Affinity"), id="header glued"),
        pytest.param(changed("CPU Affinity    NUMA Affinity", "CPU AffinityNUMA Affinity"), id="titles glued"),
        pytest.param(changed("GPU0     X ", "GPU0X "), id="name glued"),
        pytest.param(changed("NUMA Affinity", "NUMA"), id="title shortened"),
        pytest.param(changed("0-7 ", "0-3, 4-7 "), id="blank inside the core list"),
        pytest.param(PLAIN.replace("GPU0 ", "[4mGPU0[0m ", 1), id="escape without its ESC"),
        pytest.param(PLAIN.replace(" ", "\N{NO-BREAK SPACE}"), id="no-break blanks"),
        pytest.param("\ufeff" + PLAIN, id="byte order mark"),
        pytest.param(PLAIN.replace("\n", "\n\n"), id="double spaced"),
        pytest.param("".join(reversed(PLAIN.splitlines(keepends=True)[1:])).join([PLAIN.split("\n")[0] + "\n", ""]),
                     id="rows out of order"),
        pytest.param("".join(f"# {line}\n" for line in PLAIN.splitlines()), id="commented"),
        pytest.param("\tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n\n" + PLAIN, id="p2p matrix before"),
        pytest.param(changed("NIC0    PIX     SYS      X", "NIC0    PIX"), id="NIC row cut"),
        pytest.param(changed("NIC0    PIX     SYS      X\n", ""), id="NIC row missing"),
    ],
)  # fmt: skip
def test_a_table_survives_how_it_was_pasted(text):
    machine, plain = read(text), read(PLAIN)
    assert machine.devices == plain.devices
    assert machine.links == plain.links
    assert (
        machine.pairs
        == plain.pairs
        == {
            "GPU0": {"GPU1": "SYS", "NIC0": "PIX"},
            "GPU1": {"GPU0": "SYS", "NIC0": "SYS"},
            "NIC0": {"GPU0": "PIX", "GPU1": "SYS"},
        }
    )


EMPTY = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tNV18\tNV18\t0-35\t0\t\tN/A
GPU1\tNV18\t X \tNV18\tNV18\t0-35\t0\t\tN/A
GPU2\tNV18\tNV18\t X \tNV18\t\t1\t\tN/A
GPU3\tNV18\tNV18\tNV18\t X \t\t1\t\tN/A
"""
"""As a container prints it that has CPUs of one node alone."""


@pytest.mark.parametrize("text", [EMPTY, EMPTY.expandtabs(), EMPTY.replace("\tGPU NUMA ID", "").replace("\t\tN/A", "")])
def test_a_gpu_with_no_cpu_near_it_keeps_its_numa_node(text):
    machine = read_topology(text, "it")
    assert [device.numa for device in machine.devices if device.kind == "GPU"] == [0, 0, 1, 1]
    cut = read_topology("\n".join(line.removesuffix("\t\tN/A") for line in text.splitlines()), "it")
    assert [device.numa for device in cut.devices if device.kind == "GPU"][:2] == [0, 0]


@pytest.mark.parametrize(
    "nic", ["mlx5_bond_0", "ibp177s0f0", "roceP22p3s0", "hfi1_0", "bnxt_re0", "mlx4_0", "rdmap16s27"]
)
def test_nics_may_have_any_name(nic):
    machine = read(PLAIN.replace("NIC0", nic))
    assert machine.pairs["GPU0"] == {"GPU1": "SYS", nic: "PIX"}
    assert [d.name for d in machine.devices if d.kind == "NIC"] == [nic]


def test_escaped_underscores_are_underscores():
    assert "mlx5_0" in read(PLAIN.replace("NIC0", "mlx5\\_0")).pairs


@pytest.mark.parametrize(
    "first, second, nodes",
    [("0-1", "2-3", 4), ("0,2", "1,3", 4), ("0-1", "0-1", 2), ("0", "N/A", 1), ("3", "5", 2), ("0,2-3", "1", 4)],
)
def test_numa_nodes_are_the_union_of_those_listed(first, second, nodes):
    text = PLAIN.replace("0-7     0", f"0-7     {first}").replace("8-15    1", f"8-15    {second}")
    assert describe(read(text))["numa_nodes"] == nodes


@each_row(
    "text, message",
    [
        (changed("GPU1    SYS", "GPU1    NODE"), r"row GPU0, column GPU1 says SYS but row GPU1, column GPU0 says NODE"),
        (changed("NIC0    PIX", "NIC0    PHB"), r"row GPU0, column NIC0 says PIX but row NIC0, column GPU0 says PHB"),
        (changed("X      SYS     PIX     0-7     0", "X      SYS"), r"row GPU0 \(line 2\) ends after 2 of 3 cells"),
        (changed("SYS     PIX     0-7     0", "SYS     PI"), r"row GPU0 \(line 2\) ends after 2 of 3 cells"),
        (changed("GPU1    SYS      X      SYS     8-15    1\n", ""), r"the rows of GPU1 are missing"),
        (
            changed("GPU1    SYS      X ", "GPU1     X      SYS"),
            r"line 3: row GPU1 has X in column GPU0, but X belongs",
        ),
        (
            changed("GPU0     X      SYS", "GPU0     X      SYS    SYS"),
            r"row GPU0 has 4 cells, the header has 3 columns",
        ),
        (changed("GPU1    NIC0", "GPU0    NIC0"), r"line 1: column GPU0 is there twice"),
        (PLAIN + "GPU1    SYS      X      SYS\n", r"line 5: row GPU1 is there twice"),
        (changed("GPU1    NIC0", "NIC0"), r"row GPU0 has 3 cells, the header has 2 columns|row GPU1 has no column"),
        (changed("SYS     PIX", "OK      PIX"), r"row GPU0 says OK, a word of `nvidia-smi topo -p2p`"),
        (PLAIN.replace("SYS", "NV0"), r"NV0, no NVLink at all"),
        (changed("8-15    1", "8-15    9-1"), r"NUMA Affinity of GPU1 is 9-1, which lists no NUMA nodes"),
        (changed("8-15    1", "8-15    99999999"), r"NUMA Affinity of GPU1 is 99999999"),
        ("        GPU0    GPU1    CPU Affinity\n", r"the rows of GPU0, GPU1 are missing"),
    ],
)
def test_a_table_that_cannot_be_trusted_is_refused_naming_the_place(text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def test_classes_that_fit_no_tree_are_refused_naming_three_devices():
    text = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tSYS\nGPU1\tPIX\tX\tPIX\nGPU2\tSYS\tPIX\tX\n"
    with pytest.raises(InputError, match=r"GPU0 and GPU2 say SYS, but GPU1 is near enough to both to make them PIX"):
        read(text)


def test_a_nic_whose_classes_fit_no_tree_is_placed_nearest_and_says_so():
    odd = read("\tGPU0\tNIC0\tNIC1\nGPU0\tX\tPIX\tNODE\nNIC0\tPIX\tX\tPIX\nNIC1\tNODE\tPIX\tX\n")
    assert odd.pairs["GPU0"] == {"NIC0": "PIX", "NIC1": "NODE"}
    assert pair_classes(odd)["GPU0"]["NIC1"] == "PIX"
    assert "NODE fits no tree of PCIe switches between GPU0-NIC1: routed as PIX" in odd.assumed


def test_nics_that_a_shared_nic_draws_into_one_node_are_routed_as_node_not_as_pix():
    """GPUs whose own classes NVLinks hide are not put on one switch where NICs say that they are apart."""
    odd = read("\tGPU0\tGPU1\tNIC0\tNIC1\tNIC2\nGPU0\tX\tNV18\tPIX\tSYS\tNODE\nGPU1\tNV18\tX\tSYS\tPIX\tNODE\n")
    assert {nic: pair_classes(odd)["GPU0"][nic] for nic in ("NIC0", "NIC1", "NIC2")} == {
        "NIC0": "PIX", "NIC1": "NODE", "NIC2": "NODE",
    }  # fmt: skip
    assert "SYS fits no tree of PCIe switches between GPU0-NIC1, GPU1-NIC0: routed as NODE" in odd.assumed


WORDS = ("SYS", "NODE", "PHB", "PXB", "PIX")


@st.composite
def matrices(draw):
    """Names, cells of a random tree with some NVLinks over it, and affinity columns."""
    gpus, nics = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    names = [f"GPU{i}" for i in range(gpus)] + [f"NIC{i}" for i in range(nics)]
    where = {name: draw(st.tuples(*[st.integers(0, 1)] * 4)) for name in names}
    nvlinks = draw(st.dictionaries(st.tuples(st.integers(0, gpus - 1), st.integers(0, gpus - 1)), st.integers(1, 18)))
    cells = {}
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        depth = next((k for k in range(4) if where[a][k] != where[b][k]), 4)
        word = WORDS[depth]
        if (i, j) in nvlinks:
            word = f"NV{nvlinks[i, j]}"
        cells[a, b] = cells[b, a] = word
    titles = draw(st.sampled_from([[], ["CPU Affinity"], ["CPU Affinity", "NUMA Affinity"]]))
    told = {
        name: [f"{where[name][0] * 8}-7" if t[0] == "C" else str(where[name][0]) for t in titles]
        for name in names[:gpus]
    }
    return names, cells, titles, told


def rows_of(matrix):
    names, cells, titles, told = matrix
    yield ["", *names, *titles]
    for a in names:
        yield [a, *("X" if a == b else cells[a, b] for b in names), *told.get(a, [])]


def tabbed(rows, before="", after="", end="\n"):
    return end.join(f"{before}{chr(9).join(row)}{after}" for row in rows)


def barred(rows):
    return [f"| {' | '.join(row)} |" for row in rows]


LAYOUTS = {
    "tabs": tabbed,
    "blanks": lambda rows: "\n".join("".join(cell.ljust(8) + " " for cell in row) for row in rows),
    "no corner cell": lambda rows: tabbed([rows[0][1:], *rows[1:]]),
    "escape codes": lambda rows: tabbed(rows[:1], "\x1b[4m", "\x1b[0m") + "\n" + tabbed(rows[1:]),
    "CRLF": lambda rows: tabbed(rows, end="\r\n"),
    "Markdown": lambda rows: "\n".join([*barred(rows[:1]), "|---" * len(rows[0]) + "|", *barred(rows[1:])]),
    "Markdown, affinity first": lambda rows: "\n".join(barred(affinity_first(rows))),
    "quoted": lambda rows: tabbed(rows, before="> "),
    "indented": lambda rows: tabbed(rows, before="    "),
    "trailing tabs": lambda rows: tabbed(rows, after="\t\t\t"),
}


def affinity_first(rows):
    columns = sum(not cell.endswith("Affinity") for cell in rows[0])
    width = len(rows[0]) - columns
    for row in rows:
        aside = row[columns:]
        yield [*aside, *[""] * (width - len(aside)), *row[:columns]]


@pytest.mark.slow
@given(matrices())
def test_every_layout_of_a_matrix_is_the_same_machine(matrix):
    names, cells, _, _ = matrix
    rows = list(rows_of(matrix))
    machines = {layout: read(f"{write(rows)}\n\nLegend:\n\n  X    = Self\n") for layout, write in LAYOUTS.items()}
    plain = machines["tabs"]
    assert {(a, b): word for a, row in plain.pairs.items() for b, word in row.items()} == cells
    assert [d.name for d in plain.devices][: len(names)] == names
    for layout, machine in machines.items():
        assert (machine.devices, machine.links, machine.pairs) == (plain.devices, plain.links, plain.pairs), layout


@given(matrices())
def test_every_tree_is_rebuilt_with_its_classes(matrix):
    names, cells, _, _ = matrix
    machine = read(LAYOUTS["tabs"](list(rows_of(matrix))))
    derived = pair_classes(machine)
    assert {(a, b): derived[a][b] for a in names for b in names if a != b} == cells


@given(matrices(), st.data())
def test_swapping_two_different_cells_of_a_row_is_noticed(matrix, data):
    rows = [list(row) for row in rows_of(matrix)]
    count = len(matrix[0])
    at = data.draw(st.integers(1, count))
    i, j = data.draw(st.tuples(st.integers(1, count), st.integers(1, count)))
    if rows[at][i] == rows[at][j]:
        return
    rows[at][i], rows[at][j] = rows[at][j], rows[at][i]
    with pytest.raises(InputError):
        read(LAYOUTS["tabs"](rows))
