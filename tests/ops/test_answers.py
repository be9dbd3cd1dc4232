"""What a what-if's answer says is what two runs give, in every language."""

import contextlib
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import main
from ops.answers import answer, answer_alone, fastest, outcome_of
from ops.answers.names import called
from ops.answers.training import answer_step, remedy_step
from ops.answers.winners import answer_map
from ops.lab.winners import WinnerMap
from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.errors import InputError, StalledError
from sim.units import fmt_share, fmt_time
from ui.player.answer import answer_of, read
from ui.text import languages, say

RING = Plan(machine="dual_socket_pcie", size="16MiB")
CHANGES = st.one_of(
    st.builds(
        lambda ends, share: {"fault": f"slow_link:src={ends[0]},dst={ends[1]},share={share}"},
        st.sampled_from([("CPU0", "CPU1"), ("CPU1", "PCI1"), ("PCI0", "GPU2"), ("PCI1", "NIC1")]),
        st.sampled_from(["0.9", "0.5", "0.1"]),
    ),
    st.builds(
        lambda rank, late: {"fault": f"straggler:rank={rank},late={late}us"}, st.integers(0, 7), st.integers(0, 900)
    ),
    st.builds(
        lambda times: {"edits": f"set_link:src=CPU0,dst=CPU1,times={times}"}, st.sampled_from(["0.25", "2", "4"])
    ),
    st.builds(lambda size: {"size": f"{size}KiB"}, st.integers(64, 1 << 16)),
    st.sampled_from([{"algorithm": "allreduce.linear"}, {"algorithm": "allreduce.recursive_doubling"}]),
    st.builds(
        lambda one, other: {"edits": f"swap_ranks:rank={one},other={other}"}, st.integers(0, 3), st.integers(4, 7)
    ),
)


PLAIN = 1.05
"""Factor from which a difference is told as a factor, not in percent."""


def numbers(sentence):
    return sorted(re.findall(r"\d+(?:\.\d+)?", sentence))


def compared(changes):
    """What `compare --json` says of a change, without what would win a loss back."""
    words = {"algorithm": RING.algorithm, "size": RING.size, "fault": "", "edits": ""} | changes
    against = ";".join(f"{word}={getattr(RING, word)}" for word in changes)
    line = ["compare", words["algorithm"], "--machine", RING.machine, "--size", words["size"], "--compare-to", against]
    line += ["--fault", words["fault"]] * bool(words["fault"]) + ["--edit", words["edits"]] * bool(words["edits"])
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr("ops.answers.remedy.MOST", 0)
        assert main([*line, "--json"]) == 0
    return json.loads(out.getvalue())


@given(CHANGES)
def test_the_numbers_of_an_answer_are_those_of_both_runs_in_every_language(changes):
    data = compared(changes)
    before_s, after_s = (row["time_s"] for row in data["runs"])
    said = data["answer"]
    assert (said["before_s"], said["after_s"], said["factor"]) == (before_s, after_s, after_s / before_s)
    outcomes = [outcome_of(replace(RING, **changes)), outcome_of(RING)]
    shown = {language: answer_of(outcomes, ("", ""), language, remedies=False) for language in languages()}
    assert [read(shown["en"][part]) for part in ("headline", "reason")] == [said["sentence"], said["reason"]]
    for language, parts in shown.items():
        headline = read(parts["headline"])
        assert fmt_time(after_s) in headline
        if abs(after_s - before_s) <= 1e-9 * before_s:
            assert say("player.whatif.same", language).rstrip(".。").lower() in headline
            continue
        slower, faster = max(before_s, after_s), min(before_s, after_s)
        assert fmt_time(before_s).split()[0] in numbers(headline)
        assert f"{float(f'{slower / faster:.2g}'):g}×" in headline or slower / faster < PLAIN
        instants = [float(shows.removeprefix("t:")) for _, shows in parts["headline"] if shows.startswith("t:")]
        assert instants == [before_s, after_s]
        assert numbers(headline) == numbers(said["sentence"])
        assert numbers(read(parts["reason"])) == numbers(said["reason"])


