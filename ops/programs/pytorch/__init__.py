"""PyTorch programs: a script under an installed PyTorch, a process per rank, on the simulated cluster's clock.

The data of collectives and messages moves through gloo; when they begin and end, the simulator says.
"""

import os
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ops.communicators.selection import Forced, Selection
from ops.programs.pytorch.gpus import Compute
from ops.programs.pytorch.hub import follow, gather, outcome_of
from ops.programs.pytorch.processes import Process, environments, interpreter, require_torch
from ops.programs.runtime.scripts import compiled, read_script
from ops.programs.runtime.steps import training_step
from ops.programs.runtime.timeline import ProgramRun
from sim.errors import InputError
from sim.topology import Topology
from sim.units import KiB

EAGER = 64 * KiB
"""Longer messages wait for their receiver, as in `ops.programs`."""
GRACE = 10.0
"""Real seconds that processes have to end in when all ranks have ended."""
__all__ = ["run_torch", "seats"]


def run_torch(
    path: str | Path,
    topology: Topology,
    per_node: int,
    argv: Sequence[str] = (),
    *,
    nodes: int = 1,
    library: str | None = None,
    forced: Mapping[str, Forced] | None = None,
    compute: Compute | None = None,
    interference: float = 0.0,
    eager: float = EAGER,
    history: bool = False,
    echo: Callable[[str], None] | None = None,
    start: Callable[..., Process] = Process,
) -> ProgramRun:
    """Run a PyTorch script as torchrun does, with `per_node` processes on each of `nodes` hosts of a machine.

    `compute` says how long the script's own operations take: no time without it. `interference` is the share of its
    speed that a GPU lacks for them while it takes part in a collective. The arguments beyond are those of
    `run_program`; `start` starts a process. A script may also start its ranks itself. Raises InputError for a script or
    machine that cannot be used, and where PyTorch is not installed; what goes wrong in the script is the outcome's
    `failure`.
    """
    require_torch()
    compiled(read_script(path), os.path.abspath(path))
    selection, seated = Selection(library, forced), seats(topology, per_node, nodes)
    said: list[str] = []

    def heard(text: str) -> None:
        said.append(text)
        if echo is not None:
            echo(text)

    folder = os.path.join(os.path.dirname(os.path.abspath(path)), "")
    with tempfile.TemporaryDirectory(prefix="ringside") as private:
        hub = os.path.join(private, "hub")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(hub)
            listener.listen(4096)
            command = [interpreter(), str(path), *argv]
            places = environments(per_node, nodes, folder, hub, eager, _written(compute, private))
            processes = [start(command, place, rank, heard) for rank, place in enumerate(places)]
            try:
                ranks = gather(listener, processes)
                failure, world = follow(
                    ranks, seated, folder, selection, eager=eager, history=history, interference=interference
                )
                if failure is None:
                    for process in processes:
                        process.wait(GRACE)
                else:
                    failure += _crashed(processes, [] if world is None else world.lost)
            finally:
                for process in processes:
                    process.end()
                    process.wait(GRACE)
    outcome = outcome_of(topology, processes, world, failure, "".join(said))
    outcome = replace(outcome, compute=str(compute) if compute else "computing takes no time")
    return replace(outcome, exposed=training_step(outcome, topology).exposed_s)


def _written(compute: Compute | None, folder: str) -> str:
    """The file that tells processes how long their work takes; empty where it takes no time."""
    if compute is None:
        return ""
    file = os.path.join(folder, "compute.json")
    Path(file).write_text(compute.to_json(), encoding="utf-8")
    return file


def _crashed(processes: list[Process], lost: list[int]) -> str:
    """What became of processes that a signal ended."""
    for process in processes:
        if process.rank in lost:
            process.wait(GRACE)
    crashed = [(process.rank, process.status or 0) for process in processes if (process.status or 0) < 0]
    return "".join(f"; signal {-status} ended rank {rank}" for rank, status in crashed[:1])


def seats(topology: Topology, per_node: int, nodes: int) -> Topology:
    """Return the machine whose rank r is GPU `r % per_node` of host `r // per_node`. Raises InputError."""
    if per_node < 1 or nodes < 1:
        raise InputError("program.processes", per_node=per_node, nodes=nodes)
    if nodes == 1:
        return topology
    hosts: dict[int, list[int]] = {}
    for device in topology.ranks:
        hosts.setdefault(topology.devices[device].host, []).append(device)
    fit = [devices[:per_node] for devices in hosts.values() if len(devices) >= per_node]
    if len(fit) < nodes:
        raise InputError("program.hosts", topology=topology.name, count=len(fit), per_node=per_node, nodes=nodes)
    return replace(topology, ranks=tuple(device for devices in fit[:nodes] for device in devices))
