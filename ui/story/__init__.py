"""The first minute: what an all-reduce does and why a ring wins, told on the simulator's own runs.

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
"""The view of the stage on which the story ends."""


@dataclass(frozen=True)
class Chapter:
    """A plan, and in `stretches` the steps of its schedule after which each stretch begins and ends; 0 is the start.

    A stretch that ends where it begins stands still. `goal` shows the sums that everyone needs, `sent` what each rank
    has sent beside the least that is possible, `loads` how full every cable is.
    """

    name: str
    plan: Plan
    stretches: tuple[tuple[int, int], ...] = ((0, 0),)
    goal: bool = True
    sent: bool = True
    loads: bool = False


CHAPTERS = (
    Chapter("gradients", CABLES, goal=False, sent=False),
    Chapter("sum", CABLES, sent=False),
    Chapter("server", replace(CABLES, algorithm="allreduce.linear"), ((0, 3), (3, 4)), loads=True),
    Chapter("ring", CABLES, ((0, 3), (3, 6), (6, 6))),
    Chapter("sockets", replace(CABLES, machine="dual_socket_pcie:gpus=4"), ((0, 3), (3, 6)), loads=True),
)
