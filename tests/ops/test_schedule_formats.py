"""The list of schedule formats, and what is said to a text that is none of them."""

import pytest

from ops import ALGORITHMS
from ops.formats import (
    LARGEST_TEXT,
    SCHEDULE_FORMATS,
    check_schedule,
    read_schedule,
    read_schedule_file,
    write_schedule,
)
from sim.errors import InputError
from tests.ops.msccl import program
from tests.tables import each_row

SWAP = program("allreduce", {(1, 1, 0): ["s i0 i0", "rrc i0 i0"]}, {(0, 0, 0): ["s i0 i0", "rrc i0 i0"]})


@each_row(
    "text, message",
    [
        ("", r"pasted is empty: give .*an MSCCL algorithm"),
        ("hello", r"pasted is no schedule known here: give .*MSCCL algorithm \(XML\)"),
        ("<html><body>", "pasted is a web page: give only the schedule"),
        ("\tGPU0\tGPU1\nGPU0\tX\tPIX\n", "pasted is a topology, not a schedule: give it as --topology"),
        ('<system version="1">', "is a topology"),
        ('{"format": "ringside-trace"}', "is a trace of a run"),
        ('{"traceEvents": []}', "is a trace for Perfetto"),
        ("#                                out-of-place         in-place\n", "is a table of nccl-tests"),
        ('<graphs version="1">', "is the graphs of NCCL's search"),
        ("x" * (LARGEST_TEXT + 1), "pasted is larger than 16 MiB: give a smaller schedule"),
    ],
)
def test_other_texts_are_refused_by_what_they_are(text, message):
    for ask in (read_schedule, check_schedule):
        with pytest.raises(InputError, match=message):
            ask(text, "pasted")


def test_files_are_read_and_refused_when_they_cannot_be(tmp_path):
    with pytest.raises(InputError, match=r"absent.xml cannot be read \(No such file"):
        read_schedule_file(tmp_path / "absent.xml")
    (tmp_path / "binary").write_bytes(b"\0" * 99)
    with pytest.raises(InputError, match="is not a text file"):
        read_schedule_file(tmp_path / "binary")
    (tmp_path / "huge").write_bytes(b" " * (LARGEST_TEXT + 1))
    with pytest.raises(InputError, match="is larger than 16 MiB"):
        read_schedule_file(tmp_path / "huge")
    (tmp_path / "swap.xml").write_bytes(b"\xef\xbb\xbf" + SWAP.encode())
    assert read_schedule_file(tmp_path / "swap.xml").messages == 2


def test_formats_know_their_options_and_their_writers():
    assert SCHEDULE_FORMATS["msccl_xml"].options["slots"].kind == "int"
    with pytest.raises(InputError, match=r"no schedule format is called 'xml': choose from .*msccl_xml"):
        SCHEDULE_FORMATS["xml"]
    with pytest.raises(InputError, match="msccl_xml has no parameter 'slot': it takes slots"):
        read_schedule(SWAP, "swap", slot=8)
    ring = ALGORITHMS["allreduce.ring"].schedule(3)
    with pytest.raises(InputError, match="no schedule format is called 'pdf'"):
        write_schedule(ring, "pdf")


@pytest.mark.parametrize("name", SCHEDULE_FORMATS)
def test_every_format_has_a_title_and_says_what_it_reads(name):
    known = SCHEDULE_FORMATS[name]
    assert known.title
    assert (known.read.__doc__ or "").strip()


WRONG = program("allreduce", {(1, -1, 0): ["s i0 i0"]}, {(-1, 0, 0): ["r i0 i0"]})


@pytest.mark.parametrize("head", ["", '<?xml version="1.0"?>\n'])
@pytest.mark.parametrize("front", ["", "> "])
def test_of_several_algorithms_in_a_file_each_is_judged_and_one_is_chosen(head, front):
    several = "".join(f"{front}{line}\n" for text in (SWAP, WRONG) for line in (head + text).splitlines())
    judged = check_schedule(several, "two.xml")
    assert (judged.verdict, judged.reason[:24]) == ("wrong", "algorithm 2 of 2: made: ")
    assert [check_schedule(several, "two.xml", algo=k).verdict for k in (1, 2)] == ["ok", "wrong"]
    assert check_schedule(SWAP + SWAP, "two.xml").reason == "all 2 algorithms are correct"
    assert read_schedule(several, "two.xml", algo="1").transfers == read_schedule(SWAP, "one.xml").transfers
    with pytest.raises(InputError, match=r"two\.xml has 2 algorithms \(1 made, 2 made\): choose one, like algo=2"):
        read_schedule(several, "two.xml")
    with pytest.raises(InputError, match=r"one\.xml has no algorithm 3, it has 1: correct algo"):
        read_schedule(SWAP, "one.xml", algo=3)


def test_what_is_wrong_in_a_later_algorithm_is_told_with_its_line():
    later = SWAP + "\n" + SWAP.replace('type="rrc"', 'type="rrx"', 1)
    line = later.splitlines().index(next(x for x in later.splitlines() if "rrx" in x)) + 1
    assert f"line {line}: type='rrx'" in check_schedule(later, "two.xml").reason
