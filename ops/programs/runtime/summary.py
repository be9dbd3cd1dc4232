"""A program's run in a few lines."""

from collections import Counter

from ops.backends import Backend
from ops.programs.runtime.deadlock import name_ranks
from ops.programs.runtime.timeline import ProgramRun, Straggler
from sim.units import fmt_bandwidth, fmt_size, fmt_time

GUESSED = "timed by its mean over other shapes, as the profile has"


def _left_out(cost: Backend) -> str:
    """What a library's processors would add to the links' time, as `ops.backends` has it with its sources."""
    parts = [f"{fmt_time(cost.launch)} a collective"]
    if cost.overhead:
        parts.append(f"{fmt_time(cost.overhead)} a message")
    if cost.gamma:
        parts.append(f"the time to add up at {fmt_bandwidth(1 / cost.gamma)}")
    listed = ", ".join(parts[:-1]) + " and " * bool(parts[1:]) + parts[-1]
    return f"  the links' time alone, without what {cost.library} itself takes in workloads: {listed}"


def _waited(late: Straggler) -> str:
    times = "once" if late.times == 1 else f"{late.times} times"
    came = f"{name_ranks(late.ranks)} came last to collectives at {late.place} {times}"
    return f"  {came}: others waited {fmt_time(late.waited)}"


def summary(outcome: ProgramRun, program: str) -> str:
    """Return the lines under a run: its time, its calls by kind, who came last, and what `program` failed with."""
    kinds: Counter[tuple[str, str]] = Counter()
    carried: Counter[tuple[str, str]] = Counter()
    for call in outcome.calls:
        kinds[call.name, call.algorithm] += 1
        carried[call.name, call.algorithm] += int(call.size)
    lines = [
        f"{outcome.ranks} ranks on {outcome.machine}: {fmt_time(outcome.time)} simulated, {len(outcome.calls)} calls"
    ]
    lines += [_left_out(cost) for cost in outcome.left_out()]
    if outcome.compute:
        lines.append(f"  {outcome.compute}; exposed communication {fmt_time(outcome.exposed)}")
    for (name, algorithm), count in kinds.most_common(12):
        size = carried[name, algorithm]
        lines.append(f"  {count:6} x {name:18} {algorithm:32} {fmt_size(size) if size else ''}".rstrip())
    if len(kinds) > 12:
        lines.append(f"  and {len(kinds) - 12} more kinds: --json lists every call")
    for calls, what in ((outcome.untimed, "not timed: it takes no simulated time"), (outcome.guessed, GUESSED)):
        lines += [f"  {count:6} x {name:18} {what}" for name, count in list(calls.items())[:12]]
    lines += [_waited(late) for late in outcome.stragglers()[:1]]
    if outcome.failure:
        lines.append(f"{program}: {outcome.failure}")
    return "\n".join(lines) + "\n"
