"""Deadlock: who waits for whom, when nothing can happen any more."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

MOST = 6
"""Stories told in one sentence; all of them are in the data."""


class Stuck(NamedTuple):
    """A rank that waits in vain: inside which call, where, for what, and for which ranks."""

    rank: int
    call: str
    file: str
    line: int
    waits_for: str
    ranks: Sequence[int]
    place: str


def describe(stuck: Sequence[Stuck], ended: Iterable[int]) -> str:
    """One sentence about all of them; ranks in the same position are named together."""
    gone = set(ended)
    stories: dict[str, list[int]] = {}
    for wait in stuck:
        left = [rank for rank in wait.ranks if rank in gone]
        after = f" ({name_ranks(left)} {'has' if len(left) == 1 else 'have'} ended)" if left else ""
        stories.setdefault(f"in {wait.call} at {wait.place} for {wait.waits_for}{after}", []).append(wait.rank)
    parts = [f"{name_ranks(ranks)} {'waits' if len(ranks) == 1 else 'wait'} {what}" for what, ranks in stories.items()]
    more = f"; and {len(parts) - MOST} more such waits" if len(parts) > MOST else ""
    around = circle({wait.rank: wait.ranks for wait in stuck})
    ring = f"; round in a circle: {' -> '.join(map(str, around))}" if around else ""
    return "; ".join(parts[:MOST]) + more + ring


def circle(waits: Mapping[int, Sequence[int]]) -> list[int]:
    """Ranks of which each waits for the next alone, the first again at the end; empty when there are none.

    >>> circle({0: [1], 1: [2], 2: [1], 3: [0, 1]})
    [1, 2, 1]
    """
    for begin in waits:
        path: list[int] = []
        rank = begin
        while rank in waits and len(waits[rank]) == 1 and rank not in path:
            path.append(rank)
            rank = waits[rank][0]
        if rank in path:
            return [*path[path.index(rank) :], rank]
    return []


def name_ranks(ranks: Iterable[int]) -> str:
    """Ranks in words, runs of them drawn together.

    >>> name_ranks([3]), name_ranks([0, 1, 2, 5])
    ('rank 3', 'ranks 0-2, 5')
    """
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    shown = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in runs]
    listed = ", ".join(shown[:8]) + (f" and {len(shown) - 8} more groups" if len(shown) > 8 else "")
    return f"rank {listed}" if len(runs) == 1 and runs[0][0] == runs[0][1] else f"ranks {listed}"
