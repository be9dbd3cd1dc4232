"""Ranks are like processes: modules, argv, random numbers and output of their own; nothing is left behind."""

import os
import random
import sys
import time

import numpy as np

from tests.programs.running import simulated


def test_output_comes_in_whole_lines_in_the_order_of_simulated_time(tmp_path):
    script = """
        import sys, time
        from mpi4py import MPI
        rank = MPI.COMM_WORLD.rank
        print("begin", end=" ")
        time.sleep((3 - rank) * 1e-6)
        print("rank", rank)
        sys.stdout.buffer.write(b"bytes\\n")
        print("unfinished", end="")
    """
    said = simulated(script, tmp_path, 3).output
    lines = said.splitlines()
    assert lines[:6] == ["begin rank 2", "bytes", "begin rank 1", "bytes", "begin rank 0", "bytes"]
    assert lines[6:] == ["unfinished"] * 3


def test_modules_beside_the_script_are_each_ranks_own(tmp_path):
    (tmp_path / "common.py").write_text(
        "from mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\nseen = []\nMPI.COMM_WORLD.Barrier()\n", encoding="utf-8"
    )
    (tmp_path / "parcel").mkdir()
    (tmp_path / "parcel" / "__init__.py").write_text("from parcel.inner import rank\n", encoding="utf-8")
    (tmp_path / "parcel" / "inner.py").write_text("import common\nrank = common.rank + 100\n", encoding="utf-8")
    script = """
        import common
        from mpi4py import MPI
        import parcel
        common.seen.append(common.rank)
        MPI.COMM_WORLD.Barrier()
        import common as again
        print(again.rank, again.seen, parcel.rank)
    """
    before = {name: sys.modules.get(name) for name in ("common", "parcel", "parcel.inner", "mpi4py.MPI")}
    outcome = simulated(script, tmp_path, 3)
    assert outcome.output == "0 [0] 100\n1 [1] 101\n2 [2] 102\n"
    assert {name: sys.modules.get(name) for name in before} == before


def test_objects_of_the_scripts_own_classes_travel(tmp_path):
    script = """
        from dataclasses import dataclass
        from mpi4py import MPI
        comm = MPI.COMM_WORLD

        @dataclass
        class Point:
            x: int

            def __add__(self, other):
                return Point(self.x + other.x)

        total = comm.allreduce(Point(comm.rank))
        got = comm.bcast(Point(7) if comm.rank == 1 else None, root=1)
        print(total, isinstance(got, Point), __name__)
    """
    assert simulated(script, tmp_path, 3).output == "Point(x=3) True __main__\n" * 3


def test_global_random_numbers_are_each_ranks_own(tmp_path):
    script = """
        import random
        import numpy as np
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        np.random.seed(comm.rank), random.seed(comm.rank)
        comm.Barrier()
        print(np.random.randint(10**9), random.randrange(10**9))
        comm.Barrier()
        print(np.random.randint(10**9), random.randrange(10**9))
    """
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    lines = simulated(script, tmp_path, 3).output.splitlines()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    for rank in range(3):
        np_own, own = np.random.RandomState(rank), random.Random(rank)
        expected = [f"{np_own.randint(10**9)} {own.randrange(10**9)}" for _ in range(2)]
        assert [lines[rank], lines[3 + rank]] == expected


def test_unseeded_ranks_draw_different_numbers(tmp_path):
    script = "import random; from mpi4py import MPI; print(MPI.COMM_WORLD.allgather(random.random()))"
    (line,) = set(simulated(script, tmp_path, 4).output.splitlines())
    assert len(set(line.split(","))) == 4


def test_clocks_show_simulated_time_and_are_put_back(tmp_path):
    script = """
        import time
        begins = time.time(), time.perf_counter(), time.monotonic()
        time.sleep(3600)
        ends = time.time(), time.perf_counter(), time.monotonic()
        print([round(b - a) for a, b in zip(begins, ends)])
    """
    kept = time.time, time.sleep, time.perf_counter, sys.argv, sys.stdout, list(sys.path), sys.modules["__main__"]
    outcome = simulated(script, tmp_path, 1)
    assert outcome.output == "[3600, 3600, 3600]\n"
    assert outcome.time == 3600
    after = time.time, time.sleep, time.perf_counter, sys.argv, sys.stdout, list(sys.path), sys.modules["__main__"]
    assert after == kept


