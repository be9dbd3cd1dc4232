"""`accuracy`: cells beside rivals, worst first; `validate` and `nccl-choice` say what to expect."""

import json
import math
from dataclasses import replace

import pytest

from cli import main
from ops.libraries.nccl.layers import HALVES, NETWORK_UNTOLD, family_of
from ops.libraries.nccl.own.band import bands_at
from ops.libraries.nccl.own.pace import Pace
from ops.measured.accuracy import OURS, Cell, published
from ops.measured.calibration import NETWORK, Sample, cost, fit
from ops.measured.comparison import Compared, compare_table
from ops.measured.layers import TableGroup, bands, coverage, inside
from ops.measured.own.classes import own_bands
from ops.measured.rivals import rivals
from ops.measured.rows import Measured, Table
from sim.errors import InputError
from sim.machines import build
from sim.units import MiB

ROWS = "system,nccl,collective,gpus,size_bytes,time_us\n" + "".join(
    f"h100_sxm,2.29.2,{collective},{gpus},{size},{time}\n"
    for collective, gpus, size, time in (
        ("allgather", 2, 1024, 5.24),
        ("allgather", 2, 67108864, 159.25),
        ("allreduce", 8, 1024, 15.6),
        ("allreduce", 8, 67108864, 324.53),
        ("alltoall", 8, 67108864, 221.29),
    )
)


