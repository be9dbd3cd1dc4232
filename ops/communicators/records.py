"""What is kept of a run for its timeline: when ranks did what, which calls they made."""

import os
from dataclasses import dataclass
from typing import NamedTuple


class ScriptLine(NamedTuple):
    """A line of a script."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


class Span(NamedTuple):
    """What one rank did on one lane, in seconds.

    A rank that waits inside a call of a script also tells the line, and the numbers of the calls it waited for.
    """

    rank: int
    lane: str
    start: float
    end: float
    name: str
    place: ScriptLine | None = None
    calls: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """A message or collective: `size` in bytes as nccl-tests counts it, `ranks` as numbered in their world."""

    name: str
    algorithm: str
    ranks: tuple[int, ...]
    size: float
    protocol: str = ""
    """The library's way to send, like NCCL's LL; empty where the library has but one."""
    counts: str = ""
    """Bytes of blocks of unequal size, as `--counts` takes them; empty where blocks are equal."""
