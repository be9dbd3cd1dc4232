"""Messages: hand-computed times, MPI's order, wildcards, statuses, requests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.programs.running import simulated

SLOW = "switch:ranks=4,bandwidth=10GBps,latency=3us"
"""A message of m bytes takes two links' latency and m bytes at 10 GB/s: 6 us + m / 10^10."""


def seconds(size):
    return 6e-6 + size / 1e10


@pytest.mark.parametrize("size", [0, 8, 8000, 65536, 65544, 8_000_000])
def test_a_message_takes_latency_and_bytes_over_bandwidth(tmp_path, size):
    script = f"""
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        begin = MPI.Wtime()
        if comm.rank == 0:
            comm.Send(np.zeros({size}, "b"), 1)
        else:
            comm.Recv(np.zeros({size}, "b"), 0)
        print(comm.rank, repr(MPI.Wtime() - begin))
    """
    outcome = simulated(script, tmp_path, 2, SLOW)
    took = dict(line.split() for line in outcome.output.splitlines())
    assert float(took["1"]) == pytest.approx(seconds(size), rel=1e-9)
    sent = 0.0 if size <= 65536 else seconds(size)
    assert float(took["0"]) == pytest.approx(sent, rel=1e-9)
    (call,) = outcome.calls
    assert (call.ranks, call.size, call.begin, call.end) == ((0, 1), size, 0.0, pytest.approx(seconds(size), rel=1e-9))


def test_a_long_message_starts_when_the_later_side_is_there(tmp_path):
    script = """
        import time
        from mpi4py import MPI
        import numpy as np
        comm, data = MPI.COMM_WORLD, np.zeros(100_000)
        time.sleep(0.001 if comm.rank else 0)
        comm.Send(data, 1) if comm.rank == 0 else comm.Recv(data, 0)
        print(repr(MPI.Wtime()))
    """
    times = [float(line) for line in simulated(script, tmp_path, 2, SLOW).output.splitlines()]
    assert times == pytest.approx([0.001 + seconds(800_000)] * 2, rel=1e-9)