@pytest.fixture
def times(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text(ROWS)
    return str(path)


def asked(capsys, *argv):
    status = main([*argv, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_cells_stand_beside_rivals_worst_first(capsys, times):
    status, found = asked(capsys, "accuracy", times)
    assert status == 0
    assert len(found["cells"]) == 5
    (table,) = found["tables"]
    halves = [table[f"median_error_{half}"] for half in ("below_1MiB", "from_1MiB")]
    assert found["medians"] == {
        "times by system": {"tables": 1, "rows": 5, "below_1MiB": halves[0], "from_1MiB": halves[1]}
    }
    assert (
        halves[1]
        == sorted(cell["median_errors"]["simulated"] for cell in found["cells"] if cell["half"] == "from_1MiB")[1]
    )
    ours = [cell["median_errors"]["simulated"] for cell in found["cells"]]
    assert ours == sorted(ours, reverse=True)
    assert max(ours) < 0.25
    alltoall = next(cell for cell in found["cells"] if cell["collective"] == "alltoall")
    assert alltoall["median_errors"]["NCCL's tuner"] is None
    assert alltoall["median_errors"]["autoparallel"] is not None
    assert main(["accuracy", times]) == 0
    assert "nearest of all" in capsys.readouterr().out


def test_autoparallel_is_its_points_and_a_ring_its_blocks():
    machine = build("dgx_h100")
    found = rivals(machine, "allgather", 8, 64 * MiB)
    assert found["autoparallel"] == pytest.approx(30e-6 + 64 * MiB / 394e9)
    assert found["α-β ring"] == pytest.approx(7 * 0.7e-6 + 7 / 8 * 64 * MiB / 360e9)
    assert rivals(build("dgx_h100:hosts=2"), "allgather", 16, MiB)["autoparallel"] is None


def test_what_to_expect_is_told(capsys, times):
    _, found = asked(capsys, "validate", times)
    first = found["tables"][0]
    assert first["nccl"] == "2.29.2"
    assert first["rests_on"] >= 2
    assert 0.02 < first["expected_error"]["from_1MiB"] < first["expected_error"]["below_1MiB"] < 1
    status, chosen = asked(capsys, "nccl-choice", "--machine", "dgx_h100", "--size", "8")
    assert status == 0
    assert chosen["expected_error"] == first["expected_error"]["below_1MiB"]
    assert chosen["simulated_s"] > 0


def table_of(layer, name, strays):
    """A table with so many rows from 1 MiB on, each too slow by a share."""
    rows = [Compared("it", "allreduce", "", 8, MiB, 1.0, 1 + x, "", "f", k) for k, x in enumerate(strays)]
    generation, network = ("Hopper", layer) if layer in ("IB", "EFA", "RoCE", "TCPX") else (layer, "")
    return TableGroup(name, generation, network, ()), rows


def test_a_band_holds_four_of_five_rows():
    pairs = [table_of("Hopper", "a", [0.1] * 4 + [0.5]), table_of("Hopper", "b", [0.1] * 4 + [0.6])]
    strange = [table_of("Hopper", "a", [0.3] * 5), table_of("Hopper", "b", [0.4] * 5)]
    assert bands(pairs, strange)["generations", "Hopper"] == {"from_1MiB": pytest.approx(0.096)}
    assert inside(pairs, strange) == pytest.approx(0.8)
    assert Pace().ends == 0


def test_a_table_of_many_rows_counts_as_one():
    small = [table_of("Hopper", name, [0.1] * 5) for name in "abcd"]
    pairs = [*small, table_of("Hopper", "e", [0.9] * 100)]
    assert bands(pairs, pairs)["generations", "Hopper"] == {"from_1MiB": pytest.approx(0.096)}
    own = own_bands([*pairs, table_of("CDNA", "f", [0.2])])["generations"]
    assert own["Hopper"]["from_1MiB"] == pytest.approx(0.096)
    assert own["Hopper"]["below_1MiB"] == 1.0  # as no row is of it
    assert own[""]["from_1MiB"] == pytest.approx(0.183)
    assert "CDNA" not in own


def test_tables_of_one_set_up_count_as_one_together():
    machine = build("dgx_h100:hosts=2")
    rows = tuple(Measured("allreduce", 16, size, time) for size, time in ((1024, 40e-6), (64 * MiB, 480e-6)))
    table, other = (Table("it.txt", "nccl-tests", some, 16) for some in (rows, rows[:1]))
    far = Sample(machine, replace(other, rows=(replace(rows[0], seconds=90e-6),)))
    few = {key: NETWORK[key] for key in ("net_hop", "net")}
    once = fit([Sample(machine, table), far], priors=few, rounds=3)
    thrice = fit([*[Sample(machine, table, share=1 / 3)] * 3, far], priors=few, rounds=3)
    assert thrice.strays == pytest.approx(once.strays, rel=1e-3)
    assert thrice.after == pytest.approx(once.after)
    assert fit([*[Sample(machine, table)] * 3, far], priors=few, rounds=3).strays != pytest.approx(
        once.strays, rel=0.05
    )


def test_a_network_with_one_table_is_as_far_off_as_networks_that_are_not_known():
    """And so is one that nothing tells, however near tables of one network are to each other."""
    near = [table_of("IB", "a", [0.01] * 5), table_of("IB", "b", [0.02] * 5)]
    alone = [table_of("EFA", "c", [0.2] * 5), table_of("RoCE", "d", [0.5] * 5), table_of("TCPX", "e", [0.8] * 5)]
    far = [table_of("IB", "a", [0.1] * 5), table_of("IB", "b", [0.1] * 5), *alone]
    found = bands([*near, *alone], far)
    assert math.expm1(found["networks", "IB"]["from_1MiB"]) == pytest.approx(0.02, abs=2e-3)
    assert math.expm1(found["networks", "EFA"]["from_1MiB"]) == pytest.approx(0.8, abs=2e-3)
    assert found["networks", ""] == found["networks", "TCPX"] == found["networks", "EFA"]
    held = coverage([*near, *alone], far)
    assert held == {"a": 5, "b": 5, "c": 5, "d": 5, "e": 0}  # none is held against itself


def test_what_is_not_known_has_the_wider_band(tmp_path, capsys):
    """The same times, with a log of InfiniBand and without one; a rack with one NVSwitch needs no network."""
    head = "".join(
        f"#  Rank {rank:2} Group  0 Pid 1 on h{rank // 8} device {rank % 8} [0x0{rank % 8}] NVIDIA A100-SXM4-40GB\n"
        for rank in range(16)
    )
    row = "  67108864  16777216  float  sum  -1  821.7  81.67  153.13  0  812.7  82.57  154.83  0\n"
    bands_of = {}
    for name, log in {"told": "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n", "untold": ""}.items():
        file = tmp_path / f"{name}.txt"
        file.write_text(head + log + row)
        _, found = asked(capsys, "validate", str(file))
        bands_of[name] = found["tables"][0]["expected_error"]
        assert (NETWORK_UNTOLD in found["tables"][0]["assumed"]) == (name == "untold")
    assert bands_of["untold"]["from_1MiB"] > 3 * bands_of["told"]["from_1MiB"]
    assert bands_at(build("gb200_nvl72")) == bands_at(build("gb200_nvl72:trays=1"))
    assert family_of(build("gb200_nvl72:racks=2")).name == "Blackwell, IB"


@pytest.mark.parametrize("asks", ["-x NCCL_COLLNET_ENABLE=1", "-x NCCL_ALGO=CollnetDirect"])
def test_what_a_run_asked_of_its_network_is_told_beside_the_figure(tmp_path, capsys, asks):
    file = tmp_path / "2n-ib.txt"
    text = f"$ mpirun -np 16 {asks} -x NCCL_IB_HCA=mlx5_0,mlx5_1 ./all_reduce_perf -g 1\n" + "".join(
        f"#  Rank {rank:2} Group  0 Pid 1 on h{rank // 8} device {rank % 8} [0x0{rank % 8}] NVIDIA A100-SXM4-40GB\n"
        for rank in range(16)
    )
    file.write_text(text + "  67108864  16777216  float  sum  -1  821.7  81.67  153.13  0  812.7  82.57  154.83  0\n")
    _, found = asked(capsys, "validate", str(file))
    collnet, nics = found["tables"][0]["assumed"]
    assert "CollNet" in collnet
    assert "2 NICs a host where this machine has 8" in nics


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["accuracy"], "nothing to compare"),
        (["accuracy", "no such file"], "no such file"),
        (["accuracy", "tests/data/ddp"], "tests/data/ddp holds no file with measurements"),
        (["validate", "tests/data/ddp"], "tests/data/ddp holds no file with measurements"),
        (["accuracy", "--leave-out", "README.md"], "README.md is no output of nccl-tests"),
    ],
)
def test_bad_input_is_one_sentence(capsys, argv, why):
    assert main(argv) == 2
    assert why in capsys.readouterr().err


