"""GOAL text, the schedules of LogGOPSim: sends, receives and computations, ordered by what requires what.

Sizes are absolute. A send starts when what it requires has ended, and is done when its message has arrived; a
receive is done then too, or when what it requires has ended. Computations of one rank and cpu follow each
other. Which NIC a message takes is up to the machine here, and LogGOPSim's o, g and G are its overhead,
latency and bandwidth.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import groupby
from typing import NoReturn

import numpy as np

from ops.formats import ScheduleProblem, malformed, reader
from ops.formats.interpreter.moves import Done, Moves, join
from sim.base.numbers import whole
from sim.base.pasted import bare_lines
from sim.errors import Message
from sim.schedule import COPY, Schedule
from sim.units import LARGEST_SIZE

MOST_RANKS, MOST_ITEMS = 1 << 14, 500_000
LONGEST = 86_400 * 10**9
"""Nanoseconds of a day; no computation of a schedule takes longer."""
_ITEM = re.compile(
    r"(?:(?P<label>[A-Za-z]\w*)\s*:)?\s*"
    r"(?:(?P<kind>send|recv)\s+(?P<size>\d+)b\s+(?P<way>to|from)\s+(?P<peer>-1|\d+)|calc\s+(?P<time>\d+))"
    r"(?P<options>(?:\s+(?:tag|cpu|nic)\s+(?:-1|\d+))*)"
)
_ORDER = re.compile(r"(?P<later>[A-Za-z]\w*)\s+(?P<how>i?requires)\s+(?P<earlier>[A-Za-z]\w*)")
_MARK = re.compile(r"^[ \t]*num_ranks\s", re.MULTILINE)
_RANK = re.compile(r"rank\s+(\d+)")


@dataclass(slots=True)
class _Item:
    """A send, recv or calc. `ended` and `started` are items that must have, before it starts; `match` its other end."""

    kind: str
    rank: int
    line: int
    size: int
    peer: int
    tag: int
    cpu: int
    ended: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    match: int = -1


@reader(
    "goal",
    "a GOAL schedule (text)",
    matches=lambda text: bool(_MARK.search(bare_lines(text)) if "num_ranks" in text else None),
    endings=("goal", "txt"),
)
def read(text: str, *, name: str) -> Schedule:
    """A schedule with sizes of its own and no promise. Raises ScheduleProblem."""
    n, items = _parse(text, name)
    _match(items, name)
    moves = Moves(n, 0)
    sizes: list[float] = []
    work: list[float] = []
    for item, level, done in _in_order(items, name, moves):
        slot = moves.spare(item.rank, 1)
        peer = item.rank if item.kind == "calc" else item.peer
        i = moves.start(COPY, item.rank, peer, 0, slot, 2 * level, done)
        moves.land(i, COPY, slot if item.kind == "calc" else moves.spare(peer, 1))
        sizes.append(0 if item.kind == "calc" else item.size)
        work.append(item.size * 1e-9 if item.kind == "calc" else 0)
    levels = [move.phase // 2 for move in moves.all]
    order = np.argsort(levels, kind="stable")
    schedule = moves.schedule(name[:80], n, None, 0.0, levels=levels)
    return replace(
        schedule,
        fixed_bytes=np.array(sizes, np.float64)[order],
        work=np.array(work, np.float64)[order] if any(work) else None,
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """What stands between newlines and braces, without comments, with line numbers."""
    kept = re.sub(r"//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?", lambda m: "\n" * m[0].count("\n"), bare_lines(text))
    for number, line in enumerate(kept.split("\n"), 1):
        for part in re.split(r"([{}])", line):
            if part.strip():
                yield number, part.strip()


def _parse(text: str, name: str) -> tuple[int, list[_Item]]:
    parser = _Parser(name)
    for number, line in _lines(text):
        parser.line(number, line)
    if parser.rank >= 0 or not parser.n:
        malformed(Message("place.line", file=name, line=parser.number), "goal.ends_inside")
    return parser.n, parser.items


class _Parser:
    """Reads line by line: the number of ranks, then for each rank its items and their order within braces."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n, self.rank, self.number, self.opened = 0, -1, 1, False
        self.items: list[_Item] = []
        self._ranks: set[int] = set()
        self._labels: dict[str, int] = {}
        self._orders: list[tuple[int, re.Match[str]]] = []

    def line(self, number: int, line: str) -> None:
        """Take in the next line. Raises ScheduleProblem where it does not fit what came before."""
        self.number = number
        if not self.n:
            self._begin(line)
        elif line == "{" and self.rank >= 0 and not self.opened:
            self.opened = True
        elif line == "}" and self.opened:
            _order(self.items, self._labels, self._orders, self.name)
            self.rank, self.opened, self._labels, self._orders = -1, False, {}, []
        elif self.rank < 0 and (header := _RANK.fullmatch(line)):
            self._open(header)
        elif self.opened and (item := _ITEM.fullmatch(line)):
            self._add(item)
        elif self.opened and (order := _ORDER.fullmatch(line)):
            self._orders.append((number, order))
        else:
            self._refuse("goal.line", line=line)

    def _refuse(self, why: str, /, **values: object) -> NoReturn:
        malformed(self._place, why, **values)

    @property
    def _place(self) -> Message:
        return Message("place.line", file=self.name, line=self.number)

    def _begin(self, line: str) -> None:
        first = re.fullmatch(r"num_ranks\s+(\d+)", line)
        self.n = _number(first[1]) if first else 0
        if not 1 <= self.n <= MOST_RANKS:
            self._refuse("goal.num_ranks", line=line, most_ranks=MOST_RANKS)

    def _open(self, header: re.Match[str]) -> None:
        self.rank = _number(header[1])
        if self.rank >= self.n or self.rank in self._ranks:
            self._refuse("goal.rank_twice", rank=header[1], last=self.n - 1)
        self._ranks.add(self.rank)

    def _add(self, item: re.Match[str]) -> None:
        label = item["label"]
        if label in self._labels:
            self._refuse("goal.label_twice", label=label)
        if label:
            self._labels[label] = len(self.items)
        self.items.append(_item(item, self.rank, self.n, self.number, self._place))
        if len(self.items) > MOST_ITEMS:
            self._refuse("goal.too_many", most_items=MOST_ITEMS)


