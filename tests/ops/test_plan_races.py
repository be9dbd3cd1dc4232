"""Plans whose threads race are wrong, told with what is missing; edits of published plans are judged as they end."""

import copy
import json
import random
import re
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

from ops.formats import check_schedule
from ops.formats.mscclpp_json import threads
from tests.ops.random_plans import Last, Stuck, outcome, right
from tests.ops.test_mscclpp import FILES, NOP, TOGETHER, judge, local, op, port, put_then_add, remote, two
from tests.tables import each_row

RELEASE, ACQUIRE = op("sem_release", semaphore_ids=[0]), op("sem_acquire", semaphore_ids=[0])
BARRIER = op("barrier", barrier_id=0, num_threadblocks=2)


def in_turn(first, second):
    """Blocks of `two`: one adds, the other puts the sum back; `first` and `second` tell it when."""
    back = [op("put", [local("i", 0)], [remote(0)]), *TOGETHER], [op("put", [local("i", 1)], [remote(1)]), *TOGETHER]
    return lambda r: [[*put_then_add(r)[0][:6], NOP, first], [second, NOP, *back[r]]]


def in_groups(r):
    """Two thread blocks that do half of every chunk each."""
    return [
        [o | {"tbg_info": {"tb_id": t, "tbg_size": 2}} if o.get("src_buff") else o for o in put_then_add(r)[0]]
        for t in (0, 1)
    ]


def in_a_pipeline(r):
    """All of it as one pipeline of one round."""
    return [[{"name": "pipeline", "iter_context": {"unit_size": 1024, "num_chunks": 1}, "ops": put_then_add(r)[0]}]]


PLANS = {file.stem: json.loads(file.read_text()) for file in FILES} | {
    "barriers": two(in_turn(BARRIER, BARRIER)),
    "semaphores": two(in_turn(RELEASE, ACQUIRE), semaphores=[0]),
    "groups": two(in_groups),
    "pipelines": two(in_a_pipeline),
    "ports": two(lambda r: port(r, flush=True, last="pws"), kind="port"),
}
"""The published plans, and one for each thing that none of them has."""


def test_a_wait_without_a_nop_behind_it_leaves_the_other_threads_behind():
    judged = judge(two(lambda r: [[o for k, o in enumerate(put_then_add(r)[0]) if k != 4]]))
    assert judged.verdict == "wrong"
    assert "nothing orders the two: put a nop before re at gpu 1, threadblock 0, op 4" in judged.reason


def test_where_thread_blocks_share_a_chunk_the_part_is_told():
    judged = judge(two(lambda r: [[o for k, o in enumerate(block) if k != 4] for block in in_groups(r)]))
    assert judged.verdict == "wrong"
    assert " part 1 of 2 of chunk 0 of buffer s of gpu " in judged.reason


def test_a_signal_without_a_nop_before_it_tells_of_what_other_threads_have_not_written():
    judged = judge(two(lambda r: [[o for k, o in enumerate(put_then_add(r)[0]) if k != 1]]))
    assert judged.verdict == "wrong"
    assert "put a nop before signal at gpu" in judged.reason


def test_a_missing_wait_is_a_race_that_only_a_signal_and_a_wait_order():
    judged = judge(two(lambda r: [[o for k, o in enumerate(put_then_add(r)[0]) if k != 3 or r]]))
    assert judged.verdict == "wrong"
    assert "let a signal and a wait, or a barrier, come between" in judged.reason


def test_threads_keep_the_order_of_parts_that_are_their_own():
    def shifted(by):
        copied = op("copy", [local("i", 0, 2)], [local("s", 0, 2)])
        back = op("copy", [local("s", by, 1)], [local("s", 2, 1)])
        rest = [NOP, op("copy", [local("s", 2, 1)], [local("o", by, 1)])]
        return judge(two(lambda r: [[copied, back, *rest]], collective="custom", chunks=(2, 2, 3), inplace=False))

    assert shifted(0).verdict == "unchecked"
    assert shifted(1).verdict == "wrong"
    assert "put a nop before copy" in shifted(1).reason


def test_a_port_reads_until_it_is_flushed():
    def plan(*between):
        ops = [
            op("put", [local("i", 0)], [remote(0)], channel_ids=[0], channel_type="port"), *between,
            op("copy", [local("s", 0)], [local("i", 0)]),
        ]  # fmt: skip
        return judge(two(lambda r: [ops], collective="custom", kind="port", remotes="o", inplace=False))

    flush = op("flush", channel_ids=[0], channel_type="port")
    assert plan(NOP).verdict == "wrong"
    assert "flush the channel and then put a nop before nop at gpu 0" in plan(NOP).reason
    assert plan(flush).verdict == "wrong"
    assert plan(flush, NOP).verdict == "unchecked"


WHERE = re.compile(r"gpu (\d+), threadblock (\d+)")