def test_the_published_runs_are_what_the_clock_says_now():
    """Some of them, on one host: whoever changes a cost writes them anew."""
    runs = [run for run in published() if run.ranks <= 8 and "hosts=" not in run.machine and run.system.endswith("sxm")]
    assert len(runs) > 25
    for run in runs[::9]:
        machine = build(run.machine)
        rows = tuple(Measured(run.collective, run.ranks, run.sizes[k], run.measured[k], line=k) for k in (0, 12, -1))
        release = "2.27" if run.system == "a100_sxm" else "2.29"
        simulated, _ = compare_table(machine, Table("it", "nccl-tests", rows, run.ranks, forced={"nccl": release}))
        kept = [run.models["simulated"][k] for k in (0, 12, -1)]
        assert [row.simulated for row in simulated] == pytest.approx(kept, rel=1e-3)


def test_runs_are_written_as_they_are_read(tmp_path, capsys, times):
    path = tmp_path / "runs.json"
    status, found = asked(capsys, "accuracy", times, "-o", str(path))
    assert status == 0
    runs = published(path)
    assert [run.system for run in runs] == ["h100_sxm"] * 3
    assert sum(len(run.sizes) for run in runs) == 5
    assert 0 <= found["inside_band"] <= 1
    path.write_text("[1]")
    published.cache_clear()
    with pytest.raises(InputError, match="keeps no measured runs"):
        published(path)


def test_layers_are_fitted_again_without_every_table(capsys, tmp_path, times):
    """Two tables of Hopper; a third that repeats the first counts once."""
    other = tmp_path / "h100-again.csv"
    sizes = [1 << k for k in range(10, 30, 2)]
    head, lines = ROWS.partition("\n")[0], [f"h100_sxm,2.29.2,allgather,4,{s},{5 + s / 250000}" for s in sizes]
    other.write_text("\n".join([head, *lines]))
    third = tmp_path / "h100-third.csv"
    third.write_text("\n".join([head, *(line.replace("h100_sxm", "h100_other") for line in lines)]))
    path = tmp_path / "layers.json"
    status, found = asked(capsys, "accuracy", times, str(other), str(third), "--leave-out", "-o", str(path))
    assert status == 0
    assert "repeats" in found["outside"][0]["why"]
    hopper = json.loads(path.read_text())["generations"]["Hopper"]
    assert len(hopper["tables"]) == len(found["tables"]) >= 1
    assert found["medians"]["left out, one host"] == found["medians"]["left out"]
    assert found["medians"]["left out"]["tables"] == len(found["tables"])
    assert 0.5 < hopper["pace"]["nvlink"] <= 1
    for entry in hopper["tables"].values():
        assert entry["rows"] > 0
        assert len(entry["fitted"]) == len(entry["left_out"]) == 2


