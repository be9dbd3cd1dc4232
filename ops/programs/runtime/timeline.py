"""What a run of a program was: its output, its calls, when every rank was in which of them."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ops.backends import Backend, costs_of
from ops.communicators.expectation import Expectation
from ops.communicators.records import ScriptLine, Span
from ops.programs.runtime.deadlock import Stuck
from ops.programs.runtime.transport import ProgramCall
from ops.training.step import COMPUTE, MemoryChange
from sim.trace.chrome_events import ChromeTrace, TrackPoint, check_slices, nanoseconds
from sim.units import fmt_object, fmt_time


class Straggler(NamedTuple):
    """Ranks that came last to `times` collectives at one line; the first of the others waited `waited` s in sum."""

    ranks: tuple[int, ...]
    place: ScriptLine
    times: int
    waited: float


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """A program's run. `failure` is one sentence about what ended it, or None; times in simulated seconds.

    `statuses` are the ranks' exit statuses, `ended` when each of them had ended. `deadlock` has an entry for every
    rank that waits in vain.
    """

    machine: str
    ranks: int
    time: float
    output: str
    failure: str | None
    statuses: list[int]
    ended: list[float]
    calls: list[ProgramCall]
    spans: list[Span] = field(repr=False)
    deadlock: list[Stuck]
    expectation: Expectation
    untimed: dict[str, int] = field(default_factory=dict)
    """Calls that took no simulated time, by name."""
    guessed: dict[str, int] = field(default_factory=dict)
    """Operations whose shapes were not in a profile, by name: their time is a mean over other shapes."""
    changes: list[MemoryChange] = field(default_factory=list, repr=False)
    """What the ranks took and gave back of memory."""
    compute: str = ""
    """What the time of the ranks' own computing follows from."""
    exposed: float = 0.0
    """Seconds of communication that no computing hides, of the rank that has most."""
    charged: bool = False
    """Whether `time` has what the libraries' own processors take."""

    def __repr__(self) -> str:
        end = self.failure or fmt_time(self.time)
        return fmt_object("ProgramRun", f"on {self.machine}: {self.ranks:,} ranks, {len(self.calls):,} calls, {end}")

    @property
    def ok(self) -> bool:
        """Whether all ranks ended well."""
        return self.failure is None

    def stragglers(self) -> list[Straggler]:
        """The ranks that came last to collectives while others waited, by line; the longest wait in sum first."""
        late: dict[tuple[tuple[int, ...], ScriptLine], list[float]] = {}
        for call in self.calls:
            if call.latest_place is not None and call.gathered is not None and call.gathered > call.begin:
                late.setdefault((call.latest, call.latest_place), []).append(call.gathered - call.begin)
        stragglers = [Straggler(ranks, place, len(waits), sum(waits)) for (ranks, place), waits in late.items()]
        return sorted(stragglers, key=lambda straggler: -straggler.waited)

    def left_out(self) -> list[Backend]:
        """What the processors of its collectives' libraries take, where that is not in its time."""
        if self.charged:
            return []
        costs = map(costs_of, dict.fromkeys(call.library for call in self.calls if call.library))
        return [cost for cost in costs if cost is not None]

    def to_dict(self) -> dict[str, Any]:
        """The run as plain data."""
        waited = [0.0] * self.ranks
        computed = list(waited)
        for span in self.spans:
            (computed if span.lane == COMPUTE else waited)[span.rank] += span.end - span.start
        return {
            "machine": self.machine,
            "ranks": self.ranks,
            **self.expectation,
            "time_s": self.time,
            "failure": self.failure,
            "deadlock": [stuck._asdict() for stuck in self.deadlock],
            "output": self.output,
            "per_rank": [
                {
                    "rank": r,
                    "exit": self.statuses[r],
                    "ended_s": self.ended[r],
                    "in_calls_s": waited[r],
                    "compute_s": computed[r],
                }
                for r in range(self.ranks)
            ],
            "left_out": [
                {"library": of.library, "launch_s": of.launch, "message_s": of.overhead, "reduce_s_per_byte": of.gamma}
                for of in self.left_out()
            ],
            "compute": self.compute,
            "exposed_communication_s": self.exposed,
            "untimed": self.untimed,
            "waited_for": [
                {"ranks": list(late.ranks), "line": str(late.place), "times": late.times, "waited_s": late.waited}
                for late in self.stragglers()
            ],
            "calls": [_row(call) for call in self.calls],
        }

    def to_perfetto(self) -> str:
        """Chrome trace-event JSON: a track per rank, messages as arrows. Raises InputError when it is too large."""
        slices = len(self.spans) + len(self.calls)
        check_slices(slices, "perfetto.calls")
        chrome = ChromeTrace()
        for rank in range(self.ranks):
            chrome.track(0, rank, f"rank {rank}", order=rank)
        chrome.process(0, self.machine)
        for span in self.spans:
            start, end = nanoseconds(span.start), nanoseconds(span.end)
            chrome.slice(0, span.rank, span.name, span.lane, start, end, self._details(span))
        for call in self.calls:
            if call.tag is None or call.start is None or call.end is None:
                continue
            tail, head = (TrackPoint(0, rank, 0) for rank in call.ranks)
            chrome.arrow(
                call.number,
                f"{call.size:.0f} bytes, tag {call.tag}",
                "message",
                tail._replace(at=nanoseconds(call.start)),
                head._replace(at=nanoseconds(call.end)),
            )
        return chrome.to_json()

    def _details(self, span: Span) -> dict[str, Any]:
        calls = [self.calls[i] for i in span.calls[:4]]
        return {
            "line": str(span.place),
            "calls": list(span.calls[:64]),
            "algorithm": ", ".join(call.algorithm for call in calls),
            "bytes": sum(call.size for call in calls),
        }


def _row(call: ProgramCall) -> dict[str, Any]:
    ends: dict[str, Any] = {"ranks": len(call.ranks), "latest_ranks": list(call.latest)}
    if call.tag is not None:
        ends = {"src": call.ranks[0], "dst": call.ranks[1], "tag": call.tag}
    return {
        "call": call.number, "name": call.name, "comm": call.comm, **ends, "algorithm": call.algorithm,
        "protocol": call.protocol, "begin_s": call.begin, "start_s": call.start, "end_s": call.end,
        "bytes": call.size, "line": str(call.place), "verified": call.verified,
    }  # fmt: skip
