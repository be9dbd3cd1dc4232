"""Whole pages with runs of nccl-tests in them: whose GPUs, whose settings, which collective, which hosts."""

import pytest

from ops.libraries.nccl.variables import set_in
from ops.measured.files import place, read_tables
from ops.measured.machine import UntoldError, find_machine
from ops.measured.run_words import transport_of

HEAD = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n# (B) (elements) (us) (GB/s)\n"
BUSES = ("0f", "15", "50", "53", "8c", "91", "d6", "da")


LINE = "Rank {rank} Group 0 Pid 7 on {host} device {gpu} [{bus}] {name}"


def devices(hosts=1, each=8, name="NVIDIA H100 80GB HBM3", line=LINE, *, alone=False, bus="0000:{}:00"):
    """What nccl-tests prints of its devices; `alone` where every task sees its own GPU as device 0."""
    rows = []
    for rank in range(hosts * each):
        host, gpu = divmod(rank, each)
        at = {"rank": rank, "host": f"n{host}", "gpu": 0 if alone else gpu, "bus": bus.format(BUSES[gpu]), "name": name}
        rows.append(f"#  {line.format(**at)}\n")
    return "# nThread 1 nGpus 1 minBytes 8 maxBytes 1G\n# Using devices\n" + "".join(rows)


def row(size=1 << 24, factor=1.75, redop="sum", root=-1, share=1, checked="0", us=245.1):
    rate = size / us / 1e3
    half = f"{us} {rate:.2f} {rate * factor:.2f}"
    return f"  {size} {size // 4 // share} float {redop} {root} {half} 0 {half} {checked}\n"


def only(text, name="it.txt"):
    (table,) = read_tables(text, name)
    return table


@pytest.mark.parametrize("bus", ["0000:{}:00", "0x{}"])
def test_tasks_that_see_one_gpu_each_sit_where_the_bus_says(bus):
    topology, table, _ = place(only(devices(2, 8, alone=True, bus=bus) + HEAD + row(factor=1.875)))
    assert (topology.name, table.ranks, table.each) == ("dgx_h100:hosts=2", 16, 8)
    assert topology.ranks == tuple(range(8)) + topology.ranks[8:]


def test_hosts_with_one_name_stay_hosts():
    text = devices(2).replace(" on n1 ", " on n0 ")
    assert find_machine(only(text + HEAD + row(factor=1.875)))[0] == "dgx_h100:hosts=2"


def test_ranks_on_one_gpu_are_refused():
    shared = devices(1, 2, alone=True).replace(BUSES[1], BUSES[0])
    with pytest.raises(UntoldError, match="several ranks on one GPU"):
        find_machine(only("NCCL_HOSTID=a ./all_reduce_perf\n" + shared + HEAD + row(factor=1)))


@pytest.mark.parametrize(
    "line", ["Rank {rank} Group 0 device {gpu} [{bus}] {name} (node 0)", LINE.replace("Group 0 ", "")]
)
def test_devices_are_read_without_host_group_or_process(line):
    table = only(devices(line=line, name="NVIDIA B200") + HEAD + row())
    assert (table.ranks, find_machine(table)) == (8, ("dgx_b200", "the devices it lists"))


def test_each_run_has_its_own_gpus():
    first, second = read_tables(
        devices() + HEAD + row() + devices(name="NVIDIA A100-SXM4-40GB") + HEAD + row(1 << 25), "it.txt"
    )
    assert [find_machine(one)[0] for one in (first, second)] == ["dgx_h100", "dgx_a100"]


def test_devices_nobody_knows_are_not_taken_for_what_the_file_is_called():
    with pytest.raises(UntoldError, match="Tesla T4, which no machine here is"):
        find_machine(only(devices(1, 2, name="Tesla T4") + HEAD + row(factor=1), "aws-p5-allreduce.txt"))


