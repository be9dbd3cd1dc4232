"""Decoding against tokens worked out by hand."""

import pytest

from sim.errors import InputError
from sim.machines import build
from tests.workloads.by_hand import PAIR, exactly, run, summed

HIDDEN, LENGTH, BATCH = 128, 100, 4
WORDS = {"hidden": HIDDEN, "length": LENGTH, "batch": BATCH, "depth": 3, "tokens": 2, "dtype": "float16"}
CACHE = 2 * BATCH * LENGTH * HIDDEN * 2


def decode(machine=PAIR, **words):
    return run("decode", machine, **WORDS | words)


def test_a_token_reads_weights_and_the_cache_and_is_summed_twice_a_block():
    """At 1 GB/s reading takes longest: 12 h² weights and the cache, half of them on each of two ranks."""
    step = decode(memory=1e9)
    block = (12 * HIDDEN**2 * 2 + CACHE) / 2 / 1e9
    assert step.time == exactly(2 * 3 * (block + 2 * summed(BATCH * HIDDEN * 2)))
    assert step.exposed_s == exactly(2 * 3 * 2 * summed(BATCH * HIDDEN * 2))
    assert step.facts["token_s"] == exactly(step.time / 2)
    assert step.facts["tokens_per_second"] == exactly(BATCH * 2 / step.time)
    assert step.peaks == [3 * (12 * HIDDEN**2 * 2 + CACHE) / 2] * 2


def test_operations_take_longer_where_sequences_are_many():
    step = decode(tflops=1e-3, memory=1e15)
    operations = 2 * BATCH * 12 * HIDDEN**2 + 4 * BATCH * LENGTH * HIDDEN
    assert step.facts["compute_s"] == exactly(2 * 3 * operations / 2 / 1e9)


def test_one_gpu_alone_sums_nothing_and_groups_serve_sequences_of_their_own():
    alone = decode(degree=1)
    assert (alone.calls, alone.facts["tensor_groups"]) == ([], 2)
    four = decode(build("switch:ranks=4"), degree=2)
    assert four.facts["tokens_per_second"] == exactly(2 * 2 * BATCH / four.time)


@pytest.mark.parametrize(
    ("words", "said"), [({"tflops": 0.0}, "decode: tflops=0"), ({"degree": 3}, "do not make groups of 3")]
)
def test_what_cannot_be_is_told(words, said):
    with pytest.raises(InputError, match=said):
        decode(**words)


@pytest.mark.parametrize("memory", (0, "-1GBps"))
def test_memory_that_reads_nothing_is_told(memory):
    with pytest.raises(InputError, match="memory"):
        decode(memory=memory)
