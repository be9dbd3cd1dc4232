"""Numbers in the blocks: what numpy computes, for every operation and type, and what each step says of them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cli
from ops import ALGORITHMS
from ops.run.values import MOST, number, values_of
from sim.errors import InputError
from sim.schedule import REDUCE
from sim.schedule.numeric import DTYPES, OPS
from sim.units import MiB

FUNCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean}
SCHEDULES = [
    *(f"allreduce.{name}" for name in ("ring", "rabenseifner", "recursive_doubling", "linear", "nvls")),
    *("reduce_scatter.ring", "reduce.binomial", "allgather.ring", "broadcast.binomial", "alltoall.linear"),
]


def numpy_s(collective, given, function):
    """What ranks hold at the end by numpy alone, from a row for each rank: pairs of places and numbers."""
    n = len(given)
    if collective == "allreduce":
        return {r: function(given, axis=0) for r in range(n)}
    if collective == "reduce":
        return {0: function(given, axis=0)}
    if collective == "reduce_scatter":
        return {r: function(given, axis=0)[r : r + 1] for r in range(n)}
    if collective == "broadcast":
        return dict.fromkeys(range(n), given[0])
    if collective == "allgather":
        return {r: given.reshape(-1) for r in range(n)}
    return {r: given[:, r] for r in range(n)}


@given(
    st.sampled_from(SCHEDULES),
    st.sampled_from((2, 4, 8)),
    st.sampled_from(list(OPS)),
    st.sampled_from(DTYPES),
    st.integers(0, 2**32),
)
def test_values_are_numpy_s(name, n, op, dtype, seed):
    collective = name.partition(".")[0]
    schedule = ALGORITHMS[name].schedule(n)
    given_at = schedule.promise.given[:n] >= 0
    count = int(given_at.sum())
    numbers = np.random.default_rng(seed).integers(-4, 5, count)
    values = values_of(schedule, ",".join(map(str, numbers)), op, dtype)
    assert values.is_right
    rows = np.split(numbers.astype(dtype), np.cumsum(given_at.sum(axis=1))[:-1])
    width = {len(row) for row in rows if len(row)}.pop()
    matrix = np.array([row if len(row) else np.zeros(width, dtype) for row in rows])
    for rank, due in numpy_s(collective, matrix, FUNCTIONS[op]).items():
        owed = np.nonzero(schedule.promise.owed[rank] >= 0)[0]
        got = values.final[rank, owed].astype(float)
        exact = np.trunc(due) if op == "mean" and dtype == "int64" else due
        combines = collective in ("allreduce", "reduce", "reduce_scatter")
        places = np.argsort(schedule.promise.owed[rank, owed], kind="stable")
        np.testing.assert_allclose(got[places], exact.astype(float), rtol=4e-3 if combines else 0, atol=1e-2)


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_a_step_says_leads_from_one_state_to_the_next(name):
    schedule = ALGORITHMS[name].schedule(4)
    values = values_of(schedule, op="sum")
    owner = schedule.transfer_of
    for step in range(schedule.steps):
        state, held = values.states[step].copy(), values.is_held[step].copy()
        for move in range(*schedule.moves[schedule.step_start[step : step + 2]].tolist()):
            src, dst = schedule.src[owner[move]], schedule.dst[owner[move]]
            assert values.arrived[move] == values.states[step][src, schedule.from_slot[move]]
            place = dst, schedule.to_slot[move]
            assert values.adds[move] == (schedule.op[owner[move]] == REDUCE and held[place])
            assert not values.adds[move] or values.before[move] == state[place]
            state[place] = values.left[move]
            held[place] = True
        assert (state[held] == values.states[step + 1][held]).all()
        assert (held == values.is_held[step + 1]).all()


def test_one_place_takes_what_one_step_brings_in_the_order_of_arrival():
    schedule = ALGORITHMS["allreduce.nvls"].schedule(3, segments=1)
    late_first = values_of(schedule, "1,0,0,2,0,0,3,0,0", end=np.arange(schedule.transfers)[::-1].astype(float))
    moves = np.nonzero(schedule.to_slot[: schedule.moves[schedule.step_start[1]]] == schedule.to_slot[0])[0]
    assert [late_first.sum_of(move) for move in moves] == ["5+1=6", "3+2=5", "3"]


def test_a_number_is_as_long_as_a_block_has_room_for():
    assert [number(x) for x in (7, -12, 999_999, 1_000_000, 0.333333, 1e-9, np.inf)] == [
        *("7", "-12", "999999", "1e6", "0.333", "1e-9", "∞")
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--vector", "1,x"], "place 2"),
        (["--vector", "1.5"], "whole number"),
        (["--vector", "9" * 30], "whole number"),
        (["--vector", "1e999", "--op", "mean"], "place 1"),
        (["--vector", ""], "no number"),
        (["--vector", ",".join("1" * 17)], "17 numbers"),
        (["--show-values", "--op", "median"], "median"),
    ],
)
def test_what_is_no_number_is_refused_in_a_sentence(capsys, words, why):
    assert cli.main(["run", "allreduce.ring", "--machine", "switch:ranks=4", "--size", "4MiB", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line


def test_more_ranks_than_can_be_read_are_refused():
    with pytest.raises(InputError, match=f"at most {MOST}"):
        values_of(ALGORITHMS["allreduce.ring"].schedule(2 * MOST))


def test_the_terminal_prints_them_step_by_step(capsys):
    line = ["run", "allreduce.ring", "--machine", "switch:ranks=2", "--size", str(MiB), "--vector", "5,1,2,3"]
    assert cli.main(line) == 0
    table = capsys.readouterr().out.partition("values, ")[2].splitlines()
    assert table == [
        "int64 sum: a column for every block of the buffer",
        "  rank 0  5  1",
        "  rank 1  2  3",
        "",
        "step 1 of 2, reduce-scatter",
        "  rank 0  5+2=7      1",
        "  rank 1      2  3+1=4",
        "",
        "step 2 of 2, allgather",
        "  rank 0    7  <-4",
        "  rank 1  <-7    4",
    ]
    assert cli.main([*line, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["values"]
    assert values["end"] == values["states"][-1] == [[7, 4], [7, 4]]
    assert values["moves"][0] == {
        "step": 1,
        "src": 0,
        "dst": 1,
        "from_slot": 1,
        "to_slot": 1,
        "arrives": 1,
        "adds": True,
        "becomes": 4,
    }
