"""What is told of a machine: the best ring, the cables that matter, why a rank is slow."""

import json
from itertools import permutations

import pytest

import cli
from ops.diagnosis import diagnose, ordered, ring_of
from ops.diagnosis.ring_order import hops_of, ring_order
from ops.plan import Plan
from ops.plan.examples import example_captures
from sim.errors import InputError
from sim.faults.edits import differences, edited
from sim.machines import build
from terminal import BAD_INPUT, DONE

CUBE = Plan(capture=example_captures()["dgx-1v"])
SOCKETS = Plan(machine="dual_socket_pcie:gpus=4")


@pytest.fixture(scope="module")
def cube():
    return diagnose(CUBE)


def test_the_best_order_is_the_best_of_all_and_simulated(cube):
    hops = hops_of(ring_of(CUBE).topology())
    costs = [hops.cost((0, *rest)) for rest in permutations(range(1, 8))][::7]
    assert hops.cost(cube.order)[0] <= min(costs)[0] * (1 + 1e-9)
    assert cube.time == ring_of(CUBE).run().trace.time
    assert cube.best_time == ring_of(ordered(CUBE, cube.order)).run().trace.time
    assert cube.gain == cube.time / cube.best_time > 3.9


def test_more_ranks_change_places_as_long_as_that_helps():
    shuffled = edited(build("torus:dims=4x4"), ["order_ranks:order=5-12-0-9-3-15-1-10-7-2"])
    order, hops = ring_order(shuffled), hops_of(shuffled)
    assert sorted(order) == list(range(16))
    assert hops.cost(order)[0] <= hops.cost(range(16))[0] / 2


def test_where_no_order_is_faster_that_of_the_ranks_stays():
    diagnosis = diagnose(SOCKETS)
    assert (diagnosis.order, diagnosis.gain) == ((0, 1, 2, 3), 1.0)
    first = diagnosis.cables[0]
    assert first.name == "CPU0 - CPU1"
    assert first.slower == pytest.approx(2 * diagnosis.time, rel=0.01)
    last, waiting = diagnosis.ranks[1], diagnosis.ranks[0]
    assert (last.over, last.next, last.pace) == ("CPU0 → CPU1", "GPU2", diagnosis.pace)
    assert waiting.pace > diagnosis.pace
    assert (last.behind, last.slowest) == (("GPU2", "GPU3"), pytest.approx(16e9))


def test_equal_ranks_are_told_to_be_equal():
    diagnosis = diagnose(Plan(machine="switch:ranks=8"))
    assert len({rank.pace for rank in diagnosis.ranks}) == len({rank.rate for rank in diagnosis.ranks}) == 1
    assert (len(diagnosis.cables), diagnosis.alike) == (3, 5)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ("0-1", "have this order already"),
        ("3-3", "name each rank once"),
        ("-", "name each rank once"),
        ("9", "'9' is no rank"),
        ("0-x", "'x' is no rank"),
        ("²", "'²' is no rank"),
        ("9" * 5000, "is no rank"),
    ],
)
def test_an_order_that_is_none_is_refused(order, says):
    with pytest.raises(InputError, match="order_ranks") as error:
        edited(build("switch:ranks=4"), [f"order_ranks:order={order}"])
    assert says in str(error.value)


def test_an_order_names_some_and_the_others_follow():
    before = build("switch:ranks=4")
    after = edited(before, ["order_ranks:order=2-0"])
    assert [after.devices[place].name for place in after.ranks] == ["GPU2", "GPU0", "GPU1", "GPU3"]
    assert differences(before, after) == ["ranks: rank 0 is GPU2, rank 1 is GPU0, rank 2 is GPU1"]


def test_the_terminal_tells_it_too(capsys):
    assert cli.main(["diagnose", "--machine", SOCKETS.machine, "--json"]) == DONE
    data = json.loads(capsys.readouterr().out)
    assert (data["ring_order"], data["cables"][0]["name"]) == ([0, 1, 2, 3], "CPU0 - CPU1")
    assert [gpu["next"] for gpu in data["gpus"]] == ["GPU1", "GPU2", "GPU3", "GPU0"]
    assert cli.main(["diagnose", "--machine", "switch:ranks=1"]) == BAD_INPUT
    assert "a ring needs two or more" in capsys.readouterr().err