def _number(digits: str) -> int:
    """What digits say; more than anything may be where they are too many."""
    number = whole(digits)
    return LARGEST_SIZE + 1 if number is None else number


def _item(match: re.Match[str], rank: int, n: int, line: int, place: Message) -> _Item:
    options = {key: _number(value) for key, value in re.findall(r"(tag|cpu|nic)\s+(-1|\d+)", match["options"])}
    kind = match["kind"] or "calc"
    amount = match["time"] or match["size"]
    most = LONGEST if kind == "calc" else LARGEST_SIZE
    count = _number(amount)
    if count > most:
        malformed(place, "goal.too_much", kind=kind, amount=amount)
    peer = _number(match["peer"]) if match["peer"] else rank
    if kind != "calc" and (match["way"] == "to") != (kind == "send"):
        malformed(place, "goal.direction")
    if peer < 0 or options.get("tag", 0) < 0:
        malformed(place, "goal.any")
    if peer >= n or (kind != "calc" and peer == rank):
        malformed(place, "goal.peer", rank=rank, kind=kind, peer=peer, last=n - 1)
    return _Item(kind, rank, line, count, peer, options.get("tag", 0), options.get("cpu", 0))


def _order(items: list[_Item], labels: dict[str, int], orders: list[tuple[int, re.Match[str]]], name: str) -> None:
    """Resolve a rank's labels."""
    for line, order in orders:
        for end in ("later", "earlier"):
            if order[end] not in labels:
                malformed(Message("place.line", file=name, line=line), "goal.no_label", label=order[end])
        later = items[labels[order["later"]]]
        (later.started if order["how"] == "irequires" else later.ended).append(labels[order["earlier"]])


