"""The story: what an all-reduce does and why a ring wins, told in 40 seconds on the simulator's own runs.

`CHAPTERS` is the only list: a chapter is a plan, the stretches of its run that are shown one after the other, and
what is drawn beside them. Its words are the texts `story.NAME.K`, for stretch K from 1 on, in which figures of the run
are filled in (`ui.story.telling.figures`).
"""

from dataclasses import dataclass, replace

from ops.plan import Plan

SIZE = "64MiB"
CABLES = Plan(machine="switch:ranks=4,bandwidth=24GBps", size=SIZE)
"""Four GPUs, a cable each, as fast as those of the sockets' machine."""
VIEW = "machine"
"""The view of the run on which the story ends."""


@dataclass(frozen=True)
class Passage:
    """A part of a run, from the end of one step to the end of another, and its seconds on screen.

    One that ends where it begins stands still. One that `asks` lets people guess, one that `answers` tells how it was.
    """

    begin: int = 0
    end: int = 0
    seconds: float = 5.0
    asks: bool = False
    answers: bool = False


@dataclass(frozen=True)
class Chapter:
    """A plan, and stretches of its run.

    `goal` shows the sums that everyone needs, `sent` what each rank has sent beside the least that is possible, `loads`
    how full every cable is.
    """

    name: str
    plan: Plan
    stretches: tuple[Passage, ...] = (Passage(),)
    goal: bool = True
    sent: bool = True
    loads: bool = False


SERVER = (Passage(0, 3, 6.0), Passage(3, 4, 4.0), Passage(4, 4, 6.0, asks=True))
RING = (Passage(0, 3, 6.0), Passage(3, 6, 5.0, answers=True))
CHAPTERS = (
    Chapter("gradients", CABLES, (Passage(seconds=4.0),), goal=False, sent=False),
    Chapter("sum", CABLES, sent=False),
    Chapter("server", replace(CABLES, algorithm="allreduce.linear"), SERVER, loads=True),
    Chapter("ring", CABLES, RING),
    Chapter("sockets", replace(CABLES, machine="dual_socket_pcie:gpus=4"), (Passage(0, 6, 4.0),), loads=True),
)
