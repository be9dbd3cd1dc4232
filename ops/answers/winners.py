"""The answers of the lab: of a map of winners, of rows of a grid, and of links that are changed one after the other."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ops.answers.answer import factor, is_same, timed, why_different
from ops.answers.names import called, machine_called
from ops.answers.outcome import Outcome, Standstill
from ops.answers.reason import why_never
from ops.lab.grid import OWN
from ops.lab.sensitivity import Loss, Swing
from ops.lab.winners import WinnerMap, named, went_well
from sim.errors import Message
from sim.units import fmt_bandwidth, fmt_share, fmt_size, fmt_time

USUAL = {"network": OWN, "root": 0, **dict.fromkeys(("calibration", "fault", "seed", "counts"), "none")}
"""Words of a row where it has none."""
HALF = 0.5
"""Share of the largest bandwidth from which on a size is said to reach half of it."""
CELL = ("machine", "network", "calibration", "fault", "seed", "root", "counts", "ranks", "size_bytes")
"""Words of a row beside those of its algorithm."""
Row = Mapping[str, Any]
Why = Callable[[str, str, int, int], Message | None]
"""Why the first algorithm is faster than the second with so many ranks at a size; None where it is unknown."""


def answer_map(winners: WinnerMap, why: Why | None = None) -> list[Message]:
    """Say which algorithm wins most cells of a map, of how many compared, and how far ahead it is; then who wins where.

    The lead is that of the largest size that the algorithm wins, on the largest number of ranks.
    """
    cells = Counter(winners.winner(n, size) for n in winners.ranks for size in winners.sizes)
    count = sum(cells.values())
    del cells[""]
    if not cells:
        return [Message("answer.wins.none", count=len(winners.names))]
    if len(winners.names) == 1:
        return [_alone(winners.names[0], [time for time in winners.time.ravel().tolist() if math.isfinite(time)])]
    name, most = cells.most_common(1)[0]
    words: dict[str, object] = {"name": called(name, first=True), "of": len(winners.names), "cells": count}
    ahead = _ahead(winners, name, why)
    if count == 1:
        return [Message("answer.wins.one", **words), *ahead]
    if most == count:
        return [Message("answer.wins.all", **words), *ahead]
    n = next(n for n in reversed(winners.ranks) if any(winners.winner(n, size) for size in winners.sizes))
    line = Message("answer.wins.line", ranks=n, line=_line(winners, n))
    return [Message("answer.wins", **words, count=most), line, *ahead]


def _ahead(winners: WinnerMap, name: str, why: Why | None) -> list[Message]:
    """How far ahead a winner is of the next, and why, where it wins with the most ranks at the largest size."""
    n, size = next(
        (n, s) for n in reversed(winners.ranks) for s in reversed(winners.sizes) if winners.winner(n, s) == name
    )
    times = dict(
        zip(winners.names, winners.time[winners.ranks.index(n), winners.sizes.index(size)].tolist(), strict=True)
    )
    rest = {other: time for other, time in times.items() if other != name}
    second = min(rest, key=rest.__getitem__, default="")
    if not second or rest[second] == math.inf:
        return []
    words = {"ranks": n, "size": fmt_size(size), "after": fmt_time(times[name]), "second": called(second)}
    words |= {"cell": f"{n}|{size}|{name}", "other": f"{n}|{size}|{second}"}
    if is_same(rest[second], times[name]):
        return [Message("answer.wins.tie", **words)]
    reason = why(name, second, n, size) if why else None
    said = Message("answer.wins.ahead", **words, factor=factor(rest[second] / times[name]))
    return [said, reason] if reason else [said]


def _line(winners: WinnerMap, n: int) -> list[Message]:
    """Who wins with so many ranks, from the smallest size to the largest."""
    line: list[Message] = []
    before = ""
    for size in winners.sizes:
        winner = winners.winner(n, size)
        if winner and winner != before:
            key = "answer.wins.from" if line else "answer.wins.first"
            line.append(Message(key, name=called(winner), size=fmt_size(size)))
        before = winner or before
    return line


def answer_rows(rows: Sequence[Row]) -> list[Message]:
    """Say of rows of a grid which algorithm or training step is the fastest most often; of one, its times."""
    cells: defaultdict[tuple[object, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if went_well(dict(row)):
            cells[tuple(str(row.get(word)) for word in CELL)][_whose(row)] = row["time_s"]
    names = dict.fromkeys(_whose(row) for row in rows)
    if not cells:
        return [Message("answer.wins.none", count=len(names))]
    if len(names) == 1:
        return [_alone(next(iter(names)), [time for several in cells.values() for time in several.values()])]
    wins = Counter(min(several, key=lambda name: (several[name], name)) for several in cells.values())
    name, most = wins.most_common(1)[0]
    words = {"name": called(name, first=True), "of": len(names), "cells": len(cells), "count": most}
    key = "answer.wins.one" if len(cells) == 1 else "answer.wins.all" if most == len(cells) else "answer.wins"
    return [Message(key, **words)]


def _alone(name: str, times: Sequence[float]) -> Message:
    """The times of all that there is to compare, s."""
    words = {"name": called(name, first=True), "least": fmt_time(min(times)), "most": fmt_time(max(times))}
    key = "answer.alone.time" if is_same(min(times), max(times)) else "answer.rows.one"
    return Message(key, **words, algorithm=words["name"], after=words["most"], cells=len(times))


def _whose(row: Row) -> str:
    return named(dict(row)) if row.get("algorithm") else str(row.get("workload"))


def answer_scaling(few: Outcome, many: Outcome) -> list[Message]:
    """Say how many times as long a run takes with more ranks, and why."""
    change = Message("answer.change.ranks", new=str(many.ranks), old=str(few.ranks))
    return [timed(change, few.time, many.time), why_different(few, many).message]


def answer_bandwidth(rows: Sequence[Row]) -> list[Message]:
    """Say which of several curves reaches the most bus bandwidth, and at which size; and from where on it has half."""
    well = [row for row in rows if went_well(dict(row)) and row.get("busbw_Bps")]
    if not well:
        return [Message("answer.wins.none", count=len({_curve(row) for row in rows}))]
    most: dict[tuple[object, ...], Row] = {}
    for row in well:
        best = most.get(_curve(row))
        most[_curve(row)] = row if best is None or row["busbw_Bps"] > best["busbw_Bps"] else best
    first, *others = sorted(most.values(), key=lambda row: -row["busbw_Bps"])
    said = {
        "name": _called(first, rows, first=True),
        "rate": fmt_bandwidth(first["busbw_Bps"]),
        "size": fmt_size(first["size_bytes"]),
    }
    own = [
        row["size_bytes"]
        for row in well
        if _curve(row) == _curve(first) and row["busbw_Bps"] >= HALF * first["busbw_Bps"]
    ]
    half = Message("answer.curve.half", size=fmt_size(min(own)))
    if not others:
        return [Message("answer.curve", **said), half]
    second = {"second": _called(others[0], rows), "other": fmt_bandwidth(others[0]["busbw_Bps"])}
    return [Message("answer.curve.most", **said, **second, count=len(most)), half]


def _curve(row: Row) -> tuple[object, ...]:
    return tuple(row.get(word) for word in ("algorithm", "settings", *CELL[:-1]))


def _called(row: Row, rows: Sequence[Row], *, first: bool = False) -> Message:
    """A row's curve as a sentence names it: with what others have otherwise."""
    differs = [word for word in CELL[:-1] if len({str(other.get(word)) for other in rows}) > 1]
    name = called(named(dict(row)), first=first)
    if "machine" in differs:
        name = Message("answer.called.on", name=name, machine=machine_called(row["machine"]))
    if "ranks" in differs and len({(other["machine"], other["ranks"]) for other in rows}) > len(
        {other["machine"] for other in rows}
    ):
        name = Message("answer.called.ranks", name=name, ranks=row["ranks"])
    more = ", ".join(f"{word}={row.get(word) or USUAL[word]}" for word in differs if word not in ("machine", "ranks"))
    return Message("answer.called.with", name=name, settings=more) if more else name


