"""What goes wrong in a program is told in one sentence that names ranks and lines."""

import pytest

from sim.errors import InputError, UnreachableError
from tests.programs.running import simulated

HEAD = "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\nrank, size = comm.rank, comm.size\n"
FIRST = 5
"""The line after the head."""


def failure(body, tmp_path, ranks=4, **options):
    outcome = simulated(HEAD + body, tmp_path, ranks, **options)
    assert outcome.failure is not None
    assert "\n" not in outcome.failure
    return outcome.failure


def test_a_deadlock_names_who_waits_for_whom_and_the_circle(tmp_path):
    body = "comm.Recv(np.zeros(1), (rank + 1) % size)\n"
    outcome = simulated(HEAD + body, tmp_path, 3)
    assert "deadlock" in outcome.failure
    assert "rank 0 waits in Recv at script.py:5 for a message from rank 1" in outcome.failure
    assert "0 -> 1 -> 2 -> 0" in outcome.failure
    assert [(one.rank, one.line, one.ranks) for one in outcome.deadlock] == [(0, 5, [1]), (1, 5, [2]), (2, 5, [0])]


def test_short_sends_to_each_other_pass_and_long_ones_deadlock(tmp_path):
    body = "comm.Send(np.zeros(1000), 1 - rank)\ncomm.Recv(np.zeros(1000), 1 - rank)\n"
    assert simulated(HEAD + body, tmp_path, 2).failure is None
    assert "rendezvous" in failure(body, tmp_path, 2, eager=0)


def test_a_rank_that_ended_is_named_in_the_deadlock(tmp_path):
    told = failure("if rank:\n    comm.Barrier()\n", tmp_path, 3)
    assert "ranks 1, 2 wait in Barrier at script.py:6" in told
    assert "rank 0 to call Barrier" in told
    assert "rank 0 has ended" in told


def test_waiting_for_a_test_that_never_succeeds_is_a_deadlock(tmp_path):
    assert "deadlock" in failure("r = comm.Irecv(np.zeros(1), 0)\nwhile not r.Test():\n    pass\n", tmp_path, 2)


@pytest.mark.parametrize(
    "body, parts",
    [
        ("comm.Barrier() if rank else comm.bcast(1)\n", ("rank 0 calls bcast(root=0)", "rank 1 calls Barrier()")),
        ("comm.Bcast(np.zeros(1), root=rank)\n", ("root=0", "rank 1 calls Bcast(root=1)")),
        (
            "comm.Allreduce(np.zeros(rank // 3 + 1), np.zeros(rank // 3 + 1))\n",
            ("rank 3 calls Allreduce with 16 bytes", "ranks 0-2 with 8 bytes"),
        ),
        ("comm.Bcast(np.zeros(rank // 2 + 1))\n", ("ranks 2, 3 call Bcast with 16 bytes", "ranks 0, 1 with 8")),
        ("comm.allreduce(1, op=MPI.MAX if rank else MPI.SUM)\n", ("op=", "rank 1")),
        ("comm.Ibarrier().Wait() if rank else comm.Barrier()\n", ("Barrier()", "Ibarrier()")),
        (
            "comm.Alltoallv([np.zeros(4), [1] * 4], [np.zeros(8), [1 + (rank == 2)] * 4])\n",
            ("rank 0 sends 8 bytes", "rank 2 expects 16"),
        ),
    ],
)
def test_collectives_that_do_not_fit_name_both_ranks_and_lines(tmp_path, body, parts):
    told = failure(body, tmp_path)
    assert told.startswith("collective mismatch on MPI_COMM_WORLD")
    assert told.count("script.py:5") == 2
    for part in parts:
        assert part in told


LENGTHS = {
    "Allreduce": "comm.Allreduce(a, np.empty_like(a))",
    "Reduce": "comm.Reduce(a, np.empty_like(a))",
    "Scan": "comm.Scan(a, np.empty_like(a))",
    "Exscan": "comm.Exscan(a, np.empty_like(a))",
    "Bcast": "comm.Bcast(a)",
    "Gather": "comm.Gather(a, np.empty((4, len(a))))",
    "Allgather": "comm.Allgather(a, np.empty((4, len(a))))",
    "Scatter": "comm.Scatter(np.empty((4, len(a))), a)",
    "Alltoall": "comm.Alltoall(np.empty((4, len(a))), np.empty((4, len(a))))",
    "Reduce_scatter_block": "comm.Reduce_scatter_block(np.empty((4, len(a))), a)",
}


@pytest.mark.parametrize("odd", [0, 2])
@pytest.mark.parametrize("name", LENGTHS)
def test_the_rank_whose_length_differs_from_the_others_is_named(tmp_path, name, odd):
    others = {0: "ranks 1-3", 2: "ranks 0, 1, 3"}[odd]
    body = f"a = np.ones(4 + (rank == {odd}))\nif rank == {odd}:\n    {LENGTHS[name]}\nelse:\n    {LENGTHS[name]}\n"
    times = 4 if name.endswith("_block") else 1
    assert failure(body, tmp_path) == (
        f"collective mismatch on MPI_COMM_WORLD: rank {odd} calls {name} with {40 * times} bytes at script.py:7, but"
        f" {others} with {32 * times} bytes at script.py:9"
    )


def test_the_rank_that_all_waited_for_is_named(tmp_path):
    body = "import time\nfor step in range(4):\n    time.sleep(0.1 + 0.5 * (rank == 2))\n    comm.Barrier()\n"
    outcome = simulated(HEAD + body, tmp_path, 4)
    (late,) = outcome.stragglers()
    assert (late.ranks, str(late.place), late.times) == ((2,), "script.py:8", 4)
    assert late.waited == pytest.approx(2.0, rel=1e-9)
    (told,) = outcome.to_dict()["waited_for"]
    assert told == {"ranks": [2], "line": "script.py:8", "times": 4, "waited_s": late.waited}
    assert outcome.to_dict()["calls"][0]["latest_ranks"] == [2]


