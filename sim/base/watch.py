"""Whoever waits for a run: told now and then how far it is, and able to end it when its time is over.

Long loops call `passing` between two pieces of work; where nobody watches, it does nothing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from sim.errors import InputError


@dataclass
class Watch:
    """`tell` gets the share that is done at most once in `every` seconds; after `seconds` the run is refused.

    `mend` says what then helps. `transfers` is how many transfers a schedule may have.
    """

    seconds: float = float("inf")
    every: float = 0.2
    tell: Callable[[float], None] = lambda share: None
    mend: str = "ask for less"
    transfers: float = float("inf")
    began: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)

    def passing(self, share: float) -> None:
        """Called by what is watched, with the share that is done. Raises InputError when the time is over."""
        now = time.monotonic()
        if now - self.began > self.seconds:
            raise InputError(f"this run was stopped after {self.seconds:.3g} s: {self.mend}")
        if now - self._last >= self.every:
            self._last = now
            self.tell(min(1.0, max(0.0, share)))


_NOW: ContextVar[Watch | None] = ContextVar("ringside_watch", default=None)


@contextmanager
def watched(by: Watch) -> Iterator[Watch]:
    """Have what runs here watched, instead of by whoever watched before."""
    before = _NOW.set(by)
    try:
        yield by
    finally:
        _NOW.reset(before)


def passing(share: float) -> None:
    """Tell whoever watches what share of the work is done. Raises InputError when its time is over."""
    now = _NOW.get()
    if now is not None:
        now.passing(share)


def check_transfers(name: str, count: int) -> None:
    """Raise InputError where a schedule that is being built has more transfers than whoever watches allows."""
    now = _NOW.get()
    if now is not None and count > now.transfers:
        raise InputError(f"{name} has more than {now.transfers:,.0f} transfers: {now.mend}")
