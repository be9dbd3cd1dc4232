"""The promises: who holds what before a collective, and who must hold what after; one file each in `promises`.

Sizes are counted as nccl-tests counts them. `pieces` is how many slots one unit block is cut into: the unit
block is the whole buffer of an allreduce, broadcast, reduce, scan or sendrecv, and one rank's block otherwise.
`from ops.collectives import allreduce` takes any of them by its name.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.base.arrays import blank
from sim.parameters import summary
from sim.registry import Registry, title_of
from sim.schedule import NOTHING, Promise, every_rank
from sim.units import fmt_object

Layout = Callable[[int, int, int], Promise]
"""(ranks, pieces, root) to the promise."""


@dataclass(frozen=True, slots=True)
class Collective:
    """`units(n)` unit blocks make up the size a person gives; `busbw(n)` is nccl-tests' factor."""

    name: str
    summary: str
    units: Callable[[int], int]
    promise: Layout
    busbw: Callable[[int], float]
    rooted: bool = False
    reduces: bool = False
    vector: bool = False
    sized: bool = True
    """False for a barrier, which moves no data."""
    pairwise: bool = False
    """Has every pair of ranks a block of its own?"""
    use: str = ""
    """What training uses it for."""

    def __repr__(self) -> str:
        return fmt_object("Collective", f"{self.name}: {self.summary}")

    def whole_blocks(self, n: int) -> int:
        """How many blocks have a size of their own in a v variant: one per rank, or per pair of ranks."""
        return n * n if self.pairwise else n


class _Collectives(Registry[Collective]):
    """A v variant has a summary of its own."""

    def __init__(self) -> None:
        super().__init__(
            "ops.collectives.promises",
            "collective",
            function=lambda entry: entry.promise,
            leading=("n", "pieces", "root"),
        )

    def summary(self, name: str) -> str:
        return self[name].summary

    def title(self, name: str) -> str:
        """The name that people read; MPI writes a `v` behind that of a form with unequal blocks."""
        is_vector = self[name].vector
        return title_of(self[name].promise, name.removesuffix("v" * is_vector)) + "v" * is_vector


COLLECTIVES = _Collectives()


def __getattr__(name: str) -> Collective:
    if name.startswith("_") or name not in COLLECTIVES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return COLLECTIVES[name]


def whole_buffer(n: int) -> int:
    """The unit block is the buffer."""
    return 1


def block_per_rank(n: int) -> int:
    """The unit block is one rank's; there are as many as ranks."""
    return n


def others_share(n: int) -> float:
    """nccl-tests' factor where a rank keeps its own block: the others' share of the size."""
    return (n - 1) / n


def collective(
    *,
    units: Callable[[int], int] = whole_buffer,
    busbw: Callable[[int], float] = lambda n: 1.0,
    rooted: bool = False,
    reduces: bool = False,
    sized: bool = True,
    pairwise: bool = False,
    v: bool = False,
    use: str = "",
) -> Callable[[Layout], Collective]:
    """Register a promise under its function's name as a collective; with `v`, its uneven variant too.

    The function takes ranks, pieces and root and gives a Promise, filled in from a blank one. `use` is what training
    uses it for.
    """

    def register(promise: Layout) -> Collective:
        name, words = promise.__name__, summary(promise)
        made = Collective(name, words, units, promise, busbw, rooted, reduces, False, sized, pairwise, use)
        COLLECTIVES.add(name, made)
        if v:
            uneven = words.rstrip(".") + ", blocks of unequal size."
            COLLECTIVES.add(
                name + "v",
                Collective(name + "v", uneven, units, promise, busbw, rooted, reduces, True, sized, pairwise, use),
            )
        return made

    return register


def blank_promise(
    name: str, n: int, slots: int, blocks: int, inputs: range, outputs: range, *, union: bool = False
) -> Promise:
    """A promise of every rank, with so many slots each, about so many blocks, that gives nothing and owes nothing yet.

    `given[r, s]` and `owed[r, s]` are to be set to blocks; ranks `first[r, s]` up to, without, `last[r, s]` are in the
    sum that is owed. `inputs` and `outputs` are the slots a rank begins and ends with; with `union` it does no harm to
    hear twice of a rank.
    """
    columns = blank((4, len(every_rank(n)), slots), np.int32)
    columns.fill(NOTHING)
    first_blocks, owed, first, last = columns
    return Promise(name, blocks, first_blocks, owed, first, last, inputs, outputs, union)
