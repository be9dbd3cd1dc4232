"""Memory for a schedule that is not written down: rows for what is under way, of classes that all ranks have.

`sim.fabric.rows` has the kernel's side of it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints
from sim.base.ragged import offsets_of
from sim.fabric import kernel
from sim.fabric.calendar import HEAP, NODES, Calendar
from sim.fabric.links import NONE
from sim.fabric.memory import PER_TRANSFER, Arena, leads, longer, wider
from sim.fabric.rows import FREE, LACKING, LATE, LOGGED, SOON, SPREAD, WIDTH, Alike, calendar_is_short

FIRST = 4
"""Rows that there are at first for every rank, beside those of what waits for nothing."""
ENTRIES = 4
"""Of the calendar that there are at first for every row and every link."""
READ = {"op", "route", "connection", "behind", "size", "pending", "start"}
"""Columns that are read again after a wave."""


class Classes(NamedTuple):
    """Classes of transfers, of each of which every one of `ranks` sends one.

    Class k copies or reduces (`op[k]`) `size[k]` bytes, from rank r to rank `peer[pair[k], r]` on `channel[k]`, once it
    has not `waits[k]` transfers more to wait for. When rank r's of class k has ended, that of class `after[e]` and of
    rank `peer[shift[e], r]` waits for one less, for e in `after_start[k]:after_start[k + 1]`.
    """

    ranks: int
    op: NDArray[np.uint8]
    size: Floats
    pair: Ints
    channel: Ints
    waits: Ints
    after_start: NDArray[np.int64]
    after: Ints
    shift: Ints
    peer: Ints


class AlikeArena(Arena):
    """Owns the memory of one collective of which all ranks do alike; nothing else runs beside it."""

    def add_alike(self, classes: Classes, devices: Ints, time: float, late: Floats | None = None) -> None:
        """Have the classes' transfers between these devices, a rank each, start at `time`.

        Nothing that rank r sends or receives is ready before `late[r]`, in s.
        """
        n = classes.ranks
        pairs, of_class = np.unique(classes.pair, return_inverse=True)
        self._enter_pairs(classes.peer[pairs], devices)
        self._pairs = np.bincount(of_class, minlength=len(pairs))
        channels, on = np.unique(classes.channel, return_inverse=True)
        number = of_class * len(channels) + on
        members = np.repeat(np.bincount(number, minlength=len(pairs) * len(channels)), n)
        connection = self._connected(members)[number * n]
        none = self.fabric.alike
        held = np.zeros((len(pairs), n)) if late is None else np.maximum(late, late[classes.peer[pairs]])
        count = none.count.copy()
        count[WIDTH] = n
        alike = none._replace(
            count=count,
            waits=classes.waits,
            op=classes.op,
            size=classes.size,
            route=(of_class * n).astype(np.int32),
            connection=connection,
            after_start=classes.after_start,
            after=classes.after,
            shift=classes.shift,
            peer=classes.peer,
            watched=np.zeros(len(pairs) * n, np.uint8),
            held=held.reshape(-1),
            late=np.empty(int(np.count_nonzero(held > time, axis=1) @ self._pairs), np.int64),
        )
        self.fabric = self.fabric._replace(alike=alike)
        self._claim_all()
        at_once = classes.waits == 0
        self._widen(n * min(len(classes.op), FIRST + int(at_once.sum())))
        for name in ("job_stop", "job_left", "job_end", "finished"):
            self.fabric = wider(self.fabric, {name: 1})
        fabric = self.fabric
        fabric.job_stop[0] = fabric.job_left[0] = len(classes.op) * n
        fabric.job_end[0] = time
        fabric.count[kernel.JOBS] = 1
        for links in self._noted:
            self._watch(links)

    def note(self, links: Sequence[int] | Ints) -> None:
        """Keep from now on when transfers that cross these links begin and end."""
        self._noted.append(links)
        if self.fabric.alike.count[WIDTH]:
            self._watch(links)

    def note_all(self) -> None:
        """Keep from now on when every transfer begins and ends, those that cross no link too."""
        self._noted.append(None)

    def kept(self) -> tuple[NDArray[np.int64], Ints, Floats, Floats]:
        """Return numbers, routes, and when they began and ended, s, of the transfers that are kept."""
        return AlikeArena.flown(self)

    def flown(self, *_: int) -> tuple[NDArray[np.int64], Ints, Floats, Floats]:
        """What is kept of transfers: their numbers, routes, and when they began and ended, in s."""
        alike = self.fabric.alike
        logged = slice(0, int(alike.count[LOGGED]))
        number = alike.log[logged]
        klass, rank = np.divmod(number, alike.count[WIDTH])
        return number, (alike.route[klass] + rank).astype(np.int32), alike.log_start[logged], alike.log_end[logged]

    def waited(self) -> tuple[NDArray[np.int64], Floats]:
        """Numbers of the transfers that a late rank held back, and when it was there, in s."""
        alike = self.fabric.alike
        number = alike.late[: int(alike.count[LATE])]
        klass, rank = np.divmod(number, alike.count[WIDTH])
        return number, alike.held[alike.route[klass] + rank]

    def make_room(self) -> None:
        """Double the rows when they may run out, and the calendar where it alone does."""
        count = self.fabric.alike.count
        if count[FREE] < count[SOON] or count[LACKING]:
            rows = len(self.fabric.alike.class_of)
            self._widen(rows + max(rows, int(count[SOON])))
            count[LACKING] = 0
        while calendar_is_short(self.fabric):
            calendar = self.fabric.calendar
            self.fabric = self.fabric._replace(calendar=_roomier(calendar, 2 * len(calendar.nodes)))

    def link_bytes(self) -> Floats:
        """Bytes that cross every link until the end."""
        offsets, links = self.routes
        alike, n = self.fabric.alike, int(self.fabric.alike.count[WIDTH])
        per_route = np.repeat(np.bincount(alike.route // n, alike.size, len(self._pairs)), n)
        crossing = np.repeat(per_route, np.diff(offsets))
        return np.bincount(links, crossing, len(self.topology.links)).astype(np.float64)

    def _empty(self) -> kernel.FabricState:
        self._noted: list[Sequence[int] | Ints | None] = []
        return super()._empty()

    def _enter_pairs(self, receivers: Ints, devices: Ints) -> None:
        """A route for every rank to each of its receivers; a row of receivers per kind of pair."""
        routes = self.topology.routes(np.tile(devices, len(receivers)), devices[receivers.reshape(-1)])
        self._enter(*routes, leads(self.topology, routes))

    def _claim_all(self) -> None:
        offsets, links = self.routes
        crossing = np.repeat(np.repeat(self._pairs, int(self.fabric.alike.count[WIDTH])), np.diff(offsets))
        claims = np.bincount(links, crossing, len(self.claims)).astype(np.int64)
        first = offsets_of(claims)
        net = self.fabric.net
        lists = {name: getattr(net, name) for name in ("members", "elsewhere", "flow", "finish")}
        room = {name: np.empty((first[-1], *old.shape[1:]), old.dtype) for name, old in lists.items()}
        self.fabric = self.fabric._replace(net=net._replace(first=first, **room))

    def _widen(self, rows: int) -> None:
        """Have so many rows in all."""
        alike = self.fabric.alike
        before, more = len(alike.class_of), rows - len(alike.class_of)
        alike = wider(alike, dict.fromkeys(("class_of", "rank_of", "free", "beside"), rows))
        alike.class_of[before:] = NONE
        alike.free[alike.count[FREE] : alike.count[FREE] + more] = np.arange(rows - 1, before - 1, -1)
        alike.count[FREE] += more
        for name in (*PER_TRANSFER, "wave"):
            old = getattr(self.fabric, name)
            kept = old if name in READ else old[:0]
            column: Any = {name: longer(kept, rows)}
            self.fabric = self.fabric._replace(**column)
        self.fabric = self.fabric._replace(alike=_placed(alike, self.fabric.pending))
        room = ENTRIES * (rows + len(self.topology.links)) + 64
        calendar = _roomier(self.fabric.calendar, max(room, len(self.fabric.calendar.nodes)))
        self.fabric = self.fabric._replace(calendar=calendar)

    def _watch(self, links: Sequence[int] | Ints | None) -> None:
        """Have room for all transfers over some links, or for all there are, and keep them."""
        alike, n = self.fabric.alike, int(self.fabric.alike.count[WIDTH])
        routes = np.arange(len(alike.watched), dtype=np.int32)
        watched = alike.watched | (True if links is None else self.crosses(routes, links))
        room = int(watched.reshape(-1, n).sum(axis=1) @ self._pairs)
        alike = wider(alike, dict.fromkeys(("log", "log_start", "log_end"), room))
        self.fabric = self.fabric._replace(alike=alike._replace(watched=watched.astype(np.uint8)))


def _roomier(old: Calendar, room: int) -> Calendar:
    """A calendar with more room; what was never written is not copied."""
    used = {"time": int(old.size[HEAP]), "heap": int(old.size[HEAP]), "nodes": int(old.size[NODES])}
    new = {name: np.empty((room, *getattr(old, name).shape[1:]), getattr(old, name).dtype) for name in used}
    for name, length in used.items():
        new[name][:length] = getattr(old, name)[:length]
    return old._replace(**new)


def _placed(alike: Alike, pending: Ints) -> Alike:
    """With as many places as rows, and rows that still wait in theirs."""
    place = np.full(1 << len(alike.class_of).bit_length(), NONE, np.int32)
    rows = np.flatnonzero(alike.class_of != NONE)
    rows = rows[pending[rows] > 0]
    at = (alike.class_of[rows].astype(np.int64) * SPREAD + alike.rank_of[rows]) & (len(place) - 1)
    order = np.argsort(at, kind="stable")
    rows, at = rows[order], at[order]
    alike.beside[rows] = np.where(np.diff(at, append=-1) == 0, np.append(rows[1:], NONE)[: len(rows)], NONE)
    place[at[::-1]] = rows[::-1]
    return alike._replace(place=place)
