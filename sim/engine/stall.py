"""A run that can never end: what moved until then, what stands, and who waits for whom."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.engine.job import Job
from sim.errors import InputError, Message, StalledError, first_few
from sim.fabric.links import HISTORY
from sim.fabric.memory import Arena
from sim.schedule import Schedule
from sim.topology import Topology
from sim.trace import Stall, Trace

NAMED = 4
"""A message names at most this many transfers, links or ranks of a kind."""


def stall_error(trace: Trace, lost: InputError | None) -> StalledError | InputError:
    """The error that carries a stalled trace; it is of the kind of `lost`, which it quotes, where that is told."""
    sentence = message(trace)
    error = StalledError(sentence) if lost is None else type(lost)("list.sentences", parts=[sentence, lost])
    error.trace = trace
    return error


def message(trace: Trace) -> Message:
    """What can never end, the links that hold it, and who waits for whom."""
    stall = trace.stall
    assert stall is not None
    sentence = standing(trace.topology, trace.schedule.name, stuck(trace), stall.links)
    chain = circle(stall)
    waits = [Message("stall.waits", rank=rank, sender=sender) for rank, sender in chain or waiting(stall)]
    rows = first_few(waits, NAMED)
    return Message(
        "list.sentences", parts=[sentence, Message("stall.circle", rows=rows) if chain else rows][: 1 + bool(waits)]
    )


def standing(topology: Topology, name: str, pairs: Sequence[tuple[int, int]], dead: Sequence[int]) -> Message:
    """What can never end: messages between some pairs of places, and the links that hold them."""
    waits = first_few([f"rank {a} -> rank {b}" for a, b in pairs], NAMED) if pairs else Message("stall.each_other")
    links = [f"{topology.links[i].src} -> {topology.links[i].dst}" for i in dead[:NAMED]]
    down = Message("stall.dead", links=links) if links else Message("stall.none_dead")
    return Message("list.sentences", parts=[Message("stall.never", name=name, waits=waits), down])


def stuck(trace: Trace) -> list[tuple[int, int]]:
    """Between whom messages are stuck, each pair of places once."""
    assert trace.stall is not None
    schedule = trace.schedule
    return list(dict.fromkeys((int(schedule.src[i]), int(schedule.dst[i])) for i in trace.stall.transfers))


def circle(stall: Stall) -> list[tuple[int, int]]:
    """Ranks that each wait for the next one's message, from a stuck one round to itself; empty without a circle."""
    for begin in [rank for rank, _ in waiting(stall)][:1]:
        seen: dict[int, int] = {}
        rank = begin
        while rank >= 0 and rank not in seen:
            seen[rank] = len(seen)
            rank = int(stall.waits[rank])
        if rank >= 0:
            ranks = list(seen)[seen[rank] :]
            return [(r, int(stall.waits[r])) for r in ranks]
    return []


def waiting(stall: Stall) -> list[tuple[int, int]]:
    """Every rank that waits, and for whose message; those whose message is stuck on the way come first."""
    pairs = [(rank, int(sender)) for rank, sender in enumerate(stall.waits) if sender >= 0]
    return sorted(pairs, key=lambda pair: pair[0] not in stall.receivers)


def stall_of(arena: Arena, job: Job, dead: list[int]) -> tuple[Stall, float]:
    """Why a job of a world in which nothing moves stands, and since when, in s; `dead` links hold it up.

    What has not ended ends at infinity in the arena from then on.
    """
    fabric, schedule = arena.fabric, job.schedule
    rows = slice(job.first, job.first + schedule.transfers)
    flowing = np.array(arena.flowing(), np.int64)
    standing = flowing[(flowing >= rows.start) & (flowing < rows.stop)]
    never = job.first + np.nonzero(np.isnan(fabric.start[rows]))[0]
    ended = np.ones(schedule.transfers, bool)
    ended[standing - job.first] = ended[never - job.first] = False
    last = [fabric.start[standing].max(initial=job.started), fabric.end[rows][ended].max(initial=job.started)]
    for column in (fabric.ready, fabric.start, fabric.end):
        column[never] = np.inf
    fabric.end[standing] = np.inf
    fabric.cause[never] = fabric.behind[never] = -1
    transfers = [int(i) - job.first for i in standing]
    receivers = {int(rank) for rank in schedule.dst[transfers]}
    waits = _waits(schedule, np.nonzero(~ended)[0].astype(np.int64))
    return Stall(transfers, dead, waits, receivers), float(max(*last, _changed(arena, standing)))


def _changed(arena: Arena, rows: NDArray[np.int64]) -> float:
    """When the rate of one of some rows changed last, as far as that is kept."""
    if not arena.keeps_history:
        return 0.0
    net = arena.fabric.net
    changes = int(net.count[HISTORY])
    return float(net.history[:changes, 0][np.isin(net.history_transfer[:changes], rows)].max(initial=0.0))


def _waits(schedule: Schedule, left: NDArray[np.int64]) -> list[int]:
    """For every rank the sender of the first message that it has not got, or -1."""
    waits = np.full(schedule.places, -1)
    away = left[schedule.src[left] != schedule.dst[left]]
    waits[schedule.dst[away][::-1]] = schedule.src[away][::-1]
    return [int(sender) for sender in waits]
