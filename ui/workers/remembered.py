"""What jobs came to, kept for whoever asks the same: answers as long as there is room, refusals for a minute."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from sim.errors import InputError
from ui.workers.process import Call, Result

ROOM = 96 << 20
"""Bytes of answers, and of what was asked, in all."""
REFUSED = 60.0
"""Seconds for which what was refused, or took too long, is not tried again."""


class LateError(InputError):
    """A job took longer than it may, and was ended with its process."""


Outcome = Result | LateError
"""What a job came to."""


class Kept(NamedTuple):
    """An outcome, its bytes and those of the call, and the second of the clock until which it holds."""

    outcome: Outcome
    bytes: int
    until: float


class Remembered:
    """Outcomes by call; not for several threads at once without a lock around it. `clock` tells seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: OrderedDict[Call, Kept] = OrderedDict()
        self._clock = clock
        self.bytes = 0

    def get(self, call: Call) -> Outcome | None:
        """What a call came to, where that is known and still holds."""
        kept = self._kept.get(call)
        if kept is None:
            return None
        if self._clock() >= kept.until:
            self._drop(call)
            return None
        self._kept.move_to_end(call)
        return kept.outcome

    def keep(self, call: Call, outcome: Outcome, size: int) -> None:
        """Remember what a call of so many bytes came to, unless it would take much of the room."""
        is_refused = isinstance(outcome, LateError) or outcome.status
        size += 0 if isinstance(outcome, LateError) else len(outcome.value)
        if call in self._kept or size > ROOM // 4:
            return
        self._kept[call] = Kept(outcome, size, self._clock() + REFUSED if is_refused else math.inf)
        self.bytes += size
        while self.bytes > ROOM:
            self._drop(next(iter(self._kept)))

    def _drop(self, call: Call) -> None:
        self.bytes -= self._kept.pop(call).bytes
