"""NVSwitches that add inside their nodes, trees of ranks between the nodes: NCCL's NVLSTree."""

import numpy as np

from ops.algorithms.double_tree import two_parents
from ops.collectives import allreduce
from ops.registry import algorithm
from ops.shapes import Group, Segments, Tree, node_size, tree, whole_nodes
from sim.schedule import NOTHING, Step, Steps, copy, reduce
from sim.topology import Ints


def _forest(n: int, group: int) -> Tree:
    """Ranks at the same place of every node are a tree of their own; odd places take the second of the two trees."""
    g = node_size(n, group)
    node, local = np.divmod(np.arange(n), g)
    both = two_parents(n // g) if n > g else (np.array([NOTHING]),) * 2
    above = np.where(local % 2 == 0, both[0][node], both[1][node])
    return tree(np.where(above == NOTHING, NOTHING, above * g + local))


@algorithm(
    allreduce,
    switches=lambda n, *, group, **_: ("NVS",) * (n // node_size(n, group)),
    ordered=True,
    only=whole_nodes,
    pieces=lambda n, *, group, segments: node_size(n, group) * segments,
    ids={"nccl": "NVLSTree"},
    reference="NCCL src/device/all_reduce.h, NVLS_TREE",
)
def nvls_tree(n: int, *, group: Group = 0, segments: Segments = 8) -> Steps:
    """Each node's switch adds up and hands each rank one share, trees join the nodes' shares, the switch spreads them.

    Between nodes a rank sends its share up a tree and the total down. What it costs depends on both kinds of links, so
    nothing is claimed for one ideal switch.
    """
    g, forest = node_size(n, group), _forest(n, group)
    r = np.arange(n, dtype=np.int32)
    switch, share = n + r // g, (r % g) * segments
    every = np.arange(g) * segments
    home = np.arange(n // g)

    def stage(k: int, s: int) -> list[Step]:
        last = 2 * forest.height + 2
        if k == 0:
            return [reduce(r, switch, slot=np.tile(every + s, (n, 1)))]
        if k == 1:
            return [copy(switch, r, slot=share + s)]
        if k <= forest.height + 1:
            return _upward(forest, share + s, forest.height + 2 - k)
        if k < last:
            return _downward(forest, share + s, k - forest.height - 1)
        if k == last:
            return [copy(r, switch, slot=share + s, to=share + g * segments + s)]
        spread, to = every + g * segments + s, every + s
        return [copy(n + home.repeat(g), r, slot=np.tile(spread, (n, 1)), to=np.tile(to, (n, 1)))]

    stages = 2 * forest.height + 4
    for t in range(segments + stages - 1):
        moment = [stage(k, t - k) for k in range(stages) if 0 <= t - k < segments]
        yield tuple(steps[0] for steps in moment)
        second = tuple(step for steps in moment for step in steps[1:] if len(step.src))
        if second:
            yield second


def _upward(forest: Tree, slot: Ints, depth: int) -> list[Step]:
    """Sums of those so deep go to their parents: first children, then second ones."""
    deep = (forest.parent != NOTHING) & (forest.depth == depth)
    children = [np.flatnonzero(deep & (forest.turn == turn)) for turn in range(int(forest.kids.max()))]
    return [reduce(child, forest.parent[child], slot=slot[child]) for child in children]


def _downward(forest: Tree, slot: Ints, depth: int) -> list[Step]:
    """Totals go to those so deep."""
    child = np.flatnonzero((forest.parent != NOTHING) & (forest.depth == depth))
    return [copy(forest.parent[child], child, slot=slot[child])]
