"""How many ranks a table of nccl-tests is of, where somebody cut its list of devices or its parts disagree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.measured.comparison import compare_table
from ops.measured.files import place, read_tables

PROGRAMS = {"allreduce": "all_reduce", "allgather": "all_gather", "alltoall": "alltoall"}


def table(n, *, listed, process=1, collective="allreduce", ranks_of_bandwidth=0, size=1 << 30, each=8):
    told = ranks_of_bandwidth or n
    share = (told - 1) / told * (2 if collective == "allreduce" else 1)
    devices = "".join(
        f"#  Rank {r:2} Group  0 Pid {100 + r // process} on h{r // each} device {r % each} [0x07] NVIDIA H100\n"
        for r in range(listed)
    )
    row = f"{size} {size // 4} float sum -1 5000 {size / 5e6:.2f} {size / 5e6 * share:.2f} 0\n"
    return (
        f"# nThread 1 nGpus {process} minBytes 8\n# Collective test starting: {PROGRAMS[collective]}_perf\n{devices}"
        f"...\n#  size count type redop root time algbw busbw #wrong\n{row}"
    )


@given(
    st.sampled_from(list(PROGRAMS)), st.sampled_from([1, 2, 4, 8]), st.integers(1, 8), st.integers(0, 64),
    st.integers(0, 1),
)  # fmt: skip
def test_a_list_that_was_cut_is_outvoted_by_bandwidths_and_header(collective, process, processes, listed, odd):
    n = max(2, process * processes)
    listed = min(listed, n - odd)
    (found,) = read_tables(table(n, listed=listed, process=process, collective=collective), "it")
    assert found.ranks == n
    assert {row.ranks for row in found.rows} == {n}
    assert bool(found.notes) == (0 < listed < n)
    assert not found.devices or len(found.devices) == n


@pytest.mark.parametrize(
    "given, ranks, note",
    [
        (table(8, listed=2, process=8), 8, "the list of devices says 2 ranks, but the header says a multiple of 8 and "
                                           "busbw over algbw says 8: read as 8 ranks"),
        (table(16, listed=2), 16, "the list of devices says 2 ranks, but busbw over algbw says 16: read"),
        (table(16, listed=16, ranks_of_bandwidth=8), 8, "the list of devices says 16 ranks, but busbw over"),
        (table(8, listed=8, process=8), 8, ""),
        (table(4, listed=2, process=4).replace("all_reduce", "sendrecv"), 4, "the list of devices says 2 ranks, but"),
    ],
)  # fmt: skip
def test_a_contradiction_is_told_in_one_sentence(given, ranks, note):
    (found,) = read_tables(given, "it")
    assert found.ranks == ranks
    assert " ".join(found.notes).startswith(note)
    assert len(found.notes) == bool(note)


def test_the_sentence_reaches_the_reader_and_the_comparison_is_of_all_ranks():
    (found,) = read_tables(table(8, listed=2, process=8), "it")
    topology, placed, _ = place(found, "dgx_h100")
    assert any("read as 8 ranks" in note for note in topology.assumed)
    (row,), _ = compare_table(topology, placed)
    assert row.ranks == 8


def test_a_thread_of_several_gpus_launches_on_one_after_the_other():
    """Eight A100 of one process sum 8 bytes in 33.7 µs (NVIDIA/nccl-tests issue 123); CUDA graphs do not wait."""
    times = {}
    for process, graph in ((1, 0), (8, 0), (8, 1)):
        text = table(8, listed=8, process=process, size=8).replace("minBytes 8", f"minBytes 8 graph: {graph}")
        (found,) = read_tables(text.replace("H100", "A100-SXM4-40GB"), "it")
        topology, found, _ = place(found)
        (row,), _ = compare_table(topology, found)
        times[process, graph] = row.simulated
    assert times[8, 0] == pytest.approx(33.7e-6, rel=0.01)
    assert times[8, 1] == times[1, 0] < 0.8 * times[8, 0]