def wide(r):
    """Four chunks to the peer's scratch and back, and two of them once more, with no meeting between the last two."""
    return [
        [
            op("put", [local("i", 0, 4)], [remote(0, 4, buffer=1)]), *TOGETHER,
            op("re", [local("i", 0, 4), local("s", 0, 4)], [local("i", 0, 4)]),
            op("copy", [local("i", 0, 2)], [local("s", 4, 2)]), NOP, op("copy", [local("s", 4, 2)], [local("i", 0, 2)]),
            *TOGETHER,
        ]
    ]  # fmt: skip


def test_threads_side_by_side_are_judged_as_each_by_itself(monkeypatch):
    draw, plan = random.Random(3), two(wide, chunks=(4, 4, 6))
    plans = [plan, *(edited(plan, draw) for _ in range(60))]
    together = [judge(made).verdict for made in plans]
    assert set(together) == {"ok", "wrong", "deadlock", "malformed"}
    monkeypatch.setattr(threads, "_meet_elsewhere", bool)
    assert [judge(made).verdict for made in plans] == together


def edited(plan, draw):
    """The plan with one edit, as a person might make it by mistake."""
    plan = copy.deepcopy(plan)
    gpu = draw.choice(plan["gpus"])
    ops = draw.choice([block["ops"] for block in gpu["threadblocks"]])
    ops = ops[0]["ops"] if ops[0]["name"] == "pipeline" else ops
    refs = [r for o in ops for end in ("src_buff", "dst_buff") for r in o.get(end, [])]
    match draw.randrange(7):
        case 0:
            del ops[draw.choice([k for k, o in enumerate(ops) if o["name"] == "nop"] or [0])]
        case 1:
            tells = ("wait", "signal", "barrier", "sem_acquire", "sem_release", "flush")
            del ops[draw.choice([k for k, o in enumerate(ops) if o["name"].endswith(tells)] or [0])]
        case 2:
            a, b = (draw.randrange(len(ops)) for _ in range(2))
            ops[a], ops[b] = ops[b], ops[a]
        case 3:
            del ops[draw.randrange(len(ops))]
        case 4:
            del ops[draw.choice([k for k, o in enumerate(ops) if o.get("src_buff")])]
        case 5:
            ref = draw.choice(refs)
            ref |= {"type": draw.choice("ios")} if "type" in ref else {"buffer_id": 0} if "buffer_id" in ref else {}
        case _:
            ref = draw.choice(refs)
            ref["index"] = max(0, ref["index"] + draw.choice([-1, 1]))
    return plan


def held_against_orders(plan, count):
    """The verdict agrees with what random orders of all threads do; a race that is told shows in two of many."""
    judged = check_schedule(json.dumps(plan), "edited.json")
    if judged.verdict == "malformed":
        return "malformed"

    def ends(draws):
        for draw in draws:
            try:
                memory = outcome(plan, draw)
                yield right(plan, memory), tuple(sorted(item for item in memory.items() if item[0][1] == "o"))
            except Stuck:
                yield "deadlock", ()

    found = set(ends(map(random.Random, range(count))))
    lasts = [(int(gpu), int(block)) for gpu, block in WHERE.findall(judged.reason)]
    more = ends(
        chain((Last(s, last) for s in range(20) for last in lasts), map(random.Random, range(count, 40 * count)))
    )
    if "depends on chance" in judged.reason:
        while len(found) == 1:
            found.add(next(more, ("always the same", judged)))
    rightly = {judgement for judgement, _ in found}
    expected = {"ok": {True}, "deadlock": {"deadlock"}}.get(judged.verdict)
    assert rightly == expected if expected else rightly - {True} <= {False, "deadlock"} != set(), (judged, rightly)
    if "depends on chance" in judged.reason:
        return "race"
    assert judged.verdict != "wrong" or rightly == {False}, (judged, rightly)
    return judged.verdict


@each_row("name", PLANS)
def test_edited_plans_are_judged_as_random_orders_of_their_threads_end(name):
    draw, plan = random.Random(name), PLANS[name]
    assert held_against_orders(plan, 5) == "ok"
    for _ in range(4):
        held_against_orders(edited(plan, draw), 10)


def main(folder, most=100):
    """Edits of published plans, fifty orders each: `python -m tests.ops.test_plan_races FOLDER [EDITS]`."""
    draw, seen = random.Random(1), Counter()
    for number in range(most):
        name = [*PLANS][number % len(PLANS)]
        plan = edited(PLANS[name], draw)
        try:
            verdict = held_against_orders(plan, 50)
        except AssertionError as difference:
            verdict = "disagrees"
            Path(folder, f"{number}.json").write_text(json.dumps(plan))
            print(difference)
        seen[verdict] += 1
        print(f"{number + 1} of {most}: {name}: {verdict}", flush=True)
    print(dict(seen))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
