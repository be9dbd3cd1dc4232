"""Which GPUs of which hosts play the ranks: words, lists, rank files, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from ops.measured.files import place, read_tables
from ops.plan import Plan
from ops.plan.link import from_link, to_link
from ops.plan.plan_file import from_yaml, to_yaml
from sim.errors import InputError
from sim.machines import build
from sim.placement import in_one_line, placed, placement_of
from tests.tables import each_row

TWO = "dgx_a100:hosts=2"


def names(text: str, machine: str = TWO) -> list[str]:
    topology = placed(build(machine), text)
    return [topology.devices[device].name for device in topology.ranks]


def gpus(*places: str) -> list[str]:
    return [f"H{host}.GPU{gpu}" for host, gpu in places]


@each_row(
    "text, expected",
    [
        ("per_host=2", ["00", "01", "10", "11"]),
        ("per_host=2,order=cyclic", ["00", "10", "01", "11"]),
        ("hosts=1,per_host=2", ["00", "01"]),
        ("hosts=1", [f"0{k}" for k in range(8)]),
        ("7, 0-1 ,15", ["07", "00", "01", "17"]),
        ("1:6-7,0:0", ["16", "17", "00"]),
        ("0:0,2,1:3", ["00", "02", "13"]),
        ("*:7,5", ["07", "05", "17", "15"]),
        ("H1:*", [f"1{k}" for k in range(8)]),
        ("H1.GPU6-7 H0.GPU0", ["16", "17", "00"]),
        ("H0.GPU3\nH1.GPU2  # the second\n", ["03", "12"]),
        ("0\n9\n4-5\n", ["00", "11", "04", "05"]),
        ("per_host=1\n", ["00", "10"]),
        ("1:3\n0:2\n", ["13", "02"]),
        ("0 1 4\n1 0 5\n", ["14", "05"]),
        ("rank 1=a slot=3\nrank 0=b slot=1\n", ["11", "03"]),
        ("# two hosts\nrank 0=+n1 slot=2\nrank 1=+n0\n", ["12", "00"]),
        ("n1 slots=2 max_slots=8\nn2:1", ["00", "01", "10"]),
        ("n1\nn2\nn1\n", ["00", "10", "01"]),
        ("rank,host,gpu\n0,x,4\n1,y,5\n", ["04", "15"]),
        ("#  Rank  0 Group  0 Pid 7 on n1 device  3 [0x0f] A\n#  Rank  1 Pid 8 on n2 device  4 [0x8a] A", ["03", "14"]),
    ],
)  # fmt: skip
def test_gpus_are_named_in_many_ways(text, expected):
    assert names(text) == gpus(*expected)


@each_row(
    "text, why",
    [
        ("per_host=9", "per_host=9, where dgx_a100:hosts=2 has 8 GPUs on a host: choose from 1 to 8"),
        ("per_host=0", "choose from 1 to 8"),
        ("hosts=3", "has 2 hosts: choose from 1 to 2"),
        ("per_host=2,order=snake", "order='snake' is unknown: choose from block, cyclic"),
        ("per_host=2,per_host=2", "a word is given twice"),
        ("gpus=2", "'gpus=2' is unknown"),
        ("2:0", "no number 2"),
        ("0:5-9", "host 0 of dgx_a100:hosts=2 has GPUs 0 to 7, not 9"),
        ("0:3-1", "neither a number nor a range"),
        ("16", "GPUs 0 to 15, not 16"),
        ("3,0-4", "H0.GPU3 would be 2 ranks"),
        ("H0.NIC0", "H0.NIC0 is no GPU"),
        ("H0.GPU6-999999", "H0.GPU8 is no GPU"),
        (",", "no GPU is named"),
        ("rank 0=a slot=0\nrank 2=a slot=1", "line 2: rank 1 is missing"),
        ("rank 0=a slot=0\nrank 0=b slot=1", "line 2: rank 0 is listed twice"),
        ("rank 0=a slot=0:1-3\n", "names cores, no GPU"),
        ("rank 0=a slot=0\nnode1", "line 2: node1 has no rank"),
        ("a slots=0\n", "line 1: 0 slots"),
        ("rank zero=a\n", "names no rank and no host"),
        ("\n# nothing\n\n#", "names no rank"),
        ("a\nb\nc", "no number 2"),
        ("a slots=9\nb", "GPUs 0 to 7, not 8"),
    ],
)
def test_what_cannot_be_placed_is_one_sentence(text, why):
    with pytest.raises(InputError) as refused:
        names(text)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 7)), min_size=2, unique=True), st.randoms())
def test_a_rank_file_and_the_line_it_becomes_place_alike(spots, random):
    lines = [f"rank {rank}=H{host} slot={gpu}" for rank, (host, gpu) in enumerate(spots)]
    random.shuffle(lines)
    text = "\n".join(lines) + "\n"
    assert names(text) == names(in_one_line(text, "it")) == [f"H{host}.GPU{gpu}" for host, gpu in spots]


def test_a_machine_has_per_host_and_runs_as_a_smaller_one():
    placed_time = Plan("allreduce.ring", "dgx_a100:per_host=4", size="1MiB").run().trace
    assert placed_time.schedule.n == 4
    assert placed_time.time == Plan("allreduce.ring", "dgx_a100", ranks=4, size="1MiB").run().time
    two = Plan("allreduce.ring", f"{TWO},per_host=2", size="1MiB")
    assert placement_of(two.topology(), 4) == gpus("00", "01", "10", "11")
    with pytest.raises(InputError, match="per_host=9"):
        build("dgx_a100:per_host=9")


@pytest.mark.parametrize("algorithm", ["allreduce.ring", "nccl.allreduce", "allreduce.recursive_doubling"])
def test_a_placement_is_timed_like_the_edit_of_ranks_that_means_it(algorithm):
    order = [3, 1, 9, 12]
    run = Plan(algorithm, TWO, placement=",".join(map(str, order)), size="1MiB").run().trace
    edit = f"order_ranks:order={'-'.join(map(str, order))}"
    assert run.time == pytest.approx(Plan(algorithm, TWO, edits=edit, ranks=4, size="1MiB").run().time)


def test_folding_sees_where_ranks_are():
    near = Plan("allreduce.ring", TWO, placement="per_host=4", size="1MiB")
    far = Plan("allreduce.ring", TWO, placement="per_host=4,order=cyclic", size="1MiB")
    for plan in (near, far):
        assert plan.run(written=0).time == pytest.approx(plan.run().time, rel=1e-9)
    assert far.run().time > near.run().time


def test_links_files_and_runs_beside_keep_it():
    plan = Plan("allreduce.ring", TWO, placement="0:0-3,1:4-7", size="1MiB", against="placement=per_host=4")
    assert from_link(to_link(plan)) == plan
    assert from_yaml(to_yaml(plan), "it") == plan
    (other,) = plan.others()
    assert other.placement == "per_host=4"
    file = to_yaml(plan).replace('"0:0-3,1:4-7"', "|2-\n  rank 0=a slot=0\n  rank 1=b slot=1")
    assert placement_of(from_yaml(file, "it").topology(), 2) == gpus("00", "11")


def test_the_terminal_reads_a_rank_file_and_names_what_plays(tmp_path, capsys):
    file = tmp_path / "ranks.txt"
    file.write_text("rank 0=node7 slot=0\nrank 1=node7 slot=2\nrank 2=node9 slot=1\nrank 3=node9 slot=5\n")
    plays = gpus("00", "02", "11", "15")
    for line in (["run", "nccl.allreduce"], ["nccl-choice"]):
        assert cli.main([*line, "--machine", TWO, "--size", "1MiB", "--placement", str(file), "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert (data["ranks"], data["placement"]) == (4, plays)
    table = tmp_path / "all_reduce.txt"
    table.write_text("  67108864  16777216  float  sum  -1  2300.0  29.18  43.77  0\n")
    words = ["validate", str(table), "--machine", TWO, "--placement", str(file), "--json"]
    assert cli.main(words) == 0
    (entry,) = json.loads(capsys.readouterr().out)["tables"]
    assert (entry["ranks"], entry["placement"]) == (4, plays)
    assert (
        cli.main(["failures", "nccl.allreduce", "--machine", TWO, "--size", "1MiB", "--placement", "0:0-1", "--json"])
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert {"machine", "ranks", "nccl", "expected_error"} <= data.keys()
    assert (data["ranks"], data["nccl"], data["placement"]) == (2, "2.30", None)  # the first two, as usual
    assert cli.main(["run", "allreduce.ring", "--machine", TWO, "--placement", str(tmp_path / "none.txt")]) == 2
    assert "give the path of a rank file" in capsys.readouterr().err


def test_devices_that_a_table_lists_are_where_its_ranks_are():
    lines = [
        f"#  Rank  {r} Group 0 Pid 1 on n{r // 2} device  {d} [0x0f] NVIDIA H100" for r, d in enumerate((0, 5, 2, 7))
    ]
    text = "\n".join(["# nThread 1", *lines, "  67108864 16777216 float sum -1 2300.0 29.18 43.77 0", ""])
    (table,) = read_tables(text, "all_reduce.txt")
    topology, _, _ = place(table)
    assert (topology.name, placement_of(topology, 4)) == ("dgx_h100:hosts=2", gpus("00", "05", "12", "17"))
    alike = text.replace("n1 device  2", "n0 device  0")
    assert read_tables(alike, "all_reduce.txt")[0].devices == ()