def test_the_script_finds_its_arguments_and_its_own_name(tmp_path):
    script = "import sys; print(sys.argv[1:], __file__.endswith('script.py')); sys.argv.append('x')"
    assert simulated(script, tmp_path, 2, argv=["--steps", "3"]).output == "['--steps', '3'] True\n" * 2


def test_grids_have_neighbours_lines_and_edges(tmp_path):
    script = """
        from mpi4py import MPI
        cart = MPI.COMM_WORLD.Create_cart([2, 3], periods=[True, False])
        if cart != MPI.COMM_NULL:
            row = cart.Sub([False, True])
            print(cart.coords, cart.Shift(0, 1), cart.Shift(1, 1), row.Get_size(), row.allgather(cart.rank))
        else:
            print("left out")
    """
    lines = simulated(script, tmp_path, 7).output.splitlines()
    assert sorted(lines) == sorted(
        [
            "left out",
            "[0, 0] (3, 3) (-1, 1) 3 [0, 1, 2]",
            "[0, 1] (4, 4) (0, 2) 3 [0, 1, 2]",
            "[0, 2] (5, 5) (1, -1) 3 [0, 1, 2]",
            "[1, 0] (0, 0) (-1, 4) 3 [3, 4, 5]",
            "[1, 1] (1, 1) (3, 5) 3 [3, 4, 5]",
            "[1, 2] (2, 2) (4, -1) 3 [3, 4, 5]",
        ]
    )


def test_groups_make_communicators(tmp_path):
    script = """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        group = comm.Get_group().Incl([3, 1])
        some = comm.Create(group)
        if comm.rank in (1, 3):
            alone = comm.Create_group(group)
            print(comm.rank, some.rank, alone.allgather(comm.rank), MPI.COMM_SELF.size, MPI.COMM_SELF.allreduce(5))
        else:
            print(comm.rank, some == MPI.COMM_NULL)
    """
    lines = sorted(simulated(script, tmp_path, 4).output.splitlines())
    assert lines == ["0 True", "1 1 [3, 1] 1 5", "2 True", "3 0 [3, 1] 1 5"]


def test_every_rank_finds_the_variables_that_launchers_set(tmp_path):
    script = """
        import os
        names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK PMI_RANK PMI_SIZE"
        print(*(os.environ[name] for name in names.split()), os.environ["MASTER_ADDR"], os.getenv("MASTER_PORT"))
    """
    lines = simulated(script, tmp_path, 5, "nodes:nodes=2,gpus=3").output.splitlines()
    assert lines == [
        "0 5 0 3 0 2 0 0 5 127.0.0.1 29500",
        "1 5 1 3 0 2 1 1 5 127.0.0.1 29500",
        "2 5 2 3 0 2 2 2 5 127.0.0.1 29500",
        "3 5 0 2 1 2 3 3 5 127.0.0.1 29500",
        "4 5 1 2 1 2 4 4 5 127.0.0.1 29500",
    ]


def test_what_a_rank_writes_into_the_environment_is_its_own_and_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setenv("FROM_OUTSIDE", "kept")
    before, kept = os.environ, dict(os.environ)
    script = """
        import os
        from os import environ
        from mpi4py import MPI
        rank = MPI.COMM_WORLD.rank
        os.environ["MASTER_PORT"] = environ["OWN"] = str(rank)
        MPI.COMM_WORLD.Barrier()
        assert environ["OWN"] == os.getenv("MASTER_PORT") == str(rank) and os.environ["FROM_OUTSIDE"] == "kept"
        assert os.environ.get("NOT_THERE") is None and "OWN" in os.environ and dict(os.environ) == os.environ.copy()
        del environ["FROM_OUTSIDE"]
        MPI.COMM_WORLD.Barrier()
        try:
            os.environ["RANK"] = rank
        except TypeError as error:
            print(error, "FROM_OUTSIDE" in os.environ, (os.environ | {"RANK": "x"})["RANK"])
    """
    assert simulated(script, tmp_path, 3).output == "str expected, not int False x\n" * 3
    assert os.environ is before
    assert dict(os.environ) == kept
