"""Systems that no table is of, and numbers of GPUs that none was taken on: an answer with its band, or a sentence."""

import json

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cli import main
from ops.libraries.nccl.choice import choose, pace_of, work_of
from ops.libraries.nccl.closed_form import closed_form
from ops.run import execute
from sim.machines import build
from sim.units import GiB, MiB
from tests.tables import each_row

COLUMNS = "system,nccl,collective,gpus,size_bytes,time_us\n"
KNOWN = {
    "h200_sxm": "dgx_h200",
    "H200-SXM-141GB": "dgx_h200",
    "nvidia_h100_80gb_hbm3": "dgx_h100",
    "a100_sxm4_40gb": "dgx_a100",
    "A100-SXM4-80GB": "dgx_a100",
    "NVIDIA A100 80GB PCIe": "a100_pcie_pairs",
    "gh200_480gb": "gh200_quad",
    "b300": "dgx_b300",
    "gb200_nvl72": "gb200_nvl72",
    "NVIDIA L40S": "l40s",
    "rtx4090": "dual_socket_pcie",
    "a800": "a800",
    "mi355x": "mi355x",
    "gb10": "gb10",
    "v100_sxm": "dgx1v",
}
"""What tables may call systems, and the machines that these are."""
UNKNOWN = ("h100_pcie", "H100 NVL", "v100_pcie", "mi210", "t4", "someone's", "")


def table(path, systems, gpus):
    rows = [
        f"{name},2.27.3,{collective},{n},{size},{10 + size / 1e5}\n"
        for name in systems
        for n in gpus
        for collective in ("allreduce", "alltoall")
        for size in (1000, 3 << 20)
    ]
    path.write_text(COLUMNS + "".join(rows))
    return str(path)


@pytest.mark.slow
@each_row("name", KNOWN, days=8)
def test_a_system_is_known_by_any_of_its_names_on_any_number_of_gpus(tmp_path, capsys, name):
    counts = (2, 3, 5, 6, 7, 8, 12)
    assert main(["validate", table(tmp_path / "times.csv", [name], counts), "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert {one["ranks"] for one in tables} == set(counts)
    for one in tables:
        assert one["machine"].partition(":")[0] == KNOWN[name]
        assert one["rows"] == 2
        assert all(0 < share < 5 for share in one["expected_error"].values())


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_system_that_no_machine_is_ends_in_a_sentence(tmp_path, capsys, name):
    assert main(["validate", table(tmp_path / "times.csv", [name], (2, 8))]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "add --machine" in said


def test_a_system_that_is_not_known_leaves_the_others_of_its_file(tmp_path, capsys):
    file = table(tmp_path / "times.csv", ["t4", "h100_sxm"], (4,))
    assert main(["validate", file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["machine"] for one in found["tables"]} == {"dgx_h100"}
    assert [("t4" in one["why"], one["rows"]) for one in found["outside"]] == [(True, 2)] * 2


def seconds(machine, collective, size, ranks=0):
    """What NCCL's choice takes."""
    choice = choose(machine, collective, size, ranks)
    summed = closed_form(machine, choice, pace_of(machine))
    return summed if summed is not None else execute(machine, work_of(machine, choice), size).time


MACHINES = ("dgx_a100", "dgx_h100", "dgx_b200", "gb200_nvl72:trays=2", "dgx_a100:hosts=2,per_host=4")
CALLS = ("allreduce", "allgather", "reduce_scatter", "broadcast", "alltoall")
LESS = 0.75
"""NCCL gives a call another channel when each has its fill, so that one at the brink of several takes longer."""


@pytest.mark.slow
@settings(max_examples=20, phases=[Phase.generate])
@given(st.sampled_from(MACHINES), st.sampled_from(CALLS), st.integers(2, 8), st.integers(512, MiB), st.integers(2, 64))
def test_no_size_is_much_faster_than_a_smaller_one(name, collective, ranks, size, times):
    """Nor from 1 MiB on any faster at all, but where a pipeline's few pieces, whole ones, become one more."""
    machine = build(name)
    ranks = 8 if "hosts" in name else ranks
    assert seconds(machine, collective, times * size, ranks) >= LESS * seconds(machine, collective, size, ranks)
    large = min(MiB + times * size, GiB)
    least = LESS if collective == "broadcast" else 0.99
    assert seconds(machine, collective, 2 * large, ranks) >= least * seconds(machine, collective, large, ranks)


@pytest.mark.slow
@settings(max_examples=20, phases=[Phase.generate])
@given(st.sampled_from(MACHINES[:4]), st.sampled_from(CALLS), st.integers(2, 7), st.integers(512, 256 * MiB))
def test_more_gpus_behind_a_switch_are_not_much_faster(name, collective, ranks, size):
    """Each holds as much in all: what one more saves is a smaller block, and at most that."""
    machine = build(name)
    assert seconds(machine, collective, size, ranks + 1) >= LESS * seconds(machine, collective, size, ranks)
