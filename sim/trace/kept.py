"""A run that was kept as JSON, read again: checked whole before any compiled code sees a number of it.

Kernels trust their indices. So every column has the length and the range that its neighbours ask for, causes go
forward in time and form no circle, changes are in order, and no schedule asks for more places than a stated maximum.
"""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sim.base.files.textfile import Expected, bounded
from sim.errors import InputError, Message
from sim.schedule import Promise, Schedule
from sim.schedule.model import narrow
from sim.schedule.verify import Verdict
from sim.topology import Device, Floats, Link, Routes, Topology
from sim.topology.devices import DEVICE_KINDS, LINK_KINDS
from sim.topology.generations import GENERATIONS
from sim.trace.model import FORMAT, NO_CAPACITIES, NO_HITS, VERSION, Capacities, History, Hits, Trace
from sim.units import MiB

EXPECTED = Expected(
    "a Ringside trace", "keep the trace of a smaller run", lambda: Message("a Ringside trace"), 512 * MiB
)
MOST_RANKS = 1 << 20
MOST_PLACES = 1 << 24
"""Ranks times slots; what one of them holds is followed when the run is proved again."""
VERDICTS = ("ok", "wrong", "unchecked", "deadlock", "malformed", "duplicate_connection")


def from_json(text: str) -> Trace:
    """Read what `Trace.to_json` wrote. Raises InputError for anything else, and for what no run can have been."""
    bounded(text, Message("the trace"), EXPECTED)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError("trace.json", line=error.lineno) from None
    except (RecursionError, ValueError, MemoryError):
        raise InputError("trace.too_deep") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("trace.no_trace")
    version = document.get("version")
    if version != VERSION:
        raise InputError("trace.version", version=str(version), own=VERSION)
    return _trace(TracePart(document, "it"))


class TracePart:
    """A value of the document, with what it is called in messages."""

    def __init__(self, value: Any, name: str) -> None:
        self.value, self.name = value, name

    def damaged(self, why: str, /, **values: object) -> NoReturn:
        """Raise the sentence about this value; `why` is the id of a message."""
        raise InputError("trace.damaged", name=Message(self.name), why=Message(why, **values))

    def get(self, key: str) -> "TracePart":
        """A member, which must be there."""
        if not isinstance(self.value, dict) or key not in self.value:
            self.damaged("trace.no_key", key=key)
        return TracePart(self.value[key], f"{self.name[:40]}, {key}" if self.name != "it" else key)

    def optional(self, key: str) -> "TracePart | None":
        """A member, or None where it is absent or null."""
        absent = not isinstance(self.value, dict) or self.value.get(key) is None
        return None if absent else self.get(key)

    def items(self) -> list["TracePart"]:
        """The members of a list."""
        if not isinstance(self.value, list):
            self.damaged("trace.no_list")
        return [TracePart(value, f"{self.name}[{i}]") for i, value in enumerate(self.value)]

    def several(self, count: int) -> list["TracePart"]:
        """The members of a list of so many."""
        parts = self.items()
        if len(parts) != count:
            self.damaged("trace.entries", count=len(parts), due=count)
        return parts

    def word(self, among: Sequence[str] = ()) -> str:
        """A text, perhaps one of some."""
        if not isinstance(self.value, str) or (among and self.value not in among):
            self.damaged("trace.none_of" if among else "trace.no_text", value=str(self.value), choices=among)
        return str(self.value)

    def flag(self) -> bool:
        """Yes or no."""
        if not isinstance(self.value, bool):
            self.damaged("trace.no_truth", value=str(self.value))
        return bool(self.value)

    def whole(self, low: int, high: int) -> int:
        """A whole number within bounds."""
        if type(self.value) is not int or not low <= self.value <= high:
            self.damaged("trace.whole", low=low, high=high)
        return int(self.value)

    def number(self, low: float = 0.0) -> float:
        """A finite number, not below `low`."""
        if type(self.value) not in (int, float) or not low <= self.value <= 1e300:
            self.damaged("trace.number", low=low)
        return float(self.value)

    def wholes(self, low: int, high: int, length: int = -1, dtype: Any = np.int32) -> NDArray[Any]:
        """A list of whole numbers within bounds, as an array."""
        numbers = self._numbers("iu", length, 1)
        self._bound(numbers, low, high)
        return numbers.astype(dtype)

    def numbers(self, length: int = -1) -> NDArray[np.float64]:
        """A list of finite numbers, none below zero, as an array."""
        numbers = self._numbers("iuf", length, 1).astype(np.float64)
        if not (np.isfinite(numbers) & (numbers >= 0)).all():
            self.damaged("trace.endless")
        return numbers

    def table(self, low: int, high: int, shape: tuple[int, ...] = ()) -> NDArray[np.int32]:
        """Rows of whole numbers within bounds, all as long."""
        numbers = self._numbers("iu", -1, 2)
        if shape and numbers.shape != shape:
            self.damaged("trace.shape", shape=numbers.shape, due=shape)
        self._bound(numbers, low, high)
        return numbers.astype(np.int32)

    def _bound(self, numbers: NDArray[Any], low: int, high: int) -> None:
        if numbers.size and not low <= int(numbers.min()) <= int(numbers.max()) <= high:
            self.damaged("trace.outside", low=low, high=high)

    def _numbers(self, kinds: str, length: int, dimensions: int) -> NDArray[Any]:
        if not isinstance(self.value, list):
            self.damaged("trace.no_list")
        try:
            numbers = np.array(self.value)
        except (ValueError, OverflowError):
            self.damaged("trace.ragged")
        if not numbers.size:
            numbers = numbers.astype(np.int64)
        if numbers.dtype.kind not in kinds or numbers.ndim != dimensions:
            self.damaged("trace.no_numbers")
        if length >= 0 and len(numbers) != length:
            self.damaged("trace.entries", count=len(numbers), due=length)
        return numbers