@pytest.mark.slow
def test_every_row_is_judged_by_numbers_of_gpus_and_on_gpus_nobody_has_seen(capsys, tmp_path):
    """Of a folder: two systems, one on two numbers of GPUs with a row measured again, and a note that is no table."""
    rows = [
        f"h100_sxm,2.29.2,allgather,{n},{1 << k},{4 + n / 2 + (1 << k) / 3e5}" for n in (2, 4) for k in range(9, 29)
    ]
    rows += [f"a100_sxm,2.29.2,allgather,8,{1 << k},{9 + (1 << k) / 2.2e5}" for k in range(9, 29)]
    again = [f"h100_sxm,2.29.2,allgather,2,{1 << k},{1.02 * (5 + (1 << k) / 3e5)}" for k in (10, 20)]
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "times.csv").write_text("\n".join([ROWS.partition("\n")[0], *rows]))
    (tmp_path / "more.csv").write_text("\n".join([ROWS.partition("\n")[0], *again]))
    (tmp_path / "notes.md").write_text("taken on a Monday")
    (tmp_path / ".hidden").write_text("no table either")
    status, found = asked(capsys, "accuracy", str(tmp_path), "--leave-out")
    assert status == 0
    tables = {row["table"]: row for row in found["tables"]}
    hopper = tables["times.csv h100_sxm"]
    assert hopper["rows"] == 40  # more than the fit looks at
    assert [(part["ranks"], part["rows"]) for part in hopper["by_ranks"]] == [(2, 20), (4, 20)]
    smalls = [part["left_out_below_1MiB"] for part in hopper["by_ranks"]]
    assert min(smalls) <= hopper["left_out_below_1MiB"] <= max(smalls)
    alone = tables["times.csv a100_sxm"]
    assert [alone[f"left_out_{half}"] for half in HALVES] == [alone[f"unseen_{half}"] for half in HALVES]
    assert all(alone[f"band_{half}"] > 0 for half in HALVES)
    assert found["one_host"]["Hopper"]["rows"] == 42
    assert found["one_host"]["times by system"]["rows"] == 62
    assert found["repeats"] == {
        "apart_below_1MiB": pytest.approx(0.02, rel=1e-2),
        "apart_from_1MiB": pytest.approx(0.02, rel=1e-2),
        "calls": 2,
    }
    (note,) = found["outside"]
    assert note["source"].endswith("notes.md")
    assert main(["accuracy", str(tmp_path), "--leave-out"]) == 0
    shown = capsys.readouterr().out
    assert "2 calls were measured more than once" in shown
    assert "4 GPUs" in shown


def test_a_folder_is_read_like_its_files(capsys, tmp_path, times):
    _, of_file = asked(capsys, "validate", times)
    (tmp_path / "notes.md").write_text("taken on a Monday")
    status, of_folder = asked(capsys, "validate", str(tmp_path))
    assert status == 0
    assert of_folder["rows"] == of_file["rows"]
    assert [(one["rows"], "notes.md" in one["source"]) for one in of_folder["outside"]] == [(0, True)]


@pytest.mark.parametrize(("ours", "other", "behind"), [(0.2, 0.1, True), (0.1, 0.2, False), (0.2, None, False)])
def test_a_cell_is_behind_where_another_model_is_nearer(ours, other, behind):
    assert Cell("it", 8, "allreduce", False, 3, {OURS: ours, "another": other}).behind is behind


def test_where_no_row_is_simulated_no_pace_is_wrong():
    assert cost([], Pace()) == 0.0
