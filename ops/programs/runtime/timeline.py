"""What a run of a program was: its output, its calls, when every rank was in which of them."""

import json
from dataclasses import dataclass, field
from typing import Any

from ops.programs.runtime.deadlock import Stuck
from ops.programs.runtime.tasks import Span
from ops.programs.runtime.transport import Call
from sim.errors import InputError

MOST_SLICES = 500_000
"""More make a file that a browser does not open."""


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
    calls: list[Call]
    spans: list[Span] = field(repr=False)
    deadlock: list[Stuck]

    @property
    def ok(self) -> bool:
        """Whether all ranks ended well."""
        return self.failure is None

    def to_dict(self) -> dict[str, Any]:
        """The run as plain data."""
        waited = [0.0] * self.ranks
        for span in self.spans:
            waited[span.rank] += span.end - span.begin
        return {
            "machine": self.machine,
            "ranks": self.ranks,
            "time_s": self.time,
            "failure": self.failure,
            "deadlock": [stuck._asdict() for stuck in self.deadlock],
            "output": self.output,
            "per_rank": [
                {"rank": r, "exit": self.statuses[r], "ended_s": self.ended[r], "in_calls_s": waited[r]}
                for r in range(self.ranks)
            ],
            "calls": [_told(call) for call in self.calls],
        }

    def to_perfetto(self) -> str:
        """Chrome trace-event JSON: a track per rank, messages as arrows. Raises InputError when it is too large."""
        slices = len(self.spans) + len(self.calls)
        if slices > MOST_SLICES:
            raise InputError(
                f"the program made {slices:,} calls, and Perfetto opens {MOST_SLICES:,} at most:"
                " run fewer ranks or steps"
            )
        events: list[dict[str, Any]] = []
        for rank in range(self.ranks):
            name = {"args": {"name": f"rank {rank}"}, "pid": 0, "tid": rank}
            events += [
                {"ph": "M", "name": "thread_name", **name},
                {"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": rank, "args": {"sort_index": rank}},
            ]
        events.append({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": self.machine}})
        for span in self.spans:
            events.append(self._slice(span))
        for call in self.calls:
            events += self._arrow(call)
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, allow_nan=False)

    def _slice(self, span: Span) -> dict[str, Any]:
        calls = [self.calls[i] for i in span.calls[:4]]
        told = {
            "line": str(span.place), "calls": list(span.calls[:64]), "algorithm": ", ".join(c.algorithm for c in calls),
            "bytes": sum(c.bytes for c in calls),
        }  # fmt: skip
        return {
            "ph": "X", "name": span.name, "cat": "call", "pid": 0, "tid": span.rank, "ts": span.begin * 1e6,
            "dur": (span.end - span.begin) * 1e6, "args": told,
        }  # fmt: skip

    def _arrow(self, call: Call) -> list[dict[str, Any]]:
        if call.tag is None or call.start is None or call.end is None:
            return []
        src, dst = call.ranks
        arrow = {"cat": "message", "name": f"{call.bytes:.0f} bytes, tag {call.tag}", "id": call.number, "pid": 0}
        return [
            {"ph": "s", **arrow, "tid": src, "ts": call.start * 1e6},
            {"ph": "f", "bp": "e", **arrow, "tid": dst, "ts": call.end * 1e6},
        ]


def _told(call: Call) -> dict[str, Any]:
    who = {"src": call.ranks[0], "dst": call.ranks[1], "tag": call.tag} if call.tag is not None else {
        "ranks": len(call.ranks)
    }  # fmt: skip
    return {
        "call": call.number, "name": call.name, "comm": call.comm, **who, "algorithm": call.algorithm,
        "begin_s": call.begin, "start_s": call.start, "end_s": call.end, "bytes": call.bytes,
        "line": str(call.place), "verified": call.verified,
    }  # fmt: skip
