"""One file per schedule format; `@reader` and `@writer` put it on the only list.

A reader is a function from text to a Schedule, with keyword options read from its signature. `read_schedule`
finds the reader whose `matches` knows the text. What is wrong with a schedule that can be read is a verdict.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sim.base.formats import Formats, ReadingError, Words, lines, rows
from sim.errors import InputError, Message
from sim.schedule import Schedule
from sim.schedule.verify import Verdict, verify
from sim.topology import Floats, Topology
from sim.units import MiB

__all__ = [
    "LARGEST_TEXT",
    "SCHEDULE_FORMATS",
    "ReadingError",
    "ScheduleProblem",
    "check_schedule",
    "lines",
    "malformed",
    "message_bytes",
    "read_schedule",
    "read_schedule_file",
    "reader",
    "recognise",
    "rows",
    "schedule_text",
    "write_schedule",
    "writer",
]

LARGEST_TEXT = 16 * MiB
"""Thirty times the largest schedule published for MSCCL."""

OTHER_THINGS = (
    (r"<!DOCTYPE html|<html", "instead.web_page_schedule"),
    (
        r"GPU0\s+GPU1|<system\b|<topology\b|<platform\b|\bringside:\s*1|\bnpus_count:",
        "instead.topology",
    ),
    (r'"format":\s*"ringside-trace"', "instead.trace"),
    (r'"traceEvents"', "instead.perfetto"),
    (r"<graphs\b", "instead.graphs_schedule"),
    (r"#\s+out-of-place", "instead.nccl_tests"),
)
"""Patterns of what people give by mistake, and the ids of what it is and what to do."""

WORDS = Words("schedule", "schedules", "a schedule file", "give a smaller schedule")
SCHEDULE_FORMATS: Formats[Schedule] = Formats(__name__, WORDS, largest=LARGEST_TEXT, other_things=OTHER_THINGS)

reader, writer, recognise = SCHEDULE_FORMATS.reader, SCHEDULE_FORMATS.writer, SCHEDULE_FORMATS.recognise


class ScheduleProblem(InputError):  # noqa: N818  a verdict on the schedule, not a failure of reading
    """A schedule that cannot be carried out; `verdict` is malformed, deadlock or duplicate_connection."""

    def __init__(self, verdict: str, reason: str | Message, /, **values: object) -> None:
        super().__init__(reason, **values)
        self.verdict = verdict
        self.status = 2 if verdict == "malformed" else 1


def malformed(place: str | Message, why: str, /, **values: object) -> NoReturn:
    """Raise the problem of a file that breaks its format's rules; `place` names file and line, `why` is an id."""
    raise ScheduleProblem("malformed", "at.place", place=place, what=Message(why, **values))


def read_schedule(text: str, name: str, **overrides: Any) -> Schedule:
    """The schedule a text describes, whatever its format; `overrides` are the reader's options, parsed when texts.

    Raises InputError naming the place and the mend; ScheduleProblem when it could never run.
    """
    return SCHEDULE_FORMATS.read(text, name, **overrides)


def read_schedule_file(path: str | Path, **overrides: Any) -> Schedule:
    """`read_schedule` of a file. Raises InputError when it cannot be opened or is not text."""
    return SCHEDULE_FORMATS.read_file(path, **overrides)


def schedule_text(path: str | Path) -> str:
    """What a schedule file says. Raises InputError when it cannot be opened, is too large or is not text."""
    return SCHEDULE_FORMATS.text(path)


def check_schedule(text: str, name: str, **overrides: Any) -> Verdict:
    """Is it correct? ok, wrong, deadlock, duplicate_connection, malformed, or unchecked, with a reason.

    The reason may also say of a correct schedule which runtime would not take it. Raises InputError only for texts of
    no known format.
    """
    format = recognise(text, name)
    try:
        if format.check:
            verdict: Verdict = SCHEDULE_FORMATS.call(format, format.check, text, name, overrides)
            return verdict
        schedule = SCHEDULE_FORMATS.call(format, format.read, text, name, overrides)
        return replace(verify(schedule), ranks=schedule.n)
    except ScheduleProblem as problem:
        return Verdict(problem.verdict, str(problem))
    except ReadingError as slip:
        return Verdict("malformed", str(slip))


def write_schedule(schedule: Schedule, format: str, *, machine: Topology | None = None, **options: Any) -> str:
    """A schedule in another format; where a format leaves a choice, it is made for this machine, or an ideal switch.

    Raises InputError for a format that is only read, or cannot hold it.
    """
    return SCHEDULE_FORMATS.write(schedule, format, machine=machine, **options)


def message_bytes(schedule: Schedule, size: float) -> Floats:
    """Bytes of every transfer for formats with absolute sizes. Raises InputError when `size` is needed and absent."""
    if schedule.fixed_bytes is not None:
        return schedule.fixed_bytes
    if schedule.unit_share > 0 and size * schedule.unit_share < 1:
        raise InputError("schedule.no_sizes", schedule=schedule.name)
    moved: Floats = np.diff(schedule.moves) * (size * schedule.unit_share)
    return moved
