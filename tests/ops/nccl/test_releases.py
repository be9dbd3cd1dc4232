"""What older releases of NCCL reckon, worked out by hand from `src/graph/tuning.cc` of each."""

import json

import pytest

from cli import main
from ops.libraries.nccl.choice import choose
from ops.libraries.nccl.releases import RELEASES, release_of
from ops.libraries.nccl.tuner import Situation, algorithm_bandwidth, candidates, latency
from ops.libraries.nccl.variables import Variables
from ops.measured.files import read_tables
from ops.measured.run_words import forced
from sim.machines import build
from sim.units import KiB, MiB
from tests.tables import each_row


def at(release, **more):
    plain = {"n": 8, "nodes": 1, "generation": "Ampere", "channels": 12, "bw_intra": 20, "bw_inter": 20}
    return Situation(**plain | more, release=release)


@each_row(
    "release, algorithm, protocol, wait, rate",
    [
        ("2.8", "Ring", 0, 3.6 + 14 * 0.47, 235 / 4 * 8 / 14),
        ("2.8", "Ring", 1, 10 + 14 * 1.9, 12 * 16.9 * 8 / 14),
        ("2.12", "Ring", 1, 10 + 14 * 1.9, 235 * 0.92 * 8 / 14),
        ("2.12", "Ring", 2, 8.4 + 14 * 3.4, 235 * 8 / 14),
        ("2.18", "Ring", 0, 6.6 + 14 * 0.6, 240 / 4 * 8 / 14),
        ("2.18", "Tree", 2, 14 * 28.0, 240 * 0.92 / 2),
        ("2.23", "Tree", 2, 8.4 + 14 * 4.0, 240 * 0.92 / 2),
        ("2.23", "Ring", 0, 6.6 + 14 * 0.6, 87.7 * 8 / 14),
    ],
)
def test_one_host_of_a100(release, algorithm, protocol, wait, rate):
    assert latency("allreduce", algorithm, protocol, at(release)) == pytest.approx(wait)
    assert algorithm_bandwidth("allreduce", algorithm, protocol, at(release)) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("release", "wait"),
    [
        ("2.8", 3.6 + 28 * 1.8 * 0.47 + 2 * 2.7),
        ("2.12", 3.6 + 26 * 1.8 * 0.47 + 4 * 2.7),
        ("2.18", 6.6 + 26 * 1.0 + 4 * 2.7),
        ("2.30", 6.6 + 28 * 1.0 + 2 * 2.7),
    ],
)
def test_two_hosts_cross_the_network_as_often_as_their_release_says(release, wait):
    assert latency("allreduce", "Ring", 0, at(release, n=16, nodes=2)) == pytest.approx(wait)


def test_the_switch_adds_for_two_gpus_from_2_28_7_on():
    machine = build("dgx_h100")
    for release, gpus, there in (("2.27", 2, False), ("2.28.7", 2, True), ("2.27", 4, True), ("2.12", 8, False)):
        options = Variables(nccl=release)
        found = {one.algorithm for one in choose(machine, "allreduce", MiB, gpus, options=options).candidates}
        assert ("NVLS" in found) is there
    hopper = at("2.18", generation="Hopper", nvls_channels=8, bw_nvls=40)
    nvls = next(one for one in candidates("allreduce", MiB, hopper) if one.algorithm == "NVLS")
    assert nvls.latency == pytest.approx(23e-6)
    assert nvls.bandwidth == pytest.approx(8 * 40 * 5 / 6 * 1e9)


@pytest.mark.parametrize("release", RELEASES)
def test_a_broadcast_between_hosts_waits_for_the_network(release):
    two = at(release, n=16, nodes=2)
    tables = RELEASES[release]
    assert latency("broadcast", "Ring", 2, two) == pytest.approx(8.4 + tables.hops["Ring"]["NET"][2])
    assert latency("broadcast", "Ring", 2, at(release)) == pytest.approx(8.4 + 3.4)


def test_every_release_answers_every_collective():
    machine = build("dgx_b200")
    for release in RELEASES:
        for collective in ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce"):
            best = choose(machine, collective, 64 * KiB, options=Variables(nccl=release)).chosen
            assert 4e-6 < best.time < 1e-3


TABLE = """# nccl-tests version 2.13.8 nccl-headers=22105 nccl-library=22105
# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1048576
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    40.00   26.21   45.87      0    40.00   26.21   45.87      0
"""


def test_a_header_that_names_the_release_sets_it(tmp_path, capsys):
    table = read_tables(TABLE, "h100-allreduce.txt")[0]
    assert forced(table).nccl == release_of("2.21.5") == "2.18"
    file = tmp_path / "h100-all_reduce.txt"
    file.write_text(TABLE)
    assert main(["validate", str(file), "--ranks", "8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["tables"][0]
    assert (told["nccl"], told["release"], told["machine"]) == ("2.21.5", "2.18", "dgx_h100")
    assert main(["validate", str(file), "--ranks", "8", "--set", "nccl=2.29", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"][0]["release"] == "2.28.7"


def test_a_run_names_its_release_and_what_to_expect(capsys):
    line = ["run", "nccl.allreduce", "--machine", "dgx_h100", "--size", "64MiB", "--set", "nccl=2.19.3", "--json"]
    assert main(line) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["machine"], told["ranks"], told["nccl"]) == ("dgx_h100", 8, "2.18")
    assert 0.01 < told["expected_error"] < 1
    assert main([*line[:-2], "nccl=3.1"]) == 2
    assert "2.28.7" in capsys.readouterr().err
    assert main(["run", "allreduce.ring", "--machine", "dgx_h100", "--size", "1MiB", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["nccl"], plain["expected_error"]) == (None, None)
