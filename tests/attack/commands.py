"""Every command there is, with options of every kind: the tree of commands is walked, values follow from metavars."""

import contextlib
import io
import os
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from unittest.mock import patch

import click

import cli
from sim.errors import LONGEST
from terminal import PROGRAM, commands, ringside
from tests.attack.files import ROOT, Reader, hostile, readers
from tests.attack.harness import OURS
from tests.attack.mutate import NUMBERS, WORDS
from tests.contract.inputs import command_lines
from tests.contract.store import stored

SLOW = {"render": 0.1, "sweep": 0.1, "winners": 0.1, "calibrate": 0.2, "validate": 0.4, "synthesize": 0.2}
"""How much of the usual share a command that takes long gets."""
STATUSES = (0, 1, 2)
LARGEST = 64
"""Ranks of a line that is right."""
OUTSIDE = ("--dask",)
"""Options that are there to reach other computers."""


class Refused(BaseException):
    """A command would have put another program in the place of this one."""


def command_line(draw: Random, folder: Path) -> list[str]:
    """A line: one that is right with some of its words exchanged, or options at random."""
    while True:
        name = draw.choice([*commands()])
        if draw.random() < SLOW.get(name, 1.0):
            break
    lines = _right_lines().get(name, [])
    words = list(draw.choice(lines)) if lines and draw.random() < 0.6 else _at_random(name, draw, folder)
    for _ in range(draw.choice((0, 1, 1, 2))):
        at = draw.randrange(len(words) + 1)
        how = draw.randrange(4)
        if how == 0:
            words[at:at] = [draw.choice((*WORDS, *NUMBERS))]
        elif how == 1:
            words[at : at + 1] = []
        elif at < len(words):
            words[at] = hostile(words[at], draw, ()) if how == 2 else draw.choice((*WORDS, *NUMBERS))
    if name == "sweep" or "--jobs" in words:
        words += ["--jobs", "1"]
    shown = (word.encode("utf-8", "replace").decode() for word in words if "\0" not in word)  # as shells pass them on
    return [name, *shown]


def run(line: list[str], folder: Path) -> None:
    """Carry a line out in this process. Raises AssertionError for anything but an answer, or one sentence."""
    out, err = io.StringIO(), io.StringIO()

    def no_program(*_: object) -> None:
        raise Refused

    before, place = Path.cwd(), folder / "some" / "where"  # so deep that no word means a file of the system
    place.mkdir(parents=True, exist_ok=True)
    os.chdir(place)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            patch.dict(os.environ),
            patch("os.execv", no_program),
            patch("subprocess.call", no_program),
        ):
            status = cli.main(line)
    except Refused:
        return
    finally:
        os.chdir(before)
    assert status in STATUSES, f"status {status}"
    said = err.getvalue()
    assert "Traceback" not in said, said[-600:]
    assert not any(words in said for words in OURS), f"a fault of ours: {said[:600]}"
    if status == 2 and (said or '"verdict": "malformed"' not in out.getvalue()):
        assert said.count("\n") == 1, f"not one line: {said[:600]!r}"
        assert len(said) <= LONGEST + len(PROGRAM) + 3, f"{len(said)} characters: {said[:200]!r}"
    elif said:
        assert "WARNING" not in said, said[:600]


@cache
def _right_lines() -> dict[str, list[list[str]]]:
    """Lines that work, by command, with their files' whole paths."""
    lines: dict[str, list[list[str]]] = {}
    for line in command_lines(long=False):
        name, *words = shlex.split(line)
        answer = stored("commands")[line]["answer"]
        ranks = answer.get("ranks", 0) if isinstance(answer, dict) else 0
        if not isinstance(ranks, int) or ranks <= LARGEST:
            lines.setdefault(name, []).append([_whole(word) for word in words])
    return lines


def _whole(word: str) -> str:
    return str(ROOT / word) if word.startswith(("tests/", "assets/")) else word


def _at_random(name: str, draw: Random, folder: Path) -> list[str]:
    """Some of a command's options, each with a value that may be right."""
    command = ringside.get_command(click.Context(ringside), name)
    assert command is not None
    words: list[str] = []
    for param in command.params:
        needed = param.required or isinstance(param, click.Argument)
        if draw.random() > (0.95 if needed else 0.15) or set(param.opts) & set(OUTSIDE):
            continue
        if isinstance(param, click.Option):
            words.append(draw.choice(param.opts))
        if not getattr(param, "is_flag", False):
            words += [_value(param, draw, folder) for _ in range(max(1, param.nargs))]
    return words


