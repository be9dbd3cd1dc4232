"""Tables as their tools print them, and as people mend and mangle them; figures as a person reads them off the page."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.measured.files import place, read_file, read_tables
from ops.measured.formats.nccl_tests import ranks_of
from ops.measured.machine import find_machine
from ops.measured.run_words import forced
from sim.errors import InputError
from tests.tables import each_row

DATA = Path(__file__).parents[2] / "data"


def file(number, kind="nccl-tests"):
    return next((DATA / kind).glob(f"{number}*"))


@pytest.mark.parametrize(
    ("number", "collective", "ranks", "rows", "last", "microseconds", "machine"),
    [
        ("012", "allreduce", 16, 30, 4294967296, 183834, "aws_p4d:hosts=2"),
        ("019", "allreduce", 16, 30, 4294967296, 42715, "dgx_a100:hosts=2"),
        ("025", "allreduce", 8, 19, 33554432, 379.5, "dgx_a100"),
        ("027", "alltoall", 512, 13, 4294967296, 246847, "dgx_a100:hosts=64"),
        ("036", "allreduce", 8, 20, 17179869184, 127997, "dgx_a100"),
        ("046", "sendrecv", 2, 29, 2147483648, 29935, "a100_quad"),
    ],
)
def test_published_tables(number, collective, ranks, rows, last, microseconds, machine):
    (table,) = read_file(file(number))
    assert (table.rows[0].collective, table.ranks, len(table.rows)) == (collective, ranks, rows)
    assert table.rows[-1].size == last
    assert table.rows[-1].seconds == pytest.approx(microseconds * 1e-6)
    assert find_machine(table)[0] == machine


def test_what_the_job_forced_is_kept():
    (table,) = read_file(file("019"))
    assert forced(table).algorithm == "Ring"
    (free,) = read_file(file("025"))
    assert forced(free).algorithm == ""
    (told,) = read_tables("export NCCL_ALGO=Tree NCCL_PROTO=LL128\n" + TABLE, "it")
    assert (forced(told).algorithm, forced(told).protocol) == ("Tree", "LL128")


HEADER = """# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20
# Collective test starting: {program}_perf
#  Rank  0 Group  0 Pid 1 on nodeA device  0 [0x07] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 2 on nodeB device  0 [0x07] NVIDIA H100 80GB HBM3
#                                    out-of-place                       in-place
#       size   count   type   redop   root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)  (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROW = "  {size}  {count}  float  sum  -1  {first}  {rate}  {rate}  0  {second}  {other}  {other}  0\n"


def row(size, first, second, count=256):
    rate, other = (f"{size / float(time) / 1e3:.2f}" if time != "N/A" else "N/A" for time in (first, second))
    return ROW.format(size=size, count=count, first=first, second=second, rate=rate, other=other)


TABLE = HEADER.format(program="all_reduce") + row(1024, "12.5", "1e+06")


def test_devices_tell_ranks_hosts_and_machine():
    (table,) = read_tables(TABLE, "it")
    assert (table.ranks, table.gpus_per_host, table.words) == (2, 1, ("NVIDIA H100 80GB HBM3",))
    assert find_machine(table) == ("dgx_h100:hosts=2", "the devices it lists")
    assert table.rows[0].in_place == pytest.approx(1.0)


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "0: ", "  0: ", "[1,12]<stderr>:", "\x1b[0m"])
def test_launchers_put_prefixes_before_every_line(prefix):
    text = "".join(f"{prefix}{line}\n" for line in TABLE.splitlines())
    noisy = text.replace("1024", "1024").replace("\n", "\nnode0:25:25 [0] NCCL INFO Launch mode Parallel 3 4 5\n", 4)
    (table,) = read_tables(noisy, "it")
    assert [(row.size, row.seconds) for row in table.rows] == [(1024, pytest.approx(12.5e-6))]


def test_several_tables_in_one_file():
    text = TABLE + HEADER.format(program="all_gather") + row(2048, "7", "8")
    first, second = read_tables(text, "it")
    assert [table.rows[0].collective for table in (first, second)] == ["allreduce", "allgather"]
    assert [table.rows[0].line for table in (first, second)] == [8, 16]


def test_rows_without_a_time_are_told():
    text = TABLE + row(2048, "N/A", "9.5", 512) + row(0, "1", "1", 0)
    (table,) = read_tables(text, "it")
    assert [row.seconds for row in table.rows] == [pytest.approx(12.5e-6), pytest.approx(9.5e-6)]
    assert table.unread == (("nothing was sent", (10,)),)


