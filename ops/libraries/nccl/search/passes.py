"""The order in which NCCL makes attempts: ncclTopoCompute of `src/graph/search.cc`, NCCL 2.30.7.

Its first pass lowers the speed until an attempt succeeds, each time from near to far; its second raises the speed again
for the channels it has, or that inside the node for trees.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ops.libraries.nccl.releases import RELEASES
from ops.libraries.nccl.search.attempts import STEPS, STEPS_SAME, SearchAttempt
from ops.libraries.nccl.search.graphs import Channel, ChannelGraph, Pattern, SystemViews
from ops.libraries.nccl.search.limits import limits_of
from ops.libraries.nccl.search.system import CAPABILITY, PathType, System

SLOWEST = 100
"""MB/s of the plain order that is taken where the search ends without a path."""
MOST_HEADS = 32
"""GPUs of a node that head channels to an NVSwitch: NCCL_MAX_NVLS_ARITY."""


@lru_cache(maxsize=256)
def graph_of(system: System, pattern: Pattern, least: int, most: int) -> ChannelGraph:
    """The channels of a pattern on a system, from `least` to `most` of them."""
    is_heads = pattern == Pattern.NVLS
    if is_heads:
        most = min(MOST_HEADS, len(system.gpus))
        least = least if system.inter else most
    if len(system.gpus) == 1 and pattern != Pattern.RING:
        pattern = Pattern.TREE
    if pattern == Pattern.RING and system.newest and _is_split(system) and least == 1 and most > 1:
        least = 2
    first = _Pass(system, pattern, least, most)
    if is_heads and (not system.of_kind("NVS") or system.capability < 90):
        return first.best
    first.run()
    if system.newest:
        best = _faster(first, _duplicated(first.best, system.capability, least=5))
    else:
        best = _duplicated(_faster(first, first.best), system.capability, least=1)
    return best if best.channels or is_heads else _plain(system, best)


def _types(system: System, peers: Sequence[int]) -> set[PathType]:
    """Types of the paths from GPUs to others."""
    return {system.path(gpu, peer).type for gpu in system.gpus for peer in peers if peer != gpu}


def _is_split(system: System) -> bool:
    """Whether NVLinks join GPUs to two groups with a slower way between them (ncclTopoSplitNvLink)."""
    group = {gpu: gpu for gpu in system.gpus}
    for k, gpu in enumerate(system.gpus):
        for peer in system.gpus[k + 1 :]:
            if system.path(gpu, peer).type == PathType.NVL:
                group[peer] = group[gpu]
    members = [*group.values()]
    return sum(members.count(one) > 1 for one in set(members)) == 2


@dataclass
class _Pass:
    """The first pass: its best graph, the next attempt, and the steps that attempts may still take."""

    system: System
    pattern: Pattern
    least: int
    most: int
    best: ChannelGraph = field(init=False)
    at: ChannelGraph = field(init=False)
    steps: int = field(init=False)
    seen: dict[ChannelGraph, ChannelGraph] = field(default_factory=dict)
    """Attempts over the same paths: one like it finds nothing better."""
    left: dict[ChannelGraph, int] = field(default_factory=dict)
    """Steps left by attempts, but for those that were skipped or cut short, as they find nothing better."""
    ends: bool = False
    """Whether too few steps ended the search when they were last counted."""
    taken: int = 0
    """Steps of attempts that `steps` does not count yet."""
    owed: list[ChannelGraph] = field(default_factory=list)
    """Attempts whose steps left are not known yet: they are made where these steps may matter."""

    def __post_init__(self) -> None:
        system, is_heads = self.system, self.pattern == Pattern.NVLS
        self.steps = RELEASES[system.rules.release].steps
        self.types_intra = _types(system, system.gpus)
        self.types_inter = _types(system, system.nets) if system.inter else set()
        back = {system.path(net, gpu).type for gpu in system.gpus for net in system.nets}
        self.types_between = self.types_inter | (back if system.inter else set())
        some = self.pattern in (Pattern.RING, Pattern.BALANCED_TREE, Pattern.SPLIT_TREE)
        self.cross = system.rules.cross_nic if (some or not self.system.newest) and len(system.nets) > 1 else 0
        self.farthest_intra = max(self.types_intra, default=PathType.SYS)
        self.farthest_inter = max(self.types_inter, default=PathType.SYS)
        if system.inter:
            self.farthest_intra = self.farthest_inter
        if system.capability < 90 or not self.system.newest:  # balanced trees come back by the CPU
            self.farthest_inter = PathType.SYS
        self.nearest = ChannelGraph(
            self.pattern,
            int(self.cross == 1),
            not is_heads,
            min(self.types_intra, default=PathType.LOC),
            min(self.types_inter, default=PathType.PIX),
            self.least,
            self.most,
        )
        self.speeds, self.views = _speeds(system), SystemViews(system)
        n = len(system.gpus)
        total = system.total * (n / (n - 1) if n > 1 and self.pattern != Pattern.RING else 1)
        total = total if self.system.newest else math.inf
        allowed = [k for k, speed in enumerate(self.speeds) if speed <= system.widest and speed * self.least <= total]
        self.index = allowed[0] if allowed else len(self.speeds) - 1
        self.best = self.nearest
        self.at = replace(self.nearest, bw_intra=self.speeds[self.index], bw_inter=self.speeds[self.index])

    def run(self) -> None:
        """Make attempts until nothing better is possible."""
        while True:
            made = self._attempted()
            if made is None or self._is_perfect(made) or not self._moves_on(made):
                return

    def _is_perfect(self, made: ChannelGraph) -> bool:
        """Whether nothing better is possible."""
        count, speed = len(self.best.channels), self.best.bw_inter
        if not self.system.rules.is_since("2.8"):
            return count == self.best.most and speed == self.system.widest
        return self.left.get(made) == -1 or count * speed >= self.system.total

    def _attempted(self) -> ChannelGraph | None:
        """Make an attempt, unless it can find nothing better, and return the one whose steps count for it.

        None where no steps are left for it.
        """
        at = self.at
        intra = max((kind for kind in self.types_intra if kind <= at.type_intra), default=PathType.LOC)
        inter = max((kind for kind in self.types_between if kind <= at.type_inter), default=PathType.LOC)
        alike = replace(at, type_intra=intra, type_inter=inter)
        any_speed = replace(alike, bw_intra=0, bw_inter=0)
        self.taken += STEPS_SAME if at.same else STEPS
        if alike in self.seen:
            return self.seen[alike]
        limits = limits_of(self.views, at)
        may_improve = limits.may_improve(at, self.best, any_shape=self.views.any_shape)
        if any_speed in self.seen and not may_improve and at.pattern == Pattern.RING:
            return self.seen[any_speed]
        if may_improve and limits.most >= at.least:
            if self._is_out_of_steps():
                return None
            self.best, left = SearchAttempt(self.views, at, self.best, limits).run()
            if left is not None:
                self.left[at] = left
        self.seen[alike] = self.seen[any_speed] = at
        return at

    def _left_by(self, at: ChannelGraph) -> int:
        """Steps left by an attempt that finds nothing better."""
        if at not in self.left:
            self.left[at] = SearchAttempt(self.views, at, self.best).run()[1] or 0
        return self.left[at]

    def _moves_on(self, made: ChannelGraph) -> bool:
        """Set the next attempt: other channels, a simpler tree, longer paths, another NIC, less speed."""
        at, best, system = self.at, self.best, self.system
        if at.same and not (self.system.newest and system.amd_cpu and at.type_intra == PathType.SYS):
            self.at = replace(at, same=False)
            return True
        at = replace(at, same=self.nearest.same)
        if not self._gives_back(made):
            return False
        simpler = system.capability >= 90 and self.system.newest
        if simpler and at.pattern == Pattern.BALANCED_TREE:
            self.at = replace(at, pattern=Pattern.TREE)
            return True
        at = replace(at, pattern=best.pattern if self.system.newest else at.pattern)
        none = not best.channels
        if at.type_intra < (at.type_inter if system.inter else self.farthest_intra) and (
            none or at.type_intra < best.type_intra
        ):
            self.at = replace(at, type_intra=self._farther(at.type_intra))
            return True
        at = replace(at, type_intra=self.nearest.type_intra)
        tried = PathType.PXN if system.rules.is_since("2.12") else PathType.PXB
        longer = none or at.type_inter < best.type_inter or at.type_inter < tried
        if system.inter and at.type_inter < self.farthest_inter and longer:
            self.at = replace(at, type_inter=self._farther(at.type_inter))
            return True
        at = replace(at, type_inter=self.nearest.type_inter)
        if at.pattern == Pattern.SPLIT_TREE:
            self.at = replace(at, pattern=Pattern.TREE)
            return True
        at = replace(at, pattern=best.pattern)
        both = best.pattern in (Pattern.RING, Pattern.BALANCED_TREE) or not self.system.newest
        if self.cross == 2 and at.cross_nic == 0 and both:
            self.at = replace(at, cross_nic=RELEASES[system.rules.release].cross_again)
            return True
        return self._slows_down(replace(at, cross_nic=self.nearest.cross_nic))

    def _gives_back(self, made: ChannelGraph) -> bool:
        """Count the steps of an attempt, and whether there may be some for another."""
        left = self.left.get(made)
        if left == -1:
            if self._is_out_of_steps():
                return False
            self.steps, self.taken, self.owed = RELEASES[self.system.rules.release].steps, 0, []
            return True
        self.steps, self.taken = self.steps - self.taken + (left or 0), 0
        self.ends = bool(self.best.channels) or self.views.any_shape
        if left is None:
            self.owed.append(made)
        return bool(self.owed) or not self._is_out_of_steps()

    def _is_out_of_steps(self) -> bool:
        """Whether the attempts before this one, or before its like with channels alike, ended the search."""
        while self.ends and self.steps < 0 and self.owed:
            self.steps += self._left_by(self.owed.pop())
        return self.ends and self.steps < 0

    def _farther(self, kind: PathType) -> PathType:
        """The next type of path that the release knows."""
        system, farther = self.system, PathType(kind + 1)
        unknown = () if system.newest else (PathType.C2C, PathType.P2C)
        if farther in unknown or (farther == PathType.PXN and not system.rules.is_since("2.12")):
            return PathType(farther + 1)
        return farther

    def _slows_down(self, at: ChannelGraph) -> bool:
        following = self.index + 1
        if following == len(self.speeds):
            return False
        speed = self.speeds[following]
        if self.best.channels and speed / self.best.bw_inter <= 0.49:
            return False
        self.index, self.at = following, replace(at, bw_intra=speed, bw_inter=speed)
        return True


def _speeds(system: System) -> list[int]:
    generation = next(name for name, capability in CAPABILITY.items() if capability == system.capability)
    release = RELEASES[system.rules.release]
    return [round(speed * 1000) for speed in (release.net_speeds if system.inter else release.speeds)[generation]]


def _duplicated(graph: ChannelGraph, capability: int, least: int) -> ChannelGraph:
    """Fast channels as twice as many of half the speed (ncclTopoDupChannels).

    From Hopper on, `least` channels or more of less than 50 GB/s stay as they are.
    """
    count = len(graph.channels)
    few = capability > 80 and graph.bw_intra < 50_000 and count >= least
    if not count or graph.pattern == Pattern.NVLS or graph.bw_intra < 25_000 or few:
        return graph
    more = min(2 * count, graph.most)
    times = -(-more // count)
    channels = (graph.channels + graph.channels)[:more]
    return replace(graph, channels=channels, bw_intra=graph.bw_intra / times, bw_inter=graph.bw_inter / times)


def _faster(first: _Pass, best: ChannelGraph) -> ChannelGraph:
    """The second pass: more speed for a ring; for trees inside the node, up to twice that between nodes."""
    speeds = first.speeds
    index = next((k for k, speed in enumerate(speeds) if speed <= best.bw_inter), len(speeds) - 1)
    if best.pattern == Pattern.RING and not RELEASES[first.system.rules.release].raises_rings:
        return best
    at = replace(best, bw_intra=speeds[index], bw_inter=speeds[index], least=len(best.channels), channels=())
    left: int | None = -1
    while left != 0 and index > 0:
        heads = best.pattern == Pattern.NVLS
        if best.pattern == Pattern.RING:
            at = replace(at, bw_intra=speeds[index - 1], bw_inter=speeds[index - 1])
        elif heads and at.bw_inter == best.bw_inter and at.bw_inter < 2 * at.bw_intra:
            count = len(best.channels)
            at = replace(at, bw_inter=speeds[index - 1], least=count, most=count)
        elif at.bw_intra == best.bw_intra and at.bw_intra < 2 * at.bw_inter:
            at = replace(at, bw_intra=speeds[index - 1])
        else:
            break
        index -= 1
        if limits_of(first.views, at).most < at.least:  # nor is there one at a higher speed
            break
        best, left = SearchAttempt(first.views, at, best).run()
    return best


def _plain(system: System, graph: ChannelGraph) -> ChannelGraph:
    """The GPUs in order, at next to no speed, from the first one's NIC to the last one's."""
    ends = [system.near.net(gpu, 0) for gpu in (system.gpus[0], system.gpus[-1])]
    inter, kind = (SLOWEST, PathType.SYS) if min(ends) >= 0 else (0, PathType.DIS)
    channel = Channel(tuple(system.gpus), *ends)
    return replace(
        graph, channels=(channel,), bw_intra=SLOWEST, bw_inter=inter, type_intra=PathType.SYS, type_inter=kind
    )
