"""Who keeps which part of optimizer, gradients and parameters, and what that makes move."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ops.training.blocks import across, neighbours
from ops.training.buckets import Bucket, buckets_of
from ops.training.layers import Layer
from ops.training.step import TrainingStep
from ops.training.world import Process, World

if TYPE_CHECKING:
    from sim.engine import Event

VOLUME = {"allreduce": 2, "reduce_scatter": 1, "allgather": 1, "broadcast": 1}
"""How often a rank sends the size of a collective, (n - 1)/n times, in a ring."""


@dataclass(frozen=True)
class Shards:
    """How the state of training is shared out; sizes in bytes.

    Stage 0 shares nothing, 1 the optimizer, 2 gradients too, 3 parameters too.
    """

    layers: Sequence[Layer]
    width: int
    stage: int
    state: int
    update: float
    overlap: bool
    reduce_scatter: bool = True
    reduce_bucket: float = 1e9
    gather_bucket: float = 1e9
    partitions: bool = True
    """Does an allgather bring back updated parameters? Otherwise every rank broadcasts its part."""
    unit: int = 1
    """Layers whose parameters come and go together in stage 3."""
    prefetch: int = 1
    reshard: bool = True
    """Are parameters dropped between forward and backward?"""
    degree: int = 0
    """Ranks in a row that share the state out, of which the others hold copies; 0 stands for all."""
    reduced: int = 0
    """Bytes of a number of a gradient that is summed; 0 for those of a parameter."""
    accumulate: int = 1
    """Passes forward and backward before an update."""
    no_sync: bool = False
    """Do gradients stay whole on every rank until the last pass?"""
    recompute: bool = False
    """Is a unit's forward pass run again before its backward pass, from the unit's input alone?"""

    @property
    def bytes(self) -> float:
        """Of all parameters."""
        return float(sum(layer.parameters for layer in self.layers) * self.width)

    def sharing(self, n: int) -> int:
        """How many of n ranks share the state out."""
        return self.degree or n

    def gradient(self, layers: Sequence[Layer]) -> float:
        """Bytes of the gradients of some layers, as they are summed."""
        return float(sum(layer.parameters for layer in layers) * (self.reduced or self.width))

    def run(self, world: World) -> TrainingStep:
        """One step of all ranks."""
        n, total = world.ranks, self.bytes
        life = (_Sharded if self.stage == 3 else _Whole)(self, world)
        time = world.run(life.rank)
        moved = sum(VOLUME[_collective(call.algorithm)] * call.size for call in world.calls if 0 in call.ranks)
        return world.step(
            time,
            parameters=round(total / self.width),
            model_bytes=total,
            volume_in_models=moved / total if n > 1 and total else 0.0,
            state_bytes=self.resident(self.sharing(n)),
        )

    def resident(self, n: int) -> float:
        """Bytes per rank of parameters, gradients and optimizer together, as the ZeRO paper counts them."""
        parts = (self.bytes, self.bytes, self.bytes / self.width * self.state)
        return sum(part / n if self.stage >= since else part for part, since in zip(parts, (3, 2, 1), strict=True))


def _collective(algorithm: str) -> str:
    return algorithm.partition(".")[0]


@dataclass
class _Life:
    """What the stages have in common."""

    plan: Shards
    world: World
    works: dict[int, list["Event"]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        world = self.world
        self.n = self.plan.sharing(world.ranks)
        whole = self.n == world.ranks
        self._summed: set[tuple[int, str]] = set()
        self._near = [world.everyone] if whole else [world.group(near) for near in neighbours(world.ranks, self.n)]
        self._far = [] if whole else [world.group(far) for far in across(world.ranks, self.n)]

    def begin(self, rank: int) -> None:
        """What a rank holds from the start."""
        plan, n = self.plan, self.n
        self.works[rank] = []
        self.world.hold(rank, "parameters", plan.bytes / (n if plan.stage == 3 else 1))
        self.world.hold(rank, "optimizer", plan.bytes / plan.width * plan.state / (n if plan.stage else 1))

    def finish(self, rank: int) -> Process:
        """Wait for all gradients, update one's own part, drop the gradients."""
        plan, n = self.plan, self.n
        yield self.world.env.all_of(self.works[rank])
        yield from self.world.compute(rank, plan.update / (n if plan.stage else 1), "update")
        self.world.hold(rank, "gradients", -plan.gradient(plan.layers) / (n if plan.stage > 1 else 1))

    def post(self, rank: int, collective: str, size: float, name: str, root: int = 0) -> "Event":
        """A collective of the ranks that share the state out."""
        return self._near[rank // self.n].post(rank, collective, size, name, root=root)

    def reduce(self, rank: int, size: float, name: str) -> Process:
        """Sum gradients; in stages 2 and 3 what is another rank's is dropped when that is done."""
        world = self.world
        scattered = self.plan.stage > 0 and self.plan.reduce_scatter
        event = self.post(rank, "reduce_scatter" if scattered else "allreduce", size, f"reduce {name}")
        if self._far:
            event = world.env.process(self._between_copies(rank, size / self.n, name, event))
        if self.plan.stage > 1:  # later passes add to the part that the first one has left
            left = 0.0 if (rank, name) in self._summed else 1 / self.n
            self._summed.add((rank, name))
            event = world.env.process(self.drop(rank, size * (1 - left), event))
        self.works[rank].append(event)
        if not self.plan.overlap:
            yield event

    def _between_copies(self, rank: int, size: float, name: str, event: "Event") -> Process:
        """Sum a rank's own part with those of the other copies."""
        yield event
        yield self._far[rank % self.n].post(rank, "allreduce", size, f"sum copies of {name}")

    def drop(self, rank: int, size: float, event: "Event") -> Process:
        yield event
        self.world.hold(rank, "gradients", -size)

    def layer_forward(self, rank: int, layer: Layer, name: str = "forward") -> Process:
        yield from self.world.compute(rank, layer.forward, f"{name} {layer.name}")
        self.world.hold(rank, "activations", layer.activation)

    def layer_backward(self, rank: int, layer: Layer, *, first: bool = True) -> Process:
        """Backward; the `first` pass of a step makes room for the gradients."""
        yield from self.world.compute(rank, layer.backward, f"backward {layer.name}")
        self.world.hold(rank, "activations", -layer.activation)
        if first:
            self.world.hold(rank, "gradients", self.plan.gradient([layer]))

    def unit_forward(self, rank: int, layers: Sequence[Layer]) -> Process:
        """Layers forward; of those that are computed again only the input is kept."""
        for layer in layers:
            yield from self.layer_forward(rank, layer)
        if self.plan.recompute:
            kept = layers[0].input - sum(layer.activation for layer in layers)
            self.world.hold(rank, "activations", kept)

    def unit_again(self, rank: int, layers: Sequence[Layer]) -> Process:
        """Layers forward again, where their activations were not kept."""
        if self.plan.recompute:
            for layer in layers:
                yield from self.layer_forward(rank, layer, "recompute")
            self.world.hold(rank, "activations", -layers[0].input)


class _Whole(_Life):
    """Stages 0 to 2: every rank has all parameters."""

    def rank(self, rank: int) -> Process:
        plan = self.plan
        self.begin(rank)
        for micro in range(plan.accumulate):
            for layer in plan.layers:
                yield from self.unit_forward(rank, [layer])
            last = micro == plan.accumulate - 1
            yield from self.backward(rank, first=micro == 0, exchange=last or plan.stage == 2)
        yield from self.finish(rank)
        if plan.stage:
            yield from self.gather(rank)

    def backward(self, rank: int, *, first: bool, exchange: bool) -> Process:
        """A pass backward; gradients leave in buckets where they are exchanged."""
        plan = self.plan
        done = len(plan.layers)
        first = first or plan.stage == 2
        for bucket in self.buckets() if exchange else ():
            yield from self.layers_back(rank, min(done, bucket.layer), done, first=first)
            done = min(done, bucket.layer)
            yield from self.reduce(rank, float(bucket.parameters * plan.width), bucket.name)
        yield from self.layers_back(rank, 0, done, first=first)

    def layers_back(self, rank: int, start: int, stop: int, *, first: bool) -> Process:
        """Backward through layers `stop - 1` down to `start`."""
        for layer in reversed(self.plan.layers[start:stop]):
            yield from self.unit_again(rank, [layer])
            yield from self.layer_backward(rank, layer, first=first)

    def buckets(self) -> list[Bucket]:
        plan = self.plan
        return buckets_of(plan.layers, plan.width, plan.reduce_bucket, first=plan.reduce_bucket)

    def gather(self, rank: int) -> Process:
        """Everyone's updated part to everyone."""
        plan, events = self.plan, []
        if plan.partitions:
            left = plan.bytes
            while left > 0:
                events.append(self.post(rank, "allgather", min(left, plan.gather_bucket), "gather parameters"))
                left -= plan.gather_bucket
        else:
            size = plan.bytes / self.n
            events = [self.post(rank, "broadcast", size, f"broadcast part {k}", k) for k in range(self.n)]
        yield self.world.env.all_of(events)


class _Sharded(_Life):
    """Stage 3: parameters are gathered unit by unit, used, and dropped."""

    def rank(self, rank: int) -> Process:
        plan = self.plan
        units = [plan.layers[k : k + plan.unit] for k in range(0, len(plan.layers), plan.unit)]
        self.begin(rank)
        for micro in range(plan.accumulate):
            last = micro == plan.accumulate - 1
            yield from self.micro_batch(
                rank, units, first=not micro or not plan.no_sync, exchange=last or not plan.no_sync
            )
        yield from self.finish(rank)

    def micro_batch(self, rank: int, units: list[Sequence[Layer]], *, first: bool, exchange: bool) -> Process:
        """A pass forward and backward."""
        plan, order = self.plan, list(range(len(units)))
        gathered: dict[int, Event] = {}
        for place, k in enumerate(order):
            yield from self.arrive(rank, units, order[place:], gathered)
            yield from self.unit_forward(rank, units[k])
            if plan.reshard:
                self.leave(rank, units[k])
                del gathered[k]
        order.reverse()
        for place, k in enumerate(order):
            yield from self.arrive(rank, units, order[place:], gathered)
            yield from self.unit_again(rank, units[k])
            for layer in reversed(units[k]):
                yield from self.layer_backward(rank, layer, first=first)
            self.leave(rank, units[k])
            if exchange:
                yield from self.reduce(rank, plan.gradient(units[k]), units[k][0].name)

    def size(self, unit: Sequence[Layer]) -> float:
        return float(sum(layer.parameters for layer in unit) * self.plan.width)

    def arrive(
        self, rank: int, units: list[Sequence[Layer]], coming: list[int], gathered: dict[int, "Event"]
    ) -> Process:
        """Wait for the first unit that comes; with overlap the next ones are already on their way."""
        ahead = self.plan.prefetch if self.plan.overlap else 0
        for k in coming[: 1 + ahead]:
            if k not in gathered:
                size = self.size(units[k])
                self.world.hold(rank, "gathered parameters", size * (1 - 1 / self.n))
                gathered[k] = self.post(rank, "allgather", size, f"gather {units[k][0].name}")
        yield gathered[coming[0]]

    def leave(self, rank: int, unit: Sequence[Layer]) -> None:
        self.world.hold(rank, "gathered parameters", -self.size(unit) * (1 - 1 / self.n))
