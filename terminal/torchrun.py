"""`torchrun`: a PyTorch program on the simulated cluster."""

from dataclasses import replace

import click

from ops.plan import Plan
from ops.programs.pytorch import run_torch, seats
from ops.programs.pytorch.gpus import EFFICIENCY, Compute, LayerTimes, roofline
from ops.programs.pytorch.profile import read_profile
from ops.programs.result import result_of
from ops.programs.runtime.steps import training_step
from ops.training.layers import parse_layers
from sim.base.files.textfile import Expected, read_text
from sim.errors import InputError
from sim.machines import MACHINES
from sim.parameters import parameters
from terminal import Answer, command
from terminal.shared.launched.line import LaunchCommand
from terminal.shared.launched.programs import Launch, answer, launches
from terminal.shared.options import MACHINE, asks
from terminal.shared.types import WHOLE


@command(kind=LaunchCommand)
@click.option(
    "--nproc-per-node",
    "--nproc_per_node",
    "per_node",
    type=WHOLE,
    default=1,
    metavar="N",
    help="processes per host, one GPU each; 1 if left out, as for a script that starts its own",
)
@click.option("--nnodes", "nodes", type=WHOLE, default=1, metavar="N", help="how many hosts run them; 1 if left out")
@click.option(
    "--gpu",
    metavar="NAME",
    help="GPU whose data sheet gives compute speed; the machine's if left out, none for no compute time",
)
@click.option(
    "--efficiency", type=float, default=EFFICIENCY, metavar="SHARE", help="share of a GPU's peak that compute reaches"
)
@click.option(
    "--interference",
    type=float,
    default=0.0,
    metavar="SHARE",
    help="share of compute speed that a collective takes from a GPU; 0 if left out",
)
@click.option("--layers", metavar="FILE", help="instead: a table of modules, `name shapes forward backward` per line")
@click.option("--profile", metavar="FILE", help="instead: what torch.profiler recorded of one GPU, a trace or a table")
@asks(*MACHINE, machine=False)
@launches
def torchrun(
    plan: Plan,
    launch: Launch,
    per_node: int,
    nodes: int,
    gpu: str | None,
    efficiency: float,
    interference: float,
    layers: str | None,
    profile: str | None,
) -> Answer:
    """Run a PyTorch program on the simulated cluster, one process per rank.

    SCRIPT.py runs as it is under the PyTorch that is installed; `cuda` and `nccl` stand for the machine's GPUs. The
    ARGs are what it finds in sys.argv, as for `mpi`. The machine is a switch with a GPU per process if none is named;
    a machine with a parameter `hosts` has as many as --nnodes says, unless its own are given.
    """
    plan = replace(plan, machine=_machine(plan, per_node, nodes))
    machine = plan.topology()
    if not 0 <= interference < 1:
        raise InputError("option.interference", interference=interference)
    sources = {"--gpu": gpu, "--layers": layers, "--profile": profile}
    flags = [flag for flag, value in sources.items() if value is not None]
    if len(flags) > 1:
        raise InputError("option.one_compute", flags=flags)
    compute: Compute | None = roofline(machine, gpu, efficiency)
    if layers is not None:
        compute = LayerTimes(parse_layers(read_text(layers, Expected("a table of layers"))))
    elif profile is not None:
        compute = read_profile(profile)
    outcome = run_torch(
        launch.script,
        machine,
        per_node,
        launch.args,
        nodes=nodes,
        compute=compute,
        interference=interference,
        **launch.settings,
    )
    seated = seats(machine, per_node, nodes)
    step = training_step(outcome, seated)
    return answer(outcome, launch, step, result_of(outcome, step, plan, seated))


def _machine(plan: Plan, per_node: int, nodes: int) -> str:
    """The machine's spec, with as many hosts as nodes where it leaves that open."""
    if plan.capture:
        return plan.machine
    if not plan.machine:
        return f"switch:ranks={max(2, per_node)}" if nodes == 1 else f"nodes:nodes={nodes},gpus={per_node}"
    name = plan.machine
    if nodes > 1 and name in MACHINES and "hosts" in parameters(MACHINES[name]):
        return f"{name}:hosts={nodes}"
    return name
