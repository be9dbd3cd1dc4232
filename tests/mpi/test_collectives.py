"""Every algorithm leaves every rank what a real MPI library leaves it, for sums and maxima of integers and floats."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from sim.schedule import NOTHING
from sim.schedule.displacements import place
from sim.schedule.numeric import execute
from tests.mpi.inputs import COUNTS, DISPLS, DTYPES, ELEMENTS, EXTENT, OPS, RANKS, ROOT, SQUARE, UNTOUCHED, held
from tests.tables import each_row

ROOTDIR = Path(__file__).parents[2]


def mpiexec():
    """The launcher that comes with the library."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    assert found, "no mpiexec here: install requirements-dev.txt"
    return found


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """What every rank received from the library: `library[rank]["allreduce int64 sum"]`."""
    folder = tmp_path_factory.mktemp("mpi")
    command = [mpiexec(), "-n", str(RANKS), sys.executable, "-m", "tests.mpi.program", str(folder)]
    done = subprocess.run(command, cwd=ROOTDIR, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [np.load(folder / f"rank{rank}.npz") for rank in range(RANKS)]


def lengths(schedule, collective):
    """Elements of every block."""
    if COLLECTIVES[collective].vector:
        counts = SQUARE.reshape(-1) if collective == "alltoallv" else np.array(COUNTS)
        pieces = schedule.promise.blocks // len(counts)
        return (np.repeat(counts, pieces) + np.arange(schedule.promise.blocks) % pieces) // pieces
    pieces = round(1 / (schedule.unit_share * COLLECTIVES[collective].units(RANKS)))
    return ELEMENTS // pieces + (np.arange(schedule.promise.blocks) % pieces < ELEMENTS % pieces)


def simulated(schedule, collective, dtype, op="sum"):
    """What every rank's output holds when the schedule has run on the same inputs, block after block."""
    promise, long = schedule.promise, lengths(schedule, collective)
    inputs = np.zeros((*promise.given.shape, max(1, int(long.max()))), dtype)
    for rank in range(RANKS):
        brought = held(rank, collective, dtype)
        for slot in np.nonzero(promise.given[rank] != NOTHING)[0]:
            count = long[promise.given[rank, slot]]
            inputs[rank, slot, :count], brought = brought[:count], brought[count:]
        assert not len(brought)
    end = execute(schedule, inputs, op)
    found = []
    for rank in range(RANKS):
        slots = np.nonzero(promise.owed[rank] != NOTHING)[0]
        blocks = [end[rank, slot, : long[promise.owed[rank, slot]]] for slot in slots]
        found.append(np.concatenate([np.zeros(0, dtype), *blocks]))
    return found


def able(collectives):
    names = [name for name, a in ALGORITHMS.items() if a.collective.name in collectives]
    assert {name.split(".")[0] for name in names} == set(collectives)
    return names


def made(name):
    """The schedule for as many ranks as the library has; None where the algorithm says why it cannot."""
    algorithm = ALGORITHMS[name]
    if algorithm.refuse(RANKS, **algorithm.defaults):
        assert name.endswith(".two_rank"), f"{name} refuses {RANKS} ranks"
        return None
    return algorithm.schedule(RANKS, root=ROOT if algorithm.collective.rooted else 0)


@each_row("dtype", DTYPES)
@each_row("name", able(("broadcast", "allgather", "gather", "scatter", "alltoall", "sendrecv")))
def test_what_is_moved_arrives_as_with_mpi(library, name, dtype):
    schedule, collective = made(name), name.split(".")[0]
    if schedule is None:
        return
    for rank, got in enumerate(simulated(schedule, collective, dtype)):
        due = library[rank][f"{collective} {dtype}"]
        if collective == "gather" and rank != ROOT:
            assert not len(got)
            assert (due == UNTOUCHED).all()
        else:
            assert np.array_equal(got, due)


@each_row("dtype", DTYPES)
@each_row("name", able(("allgatherv", "gatherv", "scatterv", "alltoallv")))
def test_blocks_of_unequal_length_land_where_mpi_puts_them(library, name, dtype):
    schedule, collective = made(name), name.split(".")[0]
    if schedule is None:
        return
    for rank, got in enumerate(simulated(schedule, collective, dtype)):
        due = library[rank][f"{collective} {dtype}"]
        if collective == "gatherv" and rank != ROOT:
            assert not len(got)
            continue
        if collective in ("allgatherv", "gatherv"):
            buffer = np.full(EXTENT, UNTOUCHED, dtype)
            place(buffer, np.split(got, np.cumsum(COUNTS)[:-1]), DISPLS)
            got = buffer
        assert np.array_equal(got, due)


@each_row("op", OPS)
@each_row("dtype", DTYPES)
@each_row("name", able(("allreduce", "reduce", "reduce_scatter", "reduce_scatterv", "scan", "exscan")))
def test_what_is_combined_is_what_mpi_combines(library, name, dtype, op):
    schedule, collective = made(name), name.split(".")[0]
    everything = np.stack([held(rank, collective, dtype) for rank in range(RANKS)])
    magnitude = np.abs(everything).sum(axis=0)
    for rank, got in enumerate(simulated(schedule, collective, dtype, op)):
        due = library[rank][f"{collective} {dtype} {op}"]
        if not len(got):
            assert rank != ROOT or collective == "reduce_scatterv" or (collective == "exscan" and rank == 0)
            continue
        if dtype == "int64" or op == "max":
            assert np.array_equal(got, due)
            continue
        begin = {"reduce_scatter": rank * ELEMENTS, "reduce_scatterv": sum(COUNTS[:rank])}.get(collective, 0)
        # either order of three additions is off by half a unit in the last place each
        allowed = RANKS * np.finfo(np.float64).eps * magnitude[begin : begin + len(got)]
        assert (np.abs(got - due) <= allowed).all()


def test_a_barrier_ends(library):
    assert all(rank["barrier"].all() for rank in library)
