"""The terminal's front door: `python cli.py --help`. The commands themselves live in `terminal/`.

Exit status 0 means done, 1 that the answer is no (a wrong schedule, a rank nothing reaches), 2 bad input,
which is told in one line.
"""

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Sequence

import click

from sim.errors import InputError, Message, StalledError
from terminal import BAD_INPUT, PROGRAM, Answer, ringside, usage_message

INTERRUPTED, PIPE_CLOSED = 130, 141
"""What shells call a program ended by SIGINT or SIGPIPE."""


def main(argv: Sequence[str] | None = None, *, alone: bool = False) -> int:
    """Run one command; returns the exit status. `alone` lets it limit the memory of this process."""
    try:
        line = sys.argv[1:] if argv is None else argv
        status = _printed(ringside.main(list(line), PROGRAM, standalone_mode=False, obj=alone))
        sys.stdout.flush()
    except click.UsageError as error:
        _tell(str(InputError(usage_message(error))))
        return BAD_INPUT
    except (InputError, StalledError) as error:
        _tell(str(error))
        return error.status
    except MemoryError:
        _tell(str(InputError("worker.memory")))
        return BAD_INPUT
    except BrokenPipeError:
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:  # a disk that is full where the output goes; files are spoken for by who opens them
        _drop_output()
        place, why = error.filename or Message("what was found"), error.strerror or error
        _tell(str(InputError("file.no_room", file=place, why=why)))
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        _tell("stopped")
        return INTERRUPTED
    except Exception as error:
        if not _tell_fault(error):
            raise
        return BAD_INPUT
    return status


def _printed(answer: Answer | int) -> int:
    """Print what a command answers and return its status; what click answers itself has been printed."""
    if isinstance(answer, int):
        return answer
    if answer.status == BAD_INPUT and not answer.is_json:
        _tell(answer.text)
    elif answer.text:  # a program has said it all already
        print(answer.text)
    return answer.status


def _drop_output() -> None:
    """Let what is still buffered go nowhere: it has no reader, or no room."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(message: str) -> None:
    line = "".join(c if c.isprintable() else " " for c in message)
    with contextlib.suppress(OSError):  # nobody can be told where nothing can be written
        print(f"{PROGRAM}: {' '.join(line.split())}", file=sys.stderr)


def _tell_fault(error: Exception) -> bool:
    """Tell what the lines of an addition did wrong, if it was one that did."""
    from sim.registry import addition_fault  # most commands that end well need no list

    fault = addition_fault(error)
    if fault is not None:
        _tell(str(fault))
    return fault is not None


def _spell_out(error: UnicodeError) -> tuple[str, int]:
    """What an output that knows few letters gets for the others: `us` for `µs`, a question mark otherwise."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join("u" if letter == "µ" else "?" for letter in lost), error.end


def _speak_every_encoding() -> None:
    """Let no letter that a terminal or a pipe cannot show end a command."""
    codecs.register_error("ringside", _spell_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ringside")


def program() -> int:
    """`main` in a process of its own."""
    _speak_every_encoding()
    return main(alone=True)


if __name__ == "__main__":
    sys.exit(program())
