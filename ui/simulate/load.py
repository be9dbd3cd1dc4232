"""How much a plan moves: the sizes there are to choose from, and what its work needs."""

import math
from dataclasses import replace

from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.library_choice import library_of
from ops.plan.notation import assignments
from ops.run.work import settled
from sim.errors import InputError
from sim.topology import Topology
from sim.units import GiB, KiB, exact_size, parse_size
from ui.simulate.state import SimulateState
from ui.state import change, state
from ui.workers import tasks
from ui.workers.asking import ask, read
from ui.workers.tasks import Load

SIZES = [exact_size(KiB << k) for k in range(round(math.log2(4 * GiB / KiB)) + 1)]


def load_of(plan: Plan, topology: Topology) -> Load:
    """What the plan's work needs; an algorithm of the catalogue says so without being built.

    Raises InputError, and StalledError where a library chooses on a machine that leads nowhere.
    """
    if plan.schedule:
        return read(tasks.load, plan)
    if library_of(plan.algorithm):
        return ask(tasks.load, plan)
    entry, n = ALGORITHMS[plan.algorithm], topology.taking_part(plan.ranks)
    values = settled(entry, n, plan.root, topology, assignments(plan.settings, entry.name))
    return Load(entry.name, n, values, entry.collective.sized, entry.unit_share(n, values))


def sizes(own: str) -> list[str]:
    """The slider's stops, with a link's own size among them when it is one."""
    if own in SIZES:
        return SIZES
    try:
        return sorted([*SIZES, own], key=parse_size)
    except InputError:
        change(SimulateState, plan=replace(state(SimulateState).plan, size=Plan().size))
        raise
