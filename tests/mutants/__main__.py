"""`python -m tests.mutants --count 400 --seed 1`: which small faults in the simulator does no test notice?

Each mutant runs in a process of its own, where only the changed module differs, its kernels interpreted. It is killed
when one of its module's tests fails, ends the process or takes far longer than it should. `--case 17` shows what
number 17 of the sample changes, and its tests' output.
"""

import argparse
import sys
from pathlib import Path

from tests.mutants.mutate import TESTS, sample
from tests.mutants.run import Outcome, kept, run


def main() -> int:
    """Try so many mutants; 1 where one survived."""
    parser = argparse.ArgumentParser(prog="tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--only", choices=tuple(TESTS), action="append", metavar="MODULE", help="modules; all if left out"
    )
    parser.add_argument("--case", type=int, help="one mutant of the sample, with its tests' output")
    parser.add_argument("--results", type=Path, help="a file of outcomes; those in it are not tried again")
    words = parser.parse_args()
    mutants = sample(words.seed, tuple(words.only or TESTS))
    if words.case is not None:
        print("\n->\n".join(mutants[words.case].change()))
        (outcome,) = run([(words.case, mutants[words.case])], tell=print)
        print(outcome.output)
        return 0 if outcome.killed else 1
    before = kept(words.results, mutants[: words.count])
    tried = {outcome.number for outcome in before}
    left = [(k, mutant) for k, mutant in enumerate(mutants[: words.count]) if k not in tried]
    outcomes = [*before, *run(left, jobs=words.jobs, tell=_told, keep=words.results)]
    return _report(outcomes, len(mutants))


def _told(outcome: Outcome) -> None:
    print(f"{outcome.number:5d}  {outcome.how:10s} {outcome.seconds:6.1f} s  {outcome.mutant.module}", flush=True)


def _report(outcomes: list[Outcome], most: int) -> int:
    survivors = [each for each in outcomes if not each.killed]
    equivalent = [each for each in survivors if each.mutant.why_equivalent()]
    for each in sorted(survivors):
        if each not in equivalent:
            was, now = each.mutant.change()
            print(f"\n{each.number}: {each.mutant.module}, {each.mutant.operator}\n  - {was}\n  + {now}")
    real = len(outcomes) - len(equivalent)
    killed = len(outcomes) - len(survivors)
    print(
        f"\n{len(outcomes)} of {most:,} mutants: {killed} killed, {len(survivors) - len(equivalent)} survived,"
        f" {len(equivalent)} change nothing: {killed / max(real, 1):.1%} of {real} killed"
    )
    return int(len(survivors) > len(equivalent))


if __name__ == "__main__":
    sys.exit(main())
