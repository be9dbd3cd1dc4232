"""`python -m tests.attack --seconds 3600 --seed 7`: damaged files, links and command lines; tells what broke.

`--case files:123` tries one of them again, with its whole traceback.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.attack.harness import SETTINGS, SHARES, Finding, attack, case


def main() -> int:
    """Attack for so many seconds of the processor; 1 where anything was found, which is also written down."""
    parser = argparse.ArgumentParser(prog="tests.attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", choices=tuple(SHARES), action="append", help="kinds of input; all if left out")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="one case again")
    parser.add_argument("--findings", type=Path, default=None, metavar="FOLDER", help="where findings are written")
    arguments = parser.parse_args()
    if arguments.case:
        return repeat(*arguments.case.split(":"), arguments.seed)
    begun = time.perf_counter()
    kinds = tuple(arguments.only or SHARES)

    def tell(finding: Finding) -> None:
        print(f"{finding.kind}:{finding.number} {finding.what}\n    {finding.case[:300]!r}", flush=True)
        if arguments.findings:
            arguments.findings.mkdir(parents=True, exist_ok=True)
            name = f"{arguments.seed}-{finding.kind}-{finding.number}.txt"
            (arguments.findings / name).write_text(f"{finding.what}\n{finding.case}", "utf-8", "replace")

    done, findings = attack(arguments.seconds, arguments.seed, arguments.jobs, kinds, tell)
    counts = ", ".join(f"{done[kind]:,} {kind}" for kind in kinds)
    print(f"{counts} in {time.perf_counter() - begun:.0f} s, seed {arguments.seed}: {len(findings)} findings")
    return 1 if findings else 0


def repeat(kind: str, number: str, seed: int) -> int:
    """Try one case again, with nothing between it and the terminal."""
    os.environ |= SETTINGS
    from sim.base import formats

    formats.SLIPS = ()
    with tempfile.TemporaryDirectory() as folder:
        tried = case(kind, seed, int(number), Path(folder))
        print(tried.text[:2000])
        tried.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
