"""Collectives of programs: times by hand, algorithms by rule or by force, what the timeline says."""

import json

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.communicators.selection import Selection
from ops.libraries import LIBRARIES, CollectiveCall, Members
from ops.libraries.openmpi import TABLES
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.programs.running import simulated
from tests.tables import each_row

SWITCH = build("switch:ranks=4095")
SLOW = "switch:ranks=4,bandwidth=10GBps,latency=3us"


def first(n):
    """The first ranks of a switch."""
    return Members(SWITCH, SWITCH.ranks[:n])


def test_a_collective_takes_what_its_schedule_takes_from_the_last_arrival_on(tmp_path):
    script = """
        import time
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        time.sleep(comm.rank * 1e-3)
        comm.Allreduce(np.ones(10_000), np.empty(10_000))
        print(repr(MPI.Wtime()))
    """
    outcome = simulated(script, tmp_path, 4, SLOW, forced={"allreduce": ("allreduce.ring", {})})
    by_hand = 3e-3 + 6 * (6e-6 + 20_000 / 1e10)
    assert [float(line) for line in outcome.output.splitlines()] == pytest.approx([by_hand] * 4, rel=1e-9)
    (call,) = (call for call in outcome.calls if call.name == "Allreduce")
    assert (call.algorithm, call.size, call.ranks) == ("allreduce.ring", 80_000, (0, 1, 2, 3))
    assert (call.begin, call.start) == (0.0, 3e-3)
    assert call.verified
    assert call.trace.time == pytest.approx(by_hand - 3e-3, rel=1e-9)