def test_two_messages_into_one_rank_share_its_link(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm, data = MPI.COMM_WORLD, np.zeros(100_000)
        if comm.rank < 2:
            comm.Send(data, 2)
        elif comm.rank == 2:
            MPI.Request.Waitall([comm.Irecv(data, 0), comm.Irecv(data.copy(), 1)])
            print(repr(MPI.Wtime()))
    """
    assert float(simulated(script, tmp_path, 4, SLOW).output) == pytest.approx(seconds(1_600_000), rel=1e-9)


def test_sleeping_ranks_overlap_with_what_is_under_way(tmp_path):
    script = """
        import time
        from mpi4py import MPI
        import numpy as np
        comm, data = MPI.COMM_WORLD, np.zeros(1_000_000)
        request = comm.Isend(data, 1) if comm.rank == 0 else comm.Irecv(data, 0)
        time.sleep(0.0005)
        request.Wait()
        print(repr(MPI.Wtime()))
    """
    times = [float(line) for line in simulated(script, tmp_path, 2, SLOW).output.splitlines()]
    assert times == pytest.approx([seconds(8_000_000)] * 2, rel=1e-9)


def test_messages_of_one_sender_do_not_overtake(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            comm.Isend(np.full(1_000_000, 1.0), 1, 5)
            comm.Isend(np.full(1, 2.0), 1, 5)
            comm.Isend(np.full(1, 3.0), 1, 6)
        else:
            first, second, third = np.zeros(1_000_000), np.zeros(1), np.zeros(1)
            comm.Recv(third, 0, 6)
            comm.Recv(first, MPI.ANY_SOURCE, MPI.ANY_TAG)
            comm.Recv(second, 0, MPI.ANY_TAG)
            print(first[0], second[0], third[0])
    """
    assert simulated(script, tmp_path, 2).output == "1.0 2.0 3.0\n"


def test_any_source_takes_what_is_there_first(tmp_path):
    script = """
        import time
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            time.sleep(1e-3)
            status, seen = MPI.Status(), []
            for _ in range(3):
                thing = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
                seen.append((thing, status.Get_source(), status.Get_tag()))
            print(seen)
        else:
            time.sleep((4 - comm.rank) * 1e-5)
            comm.send(comm.rank * 10, 0, tag=comm.rank)
    """
    assert simulated(script, tmp_path, 4).output == "[(30, 3, 3), (20, 2, 2), (10, 1, 1)]\n"


def test_a_near_message_overtakes_a_far_one_that_was_sent_before(tmp_path):
    script = """
        import time
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            print(comm.recv(source=MPI.ANY_SOURCE), comm.recv(source=MPI.ANY_SOURCE))
        elif comm.rank == 2:
            comm.send("far", 0)
        elif comm.rank == 1:
            time.sleep(1e-6)
            comm.send("near", 0)
    """
    machine = "nodes:nodes=2,gpus=2,nvlink_latency=0.5us,nic_latency=20us"
    assert simulated(script, tmp_path, 4, machine).output == "near far\n"


def test_a_specific_receive_leaves_the_first_message_to_an_earlier_wildcard(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            a, b = np.zeros(1), np.zeros(1)
            requests = [comm.Irecv(a, MPI.ANY_SOURCE, 1), comm.Irecv(b, 1, 1)]
            MPI.Request.Waitall(requests)
            print(a[0], b[0])
        else:
            comm.Send(np.array([1.0]), 0, 1)
            comm.Send(np.array([2.0]), 0, 1)
    """
    assert simulated(script, tmp_path, 2).output == "1.0 2.0\n"


def test_communicators_keep_messages_apart(tmp_path):
    script = """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        other = comm.Dup()
        if comm.rank == 0:
            comm.isend("world", 1, 7)
            other.isend("other", 1, 7)
        else:
            print(other.recv(source=0, tag=7), comm.recv(source=0, tag=7))
    """
    assert simulated(script, tmp_path, 2).output == "other world\n"


def test_a_message_too_long_for_its_buffer_is_an_mpi_exception(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            comm.Send(np.zeros(4), 1)
        else:
            try:
                comm.Recv(np.zeros(3), 0)
            except MPI.Exception as error:
                print(error.Get_error_class() == MPI.ERR_TRUNCATE, error)
    """
    said = simulated(script, tmp_path, 2).output
    assert said.startswith("True")
    assert "32 bytes" in said
    assert "24" in said


def test_a_send_takes_what_the_buffer_holds_when_it_is_called(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        if comm.rank == 0:
            data = np.zeros(10)
            comm.Send(data, 1)
            data[:] = 7
            comm.Barrier()
        else:
            comm.Barrier()
            data = np.ones(10)
            comm.Recv(data, 0)
            print(data.sum())
    """
    assert simulated(script, tmp_path, 2).output == "0.0\n"


def test_testing_in_a_loop_lets_time_pass_and_a_clock_that_is_watched_goes_on(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm = MPI.COMM_WORLD
        request = comm.Isend(np.zeros(10**6), 1) if comm.rank == 0 else comm.Irecv(np.zeros(10**6), 0)
        while not request.Test():
            pass
        arrived = MPI.Wtime()
        while MPI.Wtime() < arrived + 1e-4:
            pass
        print(repr(arrived))
    """
    times = [float(line) for line in simulated(script, tmp_path, 2, SLOW).output.splitlines()]
    assert times == pytest.approx([seconds(8_000_000)] * 2, rel=1e-9)


def test_nobody_is_a_partner_too(tmp_path):
    script = """
        from mpi4py import MPI
        import numpy as np
        comm, status, data = MPI.COMM_WORLD, MPI.Status(), np.ones(3)
        comm.Sendrecv(data, MPI.PROC_NULL, 0, data, MPI.PROC_NULL, 0, status)
        print(data.sum(), status.Get_source() == MPI.PROC_NULL, status.Get_count(), comm.recv(source=MPI.PROC_NULL))
    """
    assert simulated(script, tmp_path, 1).output == "3.0 True 0 None\n"


@settings(max_examples=15)
@given(data=st.data())
def test_any_pattern_of_messages_is_delivered_whole_and_in_order(data, tmp_path_factory):
    ranks = data.draw(st.integers(2, 5))
    letters = data.draw(
        st.lists(
            st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1), st.integers(0, 2), st.integers(0, 20_000)),
            max_size=25,
        )
    )
    eager = data.draw(st.sampled_from([0, 4096, 1 << 20]))
    script = f"""
        from mpi4py import MPI
        import numpy as np
        comm, letters = MPI.COMM_WORLD, {letters}
        mine = [(i, *letter) for i, letter in enumerate(letters)]
        into = {{i: np.full(size, -1) for i, _, dst, _, size in mine if dst == comm.rank}}
        work = [comm.Irecv(into[i], src, tag) for i, src, dst, tag, _ in mine if dst == comm.rank]
        work += [comm.Isend(np.full(size, i), dst, tag) for i, src, dst, tag, size in mine if src == comm.rank]
        MPI.Request.Waitall(work)
        assert all((part == i).all() for i, part in into.items())
        print("whole")
    """
    outcome = simulated(script, tmp_path_factory.mktemp("letters"), ranks, eager=eager)
    assert outcome.failure is None
    assert outcome.output == "whole\n" * ranks
    assert sum(call.size for call in outcome.calls) == sum(np.zeros(size, int).nbytes for *_, size in letters)
