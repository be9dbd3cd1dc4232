"""Schedules on real numpy buffers end with the numbers that numpy itself computes."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.collectives import allgather, allreduce, barrier
from sim.errors import InputError
from sim.schedule import copy, reduce, unroll
from sim.schedule.numeric import DTYPES, OPS, compare, cut, execute, expected, random_inputs, tolerance
from sim.schedule.verify import verify
from tests.tables import dealt, each_row

MOVING = [name for name in ALGORITHMS if ALGORITHMS[name].collective.sized]
NUMPY = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


NS = range(2, 10)


def schedules(name, ns=NS):
    for n in ns:
        try:
            yield ALGORITHMS[name].schedule(n, root=n - 1 if n % 2 and ALGORITHMS[name].collective.rooted else 0)
        except InputError:
            continue


@pytest.mark.slow
@each_row("name, ns, dtype", product(MOVING, dealt(NS), DTYPES), over=["ns", "dtype"])
def test_every_algorithm_computes_what_its_promise_says(name, ns, dtype):
    ran = 0
    for schedule in schedules(name, ns):
        lengths = cut(schedule, 3 * round(1 / schedule.unit_share) + 1)
        for op in OPS if ALGORITHMS[name].collective.reduces else ("sum",):
            outcome = compare(schedule, random_inputs(schedule.promise, lengths, dtype, op), op)
            assert outcome.ok, f"{name}, {schedule.n} ranks, {dtype} {op}: {outcome}"
            ran += 1
    assert ran or all(ALGORITHMS[name].refuse(n, **ALGORITHMS[name].defaults) for n in ns)


@each_row("op, dtype", [(o, d) for o in OPS for d in DTYPES if (o, d) != ("mean", "int64")])
def test_an_allreduce_is_numpys_own_reduction_over_the_ranks(op, dtype):
    schedule = ALGORITHMS["allreduce.ring"].schedule(5)
    inputs = random_inputs(schedule.promise, np.full(5, 11), dtype, op, seed=1)
    got = execute(schedule, inputs, op)
    exact = dtype == "int64" or op in ("max", "min")
    due = NUMPY[op](inputs if exact else inputs.astype(np.float64), axis=0)
    assert got.dtype == dtype
    for rank in range(5):
        np.testing.assert_allclose(got[rank], due, rtol=0, atol=0 if exact else 24 * np.finfo(dtype).eps)


@each_row("name", [name for name in ALGORITHMS if name.startswith("allgatherv.")])
def test_unequal_blocks_arrive_whole_and_in_rank_order(name):
    for schedule in schedules(name):
        pieces = schedule.promise.blocks // schedule.n
        lengths = np.random.default_rng(schedule.n).integers(0, 7, schedule.n * pieces)
        inputs = random_inputs(schedule.promise, lengths, "float32", "sum")
        sent = [inputs[b // pieces, b, :k] for b, k in enumerate(lengths)]
        got = execute(schedule, inputs)
        for rank in range(schedule.n):
            received = [got[rank, b, :k] for b, k in enumerate(lengths)]
            assert np.array_equal(np.concatenate(received), np.concatenate(sent))


@given(
    st.sampled_from([name for name in MOVING if ALGORITHMS[name].collective.reduces]),
    st.integers(2, 24),
    st.integers(0, 60),
    st.sampled_from(DTYPES),
    st.sampled_from(list(OPS)),
    st.integers(0, 2**32),
)
def test_any_length_and_any_numbers(name, n, elements, dtype, op, seed):
    try:
        schedule = ALGORITHMS[name].schedule(n)
    except InputError:
        return
    assert compare(schedule, random_inputs(schedule.promise, cut(schedule, elements), dtype, op, seed), op).ok


@given(st.sampled_from(MOVING), st.integers(2, 9), st.data())
def test_the_numbers_and_the_proof_agree_on_a_schedule_that_lost_a_transfer(name, n, data):
    try:
        good = ALGORITHMS[name].schedule(n)
    except InputError:
        return
    lost = data.draw(st.sampled_from(np.nonzero(good.src != good.dst)[0].tolist()))
    kept = good.transfer_of != lost
    moves = np.concatenate([[0], np.cumsum(np.diff(good.moves) * (np.arange(good.transfers) != lost))])
    broken = replace(good, moves=moves, from_slot=good.from_slot[kept], to_slot=good.to_slot[kept])
    inputs = random_inputs(good.promise, np.full(good.promise.blocks, 2), "int64", "sum")
    outcome = compare(broken, inputs)
    assert outcome.ok == verify(broken).ok
    assert outcome.ok or good.promise.owed[outcome.rank, outcome.slot] >= 0


def test_a_missing_block_is_found_where_it_is_missed():
    steps = [copy(0, [1, 2], 0), copy(1, [0, 2], 1), copy(2, [0], 2)]
    broken = unroll(steps, name="broken", n=3, promise=allgather.promise(3, 1, 0))
    outcome = compare(broken, random_inputs(broken.promise, np.ones(3, np.int64), "int64", "sum"))
    assert (outcome.ok, outcome.rank, outcome.slot) == (False, 1, 2)


@given(st.lists(st.integers(-(1 << 31) + 1, (1 << 31) - 1), min_size=5, max_size=5), st.booleans())
def test_a_message_in_plain_numbers_is_the_message_in_arrays(words, elsewhere):
    src, dst, slot, to, channel = words
    plain = reduce(src, dst, slot, to if elsewhere else None, channel)
    arrays = reduce([src], [dst], [[slot]], [[to]] if elsewhere else None, [channel])
    assert plain.op == arrays.op
    for name in ("src", "dst", "slot", "to", "channel"):
        column, same = getattr(plain, name), getattr(arrays, name)
        assert (column.dtype, column.shape, column.tolist()) == (same.dtype, same.shape, same.tolist())


def test_transfers_of_one_step_read_the_state_before_it():
    swap = unroll([(copy(0, 1, 0), copy(1, 0, 0))], name="swap", n=2, promise=None)
    got = execute(swap, np.array([[[1.0]], [[2.0]]]))
    assert got.ravel().tolist() == [2.0, 1.0]


def test_all_reductions_of_one_step_into_one_place_count():
    star = unroll([reduce([1, 2, 3], 0, 0)], name="star", n=4, promise=None)
    got = execute(star, np.arange(1, 5).reshape(4, 1, 1))
    assert got.ravel().tolist() == [10, 2, 3, 4]


def test_two_algorithms_differ_in_the_last_bits_only():
    bits = {}
    for name in ("allreduce.ring", "allreduce.recursive_doubling"):
        schedule = ALGORITHMS[name].schedule(8)
        pieces = schedule.promise.blocks
        inputs = np.random.default_rng(3).uniform(-1, 1, (8, 8 * 64)).astype(np.float32)
        bits[name] = execute(schedule, inputs.reshape(8, pieces, -1))[0].ravel()
    ring, doubling = bits.values()
    assert not np.array_equal(ring, doubling)
    np.testing.assert_allclose(ring, doubling, atol=1e-6)


def test_means_of_integers_are_cut_towards_zero():
    schedule = ALGORITHMS["allreduce.recursive_doubling"].schedule(2)
    got = execute(schedule, np.array([[[-3, 3, -4]], [[0, 0, 0]]]), "mean")
    assert got[0].tolist() == [[-1, 1, -2]]


def test_a_place_that_was_never_filled_spoils_the_sum():
    lost = unroll([reduce(1, 0, 1, to=0), copy(0, 1, 0)], name="lost", n=2, promise=allreduce.promise(2, 1, 0))
    inputs = np.ones((2, 1, 3), np.float32)
    assert np.isnan(execute(lost, inputs)).any()
    assert compare(lost, inputs) == (False, pytest.approx(float("nan"), nan_ok=True), 0, 0)


def test_exact_operations_have_no_tolerance():
    promise = allreduce.promise(3, 1, 0)
    floats = np.ones((3, 1, 2), np.float32)
    assert tolerance(promise, floats, "max").max() == 0
    assert tolerance(promise, floats.astype(np.int64), "sum").max() == 0
    assert 0 < tolerance(promise, floats, "mean").max() < tolerance(promise, floats, "sum").max() < 2e-6
    assert expected(promise, floats, "sum").tolist() == [[[3, 3]]] * 3


@pytest.mark.parametrize("elements, parts", [(10, [4, 3, 3]), (2, [1, 1, 0]), (9, [3, 3, 3]), (0, [0, 0, 0])])
def test_whole_elements_are_cut_evenly(elements, parts):
    assert cut(ALGORITHMS["allreduce.ring"].schedule(3), elements).tolist() == parts


@pytest.mark.parametrize(
    "inputs, op, message",
    [
        (np.zeros((4, 4, 1)), "median", "no reduction is called 'median': choose from sum, mean, max, min, prod"),
        (np.zeros((3, 4, 1)), "sum", "give 4 ranks x 4 slots x elements"),
        (np.zeros((4, 4)), "sum", "give 4 ranks x 4 slots x elements"),
        (np.zeros((4, 4, 1), complex), "sum", "cannot run on complex128: choose from float32"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, op, message):
    with pytest.raises(InputError, match=message):
        execute(ALGORITHMS["allreduce.ring"].schedule(4), inputs, op)


def test_what_has_no_numbers_is_refused():
    tokens, custom = np.zeros((2, 1, 1)), unroll([copy(0, 1, 0)], name="mine", n=2, promise=None)
    for refuse in (lambda s: execute(s, tokens), lambda s: cut(s, 8)):
        with pytest.raises(InputError, match="moves no data"):
            refuse(ALGORITHMS["barrier.linear"].schedule(2))
    for refuse in (lambda s: compare(s, tokens), lambda s: cut(s, 8)):
        with pytest.raises(InputError, match="mine has no postcondition"):
            refuse(custom)
    with pytest.raises(InputError, match="no element type is called 'bf16'"):
        random_inputs(barrier.promise(2, 1, 0), np.ones(1, np.int64), "bf16", "sum")
