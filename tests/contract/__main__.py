"""`python -m tests.contract record` stores answers of new cases; stored ones change only where that is accepted."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

from tests.contract import store
from tests.contract.plain import compact
from tests.contract.words import differences, table

Cases = Mapping[str, Callable[[], Any]]
SHOWN = 20
"""Differences of a case that are printed."""


def main(arguments: Sequence[str]) -> int:
    """Store what the cases answer now; 1 where a stored answer would change and is not accepted."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract", description=__doc__)
    parser.add_argument("command", choices=["record"])
    parser.add_argument(
        "--accept", action="append", default=[], metavar="PATTERN", help="SECTION/CASE whose answer may change, with *"
    )
    parser.add_argument("--section", action="append", default=[], metavar="NAME", help="record only these sections")
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("RINGSIDE_NO_WORKERS", "1")
    from tests.contract.cases import sections

    every = {name: cases for name, cases in sections().items() if not chosen.section or name in chosen.section}
    now = {name: recorded(name, cases, store.tracked(name), chosen.accept) for name, cases in every.items()}
    refused = [line for _, lines in now.values() for line in lines]
    if refused:
        sys.stderr.write("\n".join([*refused, "nothing is written: mend this, or add --accept PATTERN"]) + "\n")
        return 1
    for name, (answers, _) in now.items():
        store.store(name, answers)
    return 0


def recorded(
    section: str, cases: Cases, before: store.Answers, accept: Sequence[str]
) -> tuple[store.Answers, list[str]]:
    """The answers to store for a section, and a line for each stored answer that would change unaccepted."""
    answers: dict[str, Any] = {}
    refused = []
    for case in dict.fromkeys([*cases, *before]):
        name = f"{section}/{case}"
        changes = ["the case is gone"] if case not in cases else []
        if case in cases:
            answer = compact(cases[case]())
            changes = [*differences(before[case], answer, table())] if case in before else []
            answers[case] = answer if changes or case not in before else before[case]
        lines = [f"{name}: {change}" for change in changes[:SHOWN]]
        if any(fnmatch(name, pattern) for pattern in accept):
            sys.stdout.writelines(f"accepted: {line}\n" for line in lines)
        else:
            refused += lines
    return answers, refused


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