def _value(param: click.Parameter, draw: Random, folder: Path) -> str:
    """A value for an option, by what its help calls it."""
    meta = (param.metavar or param.name or "").upper()
    if draw.random() < 0.25:
        return draw.choice((*NUMBERS, *WORDS)).replace("\0", "")
    if param.name in ("output", "trace", "open"):
        return str(folder / draw.choice(("o.json", "o.svg", "o.yaml", "o.xml", "no/o.svg", "o.parquet", "o", "o.png")))
    if "FILE" in meta or "SCRIPT" in meta or "TABLE" in meta:
        return _file(draw, folder)
    for word, values in VALUES.items():
        if word in meta:
            return draw.choice(values())
    return draw.choice((*NUMBERS, *WORDS)).replace("\0", "")


def _file(draw: Random, folder: Path) -> str:
    """A path: of a damaged file, or of something that is none."""
    if draw.random() < 0.2:
        return draw.choice(
            ("/dev/zero", "/dev/null", ".", "no/such.file", "", str(folder), "o.py", str(ROOT / "cli.py"))
        )
    samples = ()
    while not samples:
        samples = draw.choice(_readers()).samples()
    path = folder / draw.choice(("in.txt", "in.xml", "in.json", "in.yaml", "in.csv", "in.py", "in.parquet"))
    text = draw.choice(samples)
    if path.suffix == ".py":
        text = draw.choice(PROGRAMS)
    path.write_text(hostile(text, draw, samples) if draw.random() < 0.6 else text, "utf-8", "replace")
    return str(path)


@cache
def _readers() -> tuple[Reader, ...]:
    return tuple(readers())


PROGRAMS = (
    "from mpi4py import MPI\nimport numpy as np\nc = MPI.COMM_WORLD\na = np.ones(8)\nc.Allreduce(MPI.IN_PLACE, a)\n",
    "import numpy as np\nfrom ops import algorithm\nfrom sim.schedule import copy\n@algorithm('allgather')\n"
    "def mine(n):\n    '''All.'''\n    r = np.arange(n)\n    yield copy(r, (r + 1) % n, slot=r)\n",
)


def _some(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in texts if len(text) < 2000)


def _specs(kind: str) -> tuple[str, ...]:
    small = ("switch:ranks=4", "nodes:nodes=2,gpus=2", "mesh:ranks=3", "dgx1v", "torus:dims=2x3")
    return small if kind == "a machine's spec" else next(r.samples() for r in _readers() if r.name == kind)


@cache
def _algorithms() -> tuple[str, ...]:
    from ops.registry import ALGORITHMS

    return tuple(ALGORITHMS)


@cache
def _networks() -> tuple[str, ...]:
    from sim.topology.networks import NETWORKS

    return tuple(NETWORKS)


VALUES = {
    "COLLECTIVE": lambda: (*_algorithms(), "allreduce", "allgather", "nccl.allreduce"),
    "ALGORITHM": _algorithms,
    "NAME": lambda: (*_networks(), "ddp", "fsdp", "nccl", "openmpi", "machines", "algorithms"),
    "SPEC": lambda: (*_specs("a machine's spec"), *_specs("faults")),
    "SIZE": lambda: ("1KiB", "64KiB", "3000", "1KiB..8KiB", "1KiB,2KiB,0,8KiB"),
    "KEY": lambda: ("segments=2", "bandwidth=1GBps,25GBps", "channels=2", "gpu=a100", "ranks=2,4", "nvlink=10GBps"),
    "TIME": lambda: ("1us", "250us", "0"),
    "N": lambda: ("1", "2", "3", "4", "8", "2,4"),
    "S": lambda: ("0.1", "1"),
    "RANK": lambda: ("0", "1", "3"),
    "TYPE": lambda: ("float32", "int64"),
    "OP": lambda: ("sum", "max"),
    "VIEW": lambda: ("machine", "shape", "matrix", "time"),
}


def every_option() -> Iterator[tuple[str, click.Parameter]]:
    """All options of all commands."""
    for name in commands():
        command = ringside.get_command(click.Context(ringside), name)
        assert command is not None
        yield from ((name, param) for param in command.params)
