"""Single-process data parallelism, with one GPU as parameter server, against multi-process DDP."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from ops.communicators.records import Span
from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.buckets import FIRST_BUCKET, buckets_of
from ops.training.compression import Codec
from ops.training.layers import Layer
from ops.training.loop import TrainingPlan, carry_out
from ops.training.options import Ranks, State, TrainedModel, trains
from ops.training.step import HOST, TrainingStep
from ops.training.world import Process, World
from ops.workloads import workload
from sim.parameters import Choice
from sim.topology import Topology
from sim.units import MiB, Size, Time, us

if TYPE_CHECKING:
    from sim.engine import Lock

MAIN = 0
"""The GPU that keeps the parameters."""


@dataclass(frozen=True)
class _ReplicatedStep:
    """One step of `torch.nn.DataParallel`: one process, a thread per GPU."""

    layers: Sequence[Layer]
    width: int
    inputs: float
    outputs: float
    gil: float
    update: float
    state: float

    def run(self, world: World) -> TrainingStep:
        """All of it, rank 0 being the main GPU."""
        lock = world.cluster.lock()
        return world.step(world.run(lambda rank: self.rank(world, rank, lock)))

    def rank(self, world: World, rank: int, lock: "Lock") -> Process:
        """Scatter, replicate, forward, gather, scatter, backward, reduce, update."""
        n, post = world.ranks, world.everyone.post
        parameters = sum(layer.parameters for layer in self.layers)
        size = float(parameters * self.width)
        world.hold(rank, "parameters", size)
        if rank == MAIN:
            world.hold(rank, "optimizer", parameters * self.state)
            world.hold(rank, "inputs", self.inputs * (n - 1))
        world.hold(rank, "inputs", self.inputs)
        yield post(rank, "scatter", n * self.inputs, "scatter inputs")
        yield post(rank, "broadcast", size, "replicate parameters")
        yield from self.forward(world, rank, lock)
        world.hold(rank, "outputs", self.outputs)
        if rank == MAIN:
            world.hold(rank, "outputs", self.outputs * (n - 1))
        yield post(rank, "gather", n * self.outputs, "gather outputs")
        yield post(rank, "scatter", n * self.outputs, "scatter output gradients")
        world.hold(rank, "gradients", size)
        for layer in reversed(self.layers):
            yield from world.compute(rank, layer.backward, f"backward {layer.name}")
            world.hold(rank, "activations", -layer.activation)
        yield post(rank, "reduce", size, "reduce gradients")
        if rank != MAIN:
            world.hold(rank, "parameters", -size)
            world.hold(rank, "gradients", -size)
        else:
            yield from world.compute(rank, self.update, "update")

    def forward(self, world: World, rank: int, lock: "Lock") -> Process:
        """Every layer is launched by the one thread that has the interpreter's lock, then runs on its GPU."""
        last = None
        for layer in self.layers:
            with lock.request() as turn:
                if not turn.triggered:
                    yield turn
                yield from self.launch(world, rank, layer)
            last = world.env.process(self.layer(world, rank, layer))
        if last is not None:
            yield last

    def launch(self, world: World, rank: int, layer: Layer) -> Process:
        start = world.env.now
        if self.gil:
            yield world.env.timeout(self.gil)
            world.spans.append(Span(rank, HOST, start, world.env.now, f"launch {layer.name}"))

    def layer(self, world: World, rank: int, layer: Layer) -> Process:
        yield from world.compute(rank, layer.forward, f"forward {layer.name}")
        world.hold(rank, "activations", layer.activation)


@workload
@trains("resnet50", "float32")
@communicates("nccl")
def data_parallel(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    trained: TrainedModel,
    inputs: Size = 32 * 3 * 224 * 224 * 4,
    outputs: Size = 32 * 1000 * 4,
    gil: Time = 30 * us,
    update: Time = 0.0,
    state: State = 8,
    transport: BackendChoice,
    show: Annotated[str, Choice(("dp", "ddp"))] = "dp",
) -> TrainingStep:
    """One process and a main GPU (DP) against a process per GPU (DDP), from one GPU to all.

    DP scatters `inputs` (bytes per GPU), broadcasts the parameters, gathers `outputs`, and reduces gradients on GPU 0,
    which alone keeps the optimizer; launching a layer holds the interpreter's lock for `gil`. It cannot leave its
    host, so it runs on the ranks that share rank 0's. The timeline is that of `show`, the other beside it;
    efficiency is the time on one GPU over that on many, each with a batch of its own.
    """
    table, width, n = trained.table, trained.width, ranks or topology.n
    loop = _ReplicatedStep(table, width, float(inputs), float(outputs), gil, update, float(state))
    codec = Codec("none", n, width, 1.0, 1.0)
    cut = buckets_of(table, width, 25 * MiB, first=FIRST_BUCKET)
    plan = TrainingPlan(table, cut, codec, transport, update=update, state=float(state))
    near = host_mates(topology, n)
    both = {"dp": loop.run(world_of(topology, near, transport)), "ddp": carry_out(topology, n, plan)}
    shown = both.pop(show)
    facts: dict[str, Any] = {"dp_ranks": near, "scaling": list(_scaling(topology, n, near, loop, plan, transport))}
    if show == "dp":
        facts |= _main_load(shown)
    return replace(shown, facts=facts, beside=both)


def host_mates(topology: Topology, n: int) -> int:
    """How many of the first n ranks follow each other on rank 0's host.

    >>> from sim.machines import build
    >>> host_mates(build("nodes:nodes=2,gpus=4"), 8), host_mates(build("switch:ranks=8"), 6)
    (4, 6)
    """
    hosts = [topology.devices[device].host for device in topology.ranks[:n]]
    return next((r for r, host in enumerate(hosts) if host != hosts[0]), len(hosts))


def _scaling(
    machine: Topology, n: int, near: int, loop: _ReplicatedStep, plan: TrainingPlan, transport: BackendChoice
) -> Iterator[dict[str, Any]]:
    """Step times and efficiencies on 1, 2, 4 … and n GPUs."""
    counts = sorted({min(n, 1 << k) for k in range(n.bit_length() + 1)})
    alone: list[float] = []
    for count in counts:
        ours = loop.run(world_of(machine, count, transport)).time if count <= near else None
        theirs = carry_out(machine, count, replace(plan, codec=plan.codec._replace(n=count))).time
        alone = alone or [ours or 0.0, theirs]
        yield {
            "ranks": count, "dp_s": ours, "ddp_s": theirs,
            "dp_efficiency_share": alone[0] / ours if ours else None,
            "ddp_efficiency_share": alone[1] / theirs if theirs else None,
        }  # fmt: skip


def _main_load(step: TrainingStep) -> dict[str, Any]:
    """What the main GPU sends, receives and holds, beside the others."""
    ends = [step.topology.devices[device].name for device in step.topology.ranks[: step.ranks]]
    out, into = dict.fromkeys(ends, 0.0), dict.fromkeys(ends, 0.0)
    for link, amount in zip(step.topology.links, step.link_bytes, strict=True):
        if link.src in out:
            out[link.src] += float(amount)
        if link.dst in into:
            into[link.dst] += float(amount)
    load = [out[name] + into[name] for name in ends]
    others = load[1:] or [0.0]
    return {
        "main_bytes": load[MAIN],
        "other_bytes": sum(others) / len(others),
        "main_peak_bytes": step.peaks[MAIN],
        "other_peak_bytes": max(step.peaks[1:], default=0.0),
    }
