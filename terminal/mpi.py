"""`mpi`: a Python program on the simulated cluster."""

from dataclasses import replace

import click

from ops.plan import Plan
from ops.programs import run_program
from terminal import Answer, command
from terminal.shared.launched.line import LaunchCommand
from terminal.shared.launched.programs import Launch, answer, launches
from terminal.shared.options import MACHINE, asks
from terminal.shared.types import WHOLE


@command(kind=LaunchCommand)
@click.option("-n", "-np", "--ranks", "ranks", type=WHOLE, required=True, metavar="N", help="how many ranks run it")
@asks(*MACHINE, machine=False)
@launches
def mpi(plan: Plan, launch: Launch, ranks: int) -> Answer:
    """Run a Python MPI program on the simulated cluster; MPI is not needed.

    SCRIPT.py is a program for mpi4py; one for PyTorch is run by `torchrun`. The ARGs are what it finds in sys.argv:
    behind the script, all that is no option of this command, or one that stands twice, and everything after --. The
    machine is switch:ranks=N if none is named.
    """
    if not (plan.machine or plan.capture):
        plan = replace(plan, machine=f"switch:ranks={max(2, ranks)}")
    outcome = run_program(launch.script, plan.topology(), ranks, launch.args, **launch.settings)
    return answer(outcome, launch, outcome)
