"""`--scenario FILE`: a scene in words instead of arguments, and the words of the scene that arguments describe."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from sim.errors import InputError

if TYPE_CHECKING:
    from ops.work import Work
    from sim.topology import Topology
    from ui.scenes import Scene

INSTEAD = (
    *("algorithm", "schedule", "library", "id", "root", "set", "machine", "topology", "assume"),
    *("size", "counts", "displs", "ranks", "trouble"),
)
"""Arguments that a scenario stands for."""


def of_scenario(given: argparse.Namespace) -> tuple["Topology", "Work", int, list[str]]:
    """Machine, work, size and troubles of the scene in a file. Raises InputError for other arguments beside it."""
    from ops.formats import schedule_text
    from sim.units import parse_size
    from ui.scenario import from_yaml
    from ui.scenes import is_trace, topology_of, work_of

    beside = [name for name in INSTEAD if getattr(given, name)]
    if beside:
        raise InputError(f"--scenario says all of it: leave out {', '.join(beside)}, or change the file")
    scene = from_yaml(schedule_text(given.scenario), given.scenario)
    if is_trace(scene.schedule):
        raise InputError(f"{given.scenario} holds a run that was kept: open it in the dashboard")
    topology = topology_of(scene)
    work = work_of(scene, topology)
    return topology, work, parse_size(scene.size) if work.sized else 0, list(filter(None, scene.trouble.split(";")))


def scene_of(given: argparse.Namespace) -> "Scene":
    """The scene that the arguments of a run describe. Raises InputError for what the dashboard cannot show."""
    from ops.formats import schedule_text
    from terminal.arguments import algorithm, python_file, whole
    from ui.scenario import from_yaml
    from ui.scenes import Scene

    if given.scenario is not None:
        return from_yaml(schedule_text(given.scenario), given.scenario)
    if given.counts is not None or given.lockstep or (given.schedule is not None and python_file(given.schedule)):
        raise InputError("a scenario holds no --counts, no --lockstep and no Python file: leave them out")
    scene = Scene(
        machine=given.machine or "",
        capture=schedule_text(given.topology) if given.topology else "",
        rates=",".join(given.assume),
        settings=",".join(given.set),
        trouble=";".join(given.trouble),
        size=given.size or Scene.size,
        ranks=whole(given.ranks, "--ranks") if given.ranks else 0,
        root=whole(given.root, "--root") if given.root else 0,
    )
    if given.schedule is not None:
        return replace(scene, schedule=schedule_text(given.schedule))
    return replace(scene, algorithm=algorithm(given).name)
