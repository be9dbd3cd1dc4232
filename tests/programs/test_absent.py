"""What is not simulated is there by name and raises NotImplementedError, so that programs that probe go on."""

import json
import subprocess
import sys

import pytest

from tests.programs.running import simulated


def test_a_program_that_probes_for_features_goes_on(tmp_path):
    script = """
        from mpi4py import MPI
        comm, absent = MPI.COMM_WORLD, []
        probes = {
            "window": lambda: MPI.Win.Create(MPI.BOTTOM, 1, MPI.INFO_NULL, comm), "shared": lambda: MPI.Win.Allocate(8),
            "file": lambda: MPI.File.Open(comm, "x", MPI.MODE_CREATE | MPI.MODE_WRONLY), "session": MPI.Session.Init,
            "spawn": lambda: comm.Spawn("x"), "inter": lambda: comm.Create_intercomm(0, comm, 0, 0),
            "port": MPI.Open_port, "graph": lambda: comm.Create_graph([0], []), "shrink": comm.Shrink,
            "partitioned": lambda: comm.Psend_init(b"", 1, 0, 0), "handle": lambda: comm.py2f(),
            "number": lambda: comm.Isend(b"", MPI.PROC_NULL).handle, "its number": lambda: MPI.SUM.handle,
        }
        for name, probe in probes.items():
            try:
                probe()
            except NotImplementedError as error:
                assert "is not simulated" in str(error)
                absent.append(name)
        assert absent == list(probes) and hasattr(MPI, "Win") and not hasattr(MPI, "Wind")
        assert MPI.WIN_NULL == MPI.Win() and not MPI.FILE_NULL and MPI.LOCK_SHARED != MPI.LOCK_EXCLUSIVE
        print(comm.allreduce(1))
    """
    outcome = simulated(script, tmp_path, 2)
    assert outcome.failure is None
    assert outcome.output == "2\n2\n"


def test_pools_of_processes_are_there_in_name_only(tmp_path):
    script = """
        from mpi4py.futures import Future, MPIPoolExecutor, wait
        from mpi4py import futures
        print(futures.as_completed.__name__, Future().done())
        with MPIPoolExecutor() as pool:
            pool.submit(pow, 2, 3)
    """
    outcome = simulated(script, tmp_path, 1)
    assert outcome.output == "as_completed False\n"
    assert outcome.failure is not None
    assert "mpi4py.futures.MPIPoolExecutor is not simulated: docs/programs.md lists what is" in outcome.failure


SAY = """
import json
from mpi4py import MPI
things = {name: thing for name, thing in vars(MPI).items() if not name.startswith("__")}
methods = {name: [word for word, kind in vars(thing).items() if not word.startswith("_") and callable(kind)]
           for name, thing in things.items() if isinstance(thing, type) and name != "Exception"}
print(json.dumps([list(things), {name: x for name, x in things.items() if type(x) is int}, methods]))
"""
INTERNAL = {
    "_comm_lock", "_comm_lock_table", "_commctx_inter", "_commctx_intra", "_datatype_create", "_datatype_decode",
    "_keyval_registry", "_set_abort_status", "_typealign", "_typedict_c", "_typedict_f", "BUFFER_AUTOMATIC",
    "BufferAutomaticType", "ERR_ABI", "UNWEIGHTED", "WEIGHTS_EMPTY",
}  # fmt: skip
"""What only mpi4py itself uses, came with one of its releases, or is an address."""


@pytest.mark.slow
def test_every_name_of_mpi4py_is_there_with_the_same_number(tmp_path):
    done = subprocess.run([sys.executable, "-c", SAY], capture_output=True, text=True, timeout=120, check=True)
    names, numbers, methods = json.loads(done.stdout)
    assert len(names) > 350
    script = f"""
        from mpi4py import MPI
        internal = {INTERNAL}
        print([name for name in {names} if name not in internal and not hasattr(MPI, name)])
        print([name for name, number in {numbers}.items() if name not in internal and getattr(MPI, name) != number])
        print([f"{{kind}}.{{word}}" for kind, words in {methods}.items() if kind not in internal for word in words
               if not hasattr(getattr(MPI, kind), word)])
    """
    outcome = simulated(script, tmp_path, 1)
    assert (outcome.failure, outcome.output) == (None, "[]\n" * 3)


def test_init_and_finalize_are_as_the_program_says(tmp_path):
    script = """
        import mpi4py
        mpi4py.rc(initialize=False, finalize=False)
        from mpi4py import MPI
        print(MPI.Is_initialized(), MPI.Is_finalized())
        print(MPI.Init_thread(MPI.THREAD_FUNNELED), MPI.Is_initialized())
        MPI.Finalize()
        print(MPI.Is_finalized())
    """
    assert simulated(script, tmp_path, 1).output == "False False\n1 True\nTrue\n"


def test_a_rank_s_threads_are_told_that_its_main_one_communicates(tmp_path):
    script = """
        from concurrent.futures import ThreadPoolExecutor
        from mpi4py import MPI
        print(MPI.Query_thread() == MPI.THREAD_FUNNELED, MPI.Is_thread_main())
        with ThreadPoolExecutor(1) as threads:
            print(threads.submit(MPI.Is_thread_main).result())
            threads.submit(MPI.COMM_WORLD.barrier).result()
    """
    run = simulated(script, tmp_path, 1)
    assert run.output == "True True\nFalse\n"
    assert "main thread alone communicates (MPI_THREAD_FUNNELED)" in run.failure
