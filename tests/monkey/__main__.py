"""`python -m tests.monkey --actions 20000`: random actions on every page in every language; tells what broke."""

import argparse
import sys
import time

from tests.monkey import browser, pages


def main() -> int:
    """Run one of the two monkeys; 1 where anything broke."""
    parser = argparse.ArgumentParser(prog="tests.monkey", description=__doc__)
    parser.add_argument("--actions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--browser", action="store_true", help="in Chromium, with the pointer and the keyboard")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    monkey = browser.play if arguments.browser else pages.play
    done, broken = monkey(arguments.actions, arguments.seed, arguments.seconds)
    print(f"{done:,} actions in {time.perf_counter() - begun:.0f} s, seed {arguments.seed}: {len(broken)} broken")
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
