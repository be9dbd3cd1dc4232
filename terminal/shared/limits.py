"""What a command may take: options that all commands have, and how a run is held to them."""

import math
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from sim.base.share import MOST_JOBS, MOST_MEMORY, MOST_SECONDS, cores_share, memory_share
from sim.base.watch import Estimate, Watch
from sim.errors import InputError, Message
from sim.units import fmt_size
from terminal.shared.progress import Bar
from terminal.shared.types import NUMBER, SIZE, WHOLE

SECONDS = 120.0
"""Seconds that a run may take where nothing else is said."""
WORTH_A_LINE = 5.0
"""Seconds from which on a run is announced."""
PER_CORE = 4
"""Processes that may be started for each core."""


GIVEN = {"max_memory": MOST_MEMORY, "max_seconds": MOST_SECONDS, "max_jobs": MOST_JOBS}
"""The limits by the names of their options, and the environment variable of each."""


OLD, NEW = "RINGSIDE_" + "MOST_", "RINGSIDE_MAX_"
"""How the names of settings in the environment began, and how they begin."""


def options(*, batch: bool) -> list[click.Option]:
    """What every command takes, new each time; no variable that limits a server's visitors limits a batch."""
    memory, seconds = (None, None) if batch else (MOST_MEMORY, MOST_SECONDS)
    usual = "no limit" if batch else f"{SECONDS:.0f}"
    return [
        click.Option(
            ["--max-memory"], type=SIZE, metavar="SIZE", envvar=memory, show_envvar=True,
            help="memory it may take; three quarters of what this machine or container has if left out",
        ),
        click.Option(
            ["--max-seconds"], type=NUMBER, metavar="S", envvar=seconds, show_envvar=True,
            help=f"seconds a run may take; {usual} if left out",
        ),
        click.Option(
            ["--max-jobs"], type=WHOLE, metavar="N", envvar=MOST_JOBS, show_envvar=True,
            help=f"processes it may start; {PER_CORE} per core if left out",
        ),
    ]  # fmt: skip


def watch(program: str, limits: Mapping[str, Any], *, batch: bool = False) -> Watch:
    """Whoever holds a command to its limits, None where none is given: a batch's run may then take any time.

    Raises InputError for nonsense.
    """
    memory, seconds, jobs = (limits[name] for name in GIVEN)
    for name in os.environ:
        if name.startswith(OLD):
            raise InputError("option.renamed", old=name, new=name.replace(OLD, NEW))
    for flag, value in (("--max-seconds", seconds), ("--max-jobs", jobs)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError("option.nothing_left", flag=flag, value=value)
    announced: list[Estimate] = []
    bar = Bar("run")

    def announce(estimate: Estimate) -> None:
        if estimate.seconds >= max(WORTH_A_LINE, 2 * sum(past.seconds for past in announced)):
            announced.append(estimate)
            sys.stderr.write(f"{program}: {in_words(estimate)}\n")
            sys.stderr.flush()

    def tell(share: float) -> None:
        if announced:
            bar(round(100 * share), 100)

    return Watch(
        seconds=seconds or (math.inf if batch else SECONDS),
        memory=memory or memory_share() * 0.75,
        jobs=jobs or PER_CORE * max(1, math.ceil(cores_share())),
        announce=announce,
        tell=tell,
        mend=lambda what, amount: Message("option.less", option=what, amount=amount),
    )


def in_words(estimate: Estimate) -> str:
    """What a run is going to take.

    >>> in_words(Estimate(2095104, 610e6, 1.05))
    'about 2,095,104 transfers, 610 MB of memory and 1 s'
    """
    size = fmt_size(round(estimate.bytes, -6))
    return f"about {estimate.transfers:,.0f} transfers, {size} of memory and {estimate.seconds:.0f} s"


def environment(limits: Mapping[str, Any]) -> dict[str, str]:
    """The same limits as another process of this program reads them."""
    return {variable: str(limits[name]) for name, variable in GIVEN.items() if limits[name] is not None}
