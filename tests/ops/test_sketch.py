"""Sketches: what is drawn is proved and timed by the one verifier and the one engine, and kept without loss."""

import numpy as np
import pytest

from ops.formats import check_schedule, read_schedule, write_schedule
from ops.formats.sketch import read_sketch
from ops.plan import Plan
from ops.sketch import MOST_COLUMNS, Sketch, collectives, columns_of, written, written_columns
from ops.sketch.as_python import as_python
from ops.sketch.referee import BadSend, bound, judge
from sim.errors import InputError
from sim.machines import build
from sim.schedule.replay import DOUBLED, EMPTY
from sim.schedule.verify import verify
from tests.tables import each_row

LINE = "torus:dims=4,wrap=no,bandwidth=1GBps,latency=0s"
CHAIN = Sketch("broadcast", 4, 2, columns=columns_of("0>1:0;0>1:1 1>2:0;1>2:1 2>3:0;;2>3:1"))
SWAP = Sketch("allreduce", 2, 2, columns=columns_of("0>1+0 1>0+1;1>0:0 0>1:1"))
ACROSS = Sketch("alltoall", 2, columns=columns_of("0>1:1=2 1>0:0=3;0>0:0=2 1>1:1=3"))
ROOTED = Sketch("gather", 3, root=2, columns=columns_of("0>1:0;1>2:0,1"))

FILE = """ringside: sketch-1
collective: reduce
ranks: 3
columns:
  - 2>1+0
  - 1>0+0
"""


def test_a_file_is_what_a_person_would_write():
    assert read_schedule(FILE, "file").steps == 2
    assert check_schedule(FILE, "file").verdict == "ok"
    assert written(read_sketch(FILE, "file")) == FILE


def columns(schedule):
    return [schedule.op, schedule.src, schedule.dst, schedule.from_slot, schedule.to_slot, *schedule.after]


def test_a_piece_goes_on_while_the_next_one_comes():
    judgement = judge(CHAIN, build(LINE), 2e6)
    assert judgement.right
    assert judgement.seconds == pytest.approx(4e-3)  # not 6: columns are the order of each rank, and no barriers
    assert len(judgement.held) == len(CHAIN.columns) + 1
    assert judgement.held[4] == judgement.held[3]  # an empty column
    assert judgement.held[1][1][0] == (0, (0,))
    assert judgement.bound == pytest.approx(bound(CHAIN, build(LINE), 2e6))
    assert max(judgement.use) == pytest.approx(0.5)


@pytest.mark.parametrize("sketch", [CHAIN, SWAP, ACROSS, ROOTED, Sketch("reduce", 4)], ids=lambda s: s.collective)
def test_what_is_saved_is_read_back_equal(sketch, tmp_path):
    schedule = sketch.schedule()
    text = written(sketch)
    again = read_sketch(text, "file")
    assert columns_of(written_columns(sketch.columns)) == sketch.columns
    assert again.schedule().promise.name == sketch.collective
    path = tmp_path / "sketch.py"
    path.write_text(as_python(sketch))
    executed = Plan(python=f"{path}", algorithm="", ranks=sketch.ranks, root=sketch.root).work().schedule
    for other in (again.schedule(), read_schedule(text, "file"), executed):
        assert all(np.array_equal(a, b) for a, b in zip(columns(other), columns(schedule), strict=True))
        assert (other.unit_share, other.root) == (schedule.unit_share, schedule.root)
        assert np.array_equal(other.promise.owed, schedule.promise.owed)
    if schedule.transfers:
        assert verify(schedule).ok
        machine = build(LINE.replace("4", str(sketch.ranks)))
        xml = write_schedule(schedule, "msccl_xml", machine=machine)
        assert check_schedule(xml, "file").verdict == "ok"


def test_the_referee_says_all_that_is_wrong():
    twice = judge(Sketch("allreduce", 4, columns=columns_of("0>1+0;1>0+0")), build(LINE), 1e6)
    first, *rest = twice.faults
    assert (first.held.block, first.twice, first.move) == (DOUBLED, (0,), 1)
    assert [fault.missing for fault in rest] == [(2, 3), (0, 1, 3), (0, 1, 2)]
    assert not twice.bad_sends
    nothing = judge(Sketch("broadcast", 4, columns=columns_of("0>1:0;;3>2:0")), build(LINE), 1e6)
    assert nothing.bad_sends == [BadSend(column=2, src=3, dst=2, slot=0)]
    assert {(fault.rank, fault.held.block) for fault in nothing.faults} == {(2, EMPTY), (3, EMPTY)}
    assert not nothing.right
    empty = judge(Sketch("broadcast", 4), build(LINE), 1e6)
    assert (empty.seconds, empty.right, len(empty.held)) == (0.0, False, 1)


@each_row(
    "line, message",
    [
        ("  - 0>1", "line 5: column 1: '0>1' is no move: write 0>1:2"),
        ("  - 0>9:0", "line 5: column 1: 0>9:0 names rank 9, but ranks go from 0 to 3"),
        ("  - 0>1:99", "line 5: column 1: 0>1:99 names a slot over"),
        ("  - 0>0:1", "line 5: column 1: 0>0:1 copies a slot to itself"),
        ("  - []", "line 5: a column is a list: write one value"),
        ("  - 0>1:0\nroot: x", "line 6: root is 'x': write a whole number"),
        ("  - 0>1:0\nroot: 4", "a text schedule's root cannot be 4: choose from 0 to 3"),
        ("  - 0>1:0\npieces: 0", "a text schedule's pieces cannot be 0"),
        ("  - 0>1:0\nrot: 0", "has no key 'rot': did you mean root?"),
        ("  - 0>1:0\n" * (MOST_COLUMNS + 1), "are more than a text schedule holds"),
    ],
)
def test_a_damaged_file_is_refused_where_it_is_wrong(line, message):
    text = f"ringside: sketch-1\ncollective: broadcast\nranks: 4\ncolumns:\n{line}\n"
    with pytest.raises(InputError) as refused:
        read_schedule(text, "file")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_sketch_of_what_cannot_be_drawn_is_refused():
    assert "barrier" not in collectives()
    for head, message in (
        ("ringside: sketch-2\ncollective: broadcast\nranks: 4\ncolumns: []", "begin it with ringside: sketch-1"),
        ("ringside: sketch-1\ncollective: barrier\nranks: 4\ncolumns: []", "'barrier' cannot be drawn"),
        ("ringside: sketch-1\ncollective: brodcast\nranks: 4\ncolumns: []", "'brodcast' is unknown: choose from"),
        (
            "ringside: sketch-1\ncollective: broadcast\nranks: 17\ncolumns: []",
            "ranks cannot be 17: choose from 2 to 16",
        ),
        ("ringside: sketch-1\ncollective: broadcast\nranks: 4", "columns is missing"),
        ("ringside: sketch-1\ncollective: broadcast\nranks: 4\ncolumns: 3", "columns is one value: write a list"),
    ):
        with pytest.raises(InputError, match=message):
            read_schedule(head, "file")
    with pytest.raises(InputError, match="'nothing' cannot be drawn"):
        Sketch("nothing").schedule()
