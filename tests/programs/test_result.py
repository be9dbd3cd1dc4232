"""A program's result as a file: read as data, and refused in one sentence that says where it is wrong."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from ops.programs.result import PROGRAM, is_result, read_result
from sim.errors import InputError
from ui.train.playhead import alone, playable

TEXT = (Path(__file__).parents[1] / "data" / "torchrun" / "ddp-4-ranks.json").read_text(encoding="utf-8")


def changed(*path, to):
    """The file with something else at a place."""
    whole = json.loads(TEXT)
    place = whole
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return json.dumps(whole)


def test_what_was_written_is_what_is_read():
    written = json.loads(TEXT)
    assert is_result(TEXT)
    machine, step = read_result(TEXT, "file")
    assert (machine.machine, step.workload, step.ranks) == ("dgx_h100", PROGRAM, written["ranks"])
    assert step.time == written["time_s"]
    assert step.exposed_s == written["exposed_communication_s"]
    assert step.peaks == written["peak_memory_bytes"]
    assert [c.algorithm for c in step.calls] == [c["algorithm"] for c in written["collectives"]]
    assert step.verified


def test_every_collective_can_be_played_among_its_own_ranks():
    machine, step = read_result(TEXT, "file")
    calls = playable(step)
    assert len(calls) == len(step.calls)
    for call in calls.values():
        outcome = alone(machine, call, step).run()
        assert outcome.trace.schedule.n == len(call.ranks)
        assert outcome.trace.schedule.name == call.algorithm
    group = alone(machine, step.calls[-1], step)
    assert (group.ranks, group.size, group.placement) == (2, str(4 << 20), "GPU1,GPU3")


BAD = {
    TEXT[:-30]: "this is not JSON",
    '{"ringside": "program-1"}': "words is not an object",
    "[" * 100_000: "this is not JSON",
    "[]": "file is not an object",
    changed("words", to={"algorithm": "x"}): "`words` names no machine",
    changed("words", "machine", to="dgx_h1000"): "dgx_h1000",
    changed("words", "machine", to="switch:ranks=2"): "2",
    changed("ranks", to=0): "ranks is not a number from 1",
    changed("ranks", to=True): "ranks is not a number from 1",
    changed("time_s", to=float("nan")): "time_s is not a number",
    changed("timeline", to={}): "timeline is not a list",
    changed("timeline", 3, to=7): "timeline 3 is not an object",
    changed("timeline", 3, "rank", to=4): "timeline 3: rank is not a number from 0 to 3",
    changed("timeline", 3, "lane", to="gpu"): "timeline 3: lane is not one of compute",
    changed("timeline", 3, "end", to=-1): "timeline 3: end is not a number",
    changed("timeline", 3, "name", to="x" * 201): "timeline 3: name is not a text of at most 200",
    changed("timeline", 3, "name", to="a\u202eb"): "timeline 3: name is not a text",
    changed("memory", 1, "bytes", to="8"): "memory 1: bytes is not a number",
    changed("collectives", 2, "ranks", to=[0, 0]): "collectives 2: ranks is not a list of ranks below 4",
    changed("collectives", 2, "ranks", to=[]): "collectives 2: ranks is not a list of ranks below 4",
    changed("collectives", 2, "verified", to=1): "collectives 2: verified is not true or false",
    changed("collectives", 2, "start_s", to=1e300): "collectives 2: start_s is not a number",
}


@pytest.mark.parametrize("text", BAD, ids=BAD.values())
def test_what_is_damaged_is_told_in_one_sentence(text):
    with pytest.raises(InputError, match=BAD[text]) as told:
        read_result(text, "file")
    assert "\n" not in str(told.value)


def test_spans_of_a_lane_that_overlap_have_rows_of_their_own_in_perfetto():
    _, step = read_result(TEXT, "file")
    _, lane, start, end, *_ = step.spans[0]
    beside = replace(step, spans=[*step.spans, step.spans[0]._replace(start=(start + end) / 2, name="beside")])
    events = json.loads(beside.to_perfetto())["traceEvents"]
    (added,) = (event for event in events if event["name"] == "beside")
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names[added["tid"]] == f"{lane} 2"
    for pid, tid in {(event["pid"], event["tid"]) for event in events if event["ph"] == "X"}:
        ours = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (pid, tid)]
        slices = sorted((e["ts"], e["ts"] + e["dur"]) for e in ours)
        assert all(before[1] <= after[0] + 1e-3 for before, after in pairwise(slices))