ALONE = [
    (Plan(machine="dgx_a100"), "Ring takes 499.1 µs, 1.12× the lower bound.", "All 8 GPUs send all the time; each"),
    (Plan(machine="dgx_a100", size="1KiB"), "Ring takes 9.807 µs, 14× the lower bound.", "Latency takes 100% of the"),
    (RING, "Ring takes 1.836 ms, 1.5× the lower bound.", "All 8 GPUs wait for CPU0 ↔ CPU1."),
    (Plan(machine="switch", algorithm="allreduce.binomial_tree"), "Binomial tree takes", "On average "),
    (replace(RING, fault="dead_link:src=CPU0,dst=CPU1,start=1us"), "Ring never ends: nothing moves", "Ranks wait"),
]


@pytest.mark.parametrize(("plan", "headline", "reason"), ALONE)
def test_a_single_run_says_its_time_its_bound_and_what_it_is_made_of(plan, headline, reason):
    answered = answer_alone(outcome_of(plan))
    assert str(answered.sentence).startswith(headline)
    assert str(answered.reason).startswith(reason)


def test_what_is_said_of_all_data_is_computed_from_the_data():
    outcome = outcome_of(Plan(machine="dgx_a100"))
    one = replace(outcome, sending=outcome.sending._replace(least=0.9))
    more = replace(outcome, sending=outcome.sending._replace(fewest=1.0))
    assert "minimum" in str(answer_alone(outcome).reason)
    assert not str(answer_alone(one).reason).startswith("All 8 GPUs send")
    assert "each sends" not in str(answer_alone(more).reason)


@pytest.mark.parametrize(
    "change", ["--fault slow_link:src=CPU1,dst=CPU0,share=0.5", "--edit cut_cable:src=PCI0,dst=NIC0"]
)
def test_compare_answers_what_its_runs_say(change, capsys):
    line = f"compare allreduce.ring --machine dual_socket_pcie --size 16MiB {change} --json"
    assert main(line.split()) == 0
    data = json.loads(capsys.readouterr().out)
    before, after = (row["time_s"] for row in data["runs"])
    assert data["answer"]["before_s"] == before
    assert data["answer"]["after_s"] == after
    assert data["answer"]["factor"] == after / before
    assert fmt_time(after) in data["answer"]["sentence"]


def test_everybody_behind_a_link_is_counted():
    slow = replace(RING, fault="slow_link:src=CPU1,dst=CPU0,share=0.5")
    answered = answer(outcome_of(RING), outcome_of(slow))
    assert str(answered.reason) == "All 8 GPUs wait for CPU0 ↔ CPU1."
    assert answered.shows == "link:CPU0>CPU1"
    assert str(answered.remedy).startswith("Twice the bandwidth on CPU0 ↔ CPU1 brings ")
    healed = replace(slow, edits="set_link:src=CPU0,dst=CPU1,times=2")
    assert fmt_time(healed.run().time) in str(answered.remedy)


def test_a_link_that_nobody_uses_makes_no_difference():
    lone = replace(RING, fault="slow_link:src=PCI0,dst=NIC0,share=0.5")
    answered = answer(outcome_of(RING), outcome_of(lone))
    assert answered.factor == 1
    assert "no difference" in str(answered.sentence)
    assert "No message crosses" in str(answered.reason)


SWITCH = Plan("barrier.linear", machine="switch:ranks=8")
SAME = [
    (RING, {"edits": "move_device:device=GPU0,to=PCI1"}, "The run still waits for CPU", "link:CPU"),
    (RING, {"edits": "swap_ranks:rank=0,other=3"}, "Both wait for CPU0 ↔ CPU1, which is 100% used.", "link:CPU0>CPU1"),
    (RING, {"algorithm": "allreduce.ring_chunked"}, "Both wait for CPU0 ↔ CPU1", "link:CPU0>CPU1"),
    (RING, {"fault": "straggler:rank=2,late=1us"}, "Nothing waits for rank 2 that long.", "rank:2"),
    (
        RING,
        {"edits": "move_device:device=NIC0,to=PCI1"},
        "No message crosses NIC0 ↔ PCI0, NIC0 ↔ PCI1.",
        "link:NIC0>PCI0",
    ),
    (SWITCH, {"size": "1MiB"}, "Messages in sequence: 2 in both.", "part:latency"),
    (replace(SWITCH, algorithm="broadcast.linear"), {"root": 3}, "Messages in sequence: 1 in both.", "part:latency"),
    (Plan(machine="dgx_a100"), {"placement": "1,0,2,3,4,5,6,7"}, "The same messages wait for the same links.", ""),
]