def _match(items: list[_Item], name: str) -> None:
    """Each recv meets the next send with its ranks and tag, in the order of the text."""
    waiting: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    for i, item in enumerate(items):
        if item.kind == "send":
            waiting[item.rank, item.peer, item.tag].append(i)
    for i, item in enumerate(items):
        if item.kind != "recv":
            continue
        sends = waiting[item.peer, item.rank, item.tag]
        if not sends:
            raise ScheduleProblem(
                "deadlock", "goal.no_send", file=name, line=item.line, rank=item.rank, peer=item.peer, tag=item.tag
            )
        item.match = sends.popleft()
        sent = items[item.match]
        sent.match = i
        if sent.size != item.size:
            malformed(
                Message("place.line", file=name, line=item.line),
                "goal.sizes",
                size=item.size,
                sent=sent.size,
                line=sent.line,
            )
    lost = next((item for item in items if item.kind == "send" and item.match < 0), None)
    if lost is not None:
        malformed(Message("place.line", file=name, line=lost.line), "goal.no_recv", peer=lost.peer)


def _in_order(items: list[_Item], name: str, moves: Moves) -> Iterator[tuple[_Item, int, Done]]:
    """Sends and computations, each with its step and what must have ended, after all that they wait for.

    Every item starts (event 2i) and ends (event 2i + 1). The caller starts a transfer for each item it is given.
    """
    needs, then = _waits(items)
    level = [0] * len(needs)
    done: list[Done] = [None] * len(needs)
    cpus: dict[tuple[int, int], tuple[int, Done]] = defaultdict(lambda: (0, None))
    ready = [(0, event) for event, count in enumerate(needs) if not count]
    passed = 0
    while ready:
        _, event = heappop(ready)
        passed += 1
        item = items[event // 2]
        if event % 2 and item.kind != "recv":
            own, before = level[event], done[event]
            if item.kind == "calc":
                at, last = cpus[item.rank, item.cpu]
                own, before = max(own, at), join(before, last)
            done[event] = len(moves.all)
            level[event] = own + 1
            if item.kind == "calc":
                cpus[item.rank, item.cpu] = level[event], done[event]
            yield item, own, before
        for after in then[event]:
            level[after] = max(level[after], level[event])
            done[after] = join(done[after], done[event])
            needs[after] -= 1
            if not needs[after]:
                heappush(ready, (level[after], after))
    if passed < len(needs):
        raise ScheduleProblem("deadlock", "goal.circle", file=name, steps=_circle(items, needs, then))


def _waits(items: list[_Item]) -> tuple[list[int], list[list[int]]]:
    """How many events each event waits for, and which ones wait for it."""
    needs = [0] * (2 * len(items))
    then: list[list[int]] = [[] for _ in needs]

    def follow(before: int, after: int) -> None:
        then[before].append(after)
        needs[after] += 1

    for i, item in enumerate(items):
        follow(2 * i, 2 * i + 1)
        for b in item.ended:
            follow(2 * b + 1, 2 * i)
        for b in item.started:
            follow(2 * b, 2 * i)
        if item.kind == "recv":
            follow(2 * item.match + 1, 2 * i + 1)
    return needs, then


def _circle(items: list[_Item], needs: list[int], then: list[list[int]]) -> list[Message]:
    """Items that wait for each other, each for the next."""
    before = {after: event for event in range(len(needs)) if needs[event] for after in then[event]}
    event = next(e for e in range(len(needs)) if needs[e])
    path: list[int] = []
    while event not in path:
        path.append(event)
        event = before[event]
    circle = [*path[path.index(event) :], event]
    steps = [items[number] for number, _ in groupby(e // 2 for e in circle)]
    return [Message("goal.item", rank=item.rank, kind=item.kind, line=item.line) for item in steps]