def test_columns_per_iteration_stand_between_the_halves():
    text = """#  size count type redop root time algbw busbw #wrong i_min i_max time algbw busbw #wrong i_min i_max
    4096 1024 float sum -1 11.0 0.37 0.56 0 10 12 22.0 0.19 0.28 0 20 24
"""
    (table,) = read_tables(text, "allreduce.txt")
    assert (table.rows[0].seconds, table.rows[0].in_place) == (pytest.approx(11e-6), pytest.approx(22e-6))


def test_json_of_nccl_tests():
    report = {
        "args": ["./build/all_gather_perf", "-b", "8"],
        "env": ["NCCL_PROTO=Simple"],
        "config": {"devices": [{"rank": r, "device": r % 8, "device_info": "NVIDIA B200"} for r in range(16)]},
        "results": [
            {"size": 1024, "out_of_place": {"time": 20.0, "alg_bw": 0.05, "bus_bw": 0.05}, "in_place": {"time": 21.0}},
            {"size": 2048, "out_of_place": None, "in_place": {"time": 22.0, "alg_bw": 0.1, "bus_bw": 0.1}},
            {"size": 0, "out_of_place": {"time": 0.1}, "in_place": None},
        ],
    }
    (table,) = read_tables(json.dumps(report), "it.json")
    assert [row.seconds for row in table.rows] == [pytest.approx(20e-6), pytest.approx(22e-6)]
    assert (table.ranks, table.rows[0].collective, forced(table).protocol) == (16, "allgather", "Simple")
    assert find_machine(table)[0] == "dgx_b200:hosts=2"
    assert len(table.unread) == 1


@given(st.integers(1, 64), st.sampled_from([1, 2, 4, 8]), st.sampled_from(["allreduce", "allgather"]))
def test_ranks_are_read_off_the_bandwidths(hosts, gpus, collective):
    """busbw/algbw is 2(n-1)/n or (n-1)/n; with two digits large n stay ambiguous, and are then multiples of 8."""
    n = max(2, hosts * gpus)
    share = (n - 1) / n * (2 if collective == "allreduce" else 1)
    found = ranks_of(collective, [(round(algbw, 2), round(algbw * share, 2)) for algbw in (97.36, 181.82, 349.14)])
    assert found == 0 or abs(1 / found - 1 / n) < 2e-4
    if n <= 32:
        assert found == n


def test_osu_tables():
    (table,) = read_file(file("007", "osu"))
    assert (table.rows[0].collective, table.rows[0].size, table.ranks) == ("alltoall", 1, 0)
    assert table.rows[0].seconds == pytest.approx(12.46e-6)
    pairs = read_file(file("015", "osu"))
    assert len(pairs) == 7
    assert pairs[0].rows[0].seconds == pytest.approx(16777216 / 142235.39e6)
    assert (pairs[0].ranks, pairs[0].messages) == (2, 64)


def test_named_algorithms():
    (table,) = read_file(file("001", "named-algorithms"))
    assert (table.ranks, table.gpus_per_host, len(table.rows)) == (16, 4, 27)
    assert find_machine(table)[0] == "h100_quad:hosts=4"
    assert {row.algorithm for row in table.rows} == {"nccl_ring", "nccl_tree", "nccl_nvls"}


def test_a_machine_of_ones_own_grows_to_the_ranks():
    (table,) = read_file(file("019"))
    assert place(table, "dgx_h100")[0].name == "dgx_h100:hosts=2"
    assert place(table, "nodes:nodes=2")[0].n == 16


@each_row(
    "text, told",
    [
        ("", "is empty: give .*an output of nccl-tests"),
        ("hello\nworld 1 2 3\n", "is no output of nccl-tests"),
        ('{"results": [1], "in_place": 0}', "no list of rows"),
        ('{"results": [], "in_place": 0}', "no result with a size"),
        ('{"results": [{"in_place": ', "no whole JSON"),
        ("# OSU MPI Latency Test v7\n# Size\n", "no row of an OSU test"),
        ("collective,algorithm,bytes,median_us\nallreduce,ring,many,1\n", "line 2: bytes or median_us is no number"),
        ("collective,algorithm,bytes,median_us\n", "no row with bytes and a time"),
        (TABLE.replace("12.5", "nan").replace("1e+06", "N/A"), "no row of nccl-tests"),
    ],
)
def test_what_is_no_measurement_is_told(text, told):
    with pytest.raises(InputError, match=told):
        read_tables(text, "paste")
