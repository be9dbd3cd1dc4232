"""Three numbers for the named algorithms of an MPI library: found again where they made the times."""

import json
from dataclasses import replace

import pytest

from cli import main
from ops.measured.files import read_file
from ops.measured.mpi import MpiPace, fit_mpi, fit_table, judged, priced, system_of
from ops.measured.mpi.work import cost_of, library_of
from ops.measured.rows import Measured, Table

TRUTH = MpiPace(2e-6, 20e9, 4e9)


def seconds(label, n, size):
    """By hand: rings of n - 1 steps to the same neighbour; a butterfly of ⌈log n⌉ exchanges, each two in the other's
    way where they are long, with two copies of the vector and a buffer as long; a binomial tree, its root serving all
    children at once, one message after the other; Bruck's alltoall, which turns the vector twice and packs and unpacks
    half of it every round.

    Up to 192 bytes a message travels in the command, from 16 KiB on it asks first; from 32 MiB on a buffer is the
    system's, and touched anew.
    """
    rounds = (n - 1).bit_length()
    share = (n - 1) / n
    again = 1.0 if size / n > 1 << 14 else 0.7
    fresh = 1.5 * (size >= 32 << 20)
    steps, message, moved, added, after = {
        "ring": (again * (n - 1), size / n, share, 0, 0),
        "recursive_doubling": (rounds, size, (1 + 0.7 * (size > 2 << 20)) * rounds, rounds + 2 + fresh, 0),
        "binomial": (rounds, size, sum(range(1, rounds + 1)), 0, sum(range(1, rounds + 1))),
        "modified_bruck": (rounds, size / 2, rounds / 2, rounds + 2 + fresh, 0),
    }[label]
    steps = steps * (0.65 if message <= 192 else 2 if message > 1 << 14 else 1) + 0.1 * after
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


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("name", ["leonardo-8n-x1.csv", "it-8n-x1.csv"])
def test_a_table_tells_whether_its_library_keeps_its_buffers_and_its_name_does_not(name, keeps):
    """Reduce-scatters by halving and by a ring, as such a library would take; an allgather takes no buffers."""
    sizes = (256, 1 << 14, 1 << 18, 1 << 20, 1 << 24, 1 << 26)
    rows = tuple(
        Measured("reduce_scatter", 8, size, 1.0, algorithm=f"{label}_ompi")
        for label in ("recursive_halving", "ring")
        for size in sizes
    )
    made = priced(Table(name, "named", rows), keeps=keeps)
    times = tuple(replace(one.row, seconds=one.seconds(TRUTH)) for one in made)
    pace, found = fit_table(Table(name, "named", times))
    assert found is keeps
    assert max(judged(priced(Table(name, "named", times), keeps=keeps), pace).errors[:2]) < 0.03
    plain = tuple(Measured("allgather", 8, size, size / 1e9, algorithm="ring_ompi") for size in sizes)
    assert fit_table(Table(name, "named", plain))[1] is None


def test_a_table_of_unknown_algorithms_is_told(capsys, tmp_path):
    path = tmp_path / "it-8n-x1.csv"
    path.write_text("collective,algorithm,bytes,median_us\nallgather,ring_ompi,64,9\n")
    assert main(["calibrate", str(path)]) == 0
    path.write_text("collective,algorithm,bytes,median_us\nallgather,bine_send_remap_over,64,9\n")
    capsys.readouterr()
    assert main(["calibrate", str(path)]) == 2
    assert "measures MPI libraries" in capsys.readouterr().err


def work(collective, label, n, size, file="it-8n-x1.csv", library="ompi", keeps=False):
    row = Measured(collective, n, size, 1e-3, algorithm=f"{label}_{library}")
    cost = cost_of(row, library_of(Table(file, "named", (row,)), keeps=keeps))
    return None if cost is None else tuple(round(part, 3) for part in cost)


def test_buffers_cost_what_the_system_hands_out_anew():
    halving = [work("reduce_scatter", "recursive_halving", 8, size)[2] for size in (1 << 16, 1 << 20, 1 << 26)]
    assert halving == [0.875 + 1, 0.875 + 1 + 3, 0.875 + 1 + 3]  # two of one length are given back from 256 KiB on
    kept = [work("reduce_scatter", "recursive_halving", 8, size, keeps=True)[2] for size in (1 << 20, 1 << 26)]
    assert kept == [0.875 + 1, 0.875 + 1 + 3]  # not by a library that keeps them
    shared = work("reduce_scatter", "recursive_halving", 8, 1 << 20, "it-2n-x4.csv")[2]
    assert shared == 0.875 + 1 + 3 * 1.5  # four ranks wait for the system's pages
    assert work("reduce_scatter", "recursive_halving", 8, 1 << 26, library="mpich")[1:] == (0.875, 0.875)


def test_every_block_of_a_new_buffer_is_pinned_with_those_before_it():
    plain = 0.875 + 1
    rings = [work("reduce_scatter", "ring", 8, size)[2] for size in (1 << 20, 1 << 26)]
    assert rings == [plain, round(plain + 1.5 + 0.4 * sum(range(1, 8)) / 8, 3)]  # one from 32 MiB on
    assert work("reduce_scatter", "ring", 8, 1 << 26, keeps=True)[2] == plain + 1.5
    row = Measured("reduce_scatter", 8, 1 << 26, 1e-3, algorithm="default-ring")
    assert cost_of(row, library_of(Table("it-torus-2x2x2.csv", "named", (row,)))).gammas == plain + 1.5


