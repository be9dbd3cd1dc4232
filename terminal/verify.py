"""`verify`: whether a schedule is correct."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sim.errors import InputError
from terminal import BAD_INPUT, DONE, NO, Answer, argument, command
from terminal.arguments import ALGORITHM, python_file, work

if TYPE_CHECKING:
    from sim.schedule.verify import Verdict

WHAT = argument("algorithm", nargs="?", metavar="COLLECTIVE.ALGORITHM|FILE", help="an algorithm, or a schedule's file")


@command(WHAT, *ALGORITHM[1:], argument("--ranks", help="how many ranks take part; files say it themselves"))
def verify(given: argparse.Namespace) -> Answer:
    """Tell whether every contribution is there exactly once."""
    from sim.schedule.verify import verify

    if given.schedule is None and given.library is None and given.algorithm and not _is_algorithm(given.algorithm):
        given.schedule, given.algorithm = given.algorithm, None
    if given.schedule is not None and python_file(given.schedule) is None:
        name, verdict = given.schedule, _judged(given)
        what = ""
    else:
        asked = work(given)
        name, verdict = asked.name, verify(asked.schedule)
        what = f" for {asked.schedule.n} ranks"
    told = f": {verdict.reason}" if verdict.reason else what
    found = {"verdict": verdict.verdict, "reason": verdict.reason}
    status = BAD_INPUT if verdict.verdict == "malformed" else DONE if verdict.ok else NO
    return Answer(status, found, f"{name} is {verdict.verdict}{told}")


def _is_algorithm(name: str) -> bool:
    """Anything that begins like one and is no file."""
    from ops.collectives import COLLECTIVES

    return name.partition(".")[0] in COLLECTIVES and not Path(name).is_file()


def _judged(given: argparse.Namespace) -> "Verdict":
    """The verdict on a file. Raises InputError when there is none or the options are wrong."""
    from ops.formats import check_schedule, recognise, schedule_text
    from sim.parameters import parse_assignments
    from sim.schedule.verify import Verdict

    if given.library or given.id or given.root or given.ranks:
        raise InputError(f"{given.schedule} says itself what it does: leave out --library, --id, --root and --ranks")
    settings = parse_assignments(given.set, f"{given.schedule}, --set")
    text = schedule_text(given.schedule)
    try:
        recognise(text, given.schedule)
    except InputError as error:
        return Verdict("malformed", str(error))
    return check_schedule(text, given.schedule, **settings)