def answer_swings(time: float, swings: Sequence[Swing], times: float) -> list[Message]:
    """Say which links cost a run of so many seconds most if they get worse by a factor, and which win most."""
    if not swings:
        return [Message("answer.links.none", after=fmt_time(time))]
    worst, best = max(swings, key=lambda swing: swing.slower), min(swings, key=lambda swing: swing.faster)
    said = [timed(_swung(worst, 1 / times), time, worst.slower)]
    return said if is_same(time, best.faster) else [*said, timed(_swung(best, times), time, best.faster)]


def _swung(swing: Swing, times: float) -> Message:
    """Links with so many times the bandwidth, or as much less latency."""
    scale = times if swing.what == "bandwidth" else 1 / times
    plain = {0.5: ".half", 2.0: ".twice"}.get(scale, ".more" if scale > 1 else "")
    share = fmt_share(scale) if scale < 1 else f"{scale:g}×"
    return Message(f"answer.change.links.{swing.what}{plain}", share=share, links=swing.name.replace(" x ", " × "))


def answer_losses(time: float, losses: Sequence[Loss], stands: Standstill | None) -> list[Message]:
    """Say which links stop a run of so many seconds if they fail, and which cost most of the others.

    `stands` is how it stands still without the first of those that stop it.
    """
    if not losses:
        return [Message("answer.links.none", after=fmt_time(time))]
    stop = [loss for loss in losses if loss.time is None]
    dear = max((loss for loss in losses if loss.time is not None), key=lambda loss: loss.time or 0.0, default=None)
    said = []
    if stop and stands:
        said.append(Message("answer.never", change=_without(stop[0]), after=fmt_time(stands.time)))
        said.append(why_never(stands).message)
    if stop:
        count, every = (sum(len(loss.cables) for loss in some) for some in (stop, losses))
        said.append(Message("answer.links.stop", count=count, all=every))
    if dear and dear.time is not None:
        same = is_same(time, dear.time)
        said.append(Message("answer.links.rest") if same and stop else timed(_without(dear), time, dear.time))
    return said


def _without(loss: Loss) -> Message:
    src, dst = loss.cables[0]
    return Message("answer.change.cut_cable", src=src, dst=dst)
