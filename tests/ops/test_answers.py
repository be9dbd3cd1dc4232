"""What a what-if's answer says is what two runs give, in every language."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import main
from ops.answers import answer, fastest, outcome_of
from ops.plan import Plan
from sim.errors import InputError, StalledError
from sim.units import fmt_time
from ui.text import languages, speaking, worded

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


def numbers(sentence: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", sentence)


@given(CHANGES)
def test_the_numbers_of_an_answer_are_those_of_both_runs_in_every_language(changes):
    after = replace(RING, **changes)
    before_s, after_s = RING.run().time, after.run().time
    answered = answer(outcome_of(RING), outcome_of(after), remedies=False)
    assert (answered.before, answered.after) == (before_s, after_s)
    said = []
    for language in languages():
        with speaking(language):
            said.append(f"{worded(answered.sentence)} {worded(answered.reason)}")
    assert len({tuple(sorted(numbers(sentence))) for sentence in said}) == 1
    assert all(fmt_time(after_s) in sentence for sentence in said)
    if before_s != after_s:
        ratio = max(before_s, after_s) / min(before_s, after_s)
        assert fmt_time(before_s).split()[0] in numbers(said[0])
        assert f"{float(f'{ratio:.2g}'):g}×" in said[0] or ratio < 1.05
    else:
        assert "no difference" in said[0]


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
    assert str(answered.reason) == "All 8 ranks wait for CPU0 ↔ CPU1."
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
    assert str(answered.remedy).startswith("allreduce.")
    tried = int(re.search(r"of (\d+) algorithms", str(answered.remedy))[1])
    best = re.match(r"(allreduce\.\w+)", str(answered.remedy))[1]
    assert tried > 10
    assert fmt_time(replace(RING, algorithm=best).run().time) in str(answered.remedy)


def test_the_fastest_is_the_one_that_winners_names(capsys):
    line = "winners allreduce --machine dgx_a100 --sizes 4MiB --ranks 8 --grid-only --json"
    assert main(line.split()) == 0
    data = json.loads(capsys.readouterr().out)
    best = fastest(Plan(algorithm="allreduce.linear", size="4MiB"))
    assert [[best.algorithm]] == data["winners"]
    assert best.compared > 20
