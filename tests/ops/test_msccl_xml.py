"""MSCCL algorithms, read and written, against an interpreter that shares nothing with the reader."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.formats import ScheduleProblem, check_schedule, read_schedule, write_schedule
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.ops.msccl import interpret, program
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "msccl-xml"
FILES = sorted(DATA.glob("*.xml"))
TREE = (DATA / "ncv4-ar_tree_12_LL.xml").read_text()
HIERARCHY = (DATA / "ncv4-ag_hier_4_LL.xml").read_text()


EXCHANGE = program("allreduce", {(1, 1, 0): ["s i0 i0", "rrc i0 i0"]}, {(0, 0, 0): ["s i0 i0", "rrc i0 i0"]})


def verdict(text, **options):
    return check_schedule(text, "made.xml", **options)


@pytest.mark.slow
@each_row("file", FILES)
def test_published_programs_are_proved_and_run(file):
    text = file.read_text()
    assert check_schedule(text, file.name).verdict == "ok"
    assert check_schedule(text, file.name, slots="8").verdict == "ok"
    schedule = read_schedule(text, file.name)
    sends = len(re.findall(r'type="(?:s|rcs|rrs|rrcs)"', text))
    assert schedule.messages == sends
    counts = np.diff(schedule.moves)[schedule.src != schedule.dst]
    received = [int(c) for c in re.findall(r'type="(?:r|rcs|rrc|rrs|rrcs)".*? cnt="(\d+)"', text)]
    assert Counter(counts.tolist()) == Counter(received)
    trace = simulate(build(f"mesh:ranks={schedule.n}"), schedule, size=1 << 20)
    assert trace.verdict.verdict == "ok"
    chunk = (1 << 20) / int(re.search(r'nchunksperloop="(\d+)"', text).group(1))
    assert trace.link_bytes.sum() == pytest.approx(sum(received) * chunk)


def test_the_largest_published_program_is_understood_as_the_interpreter_does():
    assert interpret((DATA / "ndv4-ap4ll.xml").read_text()) == "ok"


def without(text, line):
    lines = text.split("\n")
    return "\n".join(lines[:line] + lines[line + 1 :])


PROGRAMS = {"tree": TREE, "hierarchy": HIERARCHY}
STEPS = [
    (name, k)
    for name, text in PROGRAMS.items()
    for k in [k for k, line in enumerate(text.split("\n")) if "<step" in line][::9]
]


@each_row("name, line", STEPS)
def test_a_program_without_one_of_its_steps_is_judged_as_the_interpreter_does(name, line):
    broken = without(PROGRAMS[name], line)
    assert verdict(broken).verdict == interpret(broken) != "ok"


def test_a_doubled_reduction_is_wrong_and_names_the_rank():
    broken = (
        (DATA / "ndv4-ap2ll.xml")
        .read_text()
        .replace('<step s="7" type="re" srcbuf="s" srcoff="8"', '<step s="7" type="re" srcbuf="s" srcoff="0"', 1)
    )
    judged = verdict(broken)
    assert judged.verdict == interpret(broken) == "wrong"
    assert re.search(r"rank 0 slot 0, block 0: rank 1 is counted twice", judged.reason)


def test_receiving_before_sending_on_both_sides_is_a_deadlock_that_names_the_circle():
    crossed = program("allreduce", {(1, 1, 0): ["rrc i0 i0", "s i0 i0"]}, {(0, 0, 0): ["rrc i0 i0", "s i0 i0"]})
    judged = verdict(crossed)
    assert judged.verdict == interpret(crossed) == "deadlock"
    assert "gpu 0/tb 0/step 0 (line 4) -> gpu 1/tb 0/step 0 (line 10) -> gpu 0/tb 0/step 0" in judged.reason
    with pytest.raises(ScheduleProblem, match="each waiting for the next: reorder"):
        read_schedule(crossed, "crossed.xml")


def test_swapped_peers_wait_for_ever():
    ring = (DATA / "ndv4-r48ll.xml").read_text()
    swapped = re.sub(r'send="(\d+)" recv="(\d+)"', r'send="\2" recv="\1"', ring, count=1)
    assert verdict(swapped).verdict == interpret(swapped) == "deadlock"
    lonely = program("broadcast", {(1, -1, 0): ["s i0 i0"]}, {(-1, 0, 1): ["r i0 i0"]})
    judged = verdict(lonely)
    assert judged.verdict == "deadlock"
    assert (
        "waits for a message from gpu 0 on channel 1 that never comes, for no thread block sends there" in judged.reason
    )


def test_two_thread_blocks_on_one_connection_are_refused():
    two = {(1, -1, 0): ["s i0 i0"]}, {(-1, 0, 0): ["r i0 i0"], (-1, 0, 1): ["r s0 s0"]}
    assert verdict(program("broadcast", *two, scratch=1)).verdict == "deadlock"
    doubled = program("broadcast", *two, scratch=1).replace('chan="1"', 'chan="0"')
    judged = verdict(doubled)
    assert judged.verdict == "duplicate_connection"
    assert "line 11: tb 0 and tb 1 of gpu 1 both receive from gpu 0 on channel 0: give each" in judged.reason


BAD = {
    "cut": (TREE[: len(TREE) // 2], r"line \d+: not well-formed XML .*: give the whole file"),
    "count": (
        TREE.replace('cnt="1"', 'cnt="2"', 1),
        r"(takes . chunks, but gpu . sends .* make the two cnt equal|which has)",
    ),
    "word": (TREE.replace('cnt="1"', 'cnt="one"', 1), r"line \d+: cnt='one' is no whole number: write one like 0"),
    "type": (TREE.replace('type="r"', 'type="x"', 1), r"line \d+: type='x' is no instruction"),
    "buffer": (TREE.replace('dstbuf="i"', 'dstbuf="q"', 1), r"buffer 'q' is unknown: write i, o or s"),
    "offset": (
        TREE.replace('dstoff="0"', 'dstoff="24"', 1),
        r"chunks 24..24 of buffer i, which has 24: correct offset",
    ),
    "gap": (TREE.replace('<gpu id="3"', '<gpu id="2"', 1), r"gpu 2 is there twice: the first is at line"),
    "peer": (TREE.replace('recv="1"', 'recv="0"', 1), r"gpu 0 cannot send to itself: use a cpy step"),
    "range": (TREE.replace('recv="1"', 'recv="9"', 1), r"recv=9 is not within -1..3: correct it"),
    "nobody": (TREE.replace('recv="1"', 'recv="-1"', 1), r"receives, but tb 0 of gpu 0 has no recv peer: name it"),
    "coll": (
        TREE.replace('coll="allreduce"', 'coll="gossip"'),
        r"coll='gossip' is no collective of MSCCL: write one of",
    ),
    "missing": (TREE.replace('ngpus="4" ', ""), r"line 1: <algo> has no ngpus: add it"),
    "chunks": (
        HIERARCHY.replace('nchunksperloop="16"', 'nchunksperloop="15"'),
        r"15 chunks cannot be shared evenly by 4",
    ),
    "label": (HIERARCHY.replace('coll="allgather"', 'coll="allreduce"'), None),
    "block": (TREE.replace('<tb id="1"', '<tb id="99"', 1), r"id=99 is not within"),
    "depends": (TREE.replace('depid="-1"', 'depid="999"', 1), r"depid=999 is not within"),
    "entity": ('<!DOCTYPE algo [<!ENTITY a "b">]>' + TREE, r"a DOCTYPE is not read here: delete it"),
    "bytes": (TREE.replace("<gpu", "<g\x01pu", 1), r"not well-formed"),
}


@each_row("name", BAD)
def test_what_breaks_the_format_is_malformed_and_says_where(name):
    text, message = BAD[name]
    judged = verdict(text)
    if message is None:
        assert judged.verdict == "wrong"
        return
    assert judged.verdict == "malformed", judged
    assert judged.reason.startswith("made.xml, line ")
    assert re.search(message, judged.reason), judged.reason
    with pytest.raises(InputError):
        read_schedule(text, "made.xml")


def test_an_exchange_happens_in_one_step_as_sends_do_not_wait_for_receives():
    schedule = read_schedule(EXCHANGE, "swap.xml")
    assert verdict(EXCHANGE).verdict == interpret(EXCHANGE) == "ok"
    assert (schedule.steps, schedule.messages) == (1, 2)
    trace = simulate(build("switch:ranks=2,bandwidth=1GBps,latency=1us"), schedule, size=1000)
    assert trace.time == pytest.approx(2e-6 + 1e-6)


MADE = {
    "rrs stores nothing": program(
        "reduce",
        {(1, -1, 0): ["s i0 i0"]},
        {(2, 0, 0): ["rrs i0 i0"]},
        {(-1, 1, 0): ["rrc i0 i0"]},
        extra='root="2"',
    ),
    "rrcs stores and sends on": program(
        "allreduce",
        {(1, 2, 0): ["s i0 i0", "r i0 i0"]},
        {(2, 0, 0): ["rrs i0 i0 !"], (-1, 2, 0): ["r i0 i0 @0.0"]},
        {(0, 1, 0): ["rrcs i0 i0 !"], (1, -1, 0): ["s i0 i0 @0.0"]},
    ),
    "rrc from elsewhere": program(
        "allreduce",
        {(1, 1, 0): ["s i0 s0", "rrc i0 o0"]},
        {(0, 0, 0): ["s i0 s0", "rrc i0 o0"]},
        inplace=0,
    ),
    "rrcs from elsewhere": program(
        "allreduce",
        {(1, 1, 0): ["s i0 s0", "r o0 o0"]},
        {(0, 0, 0): ["rrcs i0 o0"]},
        inplace=0,
    ),
    "overlapping rrc": program(
        "allreduce",
        {(1, -1, 0): ["s i0 s0 x2"], (-1, 1, 0): ["r i0 i0 x2"]},
        {(-1, 0, 0): ["cpy i0 s0 x2", "rrc s0 s1 x2", "cpy s1 i0 x2 !"], (0, -1, 0): ["s i0 i0 x2 @0.2"]},
        chunks=2,
        scratch=3,
    ),
    "cpy and re": program(
        "reduce_scatter",
        {(1, 1, 0): ["s i1 s0", "r s0 s0", "re s0 i0"]},
        {(0, 0, 0): ["s i0 s0", "r s0 s0", "cpy i1 s1", "re s0 s1", "cpy s1 i1"]},
        chunks=2,
        scratch=2,
    ),
    "sum missed": program("allreduce", {(1, 1, 0): ["s i0 i0", "r i0 i0"]}, {(0, 0, 0): ["s i0 i0", "rrc i0 i0"]}),
    "nop carries a wait": program(
        "broadcast",
        {(1, -1, 0): ["nop i-1 o-1 @1.0", "nop i-1 o-1 @2.0", "s i0 i0"], (-1, 1, 1): ["r s0 s0 !"],
         (-1, 1, 2): ["r s1 s1 !"]},
        {(-1, 0, 0): ["r i0 i0"], (0, -1, 1): ["s s0 s0"], (0, -1, 2): ["s s0 s0"]},
        scratch=2,
    ),
    "unpublished": program(
        "broadcast", {(1, -1, 0): ["s i0 i0 @1.0"], (-1, -1, 0): ["cpy i0 s0"]}, {(-1, 0, 0): ["r i0 i0"]}, scratch=1
    ),
    "a later step publishes": program(
        "broadcast", {(1, -1, 0): ["s i0 i0 @1.0"], (-1, -1, 0): ["cpy i0 s0", "cpy i0 s1 !"]},
        {(-1, 0, 0): ["r i0 i0"]}, scratch=2,
    ),
    "alltoall in place": program(
        "alltoall", {(1, 1, 0): ["s i1 s0", "r i1 i1"]}, {(0, 0, 0): ["s i0 s0", "r i0 i0"]}, chunks=2
    ),
    "reduce-scatter out of place": program(
        "reducescatter",
        {(1, 1, 0): ["s i1 s0", "cpy i0 o0", "rrc o0 o0"]},
        {(0, 0, 0): ["s i0 s0", "cpy i1 o0", "rrc o0 o0"]},
        chunks=2,
        inplace=0,
    ),
    "gather in place": program("gather", {(-1, 1, 0): ["r o1 o1"]}, {(0, -1, 0): ["s i0 o1"]}, chunks=2),
    "gather out of place": program(
        "gather", {(-1, 1, 0): ["cpy i0 o0", "r o1 o1"]}, {(0, -1, 0): ["s i0 o1"]}, chunks=2, inplace=0
    ),
    "scatter in place": program("scatter", {(1, -1, 0): ["s i1 o0"]}, {(-1, 0, 0): ["r o0 o0"]}, chunks=2),
    "scatter out of place": program(
        "scatter", {(1, -1, 0): ["cpy i0 o0", "s i1 o0"]}, {(-1, 0, 0): ["r o0 o0"]}, chunks=2, inplace=0
    ),
    "overwritten before it is received": program(
        "broadcast",
        {(1, -1, 0): ["s i0 s0"], (1, -1, 1): ["s i0 i0"]},
        {(-1, 0, 0): ["nop i-1 o-1 @1.1", "r i0 i0"], (-1, 0, 1): ["r s0 s0", "cpy s0 i0 !"]},
        scratch=1,
    ),
}  # fmt: skip


@each_row("name", MADE)
def test_every_instruction_does_what_the_interpreter_says(name):
    odd = {"unpublished": "deadlock", "sum missed": "wrong"}
    assert verdict(MADE[name]).verdict == interpret(MADE[name]) == odd.get(name, "ok")


def test_bounded_connections_stop_a_sender_that_runs_ahead():
    ahead = program(
        "broadcast",
        {(1, -1, 0): ["s i0 i0"] * 8 + ["s i0 i0 !"], (1, -1, 1): ["s i0 i0 @0.8"]},
        {(-1, 0, 0): ["r i0 i0 @1.0"] + ["r i0 i0"] * 8, (-1, 0, 1): ["r s0 s0 !"]},
        scratch=1,
    )
    assert verdict(ahead).verdict == interpret(ahead) == "ok"
    assert verdict(ahead, slots="9").verdict == "ok"
    judged = verdict(ahead, slots="8")
    assert judged.verdict == "deadlock"
    assert "gpu 0/tb 0/step 8" in judged.reason


def test_a_bounded_connection_delays_the_send_and_not_the_result():
    late = program(
        "broadcast",
        {(1, -1, 0): ["s i0 i0"] * 4},
        {(-1, 0, 0): ["r i0 i0", "re i0 s0", "r s1 s1", "re i0 s0", "r s2 s2", "re i0 s0", "r s3 s3"]},
        scratch=4,
    )
    machine = build("switch:ranks=2,bandwidth=1GBps,latency=1us,gamma=1e-8")
    for slots, begins in ((0, 3e-6 + 2e-6), (1, 23e-6 + 2e-6)):
        trace = simulate(machine, read_schedule(late, "late", slots=slots), size=1000)
        assert trace.start[trace.schedule.src != trace.schedule.dst].max() == pytest.approx(begins)
        assert trace.verdict.verdict == "ok"


def test_the_dialect_of_ops_means_the_same():
    ops = """<algo name="t" proto="Simple" nchannels="1" ngpus="2" coll="allreduce" inplace="1">
      <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0"><tb id="0" send="1" recv="1" chan="0">
        <op step="0" type="s" buf="i" off="0"/><op step="1" type="rrc" buf="i" off="0"/></tb></gpu>
      <gpu id="1" i_chunks="1" o_chunks="0" s_chunks="0"><tb id="0" send="0" recv="0" chan="0">
        <op step="0" type="s" buf="i" off="0"/><op step="1" type="rrc" buf="i" off="0"/></tb></gpu></algo>"""
    mine, theirs = read_schedule(ops, "ops.xml"), read_schedule(EXCHANGE, "steps.xml")
    assert check_schedule(ops, "ops.xml").verdict == "ok"
    for column in ("src", "dst", "op", "from_slot", "to_slot", "step_of"):
        assert getattr(mine, column).tolist() == getattr(theirs, column).tolist()


def test_legacy_copies_come_before_everything():
    one = program(
        "allgather", {(1, 1, 0): ["s o0 o0", "r o1 o1"]}, {(0, 0, 0): ["s o1 o1", "r o0 o0"]}, chunks=2, inplace=0
    )
    assert verdict(one).verdict == "wrong"
    for gpu in (0, 1):
        opening = f'<gpu id="{gpu}" i_chunks="0" o_chunks="0" s_chunks="0">'
        one = one.replace(opening, f'{opening}<copy i_off="0" o_off="{gpu}"/>')
    assert verdict(one).verdict == "ok"


def test_custom_programs_run_unchecked():
    custom = EXCHANGE.replace('coll="allreduce"', 'coll="custom"').replace('i_chunks="0"', 'i_chunks="1"')
    assert verdict(custom).verdict == "unchecked"
    assert simulate(build("switch:ranks=2"), read_schedule(custom, "c"), size=64).schedule.messages == 2
    residual = program("allreduce", *({(p, p, 0): ["s i0 i0", "rrc i0 i0", "ra i0 i0"]} for p in (1, 0)))
    assert verdict(residual).verdict == "unchecked"


def test_a_message_that_nobody_receives_is_wrong():
    residual = EXCHANGE.replace('type="rrc"', 'type="ra"')
    assert verdict(residual).verdict == "wrong"
    assert "line 4: gpu 1 never receives a message that gpu 0 sends it on channel 0" in verdict(residual).reason
    unread = program("broadcast", {(1, -1, 0): ["s o0 o0", "s o0 o0"]}, {(-1, 0, 0): ["r o0 o0"]})
    assert verdict(unread).verdict == "wrong"


@each_row("collective", ["broadcast", "reduce", "scatter", "gather"])
@each_row("root", [0, 2])
def test_the_root_follows_from_who_never_receives_or_never_sends(collective, root):
    text = write_schedule(ALGORITHMS[f"{collective}.linear"].schedule(4, root=root), "msccl_xml")
    untold = re.sub(r' root="\d"', "", text)
    assert untold != text
    assert read_schedule(untold, "untold").root == root
    assert verdict(untold).verdict == "ok"
    told = re.sub(r' root="\d"', ' root="1"', text)
    assert verdict(told).verdict == "wrong"


@each_row(
    "text, message",
    [
        (
            program("broadcast", {(1, -1, 0): ["s i0 i0"] * 257}, {(-1, 0, 0): ["r i0 i0"] * 257}),
            "256 steps per thread",
        ),
        (program("broadcast", {(1, -1, 0): ["s i0 i0"] * 65}, {(-1, 0, 0): ["r i0 i0"] * 65}), "rccl takes 64 steps"),
        (program("broadcast", {(1, -1, 0): ["s i0 i0 x72"]}, {(-1, 0, 0): ["r i0 i0 x72"]}, chunks=72), "cnt of 71"),
        (program("broadcast", {(1, -1, 32): ["s i0 i0"]}, {(-1, 0, 32): ["r i0 i0"]}), "32 channels at most, not 33"),
        (EXCHANGE.replace("Simple", "Quick"), "'Quick' is none of LL, LL128, Simple"),
        (EXCHANGE.replace('s="1"', 's="7"', 1), "does not number its steps"),
        (
            program(
                "broadcast",
                {(1, -1, 0): ["nop i-1 o-1 @1.0", "s i0 i0"], (-1, -1, 0): ["cpy i0 s0 !"]},
                {(-1, 0, 0): ["r i0 i0"]},
                scratch=1,
            ),
            "a nop waits for an instruction that does not",
        ),
        (EXCHANGE, "^$"),
    ],
)
def test_a_correct_program_is_told_which_runtime_would_refuse_it(text, message):
    judged = verdict(text)
    assert judged.verdict == "ok"
    assert re.search(message, judged.reason)
