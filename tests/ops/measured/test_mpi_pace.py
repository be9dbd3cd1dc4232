"""Three numbers for the named algorithms of an MPI library: found again where they made the times."""

import json

import pytest

from cli import main
from ops.measured.files import read_file
from ops.measured.mpi_pace import MpiPace, fit_mpi, judged, priced, system_of

TRUTH = MpiPace(2e-6, 20e9, 4e9)


def seconds(label, n, size):
    """By hand: rings of n - 1 steps; a butterfly of ⌈log n⌉; a binomial tree, its root serving all children at once."""
    rounds = (n - 1).bit_length()
    share = (n - 1) / n
    steps, moved, added = {
        "ring": (n - 1, share, 0),
        "recursive_doubling": (rounds, rounds, rounds),
        "binomial": (rounds, sum(range(1, rounds + 1)), 0),
        "modified_bruck": (rounds, rounds / 2, rounds),
    }[label]
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
    assert pace == pytest.approx(TRUTH, rel=1e-3)
    assert [one.seconds(TRUTH) for one in priced(large)] == pytest.approx([one.row.seconds for one in priced(large)])
    verdict = judged(priced(large), pace)
    assert max(verdict.errors[:2]) < 1e-3
    assert verdict.races == verdict.right == 0  # one algorithm each
    assert system_of(small) == system_of(large) == "it"


def test_the_faster_of_two_is_asked_for(tmp_path):
    path = tmp_path / "it-8n-x1.csv"
    path.write_text(
        "collective,algorithm,bytes,median_us\n"
        "allgather,ring_ompi,1048576,60\nallgather,recursive_doubling_ompi,1048576,50\n"
        "allgather,recursive_doubling_over,1048576,49\nallgather,ring_ompi,64,9\nallgather,recursive_doubling_ompi,64,30\n"
    )
    verdict = judged(priced(read_file(path)[0]), TRUTH)
    assert (verdict.right, verdict.races) == (1, 2)  # doubling has fewer steps


def test_one_command_fits_every_table_and_judges_it_on_others(capsys, tables, tmp_path):
    output = tmp_path / "fits.json"
    assert main(["calibrate", *map(str, tables), "-o", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "a step 2 µs, 20 GB/s, adding 4 GB/s" in printed
    fits = json.loads(output.read_text())
    assert [fit["system"] for fit in fits] == ["it", "it"]
    assert [one["table"] for one in fits[0]["on"]] == [path.name for path in tables]
    assert all(one["median_error_from_1MiB"] < 1e-3 for fit in fits for one in fit["on"])


def test_a_table_of_unknown_algorithms_is_told(capsys, tmp_path):
    path = tmp_path / "it-8n-x1.csv"
    path.write_text("collective,algorithm,bytes,median_us\nallgather,ring_ompi,64,9\n")
    assert main(["calibrate", str(path)]) == 0
    path.write_text("collective,algorithm,bytes,median_us\nallgather,bine_send_remap_over,64,9\n")
    capsys.readouterr()
    assert main(["calibrate", str(path)]) == 2
    assert "measures MPI libraries" in capsys.readouterr().err