def _trace(document: TracePart) -> Trace:
    topology = _topology(document.get("topology"))
    schedule = _schedule(document.get("schedule"), document.optional("promise"), topology.n)
    routes = _routes(document.get("routes"), len(topology.links))
    columns = document.get("columns")
    count = schedule.transfers
    ready, start, end = (columns.get(name).numbers(count) for name in ("ready", "start", "end"))
    left = ready if (kept := columns.optional("left")) is None else kept.numbers(count)
    if not ((ready <= left) & (left <= start) & (start <= end)).all():
        columns.damaged("trace.ended_before_ready")
    began, ended = (columns.get(name).number() for name in ("began", "ended"))
    if began > ended:
        columns.damaged("trace.ended_before_began")
    names = document.optional("faults") or document.optional("troubles")  # which files of old have
    faults = () if names is None else tuple(name.word() for name in names.items())
    return Trace(
        topology=topology,
        schedule=schedule,
        verdict=_verdict(document.get("verdict")),
        size=columns.get("size").number(),
        began=began,
        ended=ended,
        bytes=columns.get("bytes").numbers(count),
        route=columns.get("route").wholes(0, len(routes.offsets) - 2, count),
        routes=routes,
        ready=ready,
        left=left,
        start=start,
        end=end,
        cause=_causes(columns.get("cause"), ready, left, start, end),
        instants=columns.get("instants").whole(0, 1 << 60),
        history=_history(document.optional("history"), count),
        faults=faults,
        hits=_hits(document.optional("hits"), len(faults), count),
        capacities=_capacities(document.optional("capacities"), len(topology.links)),
    )


