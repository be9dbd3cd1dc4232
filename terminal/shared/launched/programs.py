"""What `mpi` and `torchrun` share: how a program is run, and what is printed of it."""

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import click

from ops import ALGORITHMS
from ops.backends import Backend
from ops.communicators.selection import Forced
from ops.libraries import LIBRARIES
from ops.programs import ProgramRun
from ops.programs.runtime.deadlock import name_ranks
from ops.programs.runtime.timeline import Straggler
from ops.request.notation import algorithm_spec
from sim.errors import InputError
from sim.parameters import bind
from sim.units import fmt_bandwidth, fmt_size, fmt_time, parse_size
from sim.whole_file import write_whole
from terminal import DONE, NO, PROGRAM, Answer, answers_as_json
from terminal.shared.entries import EntryOption
from terminal.shared.files import TO_WRITE
from terminal.shared.types import WHOLE, TypedWord

EAGER = TypedWord("size", lambda text, flag: 0 if text.strip() == "0" else parse_size(text, flag))

PROGRAM_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--library",
        cls=EntryOption,
        of=lambda: LIBRARIES,
        metavar="NAME",
        help="whose rules choose algorithms; if left out Open MPI's for mpi4py, the backend's for torch",
    ),
    click.option(
        "--algorithm",
        "algorithms",
        multiple=True,
        metavar="COLLECTIVE.ALGORITHM[:key=value,…]",
        help="take this one whatever the rules say; may be repeated",
    ),
    click.option(
        "--eager",
        type=EAGER,
        default="64KiB",
        metavar="SIZE",
        help="longer messages wait for their receiver; 0 lets all of them wait",
    ),
    click.option(
        "--trace", type=TO_WRITE, metavar="FILE.json", help="also write the timeline of all calls, for ui.perfetto.dev"
    ),
    click.option(
        "--open",
        "opened",
        type=(TypedWord("call", lambda text, _: WHOLE.convert(text, None, None)), TO_WRITE),
        metavar="CALL FILE.json",
        help="also write everything that happened inside one collective, by its number in --json",
    ),
)
"""How messages and collectives of a program are run, and what is written beside its output."""


def with_options(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Give a command the options of a program."""
    for option in reversed(PROGRAM_OPTIONS):
        function = option(function)
    return function


def echoes() -> Callable[[str], None] | None:
    """Return what prints a program's output as it comes; nothing where the answer is JSON."""
    if answers_as_json():
        return None
    out = sys.stdout

    def say(text: str) -> None:
        out.write(text)

    return say


def answer(outcome: ProgramRun, trace: str | None, opened: tuple[int, str] | None) -> Answer:
    """Write what was asked for beside the output, and the summary to standard error."""
    if trace is not None:
        write_whole(trace, outcome.to_perfetto())
    if opened is not None:
        write_whole(opened[1], _inside(outcome, opened[0]))
    if not answers_as_json():
        sys.stdout.flush()
        sys.stderr.write(_summary(outcome))
    return Answer(DONE if outcome.ok else NO, outcome.to_dict(), "")


def forced_algorithm(text: str) -> tuple[str, Forced]:
    """Return the collective that a spec is of, and what is forced for it."""
    name, settings = algorithm_spec(text)
    entry = ALGORITHMS[name]
    return entry.collective.name, (name, bind(entry.steps, settings, name, skip=("n", "root")))


def _inside(outcome: ProgramRun, number: int) -> str:
    if not 0 <= number < len(outcome.calls):
        raise InputError(f"--open {number}: the program made {len(outcome.calls)} calls, which count from 0")
    call = outcome.calls[number]
    if call.trace is None:
        what = "a message" if call.tag is not None else "not run to its end on two ranks or more"
        raise InputError(f"--open {number}: call {number}, {call.name} at {call.place}, is {what}: choose a collective")
    return call.trace.to_json()


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


def _summary(outcome: ProgramRun) -> str:
    kinds: Counter[tuple[str, str]] = Counter()
    carried: Counter[tuple[str, str]] = Counter()
    for call in outcome.calls:
        kinds[call.name, call.algorithm] += 1
        carried[call.name, call.algorithm] += int(call.size)
    lines = [
        f"{outcome.ranks} ranks on {outcome.machine}: {fmt_time(outcome.time)} simulated, {len(outcome.calls)} calls"
    ]
    lines += [_left_out(cost) for cost in outcome.left_out()]
    for (name, algorithm), count in kinds.most_common(12):
        size = carried[name, algorithm]
        lines.append(f"  {count:6} x {name:18} {algorithm:32} {fmt_size(size) if size else ''}".rstrip())
    if len(kinds) > 12:
        lines.append(f"  and {len(kinds) - 12} more kinds: --json lists every call")
    lines += [
        f"  {count:6} x {name:18} not timed: it takes no simulated time" for name, count in outcome.untimed.items()
    ]
    lines += [_waited(late) for late in outcome.stragglers()[:1]]
    if outcome.failure:
        lines.append(f"{PROGRAM}: {outcome.failure}")
    return "\n".join(lines) + "\n"
