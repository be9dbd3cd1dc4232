"""Programs: Python scripts written for mpi4py, run on the simulated cluster; for PyTorch see `ops.programs.pytorch`.

>>> from sim.machines import build
>>> outcome = run_source("from mpi4py import MPI; print('rank', MPI.COMM_WORLD.rank)", build("switch:ranks=2"), 2)
>>> print(outcome.output, end="")
rank 0
rank 1
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ops.communicators.expectation import expectation
from ops.communicators.selection import Forced, Selection
from ops.programs.runtime.scripts import compiled, read_script
from ops.programs.runtime.timeline import ProgramRun
from sim.errors import InputError
from sim.topology import Topology
from sim.units import KiB

EAGER = 64 * KiB
"""Longer messages wait for their receiver: btl_tcp_eager_limit of Open MPI (opal/mca/btl/tcp/btl_tcp_component.c)."""

__all__ = ["EAGER", "ProgramRun", "run_program", "run_source"]


def run_program(
    path: str | Path,
    topology: Topology,
    ranks: int,
    argv: Sequence[str] = (),
    *,
    library: str | None = None,
    forced: Mapping[str, Forced] | None = None,
    eager: float = EAGER,
    history: bool = False,
    echo: Callable[[str], None] | None = None,
) -> ProgramRun:
    """Run a script that uses mpi4py on a simulated machine; MPI is not needed.

    The script is executed.

    Parameters
    ----------
    path : str or path
        The script.
    topology : Topology
        The machine.
    ranks : int
        Number of ranks.
    argv : list of str
        Arguments of the script.
    library : str
        Whose rule chooses algorithms, an entry of `ops.libraries`; Open MPI's unless given.
    forced : mapping
        An algorithm and its parameters for some collectives.
    eager : float
        Largest message that does not wait for its receiver, bytes.
    history : bool
        Whether traces of collectives keep every change of rate.
    echo : callable
        Called with the output as it comes.

    Returns
    -------
    ProgramRun
        Output, times and collectives; an error of the script is its `failure`.

    Raises
    ------
    InputError
        If the script or the machine cannot be used.
    """
    source = read_script(path)
    settings = Selection(library, forced)
    return _run(source, os.path.abspath(path), topology, ranks, [str(path), *argv], settings, eager, history, echo)


def run_source(
    source: str, topology: Topology, ranks: int, *, folder: str = ".", library: str | None = None
) -> ProgramRun:
    """Run a script given as text; `folder` is where modules beside it are."""
    file = os.path.join(os.path.abspath(folder), "program.py")
    return _run(source.encode(), file, topology, ranks, [file], Selection(library), EAGER, False, None)


def _run(
    source: bytes,
    file: str,
    topology: Topology,
    ranks: int,
    argv: Sequence[str],
    selection: Selection,
    eager: float,
    history: bool,
    echo: Callable[[str], None] | None,
) -> ProgramRun:
    from ops.programs.mpi4py import module as mpi
    from ops.programs.runtime.sandbox import Isolation
    from ops.programs.runtime.transport import Transport

    if ranks < 1:
        raise InputError("program.ranks", ranks=ranks)
    code = compiled(source, file)
    folder = os.path.join(os.path.dirname(file), "")
    world = Transport(topology, ranks, folder, selection=selection, eager=eager, history=history)
    said: list[str] = []

    def heard(text: str) -> None:
        said.append(text)
        if echo is not None:
            echo(text)

    with Isolation(world, argv, mpi.serve(world), heard, source):
        world.run(ranks, lambda task: exec(code, task.main.__dict__), file)
    if world.error is not None:
        raise world.error
    left = [(task.rank, task.status) for task in world.tasks if task.status]
    failure = world.failure
    if failure is None and left:
        failure = f"rank {left[0][0]} ended with exit status {left[0][1]}"
    return ProgramRun(
        machine=topology.name,
        ranks=ranks,
        time=world.now,
        output="".join(said),
        failure=failure,
        statuses=[task.status for task in world.tasks],
        ended=[world.now if task.ended is None else task.ended for task in world.tasks],
        calls=world.calls,
        spans=world.spans,
        deadlock=world.deadlock,
        expectation=expectation(world.calls),
    )
