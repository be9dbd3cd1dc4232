"""What an answer needs to know of a run: few numbers, so that runs of several processes can be compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ops.answers.sending import Sending, sending_of
from ops.answers.waits import Holder, link_name, link_names, link_waited_for, rank_waited_for
from ops.plan import Plan
from ops.plan.notation import entries, listed
from ops.run import Run, kept
from sim.engine.stall import circle, stuck, waiting
from sim.errors import InputError, StalledError, UnreachableError
from sim.topology import Floats, Topology
from sim.trace import Trace, metrics

FULL = 1 << 18
"""Runs of at most so many transfers have every row, so that who waits for what can be followed."""
CUT = "cut_cable:"
"""How an edit begins that removes a link."""
T = TypeVar("T")


class Links(NamedTuple):
    """The links of a run by name, as faults left them.

    Bandwidth on average in the run, B/s; latency, s; bytes that crossed them; and the share of the bandwidth that was
    used. All have shape (links,).
    """

    names: tuple[str, ...]
    bandwidth: Floats
    latency: Floats
    bytes: Floats
    use: Floats


class Standstill(NamedTuple):
    """Why a run never ends: ranks that wait for each other in a circle, else who waits for whom.

    `dead` are links that carry nothing, `stuck` the messages that they hold, as sender and receiver.
    """

    time: float
    circle: tuple[int, ...]
    waiting: tuple[tuple[int, int], ...]
    dead: tuple[str, ...]
    stuck: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """A plan and how it ended: with a time, or standing still.

    Parameters
    ----------
    plan : Plan or None
        What was asked for; None where a trace is all there is.
    name : str
        The algorithm that ran.
    ranks, transfers, messages : float
        Ranks; transfers of the work; transfers of the critical path.
    time : float
        Seconds from start to end; infinite where there is no end.
    bound : float
        Lower bound of the time, s; 0 where none is known.
    wrong : str
        What is wrong with the result, if anything.
    parts : array of float, shape (parts,), or None
        Seconds of the critical path by part; None where too many transfers differ to know it.
    link, rank : Holder or None
        What the critical path spends most time on, and which late rank it waits for.
    sending : Sending or None
        How much every rank sends, and how long; None where not every transfer has a row.
    links : Links
        The machine's links, and what crossed them.
    standstill : Standstill or None
        Why it never ends.
    """

    plan: Plan | None
    name: str
    ranks: int
    transfers: float
    time: float
    links: Links
    messages: int = 0
    bound: float = 0.0
    wrong: str = ""
    parts: Floats | None = None
    link: Holder | None = None
    rank: Holder | None = None
    sending: Sending | None = None
    standstill: Standstill | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Outcome):
            return NotImplemented
        return all(_is_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]


def outcome_of(plan: Plan) -> Outcome:
    """Run a plan, whatever stands beside it. Raises InputError where it cannot be run at all."""
    return of_ended(carried_out(plan), plan)


def of_ended(ended: Run | Trace, plan: Plan) -> Outcome:
    """Return what an answer needs to know of a plan's run, or of its trace until nothing moves."""
    plan = replace(plan, against="")
    return of_run(ended, plan) if isinstance(ended, Run) else of_stall(ended, plan)


def carried_out(plan: Plan, run: Callable[[Plan], Run] | None = None) -> Run | Trace:
    """Return a plan's run, or where it never ends the trace until nothing moves; `run` runs it. Raises InputError."""
    try:
        return until_it_stalls(run or _run, replace(plan, against=""))
    except (InputError, StalledError) as error:
        if not isinstance(error.trace, Trace):
            raise
        return error.trace


def _run(plan: Plan) -> Run:
    return plan.run(written=FULL)


def until_it_stalls(run: Callable[[Plan], T], plan: Plan) -> T:
    """Return what `run` makes of a plan; where a removed link cuts ranks off, of that link being dead from the start.

    What can go another way does so; the rest waits for ever. Raises what `run` raises.
    """
    try:
        return run(plan)
    except UnreachableError as error:
        cut = [spec for spec in entries(plan.edits) if spec.startswith(CUT)]
        if not cut or error.trace:
            raise
        kept = listed([spec for spec in entries(plan.edits) if spec not in cut])
        dead = [f"dead_link:{spec.removeprefix(CUT)},reroute=yes" for spec in cut]
        return run(replace(plan, edits=kept, fault=listed([*plan.faults, *dead])))


def of_run(run: Run, plan: Plan | None = None) -> Outcome:
    """Return what an answer needs to know of a run."""
    messages, parts, link, rank = 0, None, None, None
    try:
        messages, parts = run.breakdown.messages, run.breakdown.seconds.sum(axis=0)
        link, rank = link_waited_for(run), rank_waited_for(run)
    except InputError:  # too many transfers differ
        pass
    return Outcome(
        plan=plan,
        name=run.work.name,
        ranks=run.timing.ranks,
        transfers=run.work.transfers,
        time=run.time,
        links=_links(run.topology, run.timing.link_bytes, metrics.capacity(run.timing), run.link_use),
        messages=messages,
        bound=run.bound,
        wrong="" if run.verdict.verdict in ("ok", "unchecked") else run.verdict.reason,
        parts=parts,
        link=link,
        rank=rank,
        sending=sending_of(run.trace) if run.is_written_out and run.work.transfers <= FULL else None,
    )


def of_stall(trace: Trace, plan: Plan | None = None) -> Outcome:
    """Return what an answer needs to know of a run that stands still."""
    stall, topology = trace.stall, trace.topology
    assert stall is not None
    nothing = np.zeros(len(topology.links))
    return Outcome(
        plan=plan,
        name=trace.schedule.name,
        ranks=trace.schedule.n,
        transfers=trace.schedule.transfers,
        time=np.inf,
        links=_links(topology, nothing, topology.bandwidth, nothing),
        standstill=Standstill(
            time=trace.time,
            circle=tuple(rank for rank, _ in circle(stall)),
            waiting=tuple(waiting(stall)),
            dead=both_ways([link_name(topology, i) for i in stall.links]),
            stuck=tuple(stuck(trace)),
        ),
    )


def of_trace(trace: Trace, run: Run | None = None, plan: Plan | None = None) -> Outcome:
    """Return what an answer needs to know of a trace; `run` and `plan` are where it comes from, as far as known."""
    return of_stall(trace, plan) if trace.stall else of_run(run or kept(trace), plan)


def _links(topology: Topology, carried: Floats, bandwidth: Floats, use: Floats) -> Links:
    return Links(tuple(link_names(topology)), bandwidth, topology.latency, carried, use)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays and tuples of them too.

    >>> _is_same((np.arange(2), "a"), (np.arange(2), "a")), _is_same(np.arange(2), np.ones(2)), _is_same(None, ())
    (True, False, False)
    """
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def both_ways(links: Sequence[str]) -> tuple[str, ...]:
    """The names of links, both directions of one as one.

    >>> both_ways(["A → B", "C → D", "B → A"])
    ('A ↔ B', 'C → D')
    """
    ends = {tuple(name.split(" → ")): None for name in links}
    return tuple(
        f"{a} ↔ {b}" if (b, a) in ends else f"{a} → {b}"
        for place, (a, b) in enumerate(ends)
        if (b, a) not in [*ends][:place]
    )
