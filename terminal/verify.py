"""`verify`: whether a schedule is correct."""

import os
from typing import Any

import click

from ops.collectives import COLLECTIVES
from ops.formats import check_schedule, recognise, schedule_text
from ops.plan.notation import assignments
from ops.plan.python_file import python_file
from sim.errors import InputError
from sim.schedule.verify import Verdict
from sim.schedule.verify import verify as verdict_on
from terminal import BAD_INPUT, DONE, NO, Answer, command
from terminal.shared.options import SCHEDULE, read, refuse_needless, takes
from terminal.shared.types import RANKS


@command
@click.argument("algorithm", required=False, metavar="[COLLECTIVE.ALGORITHM|FILE]")
@takes(*SCHEDULE)
@click.option("--ranks", type=RANKS, metavar="N", help="how many ranks take part; files say it themselves")
def verify(algorithm: str | None, ranks: int | None, **words: Any) -> Answer:
    """Check that the result contains every contribution exactly once."""
    if words["schedule"] is None and words["library"] is None and algorithm and not _is_algorithm(algorithm):
        words["schedule"], algorithm = algorithm, None
    words |= {"algorithm": algorithm, "ranks": ranks}
    file = words["schedule"]
    if file is not None and python_file(file) is None:
        name, verdict, what, release = file, _judged(file, words), "", None
        n = verdict.ranks or None
    else:
        plan = read(words, machine=False)
        work = plan.work()
        refuse_needless(plan, work)
        n, release = work.schedule.n, work.settings.get("release")
        name, verdict, what = work.name, verdict_on(work.schedule), f" for {n} ranks"
    data: dict[str, Any] = {"verdict": verdict.verdict, "reason": verdict.reason}
    data |= {"machine": None, "ranks": n, "nccl": release, "expected_error": None}  # no machine, and no time
    status = BAD_INPUT if verdict.verdict == "malformed" else DONE if verdict.ok else NO
    return Answer(status, data, f"{name} is {verdict.verdict}{f': {verdict.reason}' if verdict.reason else what}")


def _is_algorithm(name: str) -> bool:
    """Anything that begins like one and is no file."""
    return name.partition(".")[0] in COLLECTIVES and not os.path.isfile(name)


def _judged(file: str, words: dict[str, Any]) -> Verdict:
    """The verdict on a file. Raises InputError when there is none or the options are wrong."""
    if any(words[name] is not None for name in ("library", "id", "root", "ranks")):
        raise InputError("option.file_says_all", file=file)
    text = schedule_text(file)
    try:
        recognise(text, file)
    except InputError as error:
        return Verdict("malformed", str(error))
    return check_schedule(text, file, **assignments(",".join(words["set"]), file))
