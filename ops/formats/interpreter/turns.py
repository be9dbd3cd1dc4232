"""Workers that take turns: how thread blocks are followed without time.

A worker is a generator. It yields a phase (a number) to go on no earlier than that phase, or a key (anything
else) to sleep until `wake(key)`. Even phases read, odd phases write, so that what one step reads is the
state before it: phases 2k and 2k + 1 are step k.
"""

import heapq
from collections import defaultdict
from collections.abc import Generator, Hashable
from typing import Any

Worker = Generator[Any, None, None]


class Turns:
    """Runs workers in the order of phases; `stuck` says afterwards who sleeps for ever, and for what."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int]] = []
        self._asleep: dict[Hashable, list[int]] = defaultdict(list)
        self._phase = 0
        self.stuck: dict[int, Any] = {}

    def run(self, workers: list[Worker]) -> None:
        """Until every worker has ended or sleeps for ever."""
        self._due = [(0, w) for w in range(len(workers))]
        while self._due:
            self._phase, w = heapq.heappop(self._due)
            try:
                wish = next(workers[w])
            except StopIteration:
                continue
            if isinstance(wish, int):
                heapq.heappush(self._due, (max(wish, self._phase), w))
            else:
                self._asleep[wish].append(w)
        self.stuck = {w: key for key, sleepers in self._asleep.items() for w in sleepers}

    def wake(self, key: Hashable) -> None:
        """Let those who sleep for this go on in the present phase."""
        for w in self._asleep.pop(key, ()):
            heapq.heappush(self._due, (self._phase, w))


def reading(after: int) -> int:
    """The first phase after `after` that reads."""
    return after + 2 - after % 2


def writing(after: int) -> int:
    """The first phase after `after` that writes."""
    return after + 1 + after % 2
