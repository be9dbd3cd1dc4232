"""NVSwitches that add inside their nodes, trees of ranks between the nodes: NCCL's NVLSTree."""

import numpy as np

from ops.algorithms.double_tree import two_parents
from ops.algorithms.inswitch import nvls_cost
from ops.collectives import allreduce
from ops.patterns import Group, Segments, Tree, node_size, tree, whole_nodes
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Step, Steps, copy, reduce
from sim.topology import Ints


def _forests(n: int, group: int) -> tuple[Tree, Tree]:
    """Ranks at the same place of every node are a tree of their own; both of the two trees for each place."""
    g = node_size(n, group)
    node, local = np.divmod(np.arange(n), g)
    both = two_parents(n // g) if n > g else (np.array([NOTHING]),) * 2
    first, second = (np.where(up[node] == NOTHING, NOTHING, up[node] * g + local) for up in both)
    return tree(first), tree(second)


@algorithm(
    allreduce,
    switches=lambda n, *, group, **_: ("NVS",) * (n // node_size(n, group)),
    ordered=True,
    only=whole_nodes,
    pieces=lambda n, *, group, segments: 2 * node_size(n, group) * segments,
    exact=False,
    cost=lambda n, *, group, segments: nvls_cost(node_size(n, group), segments=segments),
    ids={"nccl": "NVLSTree"},
    reference="NCCL src/device/all_reduce.h, NVLS_TREE",
)
@titled("NVLS tree")
def nvls_tree(n: int, *, group: Group = 0, segments: Segments = 8) -> Steps:
    """Each node's switch adds up and hands each rank one share, trees join the nodes' shares, the switch spreads them.

    Between nodes each half of a share goes up its own binary tree and comes back as the total. The claim is a bound for
    what happens in one node; between nodes other links come on top of it.
    """
    g, forests = node_size(n, group), _forests(n, group)
    height = max(forest.height for forest in forests)
    r = np.arange(n, dtype=np.int32)
    switch, of_node = n + r // g, n + np.repeat(np.arange(n // g), g)
    halves, stored = (0, 1), 2 * g * segments

    def stage(k: int, s: int) -> tuple[list[Step], list[Step]]:
        """Messages of segment s in its k-th moment, and what is added up after them."""
        summed = 2 * ((r % g) * segments + s)
        share = summed.reshape(-1, 1) + np.array(halves)
        every = np.tile((2 * (np.arange(g) * segments + s).reshape(-1, 1) + np.array(halves)).reshape(1, -1), (n, 1))
        if k == 0:
            return [reduce(r, switch, slot=every)], []
        if k == 1:
            return [copy(switch, r, slot=share)], []
        if k <= height + 1:
            ups = [_upward(forests[h], summed + h, height + 2 - k, h, stored + 2 * s + h) for h in halves]
            return [step for sent, _ in ups for step in sent], [step for _, added in ups for step in added]
        if k < 2 * height + 2:
            return [_downward(forests[h], summed + h, k - height - 1, h) for h in halves], []
        if k == 2 * height + 2:
            return [copy(r, switch, slot=share, to=share + stored)], []
        return [copy(of_node, r, slot=every + stored, to=every)], []

    stages = 2 * height + 4
    for t in range(segments + stages - 1):
        moment = [stage(k, t - k) for k in range(stages) if 0 <= t - k < segments]
        yield tuple(step for sent, _ in moment for step in sent)
        later = tuple(step for _, added in moment for step in added)
        if later:
            yield later


def _upward(forest: Tree, slot: Ints, depth: int, channel: int, scratch: int) -> tuple[list[Step], list[Step]]:
    """Sums of those so deep go to their parents, who put second children's aside and add them afterwards."""
    deep = (forest.parent != NOTHING) & (forest.depth == depth)
    first, second = (np.flatnonzero(deep & (forest.turn == turn)) for turn in range(2))
    above = forest.parent[second]
    sent = [reduce(first, forest.parent[first], slot=slot[first], channel=channel)]
    if not len(second):
        return sent, []
    sent.append(copy(second, above, slot=slot[second], to=np.full_like(above, scratch), channel=channel))
    return sent, [reduce(above, above, slot=np.full_like(above, scratch), to=slot[above], channel=channel)]


def _downward(forest: Tree, slot: Ints, depth: int, channel: int) -> Step:
    """Totals go to those so deep."""
    child = np.flatnonzero((forest.parent != NOTHING) & (forest.depth == depth))
    return copy(forest.parent[child], child, slot=slot[child], channel=channel)
