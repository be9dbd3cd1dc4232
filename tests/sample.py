"""Tests of a whole list: all of it in `./check`, a seeded sample with every kind in `./check --quick`."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest

PER_KIND = 1
HANDS = 3
"""Parts of a list of numbers of ranks of which `./check` tries one."""


def collective(name: str) -> str:
    """The kind of an algorithm: `allreduce` of `allreduce.ring`."""
    return name.partition(".")[0]


def sampled(names: Iterable[str], kind: Callable[[str], str] = collective) -> list[Any]:
    """Parameters for every name; all but one of each kind are slow. The same ones are drawn for the same list."""
    names = list(names)
    kinds = defaultdict(list)
    for name in names:
        kinds[kind(name)].append(name)
    quick = {name for of in kinds.values() for name in random.Random(of[0]).sample(sorted(of), PER_KIND)}
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


def dealt(numbers: Iterable[int]) -> list[tuple[int, ...]]:
    """Numbers of ranks in so many parts, each with powers of two and with others, for tests that take turns."""
    ordered = sorted(numbers, key=lambda n: (n & (n - 1) != 0, n))
    return [tuple(sorted(ordered[k::HANDS])) for k in range(HANDS)]