@pytest.mark.parametrize(("plan", "change", "reason", "shows"), SAME)
def test_no_difference_has_its_reason_and_what_shows_it(plan, change, reason, shows):
    answered = answer(outcome_of(plan), outcome_of(replace(plan, **change)))
    assert str(answered.sentence).endswith("no difference.")
    assert str(answered.reason).startswith(reason)
    assert answered.shows.startswith(shows)
    assert bool(answered.evidence[1][1]) == bool(shows)


def test_a_run_that_never_ends_says_who_waits_for_whom():
    cut = replace(RING, fault="dead_link:src=CPU1,dst=CPU0,start=100us")
    with pytest.raises((InputError, StalledError)):
        cut.run()
    answered = answer(outcome_of(RING), outcome_of(cut))
    assert "never ends" in str(answered.sentence)
    assert "in a circle: 0 → 7" in str(answered.reason)
    back = answer(outcome_of(cut), outcome_of(RING))
    assert fmt_time(RING.run().time) in str(back.sentence)


def test_the_fastest_of_others_is_said_of_as_many_as_were_tried():
    slow = replace(RING, algorithm="allreduce.linear")
    answered = answer(outcome_of(RING), outcome_of(slow))
    tried = int(re.search(r"of (\d+) algorithms", str(answered.remedy))[1])
    best = fastest(slow)
    assert tried == best.compared > 20
    assert str(answered.remedy).startswith(str(called(best.algorithm, first=True)))
    assert fmt_time(best.time) in str(answered.remedy)


def test_the_fastest_is_the_one_that_winners_names(capsys):
    line = "winners allreduce --machine dgx_a100 --sizes 4MiB --ranks 8 --grid-only --json"
    assert main(line.split()) == 0
    data = json.loads(capsys.readouterr().out)
    best = fastest(Plan(algorithm="allreduce.linear", size="4MiB"))
    assert [[best.algorithm]] == data["winners"]
    assert best.compared > 20


@pytest.mark.parametrize(
    ("workload", "share", "why"),
    [("expert_parallel", 0.2, "wait for rank 0"), ("allgatherv", 0.9, "over NVL"), ("ddp", 0.0, "Compute hides")],
)
def test_a_training_step_says_what_is_exposed_what_it_waits_for_and_what_helps(workload, share, why):
    plan = WorkloadPlan.of(workload, Plan(machine="dgx_a100"))
    step = plan.run()
    sentence, reason = map(str, answer_step(step))
    assert fmt_time(step.time) in sentence
    assert why in reason
    assert step.exposed_s >= share * step.time
    if share:
        assert fmt_share(step.exposed_s / step.time, 1) in sentence
    helps = remedy_step(plan, step)
    assert (helps is not None) == bool(share)
    if workload == "allgatherv":
        faster = replace(plan, machine=replace(plan.machine, edits="set_class:kind=NVL,times=2")).run().time
        assert fmt_time(faster) in str(helps)


def test_a_map_says_who_wins_most_and_from_which_size():
    times = np.array([[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [1.0, 2.0]]])
    names = ("allreduce.ring", "allreduce.recursive_doubling")
    most, line, ahead = map(str, answer_map(WinnerMap((2, 4), (1024, 1 << 20), names, times[::-1], {})))
    assert most == "Ring is the fastest of 2 algorithms in 3 of 4 cells."
    assert line == "On 4 ranks: ring; recursive doubling from 1 MiB."
    assert ahead == "On 4 ranks at 1 KiB it takes 1 s, 2× faster than recursive doubling."
    alone = answer_map(WinnerMap((2,), (1024,), names[:1], times[:1, :1, :1], {}))
    assert list(map(str, alone)) == ["Ring takes 1 s."]


@pytest.mark.parametrize(
    ("before", "change", "names"),
    [
        (RING, {"algorithm": "allreduce.recursive_doubling"}, ["递归倍增", "环"]),
        (RING, {"algorithm": "allreduce.linear"}, ["线性", "环"]),
        (Plan(machine="dgx_a100"), {"machine": "switch:ranks=8"}, ["理想交换机（ranks=8）", "DGX A100"]),
    ],
)
def test_names_in_chinese_answers_are_chinese(before, change, names):
    outcomes = [outcome_of(replace(before, **change)), outcome_of(before)]
    shown = answer_of(outcomes, ("", ""), "zh", remedies=True)
    said = "".join(read(shown[part]) for part in ("headline", "reason", "remedy"))
    assert all(name in said for name in names)
    assert not re.search(r"[Rr]ing|doubling|[Ll]inear|chunked|fastest|switch", said)
