"""Refusals of what is pasted, dropped or opened are told in the language of the page."""

import re

import pytest

from ops import ALGORITHMS
from ops.measured import files
from ops.measured.files import MOST_FILES, read_all
from ops.measured.formats import MEASUREMENTS
from ops.plan import Plan
from ops.plan.link import from_link
from sim.errors import InputError, StalledError, UnreachableError
from sim.faults.edits import edited
from sim.faults.kinds import faults
from sim.formats import FORMATS
from sim.machines import build
from sim.placement.words import placed
from tests.tables import each_row
from tests.test_messages import chinese
from ui.plan.picture import carried_out

TABLE = "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n"
BROKEN = [
    (FORMATS, TABLE.replace("GPU1\tNV4\tX\n", "")),
    (FORMATS, TABLE.replace("GPU1\tNV4", "GPU1\tNV2")),
    (FORMATS, TABLE + "GPU1\tNV4\tX\n"),
    (FORMATS, "   "),
    (FORMATS, "<system version='1'></system>"),
    (FORMATS, "<system version='1'><cpu"),
    (FORMATS, "ringside: 7"),
    (MEASUREMENTS, "<html>"),
]


@each_row("formats, text", BROKEN)
def test_a_broken_paste_is_refused_in_chinese(formats, text):
    with pytest.raises(InputError) as refused:
        formats.read(text, "粘贴的内容")
    said = chinese(refused.value)
    assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", re.sub(r"`[^`]*`|（[^（）]*）", "", said)), said


@pytest.mark.parametrize("reroute", ["yes", "no"])
@pytest.mark.parametrize(
    ("algorithm", "machine", "cut"),
    [
        ("allreduce.ring", "dual_socket_pcie", "src=CPU0,dst=CPU1"),
        ("broadcast.linear", "switch:ranks=9", "src=GPU0,dst=SW"),
        ("allreduce.recursive_doubling", "switch:ranks=1024", "src=GPU0,dst=SW"),
    ],
)
def test_what_never_ends_is_told_in_chinese(algorithm, machine, cut, reroute):
    with pytest.raises((StalledError, UnreachableError)) as refused:
        carried_out(Plan(machine=machine, algorithm=algorithm, fault=f"dead_link:{cut},reroute={reroute}"))
    said = chinese(refused.value)
    assert "永远无法结束" in said
    assert "或rank" not in said.replace(" ", "")  # there is nothing to choose among them
    assert not re.search(r"[a-z]{2,} [a-z]{2,}", re.sub(r"`[^`]*`|（[^（）]*）", "", said)), said


@pytest.mark.parametrize(
    ("made", "spec"),
    [
        (edited, "cut_cable:src=GPU0,dst=GPU9"),
        (edited, "move_device:device=GPU0,to=SW"),
        (edited, "order_ranks:order=0-0-1-2"),
        (edited, "set_class:kind=SYS,times=2"),
        (faults, "lost_nic:nic=NIC0"),
        (faults, "straggler:rank=9,late=1us"),
    ],
)
def test_what_cannot_be_done_to_a_machine_is_refused_in_chinese(made, spec):
    machine = build("switch:ranks=4")
    with pytest.raises(InputError) as refused:
        made(machine, [spec]) if made is edited else made([spec], machine)
    said = chinese(refused.value)
    assert said != str(refused.value)
    assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", re.sub(r"`[^`]*`", "", said)), said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"capture": "hello"}, "the link's capture is damaged: paste the capture again"),
        ({"schedule": "example-none"}, "the link's schedule 'none' is not among "),
        ({"dtype": "float8"}, "the link's dtype='float8' is not one of float32, "),
        ({"ranks": "٣x"}, "the link's ranks='٣x' is not a whole number: "),
        ({"lockstep": "maybe"}, "the link's lockstep='maybe' is neither yes nor no: "),
    ],
)
def test_a_damaged_link_is_refused_in_chinese(words, told):
    with pytest.raises(InputError) as refused:
        from_link(words)
    assert str(refused.value).startswith(told)
    said = chinese(refused.value)
    assert said.startswith("链接中的"), said
    assert not re.search(r"[a-z]{2,} [a-z]{2,}", said), said


@each_row(
    "spec",
    [
        *("switch:ranks=x", "switch:ranks=0", "switch:ports=3", "switch:ranks", "switch:ranks=2,ranks=3"),
        *("torus:dims=4xx", "ring:ranks=99999999", "switch:bandwidth=fast", "switch:bandwidth=25", "nodes:gpus=½"),
    ],
)
def test_what_is_typed_for_a_machine_is_refused_in_chinese(spec):
    with pytest.raises(InputError) as refused:
        build(spec)
    said = chinese(refused.value)
    assert said != str(refused.value)
    assert not re.search(r"[a-z]{2,} [a-z]{2,}", said), said


def test_a_number_of_ranks_that_an_algorithm_cannot_do_is_refused_in_chinese():
    told = 0
    for entry in ALGORITHMS.values():
        for n in (1, 3, 5, 6):
            try:
                entry.settle(n)
            except InputError as error:
                said = chinese(error)
                assert not re.search(r"[a-z]{2,} [a-z]{2,}", said), said
                told += 1
    assert told > 2 * len(ALGORITHMS) / 3


@each_row("text", ["GPU9", "hosts=9", "per_host=0", "0-99", "GPU0 GPU0", "order=any", "5-3", "h7:0"])
def test_a_placement_is_refused_in_chinese(text):
    with pytest.raises(InputError) as refused:
        placed(build("nodes:nodes=2,gpus=4"), text)
    said = chinese(refused.value)
    assert said.startswith("placement：")
    assert not re.search(r"[a-z]{2,} [a-z]{2,}", re.sub(r"`[^`]*`", "", said)), said


@pytest.mark.parametrize("most", [MOST_FILES, 0])
def test_a_folder_without_measurements_is_refused_in_chinese(tmp_path, most, monkeypatch):
    (tmp_path / "notes.md").write_text("nothing was measured")
    monkeypatch.setattr(files, "MOST_FILES", most)
    with pytest.raises(InputError) as refused:
        read_all([tmp_path])
    said = chinese(refused.value)
    assert str(refused.value).count(str(tmp_path)) == 1
    assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", said), said


def test_a_size_that_leaves_a_block_less_than_a_byte_is_refused_in_chinese():
    with pytest.raises(InputError) as refused:
        carried_out(Plan(size="3"))
    said = chinese(refused.value)
    assert not re.search(r"[a-z]{2,} [a-z]{2,}", said), said
