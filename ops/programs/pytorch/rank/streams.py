"""Streams and events of the simulated GPUs: one thing at a time, and events that keep the simulated time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .link import LINK


class GpuEvent:
    """`torch.cuda.Event`: the simulated time at which it was recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:  # noqa: ARG002
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:  # noqa: ARG002
        """Keep the time."""
        self._time = LINK.clock()

    def elapsed_time(self, end: "GpuEvent") -> float:
        """Return the milliseconds from this event to another. Raises RuntimeError where one was not recorded."""
        if self._time is None or end._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end._time - self._time) * 1e3

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def synchronize(self) -> None:
        """Go on when it has happened."""

    def wait(self, stream: Any = None) -> None:
        """Let a stream go on when it has happened."""


class GpuStream:
    """`torch.cuda.Stream`. A rank's streams follow each other: only communication runs beside them."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device, self.priority, self.cuda_stream = device, priority, 0

    def __enter__(self) -> "GpuStream":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing: the streams are one."""

    def synchronize(self) -> None:
        """Go on when all in it has ended."""

    def query(self) -> bool:
        """Whether all in it has ended."""
        return True

    def record_event(self, event: GpuEvent | None = None) -> GpuEvent:
        """Record an event."""
        made = GpuEvent() if event is None else event
        made.record()
        return made

    def wait_event(self, event: GpuEvent) -> None:
        """Go on when an event has happened."""

    def wait_stream(self, stream: "GpuStream") -> None:
        """Go on when all in another stream has ended."""


_DEFAULT = GpuStream()


def current_stream(device: Any = None) -> GpuStream:
    """Return the stream that is at work."""
    return _DEFAULT


@contextmanager
def stream(chosen: GpuStream | None) -> Iterator[None]:
    """Work in a stream."""
    yield
