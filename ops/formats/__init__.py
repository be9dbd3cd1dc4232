"""One file per schedule format; `@reader` and `@writer` put it on the only list.

A reader is a function from text to a Schedule, with keyword options read from its signature. `read_schedule`
finds the reader whose `matches` knows the text. What is wrong with a schedule that can be read is a verdict.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sim.errors import InputError
from sim.parameters import Parameter, bind, parameters
from sim.registry import Registry
from sim.schedule import Schedule
from sim.schedule.verify import Verdict, verify
from sim.topology import Floats
from sim.units import MiB, fmt_size

LARGEST_TEXT = 16 * MiB
"""Thirty times the largest schedule published for MSCCL."""

OTHER_THINGS = (
    (r"<!DOCTYPE html|<html", "a web page: give only the schedule"),
    (
        r"GPU0\s+GPU1|<system\b|<topology\b|<platform\b|\bringside:\s*1|\bnpus_count:",
        "a topology, not a schedule: give it as --topology",
    ),
    (r'"format":\s*"ringside-trace"', "a trace of a run, not a schedule: open it in the page"),
    (r'"traceEvents"', "a trace for Perfetto, not a schedule: open it at ui.perfetto.dev"),
    (r"<graphs\b", "the graphs of NCCL's search, not a schedule: export an MSCCL algorithm"),
    (r"#\s+out-of-place", "a table of nccl-tests, which measures a machine: give it to `validate`"),
)
"""Patterns of what people give by mistake, what it is and what to do."""

Read = Callable[..., Schedule]
Check = Callable[..., Verdict]
Write = Callable[..., str]


class ScheduleProblem(InputError):  # noqa: N818  a verdict on the schedule, not a failure of reading
    """A schedule that cannot be carried out; `verdict` is malformed, deadlock or duplicate_connection."""

    def __init__(self, verdict: str, reason: str) -> None:
        super().__init__(reason)
        self.verdict = verdict
        self.status = 2 if verdict == "malformed" else 1


def malformed(place: str, why: str) -> NoReturn:
    """Raise the problem of a file that breaks its format's rules; `place` names file and line."""
    raise ScheduleProblem("malformed", f"{place}: {why}")


@dataclass(frozen=True, slots=True)
class Format:
    """A way of writing a schedule down: `read(text, name=…, **options)` for texts that `matches` knows.

    `check` takes the same arguments and gives a verdict; its reason may also say of a correct schedule which
    runtime would not take it. `write(schedule, **options)` is absent where a format is only read.
    """

    name: str
    title: str
    matches: Callable[[str], bool]
    read: Read
    check: Check
    write: Write | None = None

    @property
    def options(self) -> dict[str, Parameter]:
        """The keyword options of the reader, for help texts and widgets."""
        return parameters(self.read, skip=("text", "name"))


SCHEDULE_FORMATS = Registry[Format](__name__, "schedule format")


def reader(
    name: str, title: str, *, matches: Callable[[str], bool], check: Check | None = None
) -> Callable[[Read], Read]:
    """Register a reader under a format's name; the function is returned unchanged."""

    def register(read: Read) -> Read:
        judge = check or (lambda *a, **k: verify(read(*a, **k)))
        SCHEDULE_FORMATS.add(name, Format(name, title, matches, read, judge))
        return read

    return register


def writer(name: str) -> Callable[[Write], Write]:
    """Register the writer of a format that has a reader; the function is returned unchanged."""

    def register(write: Write) -> Write:
        SCHEDULE_FORMATS.change(name, replace(SCHEDULE_FORMATS[name], write=write))
        return write

    return register


def recognise(text: str, name: str) -> Format:
    """The format of a text; `name` is what messages call it. Raises InputError saying what it is instead."""
    if len(text) > LARGEST_TEXT:
        raise InputError(f"{name} is larger than {fmt_size(LARGEST_TEXT)}: give a smaller schedule")
    if not text.strip():
        raise InputError(f"{name} is empty: give {_titles()}")
    known = next((known for known in SCHEDULE_FORMATS.values() if known.matches(text)), None)
    if known is not None:
        return known
    told = next((what for pattern, what in OTHER_THINGS if re.search(pattern, text[: 1 << 16], re.IGNORECASE)), "")
    raise InputError(f"{name} is {told}" if told else f"{name} is no schedule known here: give {_titles()}")


def read_schedule(text: str, name: str, **overrides: Any) -> Schedule:
    """The schedule a text describes, whatever its format; `overrides` are the reader's options, parsed when texts.

    Raises InputError naming the place and the mend; ScheduleProblem when it could never run.
    """
    known = recognise(text, name)
    options = bind(known.read, overrides, known.name, skip=("text", "name"))
    return known.read(text, name=name, **options)


def read_schedule_file(path: str | Path, **overrides: Any) -> Schedule:
    """`read_schedule` of a file. Raises InputError when it cannot be opened or is not text."""
    return read_schedule(schedule_text(path), str(path), **overrides)


def schedule_text(path: str | Path) -> str:
    """What a schedule file says. Raises InputError when it cannot be opened, is too large or is not text."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the path of a schedule file") from None
    if len(data) > LARGEST_TEXT:
        raise InputError(f"{path} is larger than {fmt_size(LARGEST_TEXT)}: give a smaller schedule")
    if b"\0" in data[:4096]:
        raise InputError(f"{path} is not a text file: give {_titles()}")
    return data.decode("utf-8-sig", errors="replace")


def check_schedule(text: str, name: str, **overrides: Any) -> Verdict:
    """Is it correct? ok, wrong, deadlock, duplicate_connection, malformed, or unchecked, with a reason.

    Raises InputError only for texts of no known format.
    """
    known = recognise(text, name)
    options = bind(known.read, overrides, known.name, skip=("text", "name"))
    try:
        return known.check(text, name=name, **options)
    except ScheduleProblem as problem:
        return Verdict(problem.verdict, str(problem))


def write_schedule(schedule: Schedule, format: str, **options: Any) -> str:
    """A schedule in another format. Raises InputError for a format that is only read, or cannot hold it."""
    known = SCHEDULE_FORMATS[format]
    if known.write is None:
        able = ", ".join(known.name for known in SCHEDULE_FORMATS.values() if known.write)
        raise InputError(f"schedules are not written as {format}: choose from {able}")
    values = bind(known.write, options, format, skip=("schedule",))
    return known.write(schedule, **values)


def message_bytes(schedule: Schedule, size: float) -> Floats:
    """Bytes of every transfer for formats with absolute sizes. Raises InputError when `size` is needed and absent."""
    if schedule.fixed_bytes is not None:
        return schedule.fixed_bytes
    if schedule.unit_share > 0 and size * schedule.unit_share < 1:
        raise InputError(f"{schedule.name} has no sizes of its own: give a size like 64MiB")
    moved: Floats = np.diff(schedule.moves) * (size * schedule.unit_share)
    return moved


def _titles() -> str:
    return " or ".join(known.title for known in SCHEDULE_FORMATS.values())
