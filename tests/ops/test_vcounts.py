"""Blocks of any sizes, zero included: every v algorithm is proved, moves what it must, and leaves the right numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops import ALGORITHMS
from ops.run import execute
from ops.run.work import registered
from sim.machines import build
from sim.schedule import NOTHING
from sim.schedule.numeric import compare, random_inputs
from tests.ops.reference import other_values

UNEVEN = [name for name, algorithm in ALGORITHMS.items() if algorithm.collective.vector]


@st.composite
def cases(draw, name):
    """Ranks, parameters, root and counts that the algorithm takes."""
    algorithm = ALGORITHMS[name]
    values = {
        key: draw(st.sampled_from([p.default, *other_values(algorithm, key)])) for key, p in algorithm.params.items()
    }
    able = [n for n in range(2, 10) if not algorithm.refuse(n, **values)]
    n = draw(st.sampled_from(able)) if able else 0
    root = draw(st.integers(0, max(0, n - 1))) if algorithm.collective.rooted else 0
    size = st.one_of(st.just(0), st.integers(1, 9), st.integers(1, 1 << 20))
    blocks = algorithm.collective.whole_blocks(n)
    return n, values, root, draw(st.lists(size, min_size=blocks, max_size=blocks))


@pytest.mark.slow
@pytest.mark.parametrize("name", UNEVEN)
@settings(max_examples=12)
@given(data=st.data())
def test_any_counts_are_proved_and_timed(name, data):
    n, values, root, counts = data.draw(cases(name))
    if not n:
        return
    work = registered(ALGORITHMS[name], n, root=root, settings=values)
    outcome = execute(build(f"switch:ranks={n}"), work, blocks=counts)
    trace, promise = outcome.trace, work.schedule.promise
    assert trace.verdict.verdict == "ok"
    assert outcome.bound <= trace.time * (1 + 1e-9)
    # whoever is owed a block it was not given must receive at least that block
    weights = np.repeat(counts, promise.blocks // len(counts)) / (promise.blocks // len(counts))
    here = work.schedule.dst < n
    away = here & (work.schedule.src != work.schedule.dst)
    came = np.bincount(work.schedule.dst[away], trace.bytes[away], n)
    for rank in range(n):
        owed = promise.owed[rank][promise.owed[rank] != NOTHING]
        mine = promise.given[rank][promise.given[rank] != NOTHING]
        assert came[rank] >= weights[np.setdiff1d(owed, mine)].sum() * (1 - 1e-12)


@pytest.mark.parametrize("name", UNEVEN)
@settings(max_examples=8)
@given(data=st.data(), op=st.sampled_from(["sum", "max", "min"]), dtype=st.sampled_from(["int64", "float64"]))
def test_any_counts_leave_the_numbers_numpy_computes(name, data, op, dtype):
    n, values, root, counts = data.draw(cases(name))
    if not n:
        return
    schedule = ALGORITHMS[name].schedule(n, root=root, **values)
    pieces = schedule.promise.blocks // len(counts)
    lengths = (np.repeat(np.array(counts) % 23, pieces) + np.arange(schedule.promise.blocks) % pieces) // pieces
    assert compare(schedule, random_inputs(schedule.promise, lengths, dtype, op), op).ok
