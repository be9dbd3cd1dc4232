"""`verify`: whether a schedule is correct."""

import argparse

from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import ALGORITHM, schedule, whole


@command(*ALGORITHM, argument("--ranks", required=True, help="how many ranks take part"))
def verify(given: argparse.Namespace) -> Answer:
    """Tell whether every contribution is there exactly once."""
    from ops import ALGORITHMS
    from sim.verify import verify

    entry = ALGORITHMS[given.algorithm]
    ranks = whole(given.ranks, "--ranks")
    verdict = verify(schedule(given, entry, ranks))
    found = {"verdict": verdict.verdict, "reason": verdict.reason}
    told = f": {verdict.reason}" if verdict.reason else f" for {ranks} ranks"
    return Answer(DONE if verdict.ok else NO, found, f"{entry.name} is {verdict.verdict}{told}")
