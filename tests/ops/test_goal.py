"""GOAL schedules, read and written."""

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.formats import check_schedule, read_schedule, write_schedule
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.trace import from_json
from tests.tables import each_row

US, BYTE = 1e-6, 1e-9
"""Of `machine`: the latency of a route, the seconds of a byte."""

PING_PONG = """num_ranks 2   // two ranks
rank 0 {
  there: send 1000b to 1 tag 7 /* a comment
  over lines */
  back: recv 500b from 1 tag 8 cpu 1 nic 0
}
rank 1 {
  got: recv 1000b from 0 tag 7
  think: calc 3000
  answer: send 500b to 0 tag 8
  think requires got
  answer requires think
}
"""


def machine(n):
    return build(f"switch:ranks={n},bandwidth=1GBps,latency=0.5us")


def run(text, n):
    return simulate(machine(n), read_schedule(text, "made.goal"))


def test_messages_and_computations_take_their_own_time():
    trace = run(PING_PONG, 2)
    assert trace.time == pytest.approx(US + 1000 * BYTE + 3e-6 + US + 500 * BYTE)
    assert trace.size == 1500
    assert trace.verdict.verdict == "unchecked"
    assert check_schedule(PING_PONG, "p").verdict == "unchecked"


def test_its_sizes_and_its_work_survive_in_a_saved_trace():
    schedule = from_json(run(PING_PONG, 2).to_json()).schedule
    assert simulate(machine(2), schedule).time == run(PING_PONG, 2).time


def test_a_pipeline_of_ranks_has_the_time_of_its_closed_form():
    text = "num_ranks 4\n" + "".join(
        f"rank {r} {{\n"
        + (f"a: recv 2000b from {r - 1}\n" if r else "")
        + (f"b: send 2000b to {r + 1}\n" if r < 3 else "")
        + ("b requires a\n" if 0 < r < 3 else "")
        + "}\n"
        for r in range(4)
    )
    assert run(text, 4).time == pytest.approx(3 * (US + 2000 * BYTE))


def two(*lines, first="send 1000b to 1"):
    """Rank 0 with these lines, rank 1 receiving what it can."""
    own = "\n".join(lines)
    answers = "\n".join("recv 1000b from 0" for line in lines if "send" in line)
    return f"num_ranks 2\nrank 0 {{\n{own}\n}}\nrank 1 {{\n{answers}\n}}\n"


@each_row(
    "lines, seconds",
    [
        (["a: send 1000b to 1", "b: send 1000b to 1"], US + 2000 * BYTE),
        (["a: send 1000b to 1", "b: send 1000b to 1", "b requires a"], 2 * US + 2000 * BYTE),
        (["a: send 1000b to 1", "b: send 1000b to 1", "b irequires a"], US + 2000 * BYTE),
        (["a: calc 5000", "b: calc 5000"], 10e-6),
        (["a: calc 5000", "b: calc 5000 cpu 1"], 5e-6),
        (["a: calc 5000", "b: send 1000b to 1", "b requires a"], 5e-6 + US + 1000 * BYTE),
        (["a: calc 5000", "c: calc 1000 cpu 1", "b: send 1000b to 1", "b irequires c", "c requires a"],
         5e-6 + US + 1000 * BYTE),
        (["b requires a", "b: calc 10 cpu 3", "a: calc 0"], 10e-9),
    ],
)  # fmt: skip
def test_order_is_what_is_required_and_nothing_more(lines, seconds):
    assert run(two(*lines), 2).time == pytest.approx(seconds)


