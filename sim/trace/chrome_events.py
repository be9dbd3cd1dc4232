"""Writes Chrome trace-event JSON, which ui.perfetto.dev draws: named tracks, slices on them, counters and arrows.

Times are whole nanoseconds, which is what Perfetto counts in; the file holds them in microseconds. Slices of one
track must nest or follow each other.
"""

import json
from typing import Any, NamedTuple

from sim.errors import InputError

MOST_SLICES = 500_000
"""More make a file that a browser does not open."""

TraceEvent = dict[str, Any]


class TrackPoint(NamedTuple):
    """A moment on a track, in ns."""

    process: int
    track: int
    at: int


def nanoseconds(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * 1e9)


def check_slices(count: int, why: str, most: int = MOST_SLICES, **values: object) -> None:
    """Raise InputError with the text `why` when there are more entries than a browser opens."""
    if count > most:
        raise InputError(why, count=count, most=most, **values)


class ChromeTrace:
    """The events of one file, in the order in which they are written."""

    def __init__(self) -> None:
        self._events: list[TraceEvent] = []

    def process(self, process: int, name: str, *, order: int | None = None) -> None:
        """Name a process: a group of tracks. Groups are shown by their `order`."""
        self._name("process", {"pid": process, "tid": 0}, name, order)

    def track(self, process: int, track: int, name: str, *, order: int | None = None) -> None:
        """Name a track of a process."""
        self._name("thread", {"pid": process, "tid": track}, name, order)

    def _name(self, kind: str, where: TraceEvent, name: str, order: int | None) -> None:
        self._events.append({"ph": "M", "name": f"{kind}_name", **where, "args": {"name": name}})
        if order is not None:
            self._events.append({"ph": "M", "name": f"{kind}_sort_index", **where, "args": {"sort_index": order}})

    def slice(
        self, process: int, track: int, name: str, category: str, start: int, end: int, args: TraceEvent | None = None
    ) -> None:
        """What a track does from `start` to `end` ns; `args` are shown when it is clicked."""
        event = {
            "ph": "X", "name": name, "cat": category, "pid": process, "tid": track,
            "ts": start / 1000, "dur": (end - start) / 1000,
        }  # fmt: skip
        self._events.append(event if args is None else event | {"args": args})

    def counter(self, process: int, name: str, at: int, unit: str, value: float) -> None:
        """From `at` ns on a counter shows this value."""
        self._events.append({"ph": "C", "name": name, "pid": process, "tid": 0, "ts": at / 1000, "args": {unit: value}})

    def arrow(self, number: int, name: str, category: str, tail: TrackPoint, head: TrackPoint) -> None:
        """An arrow between the slices that two moments lie in; `number` is its own among all arrows."""
        for mark, end in (({"ph": "s"}, tail), ({"ph": "f", "bp": "e"}, head)):
            self._events.append(
                {
                    **mark, "cat": category, "name": name, "id": number,
                    "pid": end.process, "tid": end.track, "ts": end.at / 1000,
                }
            )  # fmt: skip

    def to_json(self, about: dict[str, str] | None = None) -> str:
        """The file's text; `about` are words on the whole of it."""
        whole: dict[str, Any] = {"traceEvents": self._events, "displayTimeUnit": "ns"}
        return json.dumps(whole if about is None else whole | {"otherData": about}, allow_nan=False)
