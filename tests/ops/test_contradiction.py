"""Where the tuner, the simulation and other algorithms contradict each other, the cause is one sentence."""

from dataclasses import replace

import pytest

from ops.answers.contradiction import against_others, against_tuner, contradiction, posting
from ops.libraries.nccl.choice import choose
from ops.libraries.nccl.constants import POST
from ops.libraries.nccl.tuner import Candidate
from ops.plan import Plan
from sim.units import fmt_time, us

LINK = Plan(algorithm="nccl.allreduce", machine="dgx_a100:hosts=2", size="1GiB")
HOPS = Plan(algorithm="nccl.allreduce", machine="aws_p4d:hosts=2", size="1KiB")
ALONE = Plan(algorithm="nccl.allreduce", machine="dgx_h100", size="1KiB")


@pytest.mark.parametrize(
    ("plan", "ratio", "cause"),
    [
        (LINK, 2.0, "2.0 times apart: H0."),
        (LINK, 2.0, "and the tuner does not see what shares it"),
        (LINK, 0.5, "2.0 times apart: the tuner allows 100 GB/s"),
        (HOPS, 8.0, "by the calibration of Ampere, EFA 100G a hop between hosts takes 69.6 µs more"),
        (ALONE, 2.0, "the calibration of Hopper has other values for them"),
        (LINK, 1.4, ""),
        (LINK, 0.7, ""),
    ],
)
def test_a_prediction_that_is_far_off_is_told_with_the_cause(plan: Plan, ratio: float, cause: str) -> None:
    run = plan.run()
    message = against_tuner(run, Candidate("Ring", "Simple", 0.0, 100e9, run.time / ratio))
    assert (cause in str(message)) if cause else message is None


def test_a_choice_that_another_algorithm_beats_is_told() -> None:
    ring, tree = Candidate("Ring", "Simple", 0.0, 1e9, 5e-3), Candidate("Tree", "Simple", 0.0, 1e9, 6e-3)
    message = against_others({ring: 7.5e-3, tree: 3e-3}, ring)
    assert str(message).startswith("NCCL takes Ring Simple, but Tree Simple is simulated 2.5 times as fast: its tuner")
    assert against_others({ring: 4e-3, tree: 3e-3}, ring) is None


def test_only_runs_of_nccl_without_faults_have_a_prediction() -> None:
    run = HOPS.run()
    assert contradiction(HOPS, run) is not None
    assert contradiction(replace(HOPS, fault="start_late:rank=0,late=1ms"), run) is None
    assert contradiction(replace(HOPS, algorithm="allreduce.ring"), run) is None


def test_the_prediction_is_of_the_machine_not_of_what_the_protocol_leaves_of_it() -> None:
    """A ring with LL of 64 GPUs: the tuner has 132 µs, as `nccl-choice` says."""
    plan = Plan(algorithm="nccl.allgather", machine="dgx_h100:hosts=8", size="1MiB")
    assert contradiction(plan, plan.run()) is None
    message = contradiction(HOPS, HOPS.run())
    assert message is not None
    machine = HOPS.topology()
    assert message.values["predicted"] == fmt_time(choose(machine, "allreduce", 1024).chosen.time)


def test_a_ring_whose_nics_wait_for_messages_to_be_posted_says_so_and_no_other_run() -> None:
    ring = Plan(algorithm="nccl.allgather", machine="nodes:nodes=4,gpus=8", size="64KiB")
    run = ring.run()  # 31 steps, and a message of each by every NIC
    share, words = 31 * POST["LL"] * us / run.time, str(posting(ring, run))
    assert words.startswith(f"H0.NIC0 is idle for {share:.0%} of the run"), words
    for changes in ({"size": "64MiB"}, {"machine": "dgx_h100"}, {"algorithm": "allgather.ring"}):
        other = replace(ring, **changes)
        assert posting(other, other.run()) is None, changes
