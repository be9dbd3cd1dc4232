"""Three numbers for the named algorithms of an MPI library: found again where they made the times."""

import json

import pytest

from cli import main
from ops.measured.files import read_file
from ops.measured.mpi import MpiPace, fit_mpi, judged, priced, system_of
from ops.measured.mpi.work import cost_of, library_of
from ops.measured.rows import Measured, Table

TRUTH = MpiPace(2e-6, 20e9, 4e9)


def seconds(label, n, size):
    """By hand: rings of n - 1 steps between neighbours; a butterfly of ⌈log n⌉ exchanges, each two in the other's way,
    with a copy of the vector and a buffer as long; a binomial tree, its root serving all children at once, one message
    after the other; Bruck's alltoall, which turns the vector twice and packs and unpacks half of it every round.

    From 16 KiB on a message asks first; from 32 MiB on a buffer is the system's, and touched anew.
    """
    rounds = (n - 1).bit_length()
    share = (n - 1) / n
    fresh = 1.5 * (size >= 32 << 20)
    steps, message, moved, added, after = {
        "ring": (0.7 * (n - 1), size / n, share, 0, 0),
        "recursive_doubling": (rounds, size, 1.7 * rounds, rounds + 1 + fresh, 0),
        "binomial": (rounds, size, sum(range(1, rounds + 1)), 0, sum(range(1, rounds + 1))),
        "modified_bruck": (rounds, size / 2, rounds / 2, rounds + 2 + fresh, 0),
    }[label]
    steps = steps * (2 if message > 1 << 14 else 1) + 0.1 * after
    return steps * TRUTH.step + moved * size / TRUTH.rate + added * size / TRUTH.adding


RUNS = (
    ("allgather", "ring"), ("allreduce", "recursive_doubling"), ("bcast", "binomial"), ("alltoall", "modified_bruck")
)  # fmt: skip


def written(path, n):
    lines = [
        f"{collective},{label}_ompi,{size},{seconds(label, n, size) * 1e6}"
        for collective, label in RUNS
        for size in (256, 1 << 14, 1 << 20, 1 << 26)
    ]
    path.write_text("\n".join(["collective,algorithm,bytes,median_us", *lines]))
    return path


@pytest.fixture
def tables(tmp_path):
    return [written(tmp_path / f"00{k}-it-{n}n-x1.csv", n) for k, n in enumerate((8, 16))]


def test_the_numbers_that_made_the_times_are_found(tables):
    small, large = (read_file(path)[0] for path in tables)
    pace = fit_mpi(priced(small))
    assert pace == pytest.approx(TRUTH, rel=2e-2)  # drawn a little to what is usual
    assert [one.seconds(TRUTH) for one in priced(large)] == pytest.approx([one.row.seconds for one in priced(large)])
    verdict = judged(priced(large), pace)
    assert max(verdict.errors[:2]) < 1e-2
    assert verdict.races == verdict.right == 0  # one algorithm each
    assert system_of(small) == system_of(large) == "it"


def test_the_faster_of_two_is_asked_for(tmp_path):
    path = tmp_path / "it-8n-x1.csv"
    path.write_text(
        "collective,algorithm,bytes,median_us\n"
        "allgather,ring_ompi,32768,60\nallgather,recursive_doubling_ompi,32768,50\n"
        "allgather,recursive_doubling_over,32768,49\nallgather,ring_ompi,64,9\nallgather,recursive_doubling_ompi,64,30\n"
    )
    verdict = judged(priced(read_file(path)[0]), TRUTH)
    assert (verdict.right, verdict.races) == (1, 2)  # doubling has fewer steps


def test_one_command_fits_every_table_and_judges_it_on_others(capsys, tables, tmp_path):
    output = tmp_path / "fits.json"
    assert main(["calibrate", *map(str, tables), "-o", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "a step 2.006 µs, 19.89 GB/s" in printed
    fits = json.loads(output.read_text())
    assert [fit["system"] for fit in fits] == ["it", "it"]
    assert [one["table"] for one in fits[0]["on"]] == [path.name for path in tables]
    assert all(one["median_error_from_1MiB"] < 1e-2 for fit in fits for one in fit["on"])


def test_a_table_of_unknown_algorithms_is_told(capsys, tmp_path):
    path = tmp_path / "it-8n-x1.csv"
    path.write_text("collective,algorithm,bytes,median_us\nallgather,ring_ompi,64,9\n")
    assert main(["calibrate", str(path)]) == 0
    path.write_text("collective,algorithm,bytes,median_us\nallgather,bine_send_remap_over,64,9\n")
    capsys.readouterr()
    assert main(["calibrate", str(path)]) == 2
    assert "measures MPI libraries" in capsys.readouterr().err


def work(collective, label, n, size, file="it-8n-x1.csv", library="ompi"):
    row = Measured(collective, n, size, 1e-3, algorithm=f"{label}_{library}")
    cost = cost_of(row, library_of(Table(file, "named", (row,))))
    return None if cost is None else tuple(round(part, 3) for part in cost)


def test_buffers_cost_what_the_system_hands_out_anew():
    halving = [work("reduce_scatter", "recursive_halving", 8, size)[2] for size in (1 << 16, 1 << 20, 1 << 26)]
    assert halving == [0.875 + 1, 0.875 + 1 + 3, 0.875 + 1 + 3]  # two of one length are given back from 128 KiB on
    rings = [work("reduce_scatter", "ring", 8, size)[2] for size in (1 << 20, 1 << 26)]
    assert rings == [0.875 + 1, 0.875 + 1 + 1.5 + 3]  # one from 32 MiB on, and every block of it is pinned
    assert work("reduce_scatter", "recursive_halving", 8, 1 << 26, library="mpich") == (6.0, 0.875, 0.875)


def test_ranks_of_a_node_share_its_port_where_all_reach_for_others():
    assert work("alltoall", "pairwise", 8, 64, "it-2n-x4.csv")[1] == 4 * work("alltoall", "pairwise", 8, 64)[1]
    assert work("allgather", "ring", 8, 64, "it-2n-x4.csv") == work("allgather", "ring", 8, 64)
    assert work("alltoall", "pairwise", 8, 64, "it-2n-x4-gpu.csv") == work("alltoall", "pairwise", 8, 64)


def test_a_root_that_only_receives_does_not_wait_for_each():
    many = [work("gather", "linear", n, 256)[0] for n in (2, 32, 1024)]
    assert many == [1.025, 1.775, 26.575]
    assert work("reduce", "linear", 32, 256)[0] == 1.775
    assert work("scatter", "linear", 32, 256)[0] == 4.1
    assert work("allgather", "no_such", 8, 256) is None
    assert work("allgather", "recursive_doubling", 6, 256) is None


def test_labels_and_tori_of_fugaku_are_read(tmp_path):
    path = tmp_path / "011-it-torus-2x2x2.csv"
    path.write_text(
        "collective,algorithm,bytes,median_us\nallgather,default-ring,64,9\nbcast,default-basic-linear,64,9\n"
        "reduce,default-in-order-binary,64,9\nallgather,default-default,64,9\nallgather,RING-UTOFU-0-1,64,9\n"
    )
    (table,) = read_file(path)
    assert (table.ranks, table.gpus_per_host, system_of(table)) == (8, 0, "it")
    assert [one.row.algorithm for one in priced(table)] == [
        "default-ring", "default-basic-linear", "default-in-order-binary",
    ]  # fmt: skip
