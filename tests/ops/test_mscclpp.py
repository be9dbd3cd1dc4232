"""MSCCL++ execution plans: the published ones proved, made ones judged."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from ops.formats import check_schedule, read_schedule
from sim.engine import simulate
from sim.errors import InputError
from sim.machines import build
from tests.ops import reference
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "mscclpp-json"
FILES = sorted(DATA.glob("*.json"))


def judge(plan):
    return check_schedule(plan if isinstance(plan, str) else json.dumps(plan), "plan.json")


def published(name):
    return json.loads((DATA / f"{name}.json").read_text())


def local(buffer, index, size=1):
    return {"type": buffer, "index": index, "size": size}


def remote(index, size=1, buffer=0):
    return {"buffer_id": buffer, "index": index, "size": size}


def op(name, src=(), dst=(), **more):
    return {"name": name, "src_buff": list(src), "dst_buff": list(dst), "channel_type": "memory", **more}


def two(blocks, *, collective="allreduce", chunks=(2, 2, 2), kind="memory", remotes="is", semaphores=(), inplace=True):
    """A plan of two GPUs that do the same, each with thread blocks of these operations."""
    gpus = []
    for rank in (0, 1):
        ids = range(len(blocks(rank)))
        gpus.append(
            {
                "id": rank,
                **dict(zip(("input_chunks", "output_chunks", "scratch_chunks"), chunks, strict=True)),
                "channels": [{"channel_type": kind, "connected_to": [1 - rank] * len(ids)}],
                "remote_buffers": [{"rank": 1 - rank, "type": b, "access_channel_types": [kind]} for b in remotes],
                "semaphores": [{"init_value": v} for v in semaphores],
                "threadblocks": [
                    {
                        "id": t,
                        "ops": ops,
                        "channels": [{"channel_type": kind, "channel_ids": [t]}],
                        "remote_buffer_refs": [
                            {"access_channel_type": kind, "remote_buffer_ids": [*range(len(remotes))]}
                        ],
                    }
                    for t, ops in enumerate(blocks(rank))
                ],
            }
        )
    return {"name": "made", "collective": collective, "protocol": "Simple", "inplace": inplace, "gpus": gpus}


SIGNAL, WAIT, NOP = op("signal", channel_ids=[0]), op("wait", channel_ids=[0]), op("nop")
TOGETHER = (NOP, SIGNAL, WAIT, NOP)


def put_then_add(r):
    """Own half to the peer's scratch, add what came, put the sum back."""
    return [
        [
            op("put", [local("i", 1 - r)], [remote(0, buffer=1)]), *TOGETHER,
            op("re", [local("i", r), local("s", 0)], [local("i", r)]),
            op("put", [local("i", r)], [remote(r)]), *TOGETHER,
        ]
    ]  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_published_plans_are_proved_and_run(file):
    text = file.read_text()
    assert check_schedule(text, file.name).verdict == "ok"
    schedule = read_schedule(text, file.name)
    trace = simulate(build("switch:ranks=2"), schedule, size=1 << 20)
    assert trace.verdict.verdict == "ok"
    assert trace.time > 0


def test_a_plan_without_a_name_is_one_too():
    named, nameless = two(put_then_add), two(put_then_add) | {"name": None}
    assert check_schedule(json.dumps(nameless), "it.json").verdict == "ok"
    assert read_schedule(json.dumps(nameless), "it.json").messages == read_schedule(json.dumps(named), "it").messages
    assert check_schedule(json.dumps(named | {"name": 3}), "it.json").verdict == "malformed"


@pytest.mark.parametrize(
    "name, messages, chunks",
    [("allreduce", 32, 32), ("allreduce_packet", 6, 8), ("reduce", 6, 8), ("transfer_pack", 2, 2)],
)
def test_published_plans_send_what_their_operations_say(name, messages, chunks):
    schedule = read_schedule((DATA / f"{name}.json").read_text(), name)
    away = schedule.src != schedule.dst
    assert (schedule.messages, int(np.diff(schedule.moves)[away].sum())) == (messages, chunks)
    if schedule.promise.name == "allreduce":
        assert not reference.shortcomings(schedule, "allreduce", schedule.promise.blocks)


def test_the_switch_adds_for_a_multicast_plan():
    schedule = read_schedule((DATA / "reduce_nvls.json").read_text(), "nvls")
    assert schedule.switches == ("NVS",)
    assert set(schedule.dst[schedule.op == 1].tolist()) == {2}
    with pytest.raises(InputError, match="needs a switch in its node that adds and copies"):
        simulate(build("mesh:ranks=2"), schedule, size=1 << 20)


def test_a_group_that_is_not_everyone_is_refused_truthfully():
    plan = published("reduce_nvls")
    plan["gpus"][0]["channels"][1]["rank_groups"][0]["ranks"] = [0]
    assert "a switch joins ranks 0, and one that joins all 2 ranks" in judge(plan).reason


