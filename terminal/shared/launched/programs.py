"""What `mpi` and `torchrun` share: how a program is run, and what is printed of it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from ops import ALGORITHMS
from ops.communicators.selection import Forced
from ops.libraries import LIBRARIES
from ops.plan.notation import algorithm_spec
from ops.programs import ProgramRun
from ops.programs.runtime.summary import summary
from ops.training.step import TrainingStep
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.parameters import bind
from sim.units import parse_size
from terminal import DONE, NO, PROGRAM, Answer, answers_as_json
from terminal.shared.files import TO_WRITE
from terminal.shared.options import Options, gathers
from terminal.shared.types import WHOLE, EntryOption, TypedWord

EAGER = TypedWord("size", lambda text, flag: parse_size(text, flag, least=0))

_LAUNCH: Options = (
    click.argument("script", metavar="SCRIPT.py"),
    click.argument("args", nargs=-1, metavar="[ARG]..."),
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


@dataclass(frozen=True)
class Launch:
    """A program, how its messages and collectives are run, and which files are written beside its output."""

    script: str
    args: tuple[str, ...]
    library: str | None
    algorithms: tuple[str, ...]
    eager: int
    trace: str | None
    opened: tuple[int, str] | None

    @property
    def settings(self) -> dict[str, Any]:
        """What `run_program` and `run_torch` take of it by name. Raises InputError for an algorithm."""
        return {
            "library": self.library,
            "forced": dict(map(_forced, self.algorithms)),
            "eager": self.eager,
            "history": self.opened is not None,
            "echo": _echo(),
        }


launches = gathers("launch", lambda words: Launch(**words), *_LAUNCH)
"""Gives a command the options of a program, and its function what they say as `launch`."""


def _echo() -> Callable[[str], None] | None:
    """Return what prints a program's output as it comes; nothing where the answer is JSON."""
    if answers_as_json():
        return None
    out = sys.stdout

    def say(text: str) -> None:
        out.write(text)

    return say


def answer(
    outcome: ProgramRun, launch: Launch, timeline: ProgramRun | TrainingStep, data: dict[str, Any] | None = None
) -> Answer:
    """Write the files that were asked for, and the summary to standard error; `data` is for --json."""
    if launch.trace is not None:
        write_whole(launch.trace, timeline.to_perfetto())
    if launch.opened is not None:
        number, file = launch.opened
        write_whole(file, _inside(outcome, number))
    if not answers_as_json():
        sys.stdout.flush()
        sys.stderr.write(summary(outcome, PROGRAM))
    return Answer(DONE if outcome.ok else NO, outcome.to_dict() if data is None else data, "")


def _forced(text: str) -> tuple[str, Forced]:
    """Return the collective that a spec is of, and what is forced for it."""
    name, settings = algorithm_spec(text)
    entry = ALGORITHMS[name]
    return entry.collective.name, (name, bind(entry.steps, settings, name, skip=("n", "root")))


def _inside(outcome: ProgramRun, number: int) -> str:
    if not 0 <= number < len(outcome.calls):
        raise InputError("option.open_range", number=number, count=len(outcome.calls))
    call = outcome.calls[number]
    if call.trace is None:
        why = "option.open_message" if call.tag is not None else "option.open_unfinished"
        raise InputError(why, number=number, call=call.name, place=call.place)
    return call.trace.to_json()
