"""`mpi`: a Python program on the simulated cluster."""

from dataclasses import replace

import click

from ops.plan import Plan
from ops.programs import run_program
from sim.base.files.whole_file import write_whole
from terminal import Answer, command
from terminal.shared.launched.line import LaunchCommand
from terminal.shared.launched.programs import answer, echoes, forced_algorithm, with_options
from terminal.shared.options import MACHINE, asks
from terminal.shared.types import WHOLE


@command(kind=LaunchCommand)
@click.argument("script", metavar="SCRIPT.py")
@click.argument("args", nargs=-1, metavar="[ARG]...")
@click.option("-n", "-np", "--ranks", "ranks", type=WHOLE, required=True, metavar="N", help="how many ranks run it")
@asks(*MACHINE, machine=False)
@with_options
def mpi(
    plan: Plan,
    script: str,
    args: tuple[str, ...],
    ranks: int,
    library: str | None,
    algorithms: tuple[str, ...],
    eager: int,
    trace: str | None,
    opened: tuple[int, str] | None,
) -> Answer:
    """Run a Python MPI program on the simulated cluster; MPI is not needed.

    SCRIPT.py is a program for mpi4py; one for PyTorch is run by `torchrun`. The ARGs are what it finds in sys.argv:
    behind the script, all that is no option of this command, or one that stands twice, and everything after --. The
    machine is switch:ranks=N if none is named.
    """
    if not (plan.machine or plan.capture):
        plan = replace(plan, machine=f"switch:ranks={max(2, ranks)}")
    outcome = run_program(
        script, plan.topology(), ranks, list(args), library=library,
        forced=dict(map(forced_algorithm, algorithms)), eager=eager, history=opened is not None, echo=echoes(),
    )  # fmt: skip
    if trace is not None:
        write_whole(trace, outcome.to_perfetto())
    return answer(outcome, opened)
