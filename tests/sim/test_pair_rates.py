"""Matrices of p2pBandwidthLatencyTest and nvbandwidth beside a table of `nvidia-smi topo -m`: they set its rates."""

import json
from pathlib import Path

import pytest

import cli
from ops.measured.files import read_tables
from sim.errors import InputError
from sim.formats import read_topology
from sim.topology.pair_rates import beside, matrices
from terminal import BAD_INPUT, DONE
from tests.tables import each_row

CAPTURES = Path(__file__).parents[1] / "data" / "nvidia-smi-topo"


def capture(number):
    return next(CAPTURES.glob(f"{number}*")).read_bytes().decode()


PAIRS = capture("030")
"""Four GPUs, NVLink inside two pairs, SYS between them."""


def cuda(rates, title="Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"):
    n = len(rates)
    rows = "\n".join(f"{i:6} " + " ".join(f"{value:6.2f}" for value in row) + " " for i, row in enumerate(rates))
    return f"{title}\n   D\\D " + "  ".join(f"{i:5}" for i in range(n)) + f" \n{rows}\n"


def copies(rates, title="memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)", test="device_to_device_memcpy_read_ce"):
    n = len(rates)
    cell = lambda value: "       N/A" if value is None else f"{value:10.2f}"  # noqa: E731
    rows = "\n".join(f"{i:2}" + "".join(map(cell, row)) for i, row in enumerate(rates))
    return f"Running {test}.\n{title}\n  " + "".join(f"{i:10}" for i in range(n)) + f"\n{rows}\n\nSUM {test} 1.0\n"


def copies_json(rates, title="memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"):
    cells = [["N/A" if value is None else str(value) for value in row] for row in rates]
    host = {"name": "host_to_device_memcpy_ce", "bandwidth_description": "memcpy CE CPU(row) -> GPU(column)"}
    case = {"name": "device_to_device", "status": "Passed", "bandwidth_description": title, "bandwidth_matrix": cells}
    return json.dumps({"nvbandwidth": {"testcases": [host, {"status": "Waived"}, case]}}, indent=1)


