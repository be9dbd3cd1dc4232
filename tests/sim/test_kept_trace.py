"""A trace from outside is what a run can have been, or one sentence; no compiled code sees anything else."""

import copy
import json

import pytest

from ops import ALGORITHMS
from sim.engine import simulate
from sim.errors import InputError
from sim.faults.kinds import faults
from sim.machines import build
from sim.trace import from_json
from sim.trace.metrics import critical_path
from tests.tables import each_row


def kept(name="allreduce.ring", machine="switch:ranks=4", specs=()):
    topology = build(machine)
    schedule = ALGORITHMS[name].schedule(4)
    trace = simulate(topology, schedule, 1 << 16, history=True, perturbations=faults(specs, topology))
    return json.loads(trace.to_json())


RUN, SWITCHED, FAULTY = (
    kept(), kept("allreduce.nvls", "dgx_h100"), kept(specs=["slow_link:src=GPU0,dst=SW,share=0.5,start=1us"]),
)  # fmt: skip


def replaced(document, path, value):
    """A copy with something else at a place."""
    document = copy.deepcopy(document)
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return document


def places(document, path=()):
    """Every place of a document; of long lists the first and the last entry."""
    if path:
        yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))
    elif isinstance(document, list) and document:
        for k in {0, len(document) - 1}:
            yield from places(document[k], (*path, k))


CAUSES = RUN["columns"]["cause"]
LATER = CAUSES.index(0)


@each_row(
    "path, value, says",
    [
        (("format",), "chrome", "no Ringside trace"),
        (("version",), 99, "version 99"),
        (("topology",), None, "topology has no devices"),
        (("columns", "end"), RUN["columns"]["end"][:-1], "columns, end has 23 entries, not 24"),
        (("columns", "ready", 3), 1e9, "columns say of a transfer that it ended before it was ready"),
        (("columns", "ended"), -1.0, "columns, ended is no number from 0 on"),
        (("columns", "cause"), [*range(24)], "names a transfer that ended later"),
        (("columns", "cause", 0), 23, "columns, cause names a transfer that ended later"),
        (("columns", "cause", LATER), 24, "outside -1..23"),
        (("columns", "route", 0), 12, "columns, route has a number outside 0..3"),
        (("routes", 0, 1), 10**9, r"routes\[0\] has a number outside"),
        (("routes", 1, 0), 8, r"routes\[1\] has a number outside 0..7"),
        (("history", 1), RUN["history"][1][::-1], "goes back in time"),
        (("history", 0, 0), 24, "outside 0..23"),
        (("schedule", "to_slot", 3), 99, "schedule, to_slot has a number outside 0..3"),
        (("schedule", "src", 0), -1, "schedule, src has a number outside 0..3"),
        (("schedule", "src", 0), 10**30, "schedule, src holds something other than numbers"),
        (("schedule", "moves", 5), 1000, "schedule, moves has a number outside 0..24"),
        (("schedule", "step_start", 1), 23, "does not divide 24 entries into rows"),
        (("schedule", "op", 0), 2, "outside 0..1"),
        (("schedule", "n"), 5, "schedule, n is no whole number of 1..4"),
        (("schedule", "slots"), 10**9, "schedule, slots is no whole number of 0..4194304"),
        (("schedule", "fixed_bytes"), [1.0], "schedule, fixed_bytes has 1 entries, not 24"),
        (("promise", "given"), RUN["promise"]["given"][:1], "promise is for 1 places of 4 slots"),
        (("promise", "owed"), [[0]], "promise, owed has 1 x 1 entries, not 4 x 4"),
        (("promise", "given", 0, 0), 4, "promise, given has a number outside -1..3"),
        (("promise", "last", 0, 0), 5, "promise, last has a number outside -1..4"),
        (("promise", "inputs"), [0, 5], r"promise, inputs\[1\] is no whole number of 0..4"),
        (("topology", "ranks"), [0, 0, 1, 2], "topology puts two ranks on one device"),
        (("topology", "devices", 0, "kind"), "TPU", r"devices\[0\], kind is 'TPU', none of GPU"),
        (("topology", "links", 0, "bandwidth"), 0, "bandwidth 0"),
        (("hits",), [[0], [0], [1.0]], r"hits\[0\] has a number outside 0..-1"),
        (("capacities",), [[8], [0.0], [1.0]], r"capacities\[0\] has a number outside 0..7"),
        (("verdict", "verdict"), "perfect", "verdict, verdict is 'perfect', none of ok"),
    ],
)  # fmt: skip
def test_what_no_run_can_have_been_is_named_with_its_place(path, value, says):
    with pytest.raises(InputError, match=says):
        from_json(json.dumps(replaced(RUN, path, value)))


def test_causes_that_go_round_at_one_moment_are_refused():
    still = {name: [0.0] * 24 for name in ("ready", "left", "start", "end")}
    for circle in ([0], [1, 0], [2, 0, 1]):
        columns = RUN["columns"] | still | {"cause": [*circle, *[-1] * (24 - len(circle))]}
        with pytest.raises(InputError, match="columns, cause goes round in a circle"):
            from_json(json.dumps(RUN | {"columns": columns}))
    line = RUN["columns"] | still | {"cause": [*range(1, 24), -1]}
    assert len(critical_path(from_json(json.dumps(RUN | {"columns": line})))) == 24


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "1" * 5000 + "}", "{} {}", "null", "1e999", "\ud800"])
def test_texts_that_are_no_document_are_one_sentence(text):
    with pytest.raises(InputError):
        from_json(text)


def test_a_promise_of_fewer_rows_than_ranks_does_not_reach_the_kernel():
    """It wrote behind its array, once."""
    damaged = replaced(RUN, ("promise", "given"), [[0, 0, 0, 0]])
    for name in ("owed", "first", "last"):
        damaged["promise"][name] = damaged["promise"]["given"]
    with pytest.raises(InputError, match="promise is for 1 places"):
        from_json(json.dumps(damaged))