def test_ranks_that_come_together_wait_for_nobody(tmp_path):
    assert simulated(HEAD + "comm.Barrier()\n", tmp_path, 4).stragglers() == []


def test_a_deadlock_tells_its_time_with_a_unit(tmp_path):
    told = failure("comm.Barrier()\nif rank == 0:\n    comm.recv(source=1)\n", tmp_path, 2)
    assert told.startswith("deadlock after ")
    assert told.split(":")[0].endswith(" µs")


def test_an_exception_of_the_script_names_rank_line_and_kind(tmp_path):
    told = failure("def f(x):\n    return 1 / x\n\ncomm.Barrier()\nf(rank - 2)\ncomm.Barrier()\n", tmp_path)
    assert told == "rank 2 failed at script.py:6: ZeroDivisionError: division by zero"


def test_an_exception_in_a_module_beside_the_script_names_its_line(tmp_path):
    (tmp_path / "helper.py").write_text("def half(x):\n    raise KeyError(x)\n", encoding="utf-8")
    assert "helper.py:2: KeyError: 0" in failure("import helper\nhelper.half(rank)\n", tmp_path, 1)


def test_abort_and_exit_status_are_told(tmp_path):
    told = failure("if rank == 1:\n    comm.Abort(7)\ncomm.Barrier()\n", tmp_path)
    assert told == "rank 1 called Abort(7) at script.py:6"
    outcome = simulated(HEAD + "import sys\nsys.exit(3 if rank == 2 else 0)\n", tmp_path, 4)
    assert outcome.statuses == [0, 0, 3, 0]
    assert outcome.failure == "rank 2 ended with exit status 3"


def test_a_rank_that_leaves_by_os_exit_ends_alone_and_a_process_that_it_forked_ends_for_good(tmp_path):
    body = """import os
child = os.fork() if rank == 0 else None
if child == 0:
    os._exit(7)
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
comm.Barrier()
if rank == 1:
    os._exit(5)
print("went on")
"""
    outcome = simulated(HEAD + body, tmp_path, 3)
    assert outcome.statuses == [0, 5, 0]
    assert sorted(outcome.output.splitlines()) == ["7", "went on", "went on"]
    assert outcome.failure == "rank 1 ended with exit status 5"


def test_ranks_are_unwound_and_cannot_go_on_after_a_failure(tmp_path):
    body = "if rank == 0:\n    1 / 0\ntry:\n    comm.Barrier()\nfinally:\n    comm.Barrier()\n    print('never')\n"
    outcome = simulated(HEAD + body, tmp_path, 2)
    assert "rank 0" in outcome.failure
    assert outcome.output == ""


@pytest.mark.parametrize(
    "body, part",
    [
        ("comm.send(1, dest=9)\n", "destination 9 is not among ranks 0..3"),
        ("comm.send(1, dest=0, tag=-5)\n", "tag -5"),
        ("comm.bcast(1, root=4)\n", "root 4"),
        ("comm.Send(np.zeros((4, 4))[:, 1], 0)\n", "not contiguous"),
        ("comm.Bcast(object())\n", "expecting buffer"),
        ("comm.scatter([1, 2], root=rank) if size else 0\n", "expecting 4 items, got 2"),
        ("MPI.Win.Allocate(8)\n", "NotImplementedError: MPI.Win.Allocate is not simulated"),
        ("comm.Spawn('x')\n", "Spawn is not simulated"),
        ("comm.Allgatherv(np.zeros(1), [np.zeros(3), [1] * 4, [0, 1, 2, 3], MPI.DOUBLE])\n", "reach 4"),
        ("MPI.COMM_NULL.Get_rank()\n", "Null communicator"),
    ],
)
def test_wrong_calls_fail_where_they_are_made(tmp_path, body, part):
    told = failure(body, tmp_path)
    assert told.startswith("rank 0 failed at script.py:5: ")
    assert part in told


def test_scripts_and_machines_that_cannot_be_used_are_bad_input(tmp_path):
    with pytest.raises(InputError, match=r"line 1.*correct the script"):
        simulated("def (", tmp_path, 1)
    with pytest.raises(InputError, match="null bytes"):
        simulated("\0", tmp_path, 1)
    with pytest.raises(InputError, match="holds 4 ranks, not 8"):
        simulated("", tmp_path, 8, "switch:ranks=4")
    with pytest.raises(InputError, match="1 rank or more"):
        simulated("", tmp_path, 0)
    with pytest.raises(InputError, match="no rule is called"):
        simulated("", tmp_path, 1, library="lam")
    forced = {"allreduce": ("allreduce.bine", {})}
    with pytest.raises(InputError, match="power of two"):
        simulated(HEAD + "comm.allreduce(1)\n", tmp_path, 3, forced=forced)


def test_a_pair_that_nothing_connects_ends_the_run(tmp_path):
    from ops.programs import run_program
    from sim.topology import Device, Topology

    apart = Topology("apart", (Device("GPU0", "GPU"), Device("GPU1", "GPU")), ())
    file = tmp_path / "script.py"
    file.write_text(HEAD + "try:\n    comm.send(1, 1 - rank)\nexcept Exception:\n    pass\n", encoding="utf-8")
    with pytest.raises(UnreachableError):
        run_program(file, apart, 2)
