"""Bine's algorithms, held against the code of the paper's authors; see `library_oracles`."""

from math import log2

import numpy as np
import pytest

from ops import ALGORITHMS
from tests.ops.library_oracles import (
    held_with_shares,
    sends,
)

# Bine: HLC-Lab/pico, libpico_utils.h, libpico_reduce.c and libpico_gather.c.


def negabinary(number, bits):
    """The digits of a number in base -2, as many as there are bits, counting places modulo 2 ** bits."""
    for value in (number, number - (1 << bits)):
        digits, rest = 0, value
        for i in range(bits + 1):
            digit = rest % 2
            digits, rest = digits | digit << i, -((rest - digit) // 2)
        if digits < 1 << bits and rest == 0:
            return digits
    raise AssertionError(number)


def from_negabinary(digits, n):
    return sum((-2) ** i for i in range(digits.bit_length()) if digits >> i & 1) % n


def bine_parent(v, n):
    """When place v sends up, and to whom: its last digits are no longer all alike."""
    digits, mask, step = negabinary(v, int(log2(n))), 1, 0
    while mask < n:
        partner = from_negabinary(digits ^ (2 * mask - 1), n)
        last = digits & (4 * mask - 1)
        if last not in (0, 4 * mask - 1) or (2 * mask >= n and v != 0):
            return step, partner
        mask, step = 2 * mask, step + 1
    return None


@pytest.mark.parametrize("name", ["reduce.bine", "gather.bine", "scatter.bine", "broadcast.bine"])
def test_bine_trees_are_those_of_the_paper_s_own_code(name):
    for n in (2, 4, 8, 16, 64):
        for root in (0, 3 % n):
            schedule = ALGORITHMS[name].schedule(n, root=root)
            up = name.startswith(("reduce", "gather"))
            child, parent = (schedule.src, schedule.dst) if up else (schedule.dst, schedule.src)
            told = {
                (int(c), int(p)): int(step) if up else schedule.steps - 1 - int(step)
                for c, p, step in zip(child, parent, schedule.step_of, strict=True)
            }
            due = {}
            for v in range(1, n):
                step, partner = bine_parent(v, n)
                due[(v + root) % n, (partner + root) % n] = step
            assert told == due


def test_bine_subtrees_are_runs_of_ranks():
    for name in ("gather.bine", "scatter.bine"):
        schedule = ALGORITHMS[name].schedule(32, root=5)
        for row in np.split(schedule.from_slot, schedule.moves[1:-1]):
            gaps = np.diff(np.sort(row))
            assert (gaps > 1).sum() <= (0 in row and 31 in row)


def bine_peer(rank, step, n):
    """libpico: even ranks go one way, odd ones the other, by 1 - 2 + 4 - 8 … of step + 1 terms."""
    far = from_negabinary((1 << (step + 1)) - 1, n)
    return (rank + far) % n if rank % 2 == 0 else (rank - far) % n


@pytest.mark.parametrize(
    "name, far_first", [("allgather.bine", True), ("reduce_scatter.bine", False), ("alltoall.bine", False)]
)
def test_bine_butterflies_pair_ranks_as_the_paper_s_own_code_does(name, far_first):
    for n in (2, 4, 8, 32):
        steps = range(int(log2(n)))
        order = list(reversed(steps)) if far_first else list(steps)
        share = {"alltoall.bine": [0.5] * len(order), "reduce_scatter.bine": [0.5**k for k in range(1, len(order) + 1)]}
        part = share.get(name, [2.0**k / n for k in steps])
        held_with_shares(
            name, n, lambda rank, n=n, order=order, part=part: [
                [(bine_peer(rank, step, n), size)] for step, size in zip(order, part, strict=True)
            ]
        )  # fmt: skip


@pytest.mark.parametrize("name", ["broadcast.bine_scatter_allgather", "reduce.bine_scatter_gather"])
def test_bine_for_large_data_uses_the_butterfly_both_ways(name):
    for n, root in ((2, 1), (8, 0), (16, 5)):
        told, steps = sends(ALGORITHMS[name].schedule(n, root=root)), list(range(int(log2(n))))
        for rank in range(n):
            v = (rank - root) % n
            butterfly = [[(bine_peer(v, step, n) + root) % n] for step in steps]
            rest = told[rank][len(steps) :] if name.startswith("reduce") else told[rank][: -len(steps)]
            if name.startswith("reduce"):
                assert told[rank][: len(steps)] == butterfly
                assert len(rest) == (v != 0)
            else:
                assert told[rank][-len(steps) :] == butterfly[::-1]
            assert all(now in butterfly for now in rest)
