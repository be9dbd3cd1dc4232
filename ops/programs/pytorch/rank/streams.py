"""Streams and events of the simulated GPUs.

The default stream follows the script's own clock. Every other stream has a clock of its own: its work begins when the
script has launched it and the stream has done all before it, and whoever waits for the stream goes on at its end.
"""

from collections.abc import Callable
from typing import Any

from .link import LINK

Item = Callable[[float], float]
"""What a stream does: from the end of all before it, simulated seconds, to its own end."""


class GpuEvent:
    """`torch.cuda.Event`: the simulated time at which a stream comes to it."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:  # noqa: ARG002
        self.stream: GpuStream | None = None
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Let a stream, the current one if none is given, come to this event."""
        self._time, self.stream = None, stream or current_stream()
        self.stream.queue(self._pass)

    def _pass(self, end: float) -> float:
        self._time = end
        return end

    def time(self) -> float:
        """Return its simulated time; 0 for an event that no stream has recorded."""
        if self._time is None and self.stream is not None:
            self.stream.settle()
        return self._time or 0.0

    def elapsed_time(self, end: "GpuEvent") -> float:
        """Return the milliseconds from this event to another. Raises RuntimeError where one was not recorded."""
        if self.stream is None or end.stream is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end.time() - self.time()) * 1e3

    def query(self) -> bool:
        """Whether it has happened."""
        return self.time() <= LINK.clock()

    def synchronize(self) -> None:
        """Go on when it has happened."""
        LINK.reach(self.time())
        LINK.reached = LINK.time

    def wait(self, stream: Any = None) -> None:
        """Let a stream, the current one if none is given, go on when it has happened."""
        (stream or current_stream()).wait_event(self)


class GpuStream:
    """`torch.cuda.Stream`: work that goes on beside the default stream, one thing after the other."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device, self.priority, self.cuda_stream = device, priority, len(_STREAMS)
        self._end = 0.0
        self._items: list[tuple[str, Item]] = []
        self._before: list[Any] = []
        self._groups: dict[int, str] = {}
        """The groups of collectives that were called in this stream, by their numbers."""
        _STREAMS.append(self)

    def __enter__(self) -> "GpuStream":
        self._before.append(LINK.stream)
        LINK.stream = None if self is _DEFAULT else self
        return self

    def __exit__(self, *_: object) -> None:
        LINK.stream = self._before.pop()

    def queue(self, item: Item, group: str = "") -> None:
        """Put something behind all that is in the stream; `group` if it waits for a collective of one."""
        if self is _DEFAULT:
            LINK.reach(item(float(LINK.ask("clock")["now"])))
        else:
            self._items.append((group, item))

    def compute(self, seconds: float, name: str) -> None:
        """Do work after all that is in the stream."""
        launched = LINK.reached

        def work(end: float) -> float:
            start = max(end, launched)
            LINK.beside.append((name, start, start + seconds))
            return start + seconds

        self.queue(work)

    def await_work(self, number: int) -> None:
        """Go on at the end of a collective or a message."""
        self.queue(lambda end: max(end, LINK.ask("wait", work=number)["ended"]), self._groups.pop(number, ""))

    def settle(self) -> float:
        """Return when all that is in the stream ends; the script goes on when its collectives have ended."""
        if self is _DEFAULT:
            return LINK.time
        items, self._items = self._items, []
        for _, item in items:
            self._end = item(self._end)
        return self._end

    def ready(self, number: int, group: str) -> float:
        """Return when a collective of a group that is called in this stream may begin.

        Collectives of one group follow each other anyway: only what is of another kind makes the script wait.
        """
        self._groups[number] = group
        if any(name != group for name, _ in self._items):
            self.settle()
        return max(self._end, LINK.reached)

    def synchronize(self) -> None:
        """Go on when all in it has ended."""
        LINK.reach(self.settle())
        LINK.reached = LINK.time

    def query(self) -> bool:
        """Whether all in it has ended."""
        return self.settle() <= LINK.clock()

    def record_event(self, event: GpuEvent | None = None) -> GpuEvent:
        """Record an event."""
        made = GpuEvent() if event is None else event
        made.record(self)
        return made

    def wait_event(self, event: GpuEvent) -> None:
        """Go on when an event has happened."""
        self.queue(lambda end: max(end, event.time()))

    def wait_stream(self, stream: "GpuStream") -> None:
        """Go on when all that is in another stream by now has ended."""
        self.wait_event(stream.record_event())


_STREAMS: list[GpuStream] = []
_DEFAULT = GpuStream()


def current_stream(device: Any = None) -> GpuStream:
    """Return the stream that is at work."""
    return LINK.stream or _DEFAULT


def default_stream(device: Any = None) -> GpuStream:
    """Return the stream that follows the script's clock."""
    return _DEFAULT


def stream(chosen: GpuStream | None) -> Any:
    """Work in a stream."""
    return _DEFAULT if chosen is None else chosen


def synchronize(device: Any = None) -> None:
    """Go on when all streams have done what is in them."""
    for one in _STREAMS:
        LINK.reach(one.settle())
    LINK.reached = LINK.time
