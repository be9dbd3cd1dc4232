"""`exercises`: tasks for people who draw schedules, and a check of their solutions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ops.formats import read_schedule, schedule_text, write_schedule
from ops.ladder import TASKS, LadderTask, described
from ops.ladder import ladder as tasks
from ops.plan.python_file import algorithm_of_file, python_file
from ops.sketch import written
from ops.sketch.as_python import as_python
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.schedule import Schedule
from sim.units import fmt_size, fmt_time
from terminal import DONE, NO, Answer, command
from terminal.shared.files import TO_WRITE

WRITERS: dict[str, Callable[[LadderTask], str]] = {
    ".py": lambda entry: as_python(entry.best),
    ".xml": lambda entry: write_schedule(entry.best.schedule(), "msccl_xml", machine=entry.topology),
    ".txt": lambda entry: written(entry.best),
}
"""What a best schedule is written as, by the ending of its file."""


@command
@click.argument("task", required=False)
@click.argument("file", required=False)
@click.option("--best", type=TO_WRITE, metavar="FILE", help="write the task's best schedule: .txt, .py or .xml")
def exercises(task: str | None, file: str | None, best: str | None) -> Answer:
    """List the exercises, show one, or check a schedule as its solution.

    FILE is a schedule of any format, or FILE.py:FUNCTION; it is correct when it gives the result, and solves the
    exercise when no schedule is faster.
    """
    if task is None:
        if best is not None:
            raise InputError("exercises.best_of_one")
        return _listed()
    entry = TASKS[task]
    if file is None:
        return _described(entry, best)
    if best is not None:
        raise InputError("exercises.best_or_file", file=file)
    result = entry.judge(_schedule(file, entry))
    verdict = result.verdict
    data = facts(entry) | {
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "time_s": result.seconds,
        "solved": result.solved,
    }
    if not result.right:
        text = f"{file} is {verdict.verdict}: {verdict.reason}"
    elif result.solved:
        text = f"{file} solves {entry.name}: {fmt_time(result.seconds)}, and nothing is faster. {entry.because}"
    else:
        text = (
            f"{file} is right, but takes {fmt_time(result.seconds)}, {result.above:.1%} more than the best"
            f" ({fmt_time(entry.par)})"
        )
    return Answer(DONE if result.solved else NO, data, text)


def facts(entry: LadderTask) -> dict[str, Any]:
    """A task as data."""
    return {
        "task": entry.name,
        "goal": entry.goal,
        "collective": entry.empty.collective,
        "ranks": entry.empty.ranks,
        "pieces": entry.empty.pieces,
        "machine": entry.machine.machine,
        "edits": entry.machine.edits,
        "size_bytes": entry.size,
        "par_s": entry.par,
        "bound_s": entry.bound,
        "because": entry.because,
    }


def _listed() -> Answer:
    entries = tasks()
    width = max(len(entry.name) for entry in entries)
    lines = [f"{entry.name:{width}}  {fmt_time(entry.par):>8}  {entry.goal}" for entry in entries]
    return Answer(DONE, {"tasks": [facts(entry) for entry in entries]}, "\n".join(lines))


def _described(entry: LadderTask, best: str | None) -> Answer:
    sketch = entry.empty
    promise = described(sketch.collective, sketch.ranks, sketch.pieces, sketch.root)
    place = f"{entry.machine.machine} {entry.machine.edits}".strip()
    rows = {
        "draw": f"{promise}, {fmt_size(entry.size)}",
        "machine": place,
        "best": f"{fmt_time(entry.par)}; nothing is faster than {fmt_time(entry.bound)}",
    }
    data = facts(entry)
    if best is not None:
        write = WRITERS.get(Path(best).suffix)
        if write is None:
            raise InputError("file.ending_none", file=best, choices=WRITERS)
        write_whole(best, write(entry))
        data["file"] = rows["file"] = best
    return Answer(DONE, data, "\n".join([entry.goal, *(f"  {key:8} {value}" for key, value in rows.items())]))


def _schedule(file: str, entry: LadderTask) -> Schedule:
    if python_file(file) is None:
        return read_schedule(schedule_text(file), file)
    return algorithm_of_file(file, None).schedule(entry.empty.ranks)