def grid(near, far, itself=1500.0, n=4):
    return [[itself if i == j else near if i // 2 == j // 2 else far for j in range(n)] for i in range(n)]


def rates(machine, a="GPU0", b="GPU1"):
    return min(link.bandwidth for link in machine.path(a, b)) / 1e9


FULL = (
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, NVIDIA A100 80GB PCIe, pciBusID: 1, pciDeviceID: 0\n"
    "Device=0 CAN Access Peer Device=1\n\nP2P Connectivity Matrix\n     D\\D     0     1     2     3\n"
    + "".join(f"     {i}\t     1     1     1     1\n" for i in range(4))
    + cuda(grid(21.5, 21.6), "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)")
    + cuda(grid(275.1, 21.6))
    + cuda(grid(26.4, 29.5), "Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)")
    + cuda(grid(516.0, 29.5), "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)")
    + "P2P=Disabled Latency Matrix (us)\n   GPU     0      1      2      3\n     0   2.61  21.89  20.48  17.81\n"
)


@pytest.mark.parametrize("text", [PAIRS + "\n" + FULL, FULL + "\n" + PAIRS], ids=["below", "above"])
def test_a_matrix_pasted_with_the_table_sets_the_rates_of_its_classes(text):
    machine = read_topology(text, "it")
    assert rates(machine, "GPU0", "GPU1") == pytest.approx(275.1)
    assert rates(machine, "GPU0", "GPU2") == pytest.approx(21.6)
    assert {link.bandwidth / link.lanes for link in machine.links if link.kind == "NVL"} == {275.1e9 / 12}
    told = [note for note in machine.assumed if note.startswith("measured")]
    assert len(told) == 1
    assert "nvlink=22.93 GB/s" in told[0]
    assert "sys=21.6 GB/s" in told[0]
    assert "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)" in told[0]
    assert not [note for note in machine.assumed if note.startswith(("assumed nvlink=", "assumed sys="))]
    assert machine.pairs == read_topology(PAIRS, "it").pairs


@each_row(
    "matrix, near",
    [
        (cuda(grid(270, 20)), 270),
        (cuda(grid(270, 20), "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)"), 270),
        (cuda(grid(540, 40), "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)"), 270),
        (copies(grid(270, 20, None)), 270),
        (copies(grid(270, 20, 0.0)), 270),
        (copies(grid(270, 20, None), "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"), 270),
        (copies(grid(540, 40, None), "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)"), 270),
        (copies(grid(270, 20, None), "memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)"), 270),
        (copies(grid(270, 20, None), "memcpy SM GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)"), 270),
        (copies(grid(270, 20, None), "memcpy CE GPU(row) <-> GPU(column) bandwidth (GB/s)"), 270),
        (copies_json(grid(270, 20, None)), 270),
        (copies_json(grid(540, 40, None), "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)"), 270),
        (copies(grid(270, 20, None), "memcpy SM GPU(row) <- GPU(column) bandwidth (GB/s)"), 270),
        (copies(grid(9, 9), "memcpy SM GPU(row) -> GPU(column) bandwidth (GB/s)") + copies(grid(270, 20)), 270),
        (cuda(grid(540, 40), "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)") + cuda(grid(260, 20)), 260),
    ],
)  # fmt: skip
def test_the_matrix_nearest_to_what_one_link_carries_is_taken(matrix, near):
    machine = read_topology(f"{PAIRS}\n\n{matrix}", "it")
    assert (rates(machine), rates(machine, "GPU0", "GPU3")) == (pytest.approx(near), pytest.approx(20))


def test_links_within_are_raised_to_what_was_measured_beyond_and_left_alone_where_they_are_faster():
    text = capture("038")  # PIX in pairs, PHB between them; PCIe is assumed at 24 GB/s
    fast = read_topology(f"{text}\n{cuda(grid(20, 30))}", "it")
    assert (rates(fast, "GPU0", "GPU2"), rates(fast, "GPU0", "GPU1")) == (30, 30)
    assert [note for note in fast.assumed if note.startswith("raised pix=30 GB/s")]
    slow = read_topology(f"{text}\n{cuda(grid(26, 11))}", "it")
    assert (rates(slow, "GPU0", "GPU2"), rates(slow, "GPU0", "GPU1")) == (11, 26)
    assert not [note for note in slow.assumed if note.startswith("raised")]


def test_what_is_given_by_hand_goes_before_what_was_measured():
    machine = read_topology(f"{PAIRS}\n{cuda(grid(270, 20))}", "it", nvlink="1GBps", sys="2GBps")
    assert (rates(machine), rates(machine, "GPU0", "GPU2")) == (12, 2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PAIRS + "\n" + cuda(grid(9, 9, n=8)), r"this matrix is of 8 GPUs, the table of 4: give both of one machine"),
        (PAIRS + "\n" + cuda(grid(9, 9))[:-30], r"row 3 of this matrix has \d numbers for 4 GPUs: paste it again"),
        (cuda(grid(9, 9)), r"is a matrix of rates between GPUs, without paths: paste `nvidia-smi topo -m`"),
        (copies(grid(9, 9, None)), r"is a matrix of rates between GPUs, without paths"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused_with_the_reason(text, told):
    with pytest.raises(InputError, match=told):
        read_topology(text, "it")


def test_validate_says_where_a_matrix_belongs():
    with pytest.raises(
        InputError, match=r"is a matrix of rates between GPUs: paste it below the machine's `nvidia-smi"
    ):
        read_tables(FULL, "it")


def test_a_second_text_must_be_a_matrix():
    assert matrices(beside(PAIRS, FULL, "it"))
    with pytest.raises(InputError, match=r"p2p\.txt holds no matrix of rates between GPUs: give the output of p2pBand"):
        beside(PAIRS, "hello", "p2p.txt")


def test_the_terminal_takes_a_matrix_beside_a_capture(tmp_path, capsys):
    topology, pairs = tmp_path / "topo.txt", tmp_path / "p2p.txt"
    topology.write_text(PAIRS)
    pairs.write_text(FULL)
    assert cli.main(["topology", str(topology), "--pairs", str(pairs), "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert max(link["bandwidth_Bps"] for link in found["links"]) == pytest.approx(275.1e9)
    assert (
        cli.main(["run", "allreduce.ring", "--topology", str(topology), "--pairs", str(pairs), "--size", "1MiB"])
        == DONE
    )
    capsys.readouterr()
    for words, told in (
        (["topology", str(topology), "--pairs", str(topology)], "holds no matrix of rates between GPUs"),
        (["topology", "--machine", "dgx_a100", "--pairs", str(pairs)], "--pairs adds rates to a capture"),
        (["topology", str(topology), "--pairs", str(tmp_path / "none")], "cannot be read"),
    ):
        assert cli.main(words) == BAD_INPUT
        assert told in capsys.readouterr().err
