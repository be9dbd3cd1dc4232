"""`mpi`: a Python program on the simulated cluster."""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from sim.errors import InputError
from terminal import DONE, NO, PROGRAM, Answer, argument, command
from terminal.arguments import machine, whole

if TYPE_CHECKING:
    from ops.communicators.selection import Forced
    from ops.programs import ProgramRun


@command(
    argument("script", metavar="SCRIPT.py", help="a program for mpi4py, or for torch.distributed on numpy arrays"),
    argument("args", nargs="*", metavar="ARG", help="what the script finds in sys.argv; after -- where it has flags"),
    argument("-n", "-np", "--ranks", dest="ranks", required=True, help="how many ranks run it"),
    argument("--machine", metavar="SPEC", help="NAME[:key=value,…], see `list machines`; switch:ranks=N if left out"),
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    argument("--assume", action="append", default=[], metavar="KEY=VALUE", help="what a file does not say"),
    argument("--library", help="whose rules choose algorithms: openmpi (for mpi4py), mpich or nccl (for torch)"),
    argument(
        "--algorithm", action="append", default=[], metavar="COLLECTIVE.ALGORITHM[:key=value,…]",
        help="take this one whatever the rules say; may be repeated",
    ),
    argument("--eager", default="64KiB", help="longer messages wait for their receiver; 0 lets all of them wait"),
    argument("--trace", metavar="FILE.json", help="also write the timeline of all calls, for ui.perfetto.dev"),
    argument(
        "--open", nargs=2, metavar=("CALL", "FILE.json"),
        help="also write everything that happened inside one collective, by its number in --json",
    ),
)  # fmt: skip
def mpi(given: argparse.Namespace) -> Answer:
    """Run a Python MPI program on the simulated cluster, with no MPI installed."""
    from ops.programs import run_program
    from sim.units import parse_size

    ranks = whole(given.ranks, "-n")
    if given.machine is None and given.topology is None:
        given.machine = f"switch:ranks={max(2, ranks)}"
    there = machine(given, given.topology)
    forced = dict(_forced(text) for text in given.algorithm)
    eager = 0 if given.eager.strip() == "0" else parse_size(given.eager, "--eager")
    out = sys.stdout

    def say(text: str) -> None:
        out.write(text)

    opened = None if given.open is None else whole(given.open[0], "--open")
    outcome = run_program(
        given.script, there, ranks, given.args, library=given.library, forced=forced, eager=eager,
        history=opened is not None, echo=None if given.json else say,
    )  # fmt: skip
    if given.trace is not None:
        _write(given.trace, outcome.to_perfetto())
    if opened is not None:
        _write(given.open[1], _inside(outcome, opened))
    if not given.json:
        sys.stdout.flush()
        sys.stderr.write(_summary(outcome))
    return Answer(DONE if outcome.ok else NO, outcome.to_dict(), "")


def _forced(text: str) -> tuple[str, "Forced"]:
    from ops import ALGORITHMS
    from sim.parameters import bind, parse_spec

    name, settings = parse_spec(text) if not _is_alias(text) else (text, {})
    entry = ALGORITHMS[name]
    return entry.collective.name, (entry.name, bind(entry.steps, settings, entry.name, skip=("n", "root")))


def _is_alias(text: str) -> bool:
    """`allgatherv.kucg:4` is a library's number, not a parameter."""
    return ":" in text and "=" not in text


def _inside(outcome: "ProgramRun", number: int) -> str:
    if not 0 <= number < len(outcome.calls):
        raise InputError(f"--open {number}: the program made {len(outcome.calls)} calls, which count from 0")
    call = outcome.calls[number]
    if call.trace is None:
        what = "a message" if call.tag is not None else "not run to its end on two ranks or more"
        raise InputError(f"--open {number}: call {number}, {call.name} at {call.place}, is {what}: choose a collective")
    return call.trace.to_json()


def _summary(outcome: "ProgramRun") -> str:
    from sim.units import fmt_size, fmt_time

    kinds: Counter[tuple[str, str]] = Counter()
    carried: Counter[tuple[str, str]] = Counter()
    for call in outcome.calls:
        kinds[call.name, call.algorithm] += 1
        carried[call.name, call.algorithm] += int(call.size)
    lines = [
        f"{outcome.ranks} ranks on {outcome.machine}: {fmt_time(outcome.time)} simulated, {len(outcome.calls)} calls"
    ]
    for (name, algorithm), count in kinds.most_common(12):
        size = carried[name, algorithm]
        lines.append(f"  {count:6} x {name:18} {algorithm:32} {fmt_size(size) if size else ''}".rstrip())
    if len(kinds) > 12:
        lines.append(f"  and {len(kinds) - 12} more kinds: --json lists every call")
    if outcome.failure:
        lines.append(f"{PROGRAM}: {outcome.failure}")
    return "\n".join(lines) + "\n"


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): give a path that can") from None