def test_a_step_takes_what_its_own_message_does():
    """A message a block with sparbit; with doubling 1/16 to 1/2, of which the last two of 8 to 64 KiB ask first."""
    assert work("allgather", "recursive_doubling", 16, 1 << 17)[0] == 2 + 2 * 2
    assert work("allgather", "sparbit", 16, 1 << 17)[0] == 4 + 0.1 * 11
    assert work("allgather", "recursive_doubling", 16, 2048)[0] == 0.65 + 3  # 128 to 1,024 bytes
    assert work("allreduce", "rabenseifner", 16, 1 << 15)[0] == 8  # the longest is 16 KiB, twice
    exchanges = [work("allgather", "recursive_doubling", 16, size)[1] for size in (1 << 21, 1 << 23)]
    assert exchanges == [0.938, round(0.938 + 0.7 * 0.5, 3)]  # half of 8 MiB is in each other's way


def test_bruck_s_blocks_are_turned_in_place_and_copied_out():
    steps, moved, copied = work("allgather", "k_bruck", 16, 1 << 17, library="over")
    assert (steps, moved, copied) == (6, 0.938, 2)  # two at a time, whatever the registry's own radix
    assert work("allgather", "bruck", 16, 1 << 17)[1:] == (0.938, 1)


def test_ranks_of_a_node_share_its_port_where_all_reach_for_others():
    assert work("alltoall", "pairwise", 8, 64, "it-2n-x4.csv")[1] == 4 * work("alltoall", "pairwise", 8, 64)[1]
    gpus = work("alltoall", "pairwise", 8, 64, "it-2n-x4-gpu.csv")
    assert gpus[1] == 4 * work("alltoall", "pairwise", 8, 64)[1]
    assert work("allgather", "ring", 8, 64, "it-2n-x4-gpu.csv") == work(
        "allgather", "ring", 8, 64
    )  # one sends at a time
    assert work("allgather", "recursive_doubling", 8, 512, "it-2n-x4-gpu.csv")[1] == (1 + 2) / 8 + 4 * 4 / 8


def test_ranks_of_a_node_reach_each_other_faster_but_copy():
    """What goes round a ring leaves a node every fourth step; of doubling's and trees' steps the short ones stay."""
    ring, two = (work("allgather", label, 8, 8192, "it-2n-x4.csv") for label in ("ring", "neighbor"))
    assert ring == (round(7 * 0.7 * (1 + 3 * 0.3) / 4, 3), 0, 0.875)
    assert two == (round(4 * 0.7 * (1 + 0.3) / 2, 3), 0, 0.875)
    assert work("allgather", "ring", 8, 1 << 20, "it-2n-x4.csv")[0] == 2 * 7  # what asks first gains nothing
    assert work("allgather", "recursive_doubling", 8, 4096, "it-2n-x4.csv")[0] == 1 + 2 * 0.3
    assert work("broadcast", "scatter_allgather_ring", 8, 8192, "it-2n-x4.csv")[1:] == (0.875, 0.875)
    knomial = work("broadcast", "knomial", 16, 512, "it-4n-x4.csv")
    assert knomial[0] == round(1 + 0.3 + 0.1 * 3 * (0.3 + 1.3), 3)
    assert work("broadcast", "knomial", 16, 512)[0] == round(2 + 0.1 * 3 * 3, 3)
    assert work("broadcast", "binary", 7, 512)[0] == round(2 + 0.1, 3)  # the second child waits for the first
    assert work("reduce", "binary", 7, 512)[0] == round(2 + 0.1 * 0.25, 3)


def test_a_root_that_only_receives_does_not_wait_for_each():
    many = [work("gather", "linear", n, 256)[0] for n in (2, 32, 1024)]
    assert many == [0.675, 1.775, 26.575]  # of two, each has 128 bytes, which travel in the command
    assert [work(one, "linear", 32, 1 << 20)[0] for one in ("gather", "scatter")] == [62 + 0.775, 62 + 3.1]  # asks each
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


HEAD = "collective,algorithm,bytes,median_us,run,note\n"


def test_a_label_that_the_library_ignored_is_left_out(tmp_path):
    """Its times are the default's in that run, and half of the suite's own; in the other run it was honoured."""
    path = tmp_path / "it-8n-x1.csv"
    rows = [
        ("recursive_doubling_mpich", 10, 50), ("default_mpich", 10.1, 50.5), ("recursive_doubling_over", 10.5, 120),
        ("rabenseifner_mpich", 10, 50), ("rabenseifner_over", 11, 60),
    ]  # fmt: skip
    lines = [
        f"allreduce,{label},{size},{time},a,"
        for label, *two in rows
        for size, time in zip((64, 1 << 20), two, strict=True)
    ]
    lines += ["allreduce,recursive_doubling_mpich,64,10,b,", "allreduce,default_mpich,64,10,b,"]
    path.write_text(HEAD + "\n".join(lines))
    (table,) = read_file(path)
    assert table.unread == (("the library ran its own choice whatever the label says", (2, 3)),)
    assert len(table.rows) == 10


def test_a_note_tells_what_a_label_means(tmp_path):
    path = tmp_path / "it-8n-x1.csv"
    note = "raben is modified allg scatter is old raben"
    path.write_text(f"{HEAD}allreduce,allgather_reduce_ompi,64,9,a,{note}\nallreduce,allgather_reduce_ompi,64,9,a,\n")
    (table,) = read_file(path)
    assert [row.algorithm for row in table.rows] == ["rabenseifner_ompi", "allgather_reduce_ompi"]