def test_puts_signals_and_waits_make_an_allreduce():
    plan = two(put_then_add)
    assert judge(plan).verdict == "ok"
    assert judge(plan).reason == ""
    schedule = read_schedule(json.dumps(plan), "made")
    time = simulate(build("switch:ranks=2,bandwidth=1GBps,latency=1us"), schedule, size=2000).time
    assert time == pytest.approx(2 * (2e-6 + 1e-6))


def test_a_wait_without_a_signal_is_a_deadlock():
    def forgets(r):
        ops = put_then_add(r)[0]
        return [[o for o in ops if r or o is not SIGNAL]]

    judged = judge(two(forgets))
    assert judged.verdict == "deadlock"
    assert (
        "plan.json, gpu 1, threadblock 0, op 3: deadlock: wait waits for a signal of gpu 0 on memory channel 0"
        in judged.reason
    )


def test_a_signal_that_nobody_awaits_puts_the_next_run_out_of_step():
    judged = judge(two(lambda r: [[*put_then_add(r)[0], SIGNAL]]))
    assert judged.verdict == "ok"
    assert "waits for 2 of the 3 signals" in judged.reason


def test_what_is_added_twice_or_not_at_all_is_wrong():
    twice = two(lambda r: [[*put_then_add(r)[0], op("re", [local("i", r), local("s", 0)], [local("i", r)])]])
    assert judge(twice).verdict == "wrong"
    assert "counted twice" in judge(twice).reason
    assert judge(two(lambda r: [put_then_add(r)[0][:6]])).verdict == "wrong"


def port(r, *, flush, last):
    ops = [op("put", [local("i", 1 - r)], [remote(0, buffer=1)], channel_ids=[0], channel_type="port")]
    tell = [op("signal", channel_ids=[0], channel_type="port"), op("wait", channel_ids=[0], channel_type="port")]
    wait = [op("flush", channel_ids=[0], channel_type="port")] if flush else []
    add = op("re", [local("i", r), local("s", 0)], [local("i", r)])
    back = op(last, [local("i", r)], [remote(r)], channel_ids=[0], channel_type="port")
    return [[*ops, *tell, NOP, *wait, add, NOP, back, *(tell if last == "put" else tell[1:])]]


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("last", ["put", "pws", "pwsf"])
def test_ports_tell_of_arrival_by_the_signal_that_follows(flush, last):
    assert judge(two(lambda r: port(r, flush=flush, last=last), kind="port")).verdict == "ok"


def test_reading_and_writing_at_a_distance_reduces():
    def blocks(r):
        return [
            [
                *TOGETHER, op("rre", [local("i", r), remote(r)], [local("i", r)]), *TOGETHER,
                op("get", [remote(1 - r)], [local("i", 1 - r)]), *TOGETHER,
            ]
        ]  # fmt: skip

    assert judge(two(blocks)).verdict == "ok"


def packets(r):
    return [
        [op("ppkt", [local("i", 1 - r)], [remote(0, buffer=1)])],
        [op("recspkt" if r else "respkt", [local("i", r), local("s", 0)], [local("i", r), remote(1, buffer=1)])],
        [op("upkt", [local("s", 1)], [local("i", 1 - r)])],
    ]


def test_packets_are_awaited_by_whoever_reads_them():
    assert judge(two(packets)).verdict == "ok"
    silent = two(lambda r: packets(r)[0:1] + packets(r)[2:])
    assert judge(silent).verdict == "deadlock"
    assert "packets in slot 3 of gpu 0 that nobody writes" in judge(silent).reason


def test_packets_may_be_copied_first_and_passed_on_afterwards():
    def blocks(r):
        return [[op("cpkt", [local("o", r)], [local("s", 0)])], [op("rppkt", [local("s", 0)], [remote(r)])]]

    assert judge(two(blocks, collective="allgather", chunks=(1, 2, 1), remotes="os")).verdict == "ok"


def test_barriers_and_semaphores_order_thread_blocks():
    def through(first, second):
        def blocks(r):
            ops = put_then_add(r)[0]
            return [[*ops[:6], NOP, first], [second, NOP, op("put", [local("i", r)], [remote(r)]), *TOGETHER]]

        return blocks

    barrier = op("barrier", barrier_id=0, num_threadblocks=2)
    assert judge(two(through(barrier, barrier))).verdict == "ok"
    release, acquire = op("sem_release", semaphore_ids=[0]), op("sem_acquire", semaphore_ids=[0])
    assert judge(two(through(release, acquire), semaphores=[0])).verdict == "ok"
    assert judge(two(through(release, acquire), semaphores=[1])).verdict == "wrong"
    lonely = judge(two(through(op("nop"), barrier)))
    assert lonely.verdict == "deadlock"
    assert "2 threadblocks at barrier 0, and fewer come" in lonely.reason
    assert judge(two(through(op("nop"), acquire), semaphores=[0])).verdict == "deadlock"
    assert "names no semaphore" in judge(two(through(release, acquire))).reason


def test_pipelines_do_their_operations_on_all_data():
    inner = {"name": "pipeline", "iter_context": {"unit_size": 1024, "num_chunks": 1}}
    assert judge(two(lambda r: [[inner | {"ops": put_then_add(r)[0]}]])).verdict == "ok"