def _topology(part: TracePart) -> Topology:
    devices = tuple(
        Device(
            d.get("name").word(), d.get("kind").word(DEVICE_KINDS),  # type: ignore[arg-type]
            d.get("numa").whole(-1, 1 << 20), d.get("host").whole(-1, 1 << 24),
        )
        for d in part.get("devices").items()
    )  # fmt: skip
    links = tuple(
        Link(
            d.get("src").word(), d.get("dst").word(), d.get("bandwidth").number(), d.get("latency").number(),
            d.get("kind").word(LINK_KINDS), d.get("both").flag(), d.get("lanes").whole(0, 1 << 16),  # type: ignore[arg-type]
        )
        for d in part.get("links").items()
    )  # fmt: skip
    ranks = part.get("ranks").wholes(0, len(devices) - 1)
    if len({*ranks.tolist()}) != len(ranks):
        part.damaged("trace.two_ranks")
    pairs = part.get("pairs").value
    if not isinstance(pairs, dict) or not all(isinstance(row, dict) for row in pairs.values()):
        part.get("pairs").damaged("trace.no_devices")
    return Topology(
        name=part.get("name").word(),
        devices=devices,
        links=links,
        ranks=tuple(ranks.tolist()),
        overhead=part.get("overhead").number(),
        gamma=part.get("gamma").number(),
        forwarding=part.get("forwarding").flag(),
        relays=0 if (relays := part.optional("relays")) is None else relays.whole(0, 1 << 16),
        assumed=tuple(word.word() for word in part.get("assumed").items()),
        generation="" if (of := part.optional("generation")) is None else of.word(("", *GENERATIONS)),  # type: ignore[arg-type]
        pairs={str(a): {str(b): str(word) for b, word in row.items()} for a, row in pairs.items()},
    )


