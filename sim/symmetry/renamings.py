"""Renamings of ranks under which a schedule stays what it is, and what they do to slots and blocks.

A rank's number is written in digits; a renaming adds a number to each digit, modulo its size, and every rank can be
renamed to every other. So renamings and ranks are the same numbers: renaming g takes rank 0 to rank g. One digit of
size n makes rotations, log n digits of size 2 make r xor m, a digit of hosts and one of places makes rotations of
both. Slots and blocks have digits too, each of which follows a digit of ranks or stays.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

STAYS = -1
"""In place of a digit's number: no renaming touches it."""

PIECE = 1 << 14
"""Names that are made at once, so that they stay in the caches."""

Numbers = NDArray[np.int64]
Followers = tuple[tuple[int, int], ...]
"""Digits, the most significant first: how many values each has, and the digit of ranks that it follows or STAYS."""


class Digits(NamedTuple):
    """A way to write numbers, the most significant digit first.

    Digit j turns by that digit of the renaming which has weight `weight[j]`; it stays where that is 0.
    """

    size: Numbers
    weight: Numbers

    @property
    def total(self) -> int:
        """Numbers that can be written."""
        return math.prod(self.size.tolist())

    @property
    def are_bits(self) -> bool:
        """Whether every binary digit turns by the same one of the renaming."""
        return bool((self.size == 2).all() and (self.weight == 1 << np.arange(len(self.size))[::-1]).all())

    def turned(self, numbers: ArrayLike, by: ArrayLike) -> Numbers:
        """What renamings `by` make of some numbers; one each, or broadcast.

        >>> both = Symmetry((3, 4), ((12, STAYS),)).ranks
        >>> both.turned([0, 4, 11], 5).tolist()  # 5 is one host and one place further
        [5, 9, 0]
        """
        rest, renaming = np.asarray(numbers, np.int64), np.asarray(by, np.int64)
        if self.are_bits:
            return rest ^ renaming
        result, place = np.zeros(np.broadcast_shapes(rest.shape, renaming.shape), np.int64), 1
        for size, weight in zip(self.size[::-1].tolist(), self.weight[::-1].tolist(), strict=True):
            rest, digit = np.divmod(rest, size)
            result += (digit if weight == 0 else (digit + renaming // weight) % size) * place
            place *= size
        return result

    def turned_in_a_row(self, number: int, by: Numbers) -> Numbers:
        """Return what renamings make of one number, each of what the one before it has made; the number is first.

        >>> rotation(5).ranks.turned_in_a_row(1, np.array([1, 3, 4])).tolist()
        [1, 2, 0, 4]
        """
        result, place, rest = np.zeros(len(by) + 1, np.int64), 1, number
        for size, weight in zip(self.size[::-1].tolist(), self.weight[::-1].tolist(), strict=True):
            rest, digit = divmod(rest, size)
            turns = np.append(0, np.cumsum(by // weight % size)) if weight else 0
            result += (digit + turns) % size * place
            place *= size
        return result

    def to_front(self, numbers: ArrayLike) -> Numbers:
        """For each number the renaming that makes nought of the first digit that follows each digit of ranks."""
        rest = np.asarray(numbers, np.int64)
        back: dict[int, Numbers] = {}
        for size, weight in zip(self.size[::-1].tolist(), self.weight[::-1].tolist(), strict=True):
            rest, digit = np.divmod(rest, size)
            if weight:
                back[weight] = -digit % size * weight
        return np.sum(list(back.values()), axis=0) if back else np.zeros_like(rest)


def renamed(digits: Digits, numbers: ArrayLike, by: ArrayLike) -> NDArray[np.uint32]:
    """Return what `digits.turned` does, of numbers and renamings that are a row and a column.

    Digits are looked at before there is one for every pair, and no pair takes a division.

    >>> renamed(rotation(4).places, [0, 3], [[1], [2]]).tolist()
    [[1, 0], [2, 1]]
    """
    rest, renaming = np.asarray(numbers).astype(np.uint32), np.asarray(by).astype(np.uint32)
    if digits.are_bits:
        return rest ^ renaming
    fixed, place = np.zeros_like(rest), 1
    turned: NDArray[np.uint32] | None = None
    for size, weight in zip(digits.size[::-1].tolist(), digits.weight[::-1].tolist(), strict=True):
        digit, rest = rest % np.uint32(size), rest // np.uint32(size)
        if weight and size > 1:
            digit = digit + renaming // np.uint32(weight) % np.uint32(size)
            np.minimum(digit, digit - np.uint32(size), out=digit)  # what is below the size would wrap round
            if place > 1:
                digit *= np.uint32(place)
            turned = digit if turned is None else np.add(turned, digit, out=turned)
        else:
            fixed += digit * np.uint32(place)
        place *= size
    if turned is None:
        return np.broadcast_to(fixed, np.broadcast_shapes(rest.shape, renaming.shape)).copy()
    return np.add(turned, fixed, out=turned)


@dataclass(frozen=True)
class Symmetry:
    """`turns` are the sizes of the digits of a rank's number; `slots` and `blocks` follow them.

    Blocks are numbered as slots are unless `blocks` says otherwise.
    """

    turns: tuple[int, ...]
    slots: Followers
    blocks: Followers = ()

    @cached_property
    def ranks(self) -> Digits:
        """How ranks are written; adding two renamings is `ranks.turned`."""
        return self._digits(tuple((size, j) for j, size in enumerate(self.turns)))

    @cached_property
    def places(self) -> Digits:
        """How slots are written."""
        return self._digits(self.slots)

    @cached_property
    def names(self) -> Digits:
        """How blocks are written."""
        return self._digits(self.blocks or self.slots)

    def _digits(self, followers: Followers) -> Digits:
        weight = [math.prod(self.turns[j + 1 :]) if j != STAYS else 0 for _, j in followers]
        return Digits(np.array([size for size, _ in followers], np.int64), np.array(weight, np.int64))

    def back(self, renamings: ArrayLike) -> Numbers:
        """The renamings that undo these."""
        ranks, size = self.ranks, np.asarray(renamings, np.int64)
        result = np.zeros_like(size)
        for digits, weight in zip(ranks.size.tolist(), ranks.weight.tolist(), strict=True):
            result += -(size // weight) % digits * weight
        return result

    @property
    def generators(self) -> Numbers:
        """Renamings of which all others are sums: one further in one digit."""
        return self.ranks.weight[self.ranks.size > 1]


def rotation(n: int, pieces: int = 1) -> Symmetry:
    """Everyone is renamed to the rank k further; slot and block `b * pieces + piece` to those of b + k."""
    return Symmetry((n,), ((n, 0), (pieces, STAYS)))


def rotation_of_pairs(n: int, pieces: int = 1) -> Symmetry:
    """The same where slots are a rank's first blocks and then as many others, and blocks are pairs of ranks."""
    return Symmetry((n,), ((2, STAYS), (n, 0), (pieces, STAYS)), ((n, 0), (n, 0), (pieces, STAYS)))


def standing(n: int, slots: int = 1, blocks: int = 1) -> Symmetry:
    """Everyone is renamed to the rank k further; slots and blocks keep their names."""
    return Symmetry((n,), ((slots, STAYS),), ((blocks, STAYS),))


def by_digits(n: int, radix: int, slots: int = 0) -> Symmetry | None:
    """Everyone is renamed digit by digit, and so are the slots; or `slots` of them stay, and the one block.

    None where n is no power of the radix. With radix 2 renaming m takes rank r to r xor m.
    """
    count, reach = 0, 1
    while reach < n:
        count, reach = count + 1, reach * radix
    if reach != n:
        return None
    if slots:
        return Symmetry((radix,) * count, ((slots, STAYS),), ((1, STAYS),))
    return Symmetry((radix,) * count, tuple((radix, j) for j in range(count)))


def exchange(n: int, slots: int = 0) -> Symmetry | None:
    """Everyone is renamed to r xor m, of a power of two, and so are the slots; or `slots` of them stay."""
    return by_digits(n, 2, slots)


def exchange_mirrored(n: int) -> Symmetry | None:
    """The same where slots are numbered from the other end of their binary digits."""
    plain = exchange(n)
    return plain and Symmetry(plain.turns, plain.slots[::-1])
