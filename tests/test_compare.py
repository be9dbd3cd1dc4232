"""`compare`: winners, reasons and crossover sizes against closed forms."""

import json

import pytest

import cli
from ops.lab.crossovers import crossovers
from ops.plan import Plan
from sim.machines import build
from sim.trace.breakdown import breakdown
from terminal import BAD_INPUT, DONE

ALPHA, BETA = 2e-6, 1 / 25e9
SWITCH = build("switch:ranks=8,bandwidth=25GBps,latency=1us")


def runs(*names):
    return {name: Plan(name).prepare(SWITCH) for name in names}


def test_the_crossover_is_where_the_closed_forms_meet():
    """14 α + 7/4 β m against 3 α + 3 β m."""
    (found,) = crossovers(runs("allreduce.ring", "allreduce.recursive_doubling"))
    assert (found.below, found.above) == ("allreduce.recursive_doubling", "allreduce.ring")
    assert found.size == pytest.approx(11 * ALPHA / (1.25 * BETA), rel=0.01)


def test_sizes_that_an_algorithm_cannot_cut_are_left_out(capsys):
    asked = ["compare", "allreduce.ring", "allreduce.recursive_doubling", "--machine", "switch:ranks=4096"]
    assert cli.main([*asked, "--size", "1GiB", "--json"]) == DONE
    (crossed,) = json.loads(capsys.readouterr().out)["crossovers"]
    assert (crossed["below"], crossed["above"]) == ("allreduce.recursive_doubling", "allreduce.ring")


def test_three_algorithms_have_a_crossover_per_pair():
    """Rabenseifner: 6 α + 7/4 β m, ahead of the ring at every size."""
    names = ("allreduce.ring", "allreduce.recursive_doubling", "allreduce.rabenseifner")
    found = crossovers(runs(*names))
    sizes = {frozenset((c.below, c.above)): c.size for c in found}
    assert sizes.keys() == {frozenset(names[:2]), frozenset(names[1:])}
    assert sizes[frozenset(names[1:])] == pytest.approx(3 * ALPHA / (1.25 * BETA), rel=0.01)


def test_the_reason_counts_messages_in_a_row_and_what_they_wait():
    ring, doubling = (
        breakdown(run.at(1 << 20).trace) for run in runs("allreduce.ring", "allreduce.recursive_doubling").values()
    )
    assert (ring.messages, doubling.messages) == (14, 3)
    assert ring.ahead == pytest.approx(14 * ALPHA)
    assert doubling.parts["bytes"] == pytest.approx(3 * BETA * (1 << 20))


def test_the_terminal_names_the_winner_and_the_sizes(capsys):
    two = ("compare", "allreduce.ring", "allreduce.recursive_doubling", "--machine", "switch:ranks=8")
    assert cli.main([*two, "--size", "64KiB", "--json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["winner"] == "allreduce.recursive_doubling"
    assert [row["messages_in_a_row"] for row in found["runs"]] == [14, 3]
    assert len(found["crossovers"]) == 1
    assert cli.main([*two, "--size", "1GiB"]) == DONE
    out = capsys.readouterr().out
    runs = [line.split()[0] for line in out.splitlines() if line.startswith("  allreduce.")]
    assert runs == ["allreduce.ring", "allreduce.recursive_doubling"]
    assert out.startswith("Recursive doubling instead of ring: ")
    assert "on, allreduce.ring is faster than allreduce.recursive_doubling" in out


def test_one_algorithm_is_compared_with_itself_under_other_parameters(capsys):
    specs = ("broadcast.chain:segments=1", "broadcast.chain:segments=64")
    assert cli.main(["compare", *specs, "--machine", "switch:ranks=8", "--size", "64MiB", "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["winner"] == specs[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name two algorithms or more"),
        (("allreduce.ring",), "name two algorithms or more"),
        (("allreduce.ring", "allreduce.ring"), "given twice"),
        (("allreduce.ring", "allreduce.bing"), "no algorithm is called 'allreduce.bing'"),
        (("allreduce.ring", "allreduce.multi_ring:channels=0"), "channels=0 is outside"),
        (("allreduce.ring", "allreduce.nvls"), "has none there: choose another algorithm or machine"),
    ],
)
def test_what_cannot_be_compared_is_told_in_one_line(words, says, capsys):
    machine = "torus:dims=2x2" if "allreduce.nvls" in words else "switch:ranks=4"
    assert cli.main(["compare", *words, "--machine", machine, "--size", "1MiB"]) == BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


def test_a_size_is_asked_for(capsys):
    assert cli.main(["compare", "allreduce.ring", "allreduce.bine", "--machine", "switch:ranks=4"]) == BAD_INPUT
    assert "add --size 64MiB" in capsys.readouterr().err