def test_unequal_blocks_weigh_what_they_hold(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        counts = [1000, 0, 3000, 10]
        out = np.empty(sum(counts))
        comm.Allgatherv(np.full(counts[comm.rank], comm.rank), [out, counts])
        print(repr(MPI.Wtime()))
    """
    outcome = simulated(script, tmp_path, 4, SLOW, forced={"allgatherv": ("allgatherv.linear", {})})
    blocks = [8.0 * count for count in (1000, 0, 3000, 10)]
    alone = simulate(build(SLOW), ALGORITHMS["allgatherv.linear"].schedule(4), blocks=blocks)
    assert float(outcome.output.split()[0]) == pytest.approx(alone.time, rel=1e-9)


def test_collectives_of_two_halves_run_side_by_side(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        half = comm.Split(comm.rank % 2, -comm.rank)
        begin = MPI.Wtime()
        half.Bcast(np.zeros(100_000), root=0)
        print(comm.rank, half.rank, repr(MPI.Wtime() - begin))
    """
    outcome = simulated(script, tmp_path, 4, SLOW, forced={"broadcast": ("broadcast.linear", {})})
    rows = sorted(line.split() for line in outcome.output.splitlines())
    assert [row[1] for row in rows] == ["1", "1", "0", "0"]
    assert [float(row[2]) for row in rows] == pytest.approx([6e-6 + 800_000 / 1e10] * 4, rel=1e-9)


def test_a_non_blocking_collective_overlaps_with_sleep(tmp_path):
    script = """
        import time
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        request = comm.Ibcast(np.zeros(1_000_000), root=0)
        time.sleep(5e-4)
        request.Wait()
        print(repr(MPI.Wtime()))
    """
    outcome = simulated(script, tmp_path, 2, SLOW, forced={"broadcast": ("broadcast.linear", {})})
    assert float(outcome.output.split()[0]) == pytest.approx(6e-6 + 8e6 / 1e10, rel=1e-9)


def test_forced_algorithms_serve_equal_and_unequal_blocks(tmp_path):
    script = """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        comm.allgather("x")
        comm.allgather("x" * comm.rank)
    """
    outcome = simulated(script, tmp_path, 4, forced={"allgather": ("allgather.bruck", {})})
    assert [call.algorithm for call in outcome.calls] == ["allgather.bruck", "allgatherv.bruck"]


@each_row(
    "collective, n, size, name",
    [
        ("allreduce", 4, 8, "ring"),
        ("allreduce", 4, 16, "recursive_doubling"),
        ("allreduce", 4, 8192, "rabenseifner"),
        ("allreduce", 100, 1 << 18, "rabenseifner"),
        ("allreduce", 300, 4095, "reduce_broadcast"),
        ("broadcast", 16, 4095, "knomial"),
        ("broadcast", 1024, 1 << 19, "scatter_doubling_allgather"),
        ("broadcast", 2000, 1 << 19, "scatter_ring_allgather"),
        ("allgatherv", 1024, 4095, "bruck"),
        ("allgatherv", 1024, 4096, "neighbor_exchange"),
        ("alltoall", 2, 1 << 20, "pairwise"),
        ("alltoall", 40, 100, "bruck"),
        ("barrier", 7, 0, "linear"),
        ("barrier", 4095, 0, "tree"),
        ("reduce_scatterv", 50, 1024, "recursive_halving"),
        ("reduce_scatter", 50, 1024, "butterfly"),
        ("scatter", 10, 100, "binomial"),
        ("gather", 5, 300_000, "linear_sync"),
    ],
)
def test_open_mpi_chooses_what_its_source_says(collective, n, size, name):
    call = CollectiveCall(collective, first(n), size, 1e9)
    assert Selection("openmpi").choose(call).algorithm == f"{collective}.{name}"


@each_row(
    "collective, n, size, name",
    [
        ("allreduce", 8, 8, "recursive_doubling"),
        ("allreduce", 8, 9, "rabenseifner"),
        ("broadcast", 7, 1e9, "binomial"),
        ("broadcast", 8, 12289, "scatter_doubling_allgather"),
        ("broadcast", 9, 12289, "scatter_ring_allgather"),
        ("allgather", 8, 65536, "ring"),
        ("allgather", 8, 65535, "recursive_doubling"),
        ("allgather", 9, 100, "bruck"),
        ("alltoall", 8, 256, "bruck"),
        ("alltoall", 8, 257, "linear"),
        ("alltoall", 4, 32769, "pairwise"),
        ("reduce", 8, 2048, "binomial"),
        ("reduce_scatterv", 8, 524288, "pairwise"),
    ],
)
def test_mpich_chooses_what_its_source_says(collective, n, size, name):
    call = CollectiveCall(collective, first(n), size, 1e9)
    assert Selection("mpich").choose(call).algorithm == f"{collective}.{name}"


@pytest.mark.slow
@each_row("library", LIBRARIES)
@each_row("commutes", [True, False])
def test_every_rule_finds_an_algorithm_for_every_number_of_ranks(library, commutes):
    switch = build("switch:ranks=65")
    for n in [*range(2, 34), 48, 63, 64, 65]:
        members = Members(switch, switch.ranks[:n])
        for collective in TABLES:
            for size, count in ((0, 0), (1, 1), (100, 3), (5000, 1000), (10**6, 10**5), (10**8, 10**7)):
                call = CollectiveCall(collective, members, size, count, n - 1, commutes, commutes)
                decision = Selection(library).choose(call)
                ALGORITHMS[decision.algorithm].settle(n, root=n - 1, **decision.settings)


def test_rules_forced_on_what_cannot_be_say_so():
    forced = Selection(None, {"allgather": ("allgather.recursive_doubling", {})})
    with pytest.raises(InputError, match="power of two"):
        forced.choose(CollectiveCall("allgather", first(6), 8, 1))


def test_the_timeline_has_every_call_of_every_rank_and_arrows_for_messages(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        comm.Barrier()
        if comm.rank < 2:
            comm.Sendrecv(np.zeros(5), 1 - comm.rank, 0, np.zeros(5), 1 - comm.rank, 0)
        comm.allreduce(1)
    """
    outcome = simulated(script, tmp_path, 4)
    events = json.loads(outcome.to_perfetto())["traceEvents"]
    slices = [(e["name"], e["tid"]) for e in events if e["ph"] == "X"]
    expected = [("Barrier", r) for r in range(4)] + [("Sendrecv", r) for r in range(2)]
    assert sorted(slices) == sorted(expected + [("allreduce", r) for r in range(4)])
    assert sum(e["ph"] == "s" for e in events) == sum(e["ph"] == "f" for e in events) == 2
    found = outcome.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [call["name"] for call in found["calls"]] == ["Barrier", "Sendrecv", "Sendrecv", "allreduce"]
    assert all(call["end_s"] <= found["time_s"] for call in found["calls"])
    by_rank = {row["rank"]: row for row in found["per_rank"]}
    assert by_rank[3]["ended_s"] == found["time_s"]


@pytest.mark.slow
def test_a_thousand_ranks_meet_in_one_allgatherv(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        counts = [i % 5 for i in range(comm.size)]
        out = np.empty(sum(counts), dtype="i4")
        comm.Allgatherv(np.full(counts[comm.rank], comm.rank, dtype="i4"), [out, counts, None, MPI.INT])
        assert (out == np.repeat(np.arange(comm.size), counts)).all()
    """
    outcome = simulated(script, tmp_path, 1024)
    assert outcome.failure is None
    assert [call.algorithm for call in outcome.calls] == ["allgatherv.bruck"]
    assert outcome.calls[0].size == 4 * np.sum(np.arange(1024) % 5)
