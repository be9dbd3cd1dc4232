"""Rendezvous: the ranks of a communicator come one by one, and the last one begins what they came for."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from ops.libraries import Members
from sim.topology import Topology

Part = TypeVar("Part")
AnyMeeting = TypeVar("AnyMeeting", bound="Meeting[Any]")


class Meeting(ABC, Generic[Part]):
    """One collective from its first caller to its last: what every rank brings to it, None for who has not come."""

    def __init__(self, ranks: Sequence[int]) -> None:
        self.ranks = tuple(ranks)
        self.parts: list[Part | None] = [None] * len(self.ranks)
        self._away = len(self.ranks)

    @property
    def complete(self) -> bool:
        """Whether all ranks have come."""
        return not self._away

    def missing(self) -> list[int]:
        """Ranks that have not come."""
        return [rank for rank, part in zip(self.ranks, self.parts, strict=True) if part is None]

    def everything(self) -> list[Part]:
        """What the ranks have brought, in their order."""
        return [part for part in self.parts if part is not None]

    def admit(self, place: int, part: Part) -> None:
        """Take in what the rank at this place brings."""
        self.parts[place] = part
        self._away -= 1

    @abstractmethod
    def begin(self) -> None:
        """All ranks have come."""


class Communicator(Members, Generic[AnyMeeting]):
    """Ranks of a world that call collectives among themselves, apart from all others.

    The k-th call of a kind by one rank meets the k-th call of that kind by every other.
    """

    def __init__(self, topology: Topology, ranks: Sequence[int]) -> None:
        super().__init__(topology, [topology.ranks[rank] for rank in ranks])
        self.ranks = tuple(ranks)
        self.place_of = {rank: place for place, rank in enumerate(self.ranks)}
        self._calls: Counter[tuple[int, Hashable]] = Counter()
        self._open: dict[tuple[Hashable, int], AnyMeeting] = {}

    def come(self, rank: int, part: object, convene: Callable[[], AnyMeeting], kind: Hashable = None) -> AnyMeeting:
        """Bring a rank's part to its next meeting of a kind; the first one convenes it, the last one begins it."""
        place = self.place_of[rank]
        number = self._calls[place, kind]
        self._calls[place, kind] += 1
        meeting = self._open.get((kind, number))
        if meeting is None:
            meeting = self._open[kind, number] = convene()
        meeting.admit(place, part)
        if meeting.complete:
            del self._open[kind, number]
            meeting.begin()
        return meeting
