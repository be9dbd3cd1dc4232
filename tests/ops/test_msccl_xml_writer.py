"""Schedules written for MSCCL: proved by the interpreter, and of the same time when they are read again."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.formats import check_schedule, read_schedule, write_schedule
from ops.formats.msccl_xml import writer
from ops.formats.msccl_xml.layout import BlockLayout, Line
from ops.formats.msccl_xml.reader import transfers
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.units import fmt_time
from tests.ops.msccl import interpret, program
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "msccl-xml"
REGISTRY = [name for name in ALGORITHMS if not name.startswith("barrier")]
KNOWN = ("allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "gather", "scatter")


TOLD = re.compile(r"<!-- 1 MiB takes (.*?) on switch:ranks=\d+ as written here, and (.*?) as scheduled")
LIMIT = (
    r"(?:ROCm/rccl|microsoft/msccl) takes \d+ (?:steps per thread block at most, not \d+|"
    r"thread blocks per GPU at most, not \d+|channels at most, not \d+|"
    r"messages under way on a connection at most, and more wait for each other here)"
)
TOO_LONG = r"it takes [\d,]+ elements(?: and [\d.]+ MB)? where 500,000 and 16 MiB are read"


def held_to_its_promise(name, n):
    """Written, read again, proved; as fast as the schedule, or both times are told, or the limit it breaks.

    Returns which of these, in words.
    """
    try:
        schedule = ALGORITHMS[name].schedule(n)
    except InputError:
        return "not for this number of ranks"
    try:
        text = write_schedule(schedule, "msccl_xml")
    except InputError as error:
        refusal = str(error)
    else:
        refusal = ""
    if schedule.switches or not schedule.unit_share or (np.diff(schedule.moves) == 0).any():
        reason = re.search("cannot be written as MSCCL XML: (it .*)", refusal)
    else:
        reason = re.search(f"cannot be written as MSCCL XML: ({LIMIT}; {LIMIT}|{TOO_LONG})", refusal)
    assert bool(refusal) == bool(reason), refusal
    if refusal:
        return f"refused: {reason[1]}"
    known = schedule.promise.name in KNOWN
    judged = check_schedule(text, name, slots=8)
    assert judged.verdict == ("ok" if known else "unchecked"), judged
    told = re.search(f"<!-- ({LIMIT})", text)
    assert not known or judged.reason == (f"correct, but {told[1]}" if told else "")
    machine = build(f"switch:ranks={n}")
    before, after = (simulate(machine, s, size=1 << 20).time for s in (schedule, transfers(text, name)))
    times = TOLD.search(text)
    if times:
        assert times.groups() == (fmt_time(after), fmt_time(before))
        assert before != after
    else:
        assert after == pytest.approx(before, rel=1e-9)
    if known and n <= 8:
        assert interpret(text) == "ok"
    return f"both times: {' for '.join(times.groups())}" if times else "equal time"


@each_row("name, n", product(REGISTRY, (4, 8)), days=6)
def test_what_is_written_is_proved_when_read_again_and_takes_the_same_time_or_tells_both(name, n):
    held_to_its_promise(name, n)


@pytest.mark.slow
def test_a_ring_takes_one_thread_block_a_gpu_as_an_author_would_write_it():
    for n, blocks in ((8, 1), (32, 1)):
        text = write_schedule(ALGORITHMS["allreduce.ring"].schedule(n), "msccl_xml")
        assert text.count("<tb ") == n * blocks
        assert text.count('type="rrcs"') == n * (n - 1)
        assert text.count('type="rcs"') == n * (n - 2)
        assert "<!--" not in text
    long = write_schedule(ALGORITHMS["allgather.ring"].schedule(70), "msccl_xml")
    assert long.count("<tb ") == 2 * 70
    assert check_schedule(long, "ring").reason == ""


def test_a_tree_takes_a_thread_block_for_every_child():
    text = write_schedule(ALGORITHMS["broadcast.binomial"].schedule(8), "msccl_xml")
    assert [gpu.count("<tb ") for gpu in text.split("<gpu ")[1:]] == [3, 1, 1, 1, 2, 1, 1, 1]


def test_long_programs_are_cut_where_a_runtime_takes_fewer_steps():
    text = write_schedule(ALGORITHMS["allreduce.segmented_ring"].schedule(16), "msccl_xml")
    judged = check_schedule(text, "long.xml")
    assert (judged.verdict, judged.reason) == ("ok", "")


def test_a_connection_holds_eight_messages():
    def written(count):
        last = count - 1
        return program(
            "custom",
            {(1, -1, 0): ["s i0 i0 !"] * count, (1, -1, 1): [f"s i0 i0 @0.{last}"]},
            {(-1, 0, 0): ["r o0 o0 @1.0", *["r o0 o0"] * last], (-1, 0, 1): ["r o1 o1 !"]},
            chunks=2,
        ).replace('i_chunks="0" o_chunks="0"', 'i_chunks="2" o_chunks="2"')

    for count in (8, 9):
        blocks = [[BlockLayout(1, -1, 0, [Line("s", None)] * count)]]
        assert writer._fits_slots(written(count), blocks) == (count == 8)


def test_what_breaks_every_limit_is_refused_with_the_limits():
    schedule = ALGORITHMS["broadcast.linear"].schedule(230)
    with pytest.raises(InputError, match=f"{LIMIT}; {LIMIT}"):
        write_schedule(schedule, "msccl_xml")


@pytest.mark.parametrize("stem", ["ncv4-ag_hier_4_LL", "ncv4-ar_hier_12_Simple", "ncv4-ar_tree_12_LL", "ndv4-a2a2ll"])
def test_what_was_read_can_be_written_and_read_again(stem):
    schedule = read_schedule((DATA / f"{stem}.xml").read_text(), stem)
    text = write_schedule(schedule, "msccl_xml")
    assert check_schedule(text, stem).verdict == "ok"
    machine = build(f"switch:ranks={schedule.n}")
    before, after = (simulate(machine, s, size=1 << 20).time for s in (schedule, read_schedule(text, stem)))
    assert TOLD.search(text) or after == pytest.approx(before, rel=1e-9)


def test_no_attribute_of_our_own_is_written_or_read():
    text = write_schedule(ALGORITHMS["reduce.linear"].schedule(4), "msccl_xml")
    assert not re.search(r"\b(at|joined)=", text)
    lying = re.sub(r"<step ", '<step at="0" joined="1" ', text)
    assert check_schedule(lying, "x").verdict == check_schedule(text, "x").verdict == "ok"
    before, after = (read_schedule(it, "x") for it in (text, lying))
    assert np.array_equal(before.step_start, after.step_start)


def test_names_survive_markup():
    schedule = ALGORITHMS["allreduce.ring"].schedule(3)
    object.__setattr__(schedule, "name", "a<b&\"c'>")
    assert read_schedule(write_schedule(schedule, "msccl_xml"), "x").name == schedule.name


def test_barriers_and_switches_are_refused_with_the_reason():
    with pytest.raises(InputError, match=r"barrier\.dissemination cannot be written as MSCCL XML: it moves no data"):
        write_schedule(ALGORITHMS["barrier.dissemination"].schedule(4), "msccl_xml")


@pytest.mark.parametrize("word", ["LARGEST_TEXT", "MOST_ELEMENTS"])
def test_what_nobody_could_read_again_is_not_written(word, monkeypatch):
    schedule = ALGORITHMS["allreduce.ring"].schedule(4)
    read = write_schedule(schedule, "msccl_xml")
    elements = sum(read.count(f"<{tag} ") for tag in ("algo", "gpu", "tb", "step"))
    limit = {"LARGEST_TEXT": len(read), "MOST_ELEMENTS": elements}[word]
    monkeypatch.setattr(writer, word, limit)
    assert write_schedule(schedule, "msccl_xml") == read
    monkeypatch.setattr(writer, word, limit - 1)
    with pytest.raises(InputError, match=f"it takes {elements} elements.* are read: write fewer ranks"):
        write_schedule(schedule, "msccl_xml")