@pytest.mark.parametrize(
    ("told", "ran"),
    [
        ({"redop": "none", "root": 0, "factor": 1}, "broadcast"),
        ({"redop": "sum", "root": 0, "factor": 1}, "reduce"),
        ({"redop": "none", "root": 0, "factor": 0.875, "share": 8}, ""),
        ({"redop": "none", "root": -1, "factor": 1}, "sendrecv"),
        ({"redop": "sum", "root": -1, "factor": 0.875, "share": 8}, "reduce_scatter"),
        ({"redop": "none", "root": -1, "factor": 0.875, "share": 8}, ""),
        ({"redop": "sum", "root": -1, "factor": 1.75}, "allreduce"),
    ],
)
def test_columns_tell_what_ran(told, ran):
    assert only(devices() + HEAD + row(**told)).rows[0].collective == ran


@pytest.mark.parametrize(("checked", "ran"), [("0", "allreduce"), ("N/A", "")])
def test_an_allreduce_of_two_is_checked_in_place(checked, ran):
    assert only(devices(1, 2) + HEAD + row(factor=1, checked=checked)).rows[0].collective == ran


def test_sockets_that_one_host_finds_carry_nothing():
    log = "n0:7:7 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
    assert find_machine(only(devices() + log + HEAD + row()))[0] == "dgx_h100"
    used = log + "n0:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n"
    for text in (devices(2) + log + HEAD + row(factor=1.875), devices() + used + HEAD + row()):
        with pytest.raises(UntoldError, match="through sockets"):
            find_machine(only(text))


def test_a_run_is_as_its_own_command_says():
    """Peers are off in the second of three; one algorithm is exported for the second and third."""
    page = (
        "./all_reduce_perf -g 8\n" + devices() + HEAD + row()
        + "export NCCL_ALGO=Ring\nNCCL_P2P_DISABLE=1 ./all_reduce_perf -g 8\n" + devices() + HEAD + row(1 << 25)
        + "We leave `NCCL_P2P_DISABLE=1` out again:\n./all_reduce_perf -g 8\n" + devices() + HEAD + row(1 << 26)
    )  # fmt: skip
    tables = read_tables(page, "it.txt")
    assert [transport_of(one) for one in tables] == ["", "shm", ""]
    assert [one.forced.get("algorithm") for one in tables] == [None, "Ring", "Ring"]


@pytest.mark.parametrize(
    ("text", "transport"),
    [
        ("NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 ./all_reduce_perf", "network interfaces inside a host"),
        ("-x NCCL_P2P_DISABLE=1 -x NCCL_SHM_DISABLE=1 -x NCCL_NET=Socket", "through sockets"),
    ],
)
def test_what_leaves_a_host_to_come_back_is_refused(text, transport):
    with pytest.raises(UntoldError, match=transport):
        find_machine(only(f"{text}\n" + devices() + HEAD + row()))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"NCCL_NET": "IB"', {"NET": "IB"}),
        ("n0:7:7 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.", {"SHM_DISABLE": "1"}),
        ("# NCCL_P2P_DISABLE=1 ./build/all_reduce_perf -g 2", {"P2P_DISABLE": "1"}),
        ("# NCCL_P2P_DISABLE=1", {}),
        ("without NCCL_P2P_DISABLE=1 it is faster", {}),
    ],
)
def test_settings_are_what_is_set(text, told):
    assert set_in(text) == told


@pytest.mark.parametrize("tag", ["[0]", "[1,0]<stdout>:"])
def test_a_launchers_tags_inside_a_row_do_no_harm(tag):
    cells = row().replace(" -1 ", f" -1{tag} ").replace(" 0 ", f" 0{tag} ", 1)
    table = only(devices() + HEAD + f"{tag} {cells}")
    assert (table.rows[0].size, table.rows[0].seconds, table.rows[0].in_place, table.unread) == (
        1 << 24,
        pytest.approx(245.1e-6),
        pytest.approx(245.1e-6),
        (),
    )


def test_the_title_of_another_test_is_no_gpu():
    text = "# OSU MPI-CUDA Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)\n1048576   73675.19\n"
    with pytest.raises(UntoldError, match="does not name its machine"):
        find_machine(only(text))
