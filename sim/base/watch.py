"""Whoever waits for a run: what it may take, told now and then how far it is, able to end it when its time is over.

Long loops call `passing` between two pieces of work, and what builds a schedule `check_transfers`; where nobody
watches, they do nothing.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.errors import InputError, Message
from sim.units import fmt_size

LEAST_BYTES = 200
"""What a transfer takes at least, from its schedule to its trace."""
STEP = 4
"""A step of a schedule takes as much memory as so many transfers."""


class Estimate(NamedTuple):
    """What a run will take, as far as that is known before: transfers, bytes of memory, seconds of real time."""

    transfers: float
    bytes: float
    seconds: float


def _ask_for_less(what: str, amount: str) -> str | Message:
    return Message("watch.less")


@dataclass
class Watch:
    """`tell` gets the share that is done at most once in `every` seconds, `announce` what a run is going to take.

    A run may take so many `seconds` and bytes of `memory`, a sweep so many processes, `jobs`. `mend` says what helps
    where it takes more: it gets "memory" or "seconds", and how much of it would do.
    """

    seconds: float = math.inf
    memory: float = math.inf
    jobs: float = math.inf
    every: float = 0.2
    tell: Callable[[float], None] = lambda share: None
    announce: Callable[[Estimate], None] = lambda estimate: None
    mend: Callable[[str, str], str | Message] = _ask_for_less
    began: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)

    def passing(self, share: float) -> None:
        """Called by what is watched, with the share that is done. Raises InputError when the time is over."""
        now = time.monotonic()
        if now - self.began > self.seconds:
            mend = self.mend("seconds", f"{10 * self.seconds:.0f}")
            raise InputError("watch.stopped", seconds=self.seconds, mend=mend)
        if now - self._last >= self.every:
            self._last = now
            self.tell(min(1.0, max(0.0, share)))

    def expect(self, name: str | Message, estimate: Estimate) -> None:
        """Called before a run, with what it will take. Raises InputError where that is more than it may."""
        what = Message("watch.would_take", name=name, transfers=estimate.transfers)
        if estimate.bytes > self.memory:
            size, most = fmt_size(round(estimate.bytes, -6)), fmt_size(round(self.memory, -6))
            mend = self.mend("memory", f"{math.ceil(estimate.bytes * 1.25 / 1e9)}GB")
            raise InputError("watch.memory", what=what, size=size, most=most, mend=mend)
        if estimate.seconds > self.seconds:
            mend = self.mend("seconds", f"{2 * estimate.seconds:.0f}")
            raise InputError("watch.seconds", what=what, seconds=estimate.seconds, most=self.seconds, remedy=mend)
        self.announce(estimate)
        self.began = time.monotonic()


_NOW: ContextVar[Watch | None] = ContextVar("ringside_watch", default=None)


@contextmanager
def watched(by: Watch) -> Iterator[Watch]:
    """Have what runs here watched, instead of by whoever watched before."""
    before = _NOW.set(by)
    try:
        yield by
    finally:
        _NOW.reset(before)


def always(seconds: float, memory: float) -> None:
    """Have all that runs in this process watched, and its memory limited."""
    limit_memory(memory)
    _NOW.set(Watch(seconds, memory))


def limit_memory(size: float) -> None:
    """Let this process have no more than so many bytes of data, where the system can see to that."""
    if not math.isfinite(size):
        return
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = int(size) if hard == resource.RLIM_INFINITY else min(int(size), hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def watching() -> Watch | None:
    """Whoever watches now."""
    return _NOW.get()


def begin() -> None:
    """A run begins: its time counts from here."""
    now = _NOW.get()
    if now is not None:
        now.began = time.monotonic()


def passing(share: float = 0.0) -> None:
    """Tell whoever watches what share of the work is done. Raises InputError when its time is over."""
    now = _NOW.get()
    if now is not None:
        now.passing(share)


def expect(name: str | Message, estimate: Estimate) -> None:
    """Tell whoever watches what a run will take. Raises InputError where that is more than it may."""
    now = _NOW.get()
    if now is not None:
        now.expect(name, estimate)


def check_transfers(name: str, transfers: int, steps: int) -> None:
    """Raise InputError where a schedule that is being built has outgrown the memory or the time that there is."""
    now = _NOW.get()
    if now is None:
        return
    now.passing(0.0)
    size = LEAST_BYTES * (transfers + STEP * steps)
    if size > now.memory:
        mend = now.mend("memory", f"{math.ceil(4 * now.memory / 1e9)}GB")
        most = fmt_size(round(now.memory, -6))
        raise InputError("watch.memory_so_far", name=name, transfers=transfers, most=most, mend=mend)