def test_thread_blocks_of_a_group_share_a_chunk():
    def blocks(r):
        return [
            [dict(o, tbg_info={"tb_id": t, "tbg_size": 2}) if o["src_buff"] else o for o in put_then_add(r)[0]]
            for t in (0, 1)
        ]

    plan = two(blocks)
    schedule = read_schedule(json.dumps(plan), "shared")
    assert (schedule.promise.blocks, schedule.messages) == (4, 8)
    assert judge(plan).verdict == "ok"
    plan["gpus"][0]["threadblocks"][1]["ops"][0]["tbg_info"]["tb_id"] = 0
    assert judge(plan).verdict == "wrong"
    for gpu in plan["gpus"]:
        gpu |= {"input_chunks": 3, "output_chunks": 3}
    uneven = judge(plan | {"collective": "reduce_scatter"})  # whatever share blocks have
    assert (uneven.verdict, "3 chunks cannot be shared evenly by 2 GPUs" in uneven.reason) == ("malformed", True)


@each_row(
    "change, message",
    [
        (
            lambda p: p["gpus"][0].pop("input_chunks"),
            "plan.json: an older MSCCL++ plan (before 0.8: no input_chunks in a gpu)",
        ),
        (lambda p: p["gpus"][0].update(id=5), "plan.json, gpu 0, id: is 5, not within 0..1"),
        (lambda p: p["gpus"][0].update(input_chunks="${CHUNKS}"), r"input_chunks: is ${CHUNKS}, which a run fills in"),
        (lambda p: p["gpus"][1]["threadblocks"][0]["ops"][0].update(name="glre"), "'glre' is no operation of MSCCL"),
        (lambda p: p["gpus"][0]["threadblocks"][0]["ops"][0]["dst_buff"][0].update(index=9), "ends beyond buffer s"),
        (
            lambda p: p["gpus"][0]["threadblocks"][0]["ops"][0]["dst_buff"][0].update(buffer_id=7),
            "names memory buffer 7",
        ),
        (
            lambda p: p["gpus"][0]["threadblocks"][0]["ops"][2].update(channel_ids=[3]),
            "names memory channel 3, but there",
        ),
        (lambda p: p["gpus"][0]["threadblocks"][0]["ops"][2].update(channel_ids=[]), "signal names no channel"),
        (lambda p: p["gpus"][0]["threadblocks"][0]["ops"][0].update(src_buff=[]), "put moves nothing"),
        (
            lambda p: p["gpus"][0]["threadblocks"][0]["ops"][0]["src_buff"][0].update(index=0, size=2),
            "operands of different",
        ),
        (lambda p: p["gpus"][0]["channels"][0].update(channel_type="pigeon"), "is of type 'pigeon'"),
        (lambda p: p.update(gpus=[]), "0 gpus: a plan has"),
        (lambda p: p.update(collective=3), "is '3', no text"),
    ],
)
def test_what_breaks_the_format_is_malformed_and_says_where(change, message):
    plan = two(lambda r: put_then_add(r)[:1])
    plan = copy.deepcopy(plan)
    change(plan)
    judged = judge(plan)
    assert judged.verdict == "malformed"
    assert judged.reason.startswith("plan.json")
    assert message in judged.reason


GPU = {"input_chunks": 2, "output_chunks": 2, "scratch_chunks": 0, "threadblocks": []}


@each_row(
    "change, sign",
    [
        ({"inputChunks": 2}, "inputChunks in a gpu"),
        ({"scratch_chunks": None}, "no scratch_chunks in a gpu"),
        ({"channels": [{"type": "sm", "connectedTo": [1]}]}, "connectedTo in a channel"),
        ({"channels": [{"type": "memory", "connected_to": [1]}]}, "no channel_type in a channel"),
        ({"channels": [{"channel_type": "switch", "buffer_type": "i"}]}, "no rank_groups in a switch channel"),
        ({"threadblocks": [{"id": 0, "ops": [{"name": "tpkt"}]}]}, "the operation tpkt"),
        ({"threadblocks": [{"id": 0, "ops": [{"name": "ucpkt"}]}]}, "the operation ucpkt"),
        ({"threadblocks": [{"id": 0, "ops": [{"name": "put", "i_buff": {}}]}]}, "i_buff in an operation"),
    ],
)
def test_a_plan_of_an_older_format_is_called_by_its_age(change, sign):
    gpus = [{key: value for key, value in (GPU | {"id": g} | change).items() if value is not None} for g in (0, 1)]
    judged = judge({"name": "old", "collective": "allreduce", "protocol": "LL", "gpus": gpus})
    assert judged.verdict == "malformed"
    assert judged.reason == (
        f"plan.json: an older MSCCL++ plan (before 0.8: {sign}), which later executors do not take: write it again from"
        " its program with a later MSCCL++"
    )


def test_cut_files_are_malformed_at_a_line():
    text = (DATA / "allreduce.json").read_text()
    assert judge(text[: len(text) // 2]).verdict == "malformed"
    assert "line " in judge(text[: len(text) // 2]).reason
    assert judge('{"threadblocks":' * 5000).verdict == "malformed"
