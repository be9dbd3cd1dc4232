"""Schedules written as MSCCL++ plans: within the executor's limits, proved when read again, right in any order."""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ops import ALGORITHMS
from ops.formats import check_schedule, read_schedule, write_schedule
from ops.formats.mscclpp_json.reader import transfers
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from sim.units import fmt_time
from tests.ops.random_plans import execution, right
from tests.ops.test_msccl_xml_writer import KNOWN, REGISTRY
from tests.ops.test_plan_races import edited, held_against_orders
from tests.tables import each_row

LIMIT = (
    r"microsoft/mscclpp takes \d+ (operations per thread block|channels of a type per thread block|"
    r"buffers of others per thread block|thread blocks per GPU) at most, not \d+"
)
TOLD = re.compile(r"1 MiB takes (.*?) on switch:ranks=\d+ as written here, and (.*?) as scheduled")
EXECUTED = ("allreduce", "allgather")
TWO_HOSTS = "dgx_a100:hosts=2"


def written(name, n, **machine):
    return write_schedule(ALGORITHMS[name].schedule(n), "mscclpp_json", **machine)


def most_of(plan):
    """The most operations, channels and buffers of a thread block, and thread blocks of a GPU."""
    blocks = [block for gpu in plan["gpus"] for block in gpu["threadblocks"]]
    channels = [c["channel_ids"] for block in blocks for c in block["channels"]]
    buffers = [r["remote_buffer_ids"] for block in blocks for r in block["remote_buffer_refs"]]
    at_once = [op[key] for block in blocks for op in block["ops"] for key in ("channel_ids",) if key in op]
    return (
        max(len(block["ops"]) for block in blocks), max(map(len, channels)), max(map(len, buffers)),
        max(map(len, at_once)), max(len(gpu["threadblocks"]) for gpu in plan["gpus"]),
    )  # fmt: skip


def held_to_its_promise(name, n):
    """Written within the limits, read again, proved; as fast as the schedule, or both times are told; or refused."""
    try:
        schedule = ALGORITHMS[name].schedule(n)
    except InputError:
        return "not for this number of ranks"
    refusal, text = "", ""
    try:
        text = write_schedule(schedule, "mscclpp_json")
    except InputError as error:
        refusal = str(error)
    if refusal:
        unsayable = schedule.switches or not schedule.unit_share or (np.diff(schedule.moves) == 0).any()
        limit = "it .*" if unsayable else LIMIT
        reason = re.search(f"cannot be written as an MSCCL\\+\\+ plan: ({limit})", refusal)
        assert reason, refusal
        return f"refused: {reason[1]}"
    known = schedule.promise.name in KNOWN
    judged = check_schedule(text, name)
    assert judged.verdict == ("ok" if known else "unchecked"), judged
    assert not known or judged.reason == ""
    assert all(count <= most for count, most in zip(most_of(json.loads(text)), (64, 16, 16, 8, 108), strict=True))
    machine, again = build(f"switch:ranks={n}"), transfers(text, name)
    before = simulate(machine, schedule, size=1 << 20).time
    after = simulate(machine, again, size=(1 << 20) * schedule.unit_share / again.unit_share).time
    times = TOLD.search(text)
    if times:
        assert times.groups() == (fmt_time(after), fmt_time(before))
        assert before != after
    else:
        assert after == pytest.approx(before, rel=1e-9)
    return f"both times: {' for '.join(times.groups())}" if times else "equal time"


@pytest.mark.slow
@each_row("name, n", product(REGISTRY, (4, 8)), days=6)
def test_what_is_written_is_proved_when_read_again_and_takes_the_same_time_or_tells_both(name, n):
    held_to_its_promise(name, n)


@pytest.mark.slow
@each_row("name", [name for name in REGISTRY if name.split(".")[0] in EXECUTED])
def test_threads_in_any_order_come_to_what_was_promised_while_every_gpu_runs(name):
    try:
        plan = json.loads(written(name, 4))
    except InputError as error:
        pytest.skip(str(error))
    for seed in range(3):
        memory, untimely = execution(plan, random.Random(seed))
        assert right(plan, memory)
        assert not untimely
    for gpu in range(4):
        assert gpu not in execution(plan, random.Random(gpu), absent=gpu)[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["allreduce.ring", "allreduce.recursive_doubling", "allgather.bruck"])
def test_what_goes_between_hosts_goes_through_ports(name):
    machine = build(TWO_HOSTS)
    plan = json.loads(written(name, 16, machine=machine))
    for gpu in plan["gpus"]:
        for channel in gpu["channels"]:
            same_host = {peer // 8 == gpu["id"] // 8 for peer in channel["connected_to"]}
            assert same_host == {channel["channel_type"] == "memory"}
        names = [op["name"] for block in gpu["threadblocks"] for op in block["ops"] if op.get("channel_type") == "port"]
        assert not {"rre", "get"} & {*names}
    memory, untimely = execution(plan, random.Random(1))
    assert right(plan, memory)
    assert not untimely
    assert check_schedule(json.dumps(plan), name).verdict == "ok"


@pytest.mark.slow
def test_edits_of_written_plans_are_judged_as_random_orders_end():
    draw = random.Random(7)
    seen = Counter()
    for name in ("allreduce.ring", "allgather.recursive_doubling", "allreduce.recursive_doubling"):
        plan = json.loads(written(name, 4))
        for _ in range(4):
            seen[held_against_orders(edited(plan, draw), 5)] += 1
    assert seen["wrong"] + seen["deadlock"] > 3


def test_a_ring_takes_one_thread_block_a_gpu_as_long_as_it_fits():
    plan = json.loads(written("allreduce.ring", 4))
    assert [len(gpu["threadblocks"]) for gpu in plan["gpus"]] == [1] * 4
    names = Counter(op["name"] for op in plan["gpus"][0]["threadblocks"][0]["ops"])
    assert (names["rre"], names["put"]) == (3, 3)
    assert plan["gpus"][0]["scratch_chunks"] == 0


def test_places_that_are_still_read_are_written_by_way_of_scratch_memory():
    plan = json.loads(written("allreduce.recursive_doubling", 4))
    assert plan["gpus"][0]["scratch_chunks"] == 2
    names = Counter(op["name"] for op in plan["gpus"][0]["threadblocks"][0]["ops"])
    assert (names["put"], names["re"], names["rre"]) == (2, 2, 0)


def test_what_no_plan_can_say_is_refused_with_the_reason():
    with pytest.raises(InputError, match=r"barrier\.dissemination cannot be written as an MSCCL\+\+ plan: it moves no"):
        written("barrier.dissemination", 4)
    with pytest.raises(InputError, match=r"allreduce\.nvls cannot be written as an MSCCL\+\+ plan: it adds and copies"):
        written("allreduce.nvls", 4)


def test_a_root_that_plans_cannot_name_leaves_the_promise_unsaid():
    schedule = ALGORITHMS["broadcast.binomial"].schedule(4, root=2)
    text = write_schedule(schedule, "mscclpp_json")
    assert json.loads(text)["collective"] == "custom"
    assert check_schedule(text, "x").verdict == "unchecked"


def test_names_survive_quotes():
    schedule = replace(ALGORITHMS["allreduce.ring"].schedule(3), name='a"b\\c')
    assert read_schedule(write_schedule(schedule, "mscclpp_json"), "x").name == schedule.name
