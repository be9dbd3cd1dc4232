"""One finished sentence for every step, and short words for sets of ranks and blocks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import each_once
from sim.schedule import NOTHING, REDUCE, Promise, Schedule
from sim.trace import Trace
from ui.layout.provenance import NAMED, Contents
from ui.text import say, spaced

AT_ONCE = 1e-6
"""Share of a run within which two arrivals are one to the eye."""
LISTED = 6
"""A sentence lists at most this many single blocks or runs of blocks."""


def intervals(numbers: Iterable[int]) -> str:
    """Sorted whole numbers in few words.

    >>> intervals([0, 1, 2, 5]), intervals([7])
    ('0-2, 5', '7')
    """
    return ", ".join(_runs(numbers))


def set_words(bits: int) -> str:
    """As `ranges`, of the numbers of the bits that are set: thousands of sets are told at once.

    >>> set_words(0b100111), set_words(0)
    ('0-2, 5', '')
    """
    words, at = [], 0
    while bits:
        gap = (bits & -bits).bit_length() - 1
        bits, at = bits >> gap, at + gap
        run = (~bits & (bits + 1)).bit_length() - 1
        words.append(str(at) if run == 1 else f"{at}-{at + run - 1}")
        bits, at = bits >> run, at + run
    return ", ".join(words)


def _runs(numbers: Iterable[int]) -> list[str]:
    runs: list[list[int]] = []
    for r in numbers:
        if runs and r == runs[-1][-1] + 1:
            runs[-1][1:] = [r]
        else:
            runs.append([r])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def block_name(schedule: Schedule, block: int) -> str:
    """What a person calls a block: its number, or `source→destination` where every pair has its own."""
    promise = schedule.promise
    if promise is None or block < 0:
        return "?"
    n = schedule.n
    pieces = promise.blocks // (n * n) if promise.blocks % (n * n) == 0 else 0
    if pieces and promise.blocks == n * len(promise.inputs):
        pair, piece = divmod(block, pieces)
        name = f"{pair // n}→{pair % n}"
        return name if pieces == 1 else f"{name}.{piece}"
    return str(block)


def step_captions(trace: Trace, contents: Contents, names: Sequence[str], language: str = "en") -> list[str]:
    """A sentence per step about one of its messages, and how many others go with it; `names[r]` is what r is called.

    The message is the first of those that arrive last: as long as the step is shown it has not landed.
    """
    latest = partial(_latest, np.nan_to_num(trace.end, nan=np.inf), AT_ONCE * trace.time)
    return [_caption(trace.schedule, latest, contents, names, k, language) for k in range(trace.schedule.steps)]


def _latest(end: NDArray[np.float64], apart: float, rows: NDArray[np.int64]) -> int:
    """The first of some transfers that end last."""
    return int(rows[np.argmax(end[rows] >= end[rows].max() - apart)])


def opening(schedule: Schedule, language: str = "en") -> str:
    """What is so before the first step, as a sentence."""
    promise = schedule.promise
    if promise is None:
        return say("caption.start.unknown", language)
    if promise.union:
        return say("caption.start.union", language)
    holders = np.nonzero((promise.given != NOTHING).any(axis=1))[0].tolist()
    if len(holders) == schedule.n:
        return say("caption.start.each", language)
    key = "caption.start.one" if len(holders) == 1 else "caption.start.some"
    return say(key, language, ranks=_named(holders, language))


def closing(schedule: Schedule, language: str = "en", *, kept: bool = True) -> str:
    """What was achieved in the end, as a sentence, read off the promise; `kept` tells whether it was."""
    caption = goal(schedule, language) if kept else ""
    return say("player.end", language, caption=caption or say("caption.end.unknown", language))


def goal(schedule: Schedule, language: str = "en") -> str:
    """What a schedule promises, as a sentence without its full stop; empty where it promises nothing."""
    promise, n = schedule.promise, schedule.n
    if promise is None:
        return ""
    takers = np.nonzero((promise.owed != NOTHING).any(axis=1))[0].tolist()
    givers = int((promise.given != NOTHING).any(axis=1).sum())
    every = len(takers) == n
    who = say("caption.every", language) if every else _named(takers, language)
    holds = say("caption.holds.one" if every or len(takers) == 1 else "caption.holds.some", language)
    key, giver = _achieved(promise, takers)
    source = _named([giver], language) if giver >= 0 else ""
    return say(key, language, who=who, holds=holds, source=source, count=givers)


def _named(ranks: Sequence[int], language: str) -> str:
    return say("caption.rank" if len(ranks) == 1 else "caption.ranks", language, ranks=intervals(ranks))


def _achieved(promise: Promise, takers: Sequence[int]) -> tuple[str, int]:
    """The kind of a promise by what it owes whom, and of whom where that is a single rank."""
    owed = promise.owed != NOTHING
    if promise.union or not takers:
        return ("caption.end.union" if promise.union else "caption.end.unknown"), -1
    blocks = len(each_once(promise.given[promise.given != NOTHING]))
    rank = np.nonzero(owed)[0]
    whole = (_kinds(rank, promise.owed[owed])[takers] == blocks).all()
    first, last = promise.first[owed], promise.last[owed]
    if (last - first == 1).all() and not ((first == 0) & (last == rank)).all():
        return _brought(first, _kinds(rank, first)[takers], whole=bool(whole))
    if (last - first == np.count_nonzero((promise.given != NOTHING).any(axis=1))).all():
        return ("caption.end.sum" if whole else "caption.end.share"), -1
    if (first == 0).all() and (last == rank + 1).all():
        return "caption.end.upto", -1
    if (first == 0).all() and (last == rank).all():
        return "caption.end.before", -1
    return "caption.end.promised", -1


def _kinds(rank: NDArray[np.int64], numbers: NDArray[Any]) -> NDArray[np.int64]:
    """How many different numbers every rank has of some, `numbers[k]` being of `rank[k]`."""
    most = int(numbers.max()) + 1
    return np.bincount(each_once(rank * most + numbers) // most)


def _brought(first: NDArray[Any], senders: NDArray[np.int64], *, whole: bool) -> tuple[str, int]:
    """Of a promise that adds nothing up: whose data is where in the end, from `senders[k]` ranks each."""
    sources = each_once(first)
    if len(sources) == 1:
        return ("caption.end.broadcast" if whole else "caption.end.scatter"), int(sources[0])
    if (senders == 1).all():
        return "caption.end.sent", -1
    return ("caption.end.gather" if whole else "caption.end.exchange"), -1


def _caption(
    schedule: Schedule,
    latest: Callable[[NDArray[np.int64]], int],
    contents: Contents,
    names: Sequence[str],
    step: int,
    language: str,
) -> str:
    first, stop = int(schedule.step_start[step]), int(schedule.step_start[step + 1])
    head = say("caption.head", language, step=step + 1, steps=schedule.steps)
    if first == stop:
        return head + say("caption.empty", language)
    rows = np.arange(first, stop)
    away = rows[schedule.src[first:stop] != schedule.dst[first:stop]]
    alike = away if away.size else rows
    i = latest(alike)
    sentence = _message(schedule, contents, names, i, language)
    others = alike.size - 1
    same = bool((schedule.op[alike] == schedule.op[i]).all())
    more = say("caption.more" if same else "caption.others", language, count=others) if others else ""
    return spaced(f"{head}{sentence}{more}")


def _message(schedule: Schedule, contents: Contents, names: Sequence[str], i: int, language: str) -> str:
    """One transfer as a sentence without its full stop."""
    src, dst = int(schedule.src[i]), int(schedule.dst[i])
    reducing = schedule.op[i] == REDUCE
    ends = {"src": names[src], "dst": names[dst]}
    if schedule.promise is not None and schedule.promise.union and src != dst:
        return say("caption.token", language, **ends, ranks=_arrived(schedule, contents, i, language))
    kind = "local" if src == dst else "switch" if reducing and dst >= schedule.n else ""
    many = "many" if reducing and len(set(contents.block[slice(*_moves(schedule, i))])) > 1 else ""
    key = "caption." + "_".join(filter(None, (kind, "reduce" if reducing else "copy", many)))
    return say(key, language, **ends, what=_what(schedule, contents, i, language, clause=src != dst))


def _arrived(schedule: Schedule, contents: Contents, i: int, language: str) -> str:
    numbers = {int(contents.brings[m]) for m in range(*_moves(schedule, i))} if contents.followed else set()
    if len(numbers) != 1:
        return say("caption.some", language)
    return _whose(schedule, contents, numbers.pop(), language)


def _moves(schedule: Schedule, i: int) -> tuple[int, int]:
    return int(schedule.moves[i]), int(schedule.moves[i + 1])


def _whose(schedule: Schedule, contents: Contents, number: int, language: str) -> str:
    count = contents.count(number)
    if schedule.n > NAMED:
        return say("caption.many", language, count=count)
    return say("caption.rank" if count == 1 else "caption.ranks", language, ranks=set_words(contents.ranks(number)))


def _who(schedule: Schedule, number: int, language: str) -> str:
    """A rank, or a switch that adds and copies."""
    return say("caption.rank", language, rank=number) if number < schedule.n else say("caption.switch", language)


def _what(schedule: Schedule, contents: Contents, i: int, language: str, *, clause: bool) -> str:
    """The blocks of a message, and with `clause` whose sum they are."""
    first, stop = _moves(schedule, i)
    if first == stop or not len(contents.block):
        return say("caption.data", language)
    numbers = sorted({int(b) for b in contents.block[first:stop]})
    plain = block_name(schedule, numbers[0]) == str(numbers[0])
    listed = _runs(numbers) if plain else [block_name(schedule, b) for b in numbers]
    if len(numbers) == 1:
        what = say("caption.block", language, block=listed[0])
    elif len(listed) <= LISTED:
        what = say("caption.blocks", language, blocks=", ".join(listed))
    else:
        what = say("caption.blocks_many", language, count=len(numbers), blocks=", ".join(listed[: LISTED - 2]))
    sums = {int(s) for s in contents.brings[first:stop]} if contents.followed and clause else set()
    counts = {contents.count(s) for s in sums}
    if not counts or counts == {1}:
        return what
    if len(sums) > 1:
        return what + say("caption.mixed", language)
    key = "caption.sum" if len(numbers) == 1 else "caption.sums"
    return what + say(key, language, ranks=_whose(schedule, contents, sums.pop(), language))
