"""Ranks that a command tells, and records of rccl-tests."""

import json

import pytest

from ops.measured.files import read_tables
from ops.measured.launcher import launched
from sim.errors import InputError
from tests.tables import each_row

OSU = """
# OSU MPI-CUDA Allreduce Latency Test v7.0
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
16777216             8630.58           8619.50           8642.46         10
"""
SHORT = """
#       size      time   algbw   busbw
#        (B)      (us)  (GB/s)  (GB/s)
 17179869184   387603   44.32   22.16
"""


@each_row(
    "command, ranks",
    [
        ("$ OMPI_MCA_coll_ucc_enable=0 $JSC_SUBMIT_CMD -n 4 osu_allreduce -M 16777216 -d cuda --full", 4),
        (
            "[user@a100 libexec]$ mpirun_rsh --export-all -np 2 a100-01 a100-01 MV2_USE_CUDA=1 mpi/osu_bcast",
            2,
        ),
        ("srun --nodes=4 --ntasks-per-node=8 ./osu_allgather", 32),
        ("srun --ntasks=64 -N 8 ./osu_alltoall", 64),
        ("mpirun -np 2 -x NCCL_DEBUG=INFO ./build/all_reduce_perf -b 8 -e 1G -t 2 -g 4", 16),
        ("mpirun -np 16 \\\n    -x NCCL_DEBUG=INFO \\\n    ./build/all_gather_perf -b 16G -e 16G -f 2", 16),
        ("./build/all_reduce_perf -b 8 -e 12G -f 2 -g 8", 0),
        ("we ran osu_allreduce on -n 0 nodes", 0),
        ("", 0),
    ],
)
def test_ranks_are_those_that_the_command_starts(command, ranks):
    assert launched(command) == ranks


def test_each_table_has_the_ranks_of_its_own_command():
    text = f"srun -n 4 ./osu_allreduce\n{OSU}\nsrun -n 8 ./osu_allreduce\n{OSU}"
    assert [table.ranks for table in read_tables(text, "it")] == [4, 8]
    assert [table.ranks for table in read_tables(OSU, "it")] == [0]


def test_a_table_of_nccl_tests_without_devices_has_them_too():
    command = "mpirun -np 2 -H 192.168.200.12:1,192.168.200.13:1 build/all_gather_perf -b 16G -e 16G"
    (table,) = read_tables(command + SHORT, "it")
    assert (table.ranks, table.rows[0].collective, table.rows[0].seconds) == (2, "allgather", pytest.approx(0.387603))


def test_roles_of_restructuredtext_stand_in_front_of_rows():
    rows = ":mark:`1048576 262144 float sum -1 53.55 19.58 34.27 0 54.00 19.42 33.98 0`\n\n"
    (table,) = read_tables(":mark:`# build/all_reduce_perf -b 8 -e 8G -f 2 -g 8`\n\n" + 3 * rows, "it")
    assert [row.seconds for row in table.rows] == [pytest.approx(53.55e-6)] * 3


def record(size, place, time, name="AllReduce", ranks=8):
    fixed = {"numCycle": 0, "name": name, "nodes": 1, "ranks": ranks, "ranksPerNode": ranks, "gpusPerRank": 1}
    return fixed | {"size": size, "type": "float", "redop": "sum", "inPlace": place, "time": time, "wrong": "0"}


RECORDS = [record(size, place, size / 1e5 + place) for size in (1 << 20, 1 << 26) for place in (0, 1)]


@pytest.mark.parametrize("join", [json.dumps, lambda records: ",\n".join(map(json.dumps, records))])
def test_records_of_rccl_tests(join):
    (table,) = read_tables(join(RECORDS), "run.json")
    assert (table.ranks, table.each) == (8, 8)
    assert [(row.collective, row.size) for row in table.rows] == [("allreduce", 1 << 20), ("allreduce", 1 << 26)]
    assert table.rows[0].seconds == pytest.approx(10.48576e-6)
    assert table.rows[0].in_place == pytest.approx(11.48576e-6)


def test_collectives_and_ranks_have_tables_of_their_own():
    several = [record(4096, 0, 9.0), record(4096, 0, 9.5, "AllGather"), record(4096, 0, 8.0, ranks=2)]
    tables = read_tables(json.dumps(several), "run.json")
    assert [(table.rows[0].collective, table.ranks) for table in tables] == [
        ("allreduce", 8), ("allgather", 8), ("allreduce", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([record(4096, 0, 9.0, "Allreduced")], "record 1: name is 'Allreduced'"),
        ([*RECORDS, record(4096, 2, 9.0)], "record 5: ranks, ranksPerNode, gpusPerRank, size, inPlace and time"),
        ([*RECORDS, record(4096, 0, -9.0)], "record 5"),
        ([*RECORDS, record("9" * 5000, 0, "nan")], "record 5"),
        ([*RECORDS, 7], "something else than records"),
    ],
)
def test_what_is_no_measurement_is_told(records, told):
    with pytest.raises(InputError, match=told):
        read_tables(json.dumps(records), "run.json")


def test_half_a_file_is_told():
    with pytest.raises(InputError, match="no whole JSON"):
        read_tables(json.dumps(RECORDS)[:-40], "run.json")
