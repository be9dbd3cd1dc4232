"""`MPI.Group`: ranks in an order of their own."""
# ruff: noqa: N802  methods are called as mpi4py calls them

from collections.abc import Sequence
from typing import Any, Self

from ops.programs.mpi4py.handles.constants import IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL
from ops.programs.mpi4py.handles.errors import whole, wrong
from ops.programs.mpi4py.handles.handle import Handle
from ops.programs.runtime.transport import Transport


def compared(a: Sequence[int], b: Sequence[int]) -> int:
    """IDENT, SIMILAR where the order differs, or UNEQUAL."""
    if tuple(a) == tuple(b):
        return IDENT
    return SIMILAR if sorted(a) == sorted(b) else UNEQUAL


class RankGroup(Handle):
    """`MPI.Group`: ranks of the world in an order of their own; they are its token."""

    kind, error = "Group", "ERR_GROUP"
    world: Transport

    @classmethod
    def over(cls, world: Transport, ranks: Sequence[int]) -> Self:
        """A group of ranks of the world."""
        made = cls.__new__(cls)
        made.world, made.token = world, tuple(ranks)
        return made

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the world. Raises MPI.Exception for the null group."""
        ranks: tuple[int, ...] = self.stands()
        return ranks

    def _some(self, ranks: Sequence[int]) -> "RankGroup":
        self.stands()
        return RankGroup.over(self.world, ranks)

    def _at(self, places: Sequence[Any]) -> list[int]:
        """The ranks at the given places. Raises MPI.Exception for a place there is not, or one that stands twice."""
        numbers = [whole(place) for place in places]
        for number in numbers:
            if not 0 <= number < self.size:
                wrong("ERR_RANK", f"rank {number} is not among ranks 0..{self.size - 1} of the group")
        if len(set(numbers)) != len(numbers):
            wrong("ERR_RANK", f"ranks {numbers} name one of them twice")
        return [self.ranks[number] for number in numbers]

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.ranks)

    @property
    def rank(self) -> int:
        """This rank's place in it, or UNDEFINED."""
        self.stands()
        me = self.world.me.rank
        return self.ranks.index(me) if me in self.ranks else UNDEFINED

    def Get_size(self) -> int:
        """Number of ranks."""
        return self.size

    def Get_rank(self) -> int:
        """This rank's place in it, or UNDEFINED."""
        return self.rank

    def Incl(self, ranks: Sequence[int]) -> "RankGroup":
        """Those at the given places."""
        return self._some(self._at(ranks))

    def Excl(self, ranks: Sequence[int]) -> "RankGroup":
        """All but those at the given places."""
        left_out = set(self._at(ranks))
        return self._some([rank for rank in self.ranks if rank not in left_out])

    def Range_incl(self, ranges: Sequence[Sequence[int]]) -> "RankGroup":
        """Those in (first, last, stride) ranges."""
        return self.Incl(
            [r for first, last, step in ranges for r in range(first, last + (1 if step > 0 else -1), step)]
        )

    def Range_excl(self, ranges: Sequence[Sequence[int]]) -> "RankGroup":
        """All but those in (first, last, stride) ranges."""
        left_out = set(self.Range_incl(ranges).ranks)
        return self._some([rank for rank in self.ranks if rank not in left_out])

    def Dup(self) -> "RankGroup":
        """The same ranks."""
        return self._some(self.ranks)

    def Compare(self, other: "RankGroup") -> int:
        """IDENT, SIMILAR where the order differs, or UNEQUAL."""
        return compared(self.ranks, other.ranks)

    def Union(self, other: "RankGroup") -> "RankGroup":
        """Those in either."""
        return self._some([*self.ranks, *(r for r in other.ranks if r not in self.ranks)])

    def Intersection(self, other: "RankGroup") -> "RankGroup":
        """Those in both."""
        return self._some([r for r in self.ranks if r in other.ranks])

    Intersect = Intersection

    def Difference(self, other: "RankGroup") -> "RankGroup":
        """Those in this one only."""
        return self._some([r for r in self.ranks if r not in other.ranks])

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: "RankGroup | None" = None) -> list[int]:
        """The places of these ranks, all of them unless given, in another group: everyone's unless given."""
        other = group or self._some(range(self.world.size))
        ranks = range(self.size) if ranks is None else ranks
        if PROC_NULL in ranks:
            return [r if r == PROC_NULL else self.Translate_ranks([r], other)[0] for r in ranks]
        return [other.ranks.index(self.ranks[r]) if self.ranks[r] in other.ranks else UNDEFINED for r in ranks]
