"""The programs that lessons show print what the lessons tell: `test_scripts` compares them with gloo."""

from ops.plan.examples import PROGRAMS
from ops.programs import run_program
from sim.machines import build


def text(name):
    return (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


def test_tface_s_gather_gives_back_the_sum_of_all_ranks_and_a_plain_one_nothing(under_gloo):
    assert under_gloo["gather_gradient"] == [f"{rank} plain: None TFace: {1.0 + 2 + 3 + 4}" for rank in range(4)]


def test_ddp_s_average_makes_an_own_gradient_n_times_too_small(under_gloo):
    for line in under_gloo["average"]:
        assert line[2:] == str({"own": 4.0, "own, loss times n": 1.0, "through the gather": 1.0})


def test_a_local_loss_needs_an_nth_of_the_logits_for_the_same_gradient(under_gloo):
    for line in under_gloo["local_loss"]:
        assert line[2:] == f"logits: {2 * 4 * 16} of {2 * 16 * 16} gradients equal: True"


def test_all_wait_for_the_first_rank_and_find_what_it_prepared(run):
    lines = run(text("zero_first")).output.splitlines()
    assert sorted(lines) == ["0 prepared 2.0", "1 found 1.9", "2 found 1.8", "3 found 1.7"]


def test_partitions_are_the_same_by_an_all_gather_and_by_broadcasts_but_sooner(run):
    outcome = run(text("partitions"), "dgx_h100")
    assert sorted(outcome.output.splitlines()) == [
        f"{rank} True {2.0**18 * (1 + 2 + 3 + 4)} all-gather first: True" for rank in range(4)
    ]


def test_blocks_of_unequal_length_arrive_whatever_the_algorithm():
    outcomes = [
        run_program(
            PROGRAMS / "allgatherv.py",
            build("nodes:nodes=2,gpus=4"),
            8,
            forced={"allgatherv": (f"allgatherv.{it}", {})},
        )
        for it in ("linear", "ring")
    ]
    assert {outcome.failure for outcome in outcomes} == {None}
    assert sorted(outcomes[0].output.splitlines()) == sorted(outcomes[1].output.splitlines())
    assert outcomes[0].calls[-1].algorithm == "allgatherv.linear"
