"""Devices whose classes are partly hidden are put into a tree that agrees with all that is told."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.formats.nvidia_smi.placement import SYS, UNKNOWN, place

BOXES = st.tuples(*[st.integers(0, 2)] * 4)
"""A device's NUMA node, host bridge, switch of switches and switch."""


def nested(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """The class of a pair: how far out the two places differ first."""
    return next((SYS - i for i in range(4) if a[i] != b[i]), 0)


@given(st.lists(BOXES, min_size=2, max_size=8), st.randoms(use_true_random=False), st.floats(0, 0.9))
def test_what_is_told_of_a_tree_is_kept(places, random, hidden):
    n = len(places)
    known = np.array([[nested(a, b) for b in places] for a in places], np.int32)
    for a in range(n):
        for b in range(a):
            if random.random() < hidden:
                known[a, b] = known[b, a] = UNKNOWN
    found = place(known, np.zeros((n, n), bool))
    told = known != UNKNOWN
    assert (found.classes == known)[told].all()
    assert [[nested(a, b) for b in found.places] for a in found.places] == found.classes.tolist()
    assert not found.assumed[told].any()


def test_a_hidden_pair_is_not_drawn_together_against_what_third_parties_imply():
    pix, pxb, phb = 0, 1, 2
    told = {(0, 1): SYS, (0, 2): pxb, (1, 2): SYS, (1, 3): SYS, (1, 4): SYS, (2, 4): pxb, (3, 4): phb}
    known = np.full((5, 5), UNKNOWN, np.int32)
    for (a, b), kind in told.items():
        known[a, b] = known[b, a] = kind
    classes = place(known, np.zeros((5, 5), bool)).classes
    assert {pair: classes[pair] for pair in told} == told
    assert (classes[0, 3], classes[0, 4]) == (phb, pix)  # 0 and 4 meet 2 at one switch, 3 is beyond it


@given(st.integers(2, 8), st.randoms(use_true_random=False), st.floats(0, 0.9))
def test_what_fits_no_tree_is_as_near_as_other_pairs_make_it_and_no_nearer(n, random, hidden):
    known = np.full((n, n), UNKNOWN, np.int32)
    for a in range(n):
        for b in range(a):
            known[a, b] = known[b, a] = UNKNOWN if random.random() < hidden else random.randint(0, SYS)
    near = known.copy()
    for k in range(n):
        near = np.minimum(near, np.maximum.outer(near[:, k], near[k]))
    told = known != UNKNOWN
    assert (place(known, np.zeros((n, n), bool)).classes[told] == near[told]).all()