def _schedule(part: TracePart, promise: TracePart | None, ranks: int) -> Schedule:
    n = part.get("n").whole(1, min(MOST_RANKS, ranks))
    switches = (
        () if (kinds := part.optional("switches")) is None else tuple(k.word(("NVS", "NET")) for k in kinds.items())
    )
    places = n + len(switches)
    slots = part.get("slots").whole(0, MOST_PLACES // places)
    steps = part.get("steps").whole(0, 1 << 40)
    src = part.get("src").wholes(0, places - 1)
    count = len(src)
    step_start = _offsets(part.get("step_start"), count, steps)
    from_slot = part.get("from_slot").wholes(0, slots - 1)
    after = part.get("after")
    return Schedule(
        name=part.get("name").word(),
        n=n,
        slots=slots,
        promise=None if promise is None else _promise(promise, places, slots),
        unit_share=part.get("unit_share").number(),
        steps=steps,
        step_start=step_start,
        op=part.get("op").wholes(0, 1, count, np.uint8),
        src=src,
        dst=part.get("dst").wholes(0, places - 1, count),
        channel=part.get("channel").wholes(0, (1 << 31) - 1, count),
        moves=narrow(_offsets(part.get("moves"), len(from_slot), count)),
        from_slot=from_slot,
        to_slot=part.get("to_slot").wholes(0, slots - 1, len(from_slot)),
        phases=tuple((p.several(2)[0].whole(0, steps), p.several(2)[1].word()) for p in part.get("phases").items()),
        after=None if after.value is None else _order(after, count),
        root=part.get("root").whole(0, n - 1),
        switches=switches,
        fixed_bytes=None if (sizes := part.optional("fixed_bytes")) is None else sizes.numbers(count),
        work=None if (work := part.optional("work")) is None else work.numbers(count),
        flaw="" if (flaw := part.optional("flaw")) is None else flaw.word(),
    )


def _offsets(part: TracePart, end: int, rows: int) -> NDArray[np.int64]:
    """Where rows begin, and where the last one ends."""
    offsets = part.wholes(0, end, rows + 1, np.int64)
    if not len(offsets) or offsets[0] or offsets[-1] != end or (np.diff(offsets) < 0).any():
        part.damaged("trace.rows", count=end)
    return offsets


def _order(part: TracePart, count: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pairs of transfers and marks, of which there can be no more than pairs."""
    before, after = part.several(2)
    most = count + len(after.items()) - 1
    earlier = before.wholes(0, most)
    return earlier, after.wholes(0, most, len(earlier))


def _promise(part: TracePart, places: int, slots: int) -> Promise:
    blocks = part.get("blocks").whole(0, 1 << 31)
    first_blocks = part.get("given").table(-1, blocks - 1)
    shape = first_blocks.shape
    if shape[0] != places or shape[1] > slots:
        part.damaged("trace.places", places=shape[0], slots=shape[1], due=places, due_slots=slots)
    owed = part.get("owed").table(-1, blocks - 1, shape)
    first, last = (part.get(name).table(-1, places, shape) for name in ("first", "last"))
    return Promise(
        name=part.get("name").word(),
        blocks=blocks,
        given=first_blocks,
        owed=owed,
        first=first,
        last=last,
        inputs=_range(part.get("inputs"), shape[1]),
        outputs=_range(part.get("outputs"), shape[1]),
        union=part.get("union").flag(),
    )


def _range(part: TracePart, end: int) -> range:
    start, stop = (bound.whole(0, end) for bound in part.several(2))
    return range(start, stop)


def _verdict(part: TracePart) -> Verdict:
    step, rank, slot = (part.get(name).whole(-1, 1 << 60) for name in ("step", "rank", "slot"))
    return Verdict(part.get("verdict").word(VERDICTS), part.get("reason").word(), step, rank, slot)


def _routes(part: TracePart, links: int) -> Routes:
    offsets, crossed = part.several(2)
    through = crossed.wholes(0, links - 1)
    return Routes(_offsets(offsets, len(through), len(offsets.items()) - 1).astype(np.int32), through)


def _causes(part: TracePart, ready: Floats, left: Floats, start: Floats, end: Floats) -> NDArray[np.int32]:
    """What every transfer waited for last: it had ended by then, and going back from one to the next ends somewhere.

    What stood in line waited for one that began to flow before.
    """
    count = len(ready)
    cause = part.wholes(-1, count - 1, count)
    waited = np.nonzero(cause >= 0)[0]
    until = np.where(left > ready, np.inf, ready * (1 + 1e-9) + 1e-15)[waited]
    if ((end[cause[waited]] > until) | (start[cause[waited]] > start[waited])).any():
        part.damaged("trace.ended_later")
    back = cause.copy()
    for _ in range(max(count, 1).bit_length()):
        back[back >= 0] = back[back[back >= 0]]
    if (back >= 0).any():
        part.damaged("trace.circle")
    return cause


def _history(part: TracePart | None, count: int) -> History | None:
    if part is None:
        return None
    transfer, time, rate = part.several(3)
    changed = transfer.wholes(0, count - 1)
    return History(changed, _in_order(time, len(changed)), rate.numbers(len(changed)))


def _in_order(part: TracePart, count: int) -> NDArray[np.float64]:
    times = part.numbers(count)
    if (np.diff(times) < 0).any():
        part.damaged("trace.back_in_time")
    return times


def _hits(part: TracePart | None, faults: int, count: int) -> Hits:
    if part is None:
        return NO_HITS
    fault, transfer, seconds = part.several(3)
    which = fault.wholes(0, faults - 1)
    return Hits(which, transfer.wholes(0, count - 1, len(which)), seconds.numbers(len(which)))


def _capacities(part: TracePart | None, links: int) -> Capacities:
    if part is None:
        return NO_CAPACITIES
    link, time, bandwidth = part.several(3)
    which = link.wholes(0, links - 1)
    times = time._numbers("iuf", len(which), 1).astype(np.float64)
    if (np.diff(times) < 0).any() or not np.isfinite(times).all():
        time.damaged("trace.back_in_time")
    return Capacities(which, times, bandwidth.numbers(len(which)))
