"""`render`: a run as a file to take away."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sim.errors import InputError
from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import whole, write
from terminal.run import RUN, outcome_of, told
from terminal.scenario import scene_of

if TYPE_CHECKING:
    from ui.exports import Shot


@command(
    *RUN,
    argument("-o", "--output", metavar="FILE", required=True, help="its ending says what it becomes"),
    argument("--view", default="machine", help="machine, shape (the algorithm's own), matrix (who holds what) or time"),
    argument("--at", metavar="TIME", help="the instant of a picture, like 250us; the middle if left out"),
    argument("--seconds", default="8", help="how long a film takes"),
    argument("--fps", default="12", help="frames per second of a film"),
    argument("--width", default="1280", help="pixels across"),
    argument("--language", default="en", help="of the words in it"),
    argument("--dark", action="store_true", help="light ink on dark paper"),
)
def render(given: argparse.Namespace) -> Answer:
    """Write a run as a film, a picture, a page that plays offline, a trace or a schedule."""
    from ui import exports
    from ui.scenario import to_yaml

    ending = ending_of(given.output, list(exports.EXPORTS))
    shot = _shot(given)
    shot.check()
    outcome, _ = outcome_of(given, history=True)
    if ending == "yaml":
        shot = replace(shot, scenario=to_yaml(scene_of(given)))
    data = exports.render(outcome.trace, ending, shot)
    write(given.output, data)
    found = told(outcome) | {"file": given.output, "bytes": len(data), "kind": exports.EXPORTS[ending].title}
    text = f"{outcome.work.name} is in {given.output}: {exports.EXPORTS[ending].title}, {len(data):,} bytes"
    return Answer(DONE if outcome.trace.verdict.ok else NO, found, text)


def ending_of(path: str, known: list[str]) -> str:
    """The longest known ending of a file's name. Raises InputError where there is none."""
    name = Path(path).name.lower()
    fitting = [ending for ending in known if name.endswith("." + ending)]
    if not fitting:
        raise InputError(f"{path[:80]} has no ending that says what it should be: choose from .{', .'.join(known)}")
    return max(fitting, key=len)


def _shot(given: argparse.Namespace) -> "Shot":
    from sim.parameters import Parameter
    from sim.units import parse_time
    from ui.exports import Shot
    from ui.text import languages

    if given.language not in languages():
        raise InputError(f"--language {given.language[:20]!r} is not spoken here: choose from {', '.join(languages())}")
    return Shot(
        view=given.view,
        at=None if given.at is None else parse_time(given.at, "--at"),
        seconds=Parameter("--seconds", "float", None).parse(given.seconds, "the command line"),
        fps=whole(given.fps, "--fps"),
        width=whole(given.width, "--width"),
        language=given.language,
        dark=given.dark,
        progress=_progress,
    )


def _progress(done: int, of: int) -> None:
    """Count frames where a person is looking."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\rframe {done} of {of}" + ("\n" if done == of else ""))
        sys.stderr.flush()
