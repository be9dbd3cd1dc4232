"""The terminal's front door: `python cli.py --help`. The commands themselves live in `terminal/`.

Exit status 0 means done, 1 that the answer is no (a wrong schedule, a rank nothing reaches), 2 bad input,
which is told in one line.
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sim.errors import InputError, StalledError
from terminal import BAD_INPUT, PROGRAM, Answer, commands

INTERRUPTED, PIPE_CLOSED = 130, 141
"""What shells call a program ended by SIGINT or SIGPIPE."""


class _Parser(argparse.ArgumentParser):
    """Tells a wrong flag the way every other bad input is told."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}: see `{self.prog} --help`")


def _parser() -> _Parser:
    parser = _Parser(prog=PROGRAM, description="See and time collective communication on a simulated GPU cluster.")
    words = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser, required=True)
    for name, command in commands().items():
        word = words.add_parser(name, help=command.summary, description=command.summary, allow_abbrev=False)
        word.set_defaults(run=command.run)
        word.add_argument("--json", action="store_true", help="the answer as JSON")
        for names, options in command.arguments:
            word.add_argument(*names, **options)
    return parser


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; flags that are unknown here are for another program where a command passes on all further ones."""
    parser = _parser()
    args, unknown = parser.parse_known_args(argv)
    if unknown and not hasattr(args, "further"):
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if unknown:
        args.further = unknown + args.further
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        given = _parsed(argv)
        answer: Answer = given.run(given)
        if given.json:
            print(json.dumps(answer.found, indent=2, allow_nan=False))
        elif answer.status == BAD_INPUT:
            _tell(answer.text)
        elif answer.text:  # a program has said it all already
            print(answer.text)
        sys.stdout.flush()
    except SystemExit as helped:  # --help has been printed
        return int(helped.code or 0)
    except (InputError, StalledError) as error:
        _tell(str(error))
        return error.status
    except MemoryError:
        _tell("this run does not fit into memory: use fewer ranks, or an algorithm with fewer transfers")
        return BAD_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered has no reader
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return answer.status


def _tell(message: str) -> None:
    line = "".join(c if c.isprintable() else " " for c in message)
    print(f"{PROGRAM}: {' '.join(line.split())}", file=sys.stderr)


def _stay_within_memory() -> None:
    """Let a run that is too large end with a message, not by freezing the computer."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_DATA, (whole, hard))


def program() -> int:
    """`main` in a process of its own."""
    _stay_within_memory()
    return main()


if __name__ == "__main__":
    sys.exit(program())