@each_row(
    "text, verdict, message",
    [
        ("num_ranks 2\nrank 0 {\nrecv 8b from 1\n}\n", "deadlock", "line 3: deadlock: rank 0 waits for a message from"),
        (two("a: calc 1", "b: calc 1", "a requires b", "b requires a"), "deadlock", "rank 0 calc (line 3) waits for"),
        (two("a: send 8b to 1"), "malformed", "line 6: a recv of 1000 bytes meets the send of 8 at line 3"),
        ("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\n", "malformed", "line 3: rank 1 never receives this message"),
        ("num_ranks 2\nrank 0 {\nrecv 8b from -1\n}\n", "malformed", "name the rank and the tag"),
        ("num_ranks 2\nrank 0 {\nrecv 8b from 1 tag -1\n}\n", "malformed", "name the rank and the tag"),
        ("num_ranks 2\nrank 0 {\nsend 8b to 0\n}\n", "malformed", "rank 0 cannot send with rank 0: name another"),
        ("num_ranks 2\nrank 0 {\nsend 8b to 2\n}\n", "malformed", "name another among 0..1"),
        ("num_ranks 2\nrank 0 {\nsend 8b from 1\n}\n", "malformed", "a send goes to a rank"),
        ("num_ranks 2\nrank 0 {\nsend 8 to 1\n}\n", "malformed", "'send 8 to 1' is no GOAL here"),
        ("num_ranks 2\nrank 2 {\n}\n", "malformed", "rank 2 is there twice or not among 0..1"),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "malformed", "rank 0 is there twice"),
        ("num_ranks 2\nrank 0 {\na: calc 1\na: calc 1\n}\n", "malformed", "line 4: label a is there twice"),
        ("num_ranks 2\nrank 0 {\na: calc 1\na requires z\n}\n", "malformed", "line 4: this rank has no label z"),
        ("num_ranks 2\nrank 0 {\ncalc 1\n", "malformed", "the file ends inside a rank: give the whole file"),
        ("num_ranks 0\n", "malformed", "'num_ranks 0' is no num_ranks of 1 to"),
        ("num_ranks 2\nrank 0 {\ncalc 99999999999999999999\n}\n", "malformed", "is beyond a day or 1 PiB"),
    ],
)
def test_what_cannot_run_is_told_with_its_line(text, verdict, message):
    judged = check_schedule(text, "made.goal")
    assert judged.verdict == verdict
    assert message in judged.reason
    with pytest.raises(InputError):
        read_schedule(text, "made.goal")


@each_row("name", ["allreduce.ring", "broadcast.binomial", "alltoall.linear", "allgather.bruck", "scatter.binomial"])
@each_row("n", [4, 7])
def test_what_is_written_takes_the_same_time_when_read_again(name, n):
    schedule = ALGORITHMS[name].schedule(n)
    text = write_schedule(schedule, "goal", size=n << 16)
    again = read_schedule(text, name)
    before, after = (simulate(machine(n), s, size=n << 16) for s in (schedule, again))
    away = schedule.src != schedule.dst
    assert after.time == pytest.approx(before.time, rel=1e-12)
    assert sorted(again.fixed_bytes[again.src != again.dst]) == pytest.approx(sorted(before.bytes[away]))
    twice = read_schedule(write_schedule(again, "goal"), name)
    assert simulate(machine(n), twice).time == pytest.approx(before.time, rel=1e-12)


def test_sizes_must_come_from_somewhere():
    with pytest.raises(InputError, match=r"allreduce\.ring has no sizes of its own: give a size like 64MiB"):
        write_schedule(ALGORITHMS["allreduce.ring"].schedule(4), "goal")
    with pytest.raises(InputError, match="switches add and copy in it"):
        write_schedule(ALGORITHMS["allreduce.nvls"].schedule(4), "goal", size=1 << 20)


def test_work_is_done_where_it_stands_and_at_no_link():
    trace = run(PING_PONG, 2)
    working = trace.schedule.work > 0
    assert np.count_nonzero(working) == 1
    assert (trace.end - trace.ready)[working] == pytest.approx([3e-6])
    assert trace.link_bytes.sum() == 2 * 1500


def test_a_file_says_where_its_sends_do_not_wait_for_the_receivers_memory():
    text = write_schedule(ALGORITHMS["reduce.linear"].schedule(8), "goal", size=1 << 20)
    assert text.startswith("/* 6 times a message of reduce.linear waits until its receiver has a place for it.")
    slower, faster = (
        simulate(build("switch:ranks=8"), s, size=1 << 20).time
        for s in (ALGORITHMS["reduce.linear"].schedule(8), read_schedule(text, "x.goal"))
    )
    assert faster < slower
    assert write_schedule(ALGORITHMS["allgather.ring"].schedule(8), "goal", size=1 << 20).startswith("num_ranks 8")
