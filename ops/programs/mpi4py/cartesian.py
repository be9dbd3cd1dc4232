"""Communicators of one group, and their ranks as a grid: `Create_cart` and what goes with it."""
# ruff: noqa: N802, ARG002  methods and arguments are called as mpi4py calls them

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ops.programs.mpi4py.communicator import Comm
from ops.programs.mpi4py.handles.constants import CART, PROC_NULL
from ops.programs.mpi4py.handles.errors import wrong
from ops.programs.runtime.rendezvous import ProcessGroup


class Intracomm(Comm):
    """A communicator of one group."""

    def plain(self) -> Comm:
        """The null communicator, of the kind that is made of this one."""
        return Intracomm()

    def Create_cart(self, dims: Sequence[int], periods: Any = None, reorder: bool = False) -> Comm:
        """Its first ranks as a grid; the others get the null communicator."""
        return make(self, dims, periods)


class Topocomm(Intracomm):
    """A communicator whose ranks have neighbours."""


class Cartcomm(Topocomm):
    """A communicator whose ranks are the points of a grid, the last dimension running fastest."""

    dims: list[int]
    periods: list[int]

    @classmethod
    def grid(cls, group: ProcessGroup, dims: Sequence[int], periods: Sequence[int]) -> "Cartcomm":
        """The ranks of a group as the points of a grid."""
        made = cls.over(group)
        made.dims, made.periods = list(dims), [int(bool(p)) for p in periods]
        return made

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.dims)

    dim = ndim

    @property
    def coords(self) -> list[int]:
        """Where this rank is."""
        return self.Get_coords(self.rank)

    @property
    def topo(self) -> tuple[list[int], list[int], list[int]]:
        """Sizes, periods and where this rank is."""
        return self.dims, self.periods, self.coords

    def Get_topology(self) -> int:
        """A grid."""
        self.stands()
        return CART

    def Get_dim(self) -> int:
        """How many dimensions it has."""
        return self.ndim

    def Get_topo(self) -> tuple[list[int], list[int], list[int]]:
        """Sizes, periods and where this rank is."""
        return self.topo

    def Get_coords(self, rank: int) -> list[int]:
        """Where a rank is."""
        if not 0 <= rank < self.size:
            wrong("ERR_RANK", f"rank {rank} is not among ranks 0..{self.size - 1} of {self.peers.name}")
        return [int(x) for x in np.unravel_index(rank, self.dims)] if self.dims else []

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """Who is there; periodic dimensions wrap."""
        where = [x % size if around else x for x, size, around in zip(coords, self.dims, self.periods, strict=True)]
        if any(not 0 <= x < size for x, size in zip(where, self.dims, strict=True)):
            wrong("ERR_RANK", f"coordinates {list(coords)} are outside a grid of {self.dims}")
        return int(np.ravel_multi_index(where, self.dims)) if where else 0

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Whom this rank hears from and sends to when all send `disp` places on; PROC_NULL beyond the edge."""
        if not 0 <= direction < self.ndim:
            wrong("ERR_DIMS", f"direction {direction} is not among dimensions 0..{self.ndim - 1}")
        return self._neighbour(direction, -disp), self._neighbour(direction, disp)

    def _neighbour(self, direction: int, disp: int) -> int:
        where = self.coords
        where[direction] += disp
        inside = 0 <= where[direction] < self.dims[direction]
        return self.Get_cart_rank(where) if inside or self.periods[direction] else PROC_NULL

    def Sub(self, remain_dims: Sequence[bool]) -> "Comm":
        """The lines or planes through every point that keep the given dimensions."""
        keeps = [bool(keep) for keep in remain_dims]
        fixed = tuple(x for x, keep in zip(self.coords, keeps, strict=True) if not keep)
        part = self.agree("Sub", (0, 0))
        ranks = [
            r for r in range(self.size)
            if tuple(x for x, keep in zip(self.Get_coords(r), keeps, strict=True) if not keep) == fixed
        ]  # fmt: skip
        chosen = [i for i, keep in enumerate(keeps) if keep]
        group = self.members(part, fixed, ranks, "sub")
        return Cartcomm.grid(group, [self.dims[i] for i in chosen], [self.periods[i] for i in chosen])


def make(comm: Comm, dims: Sequence[int], periods: Any) -> Comm:
    """`Create_cart`: the first ranks as a grid, the null communicator for the rest."""
    sizes = [int(size) for size in np.atleast_1d(dims)]
    around = np.broadcast_to(False if periods is None else np.asarray(periods, bool), len(sizes)).tolist()
    points = math.prod(sizes)
    if points > comm.size or min(sizes, default=1) < 1:
        wrong(
            "ERR_ARG" if points > comm.size else "ERR_DIMS",
            f"a grid of {sizes} has {points} points for {comm.size} ranks",
        )
    part = comm.agree("Create_cart", (*sizes, *map(int, around)))
    if comm.rank >= points:
        return Cartcomm()
    return Cartcomm.grid(comm.members(part, "cart", range(points), "cart"), sizes, around)


def compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
    """`MPI.Compute_dims`: sizes as near to each other as divisors allow, larger first; zeros are filled in.

    >>> compute_dims(12, 2), compute_dims(24, [0, 2, 0])
    ([4, 3], [4, 2, 3])
    """
    sizes = [0] * dims if isinstance(dims, int) else [int(size) for size in dims]
    fixed = math.prod(size for size in sizes if size)
    if nnodes < 1 or fixed < 1 or nnodes % fixed:
        wrong("ERR_DIMS", f"{nnodes} ranks cannot fill a grid of {sizes}")
    free = [i for i, size in enumerate(sizes) if not size]
    if not free and fixed != nnodes:
        wrong("ERR_DIMS", f"a grid of {sizes} has not {nnodes} points")
    for i, size in zip(free, _balanced(nnodes // fixed, len(free)), strict=True):
        sizes[i] = size
    return sizes


def _balanced(n: int, k: int) -> list[int]:
    """K factors of n, the smallest of them as large as can be, larger first."""
    if k == 0:
        return []
    best = [n] + [1] * (k - 1)
    if k > 1:
        for first in range(math.isqrt(n) if k == 2 else round(n ** (1 / k)) + 1, 0, -1):
            if n % first == 0 and first**k <= n:
                return [*_balanced(n // first, k - 1), first]
    return best
