"""Double binary trees: two pipelined trees, each for half of the data; who works in one is a leaf of the other.

So every rank sends and receives no more than the data once, at the depth of a tree.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.algorithms.pipeline import down, up
from ops.collectives import allreduce, broadcast, reduce
from ops.patterns import Group, Segments, Tree, node_size, rooted, tree, whole_nodes
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Step, Steps
from sim.topology import Ints


def _in_order(n: int) -> Ints:
    """Parents in the tree of NCCL `src/graph/trees.cc`: the lowest set bit of a rank is its height; 0 is the root."""
    r = np.arange(n, dtype=np.int32)
    bit = r & -r
    up = (r ^ bit) | bit << 1
    parent: Ints = np.where(up < n, up, r ^ bit).astype(np.int32)
    parent[0] = NOTHING
    return parent


def two_parents(n: int, *, turned: bool = False) -> tuple[Ints, Ints]:
    """Parents in both trees: the second is the first mirrored where n is even, else shifted by one rank.

    The other way round where it is `turned`, as before NCCL 2.8.

    >>> [p.tolist() for p in two_parents(4)]
    [[-1, 2, 0, 2], [1, 3, 1, -1]]
    """
    first = _in_order(n)
    if (n % 2 == 0) is not turned:
        other = np.where(first == NOTHING, n, first)
        second = np.where(other == n, NOTHING, n - 1 - other)[::-1]
    else:
        second = np.roll(np.where(first == NOTHING, NOTHING, (first + 1) % n), 1)
    return first, second.astype(np.int32)


def _from_one_root(n: int, root: int) -> tuple[Tree, Tree]:
    """Both trees hung below one root, which is a leaf, or not part, of the second.

    An even number of ranks leaves the interiors disjoint: the root is one of them if n is even, apart if odd.
    """
    if n % 2 == 0:
        first, second = two_parents(n)
        second[second == NOTHING] = 0
        second[0] = NOTHING
    else:
        trees = (np.where(p == NOTHING, 0, p + 1) for p in two_parents(n - 1))
        first, second = (np.concatenate([[NOTHING], parent]) for parent in trees)
    return rooted(first, root), rooted(second, root)


def _halves(n: int, *, segments: int, **_: Any) -> int:
    return 2 * segments


def _one_way_cost(n: int, *, segments: int) -> tuple[float, float]:
    moments = max(shape.height for shape in _from_one_root(n, 0)) + segments - 1
    return moments, moments / segments


@algorithm(
    broadcast,
    name="double_binary_tree",
    ordered=True,
    exact=False,
    pieces=_halves,
    cost=_one_way_cost,
    ids={"ucc": "2", "oneccl": "double_tree"},
    reference="Sanders, Speck and Träff 2009; NCCL src/graph/trees.cc",
)
def double_tree_broadcast(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """Each half of the data goes down its own binary tree; who passes one half on is a leaf for the other.

    Takes about ⌈log n⌉ + segments moments of size / segments each; the claim is a bound.
    """
    shapes = _from_one_root(n, root)
    for t in range(max(shape.height for shape in shapes) + segments - 1):
        yield tuple(down(shape, t, segments, first=k * segments, channel=k) for k, shape in enumerate(shapes))


@algorithm(
    reduce,
    name="double_binary_tree",
    ordered=True,
    exact=False,
    pieces=_halves,
    cost=lambda n, **p: (*_one_way_cost(n, **p), 3 / 2 * _one_way_cost(n, **p)[1]),
    ids={"ucc": "1", "oneccl": "double_tree"},
    reference="Sanders, Speck and Träff 2009; NCCL src/graph/trees.cc",
)
def double_tree_reduce(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """Each half of the data is added up along its own binary tree; who adds in one is a leaf of the other.

    Takes about ⌈log n⌉ + segments moments of size / segments each; the claim is a bound.
    """
    shapes = _from_one_root(n, root)
    for t in range(max(shape.height for shape in shapes) + segments - 1):
        yield from _upward(shapes, t, segments)


def _upward(shapes: tuple[Tree, ...], t: int, segments: int, beside: tuple[Step, ...] = ()) -> Steps:
    """Moment t of all reductions, with other messages beside it."""
    sent, added = list(beside), []
    for k, shape in enumerate(shapes):
        if t < shape.height + segments - 1:
            messages, sums = up(shape, t, segments, 2 * segments + 2 * k, first=k * segments, channel=k)
            sent += messages
            added += [sums] if len(sums.src) else []
    yield tuple(sent)
    if added:
        yield tuple(added)


def up_and_down(shapes: tuple[Tree, ...], segments: int) -> Steps:
    """Pipelined reductions to the roots, each segment broadcast as soon as it is complete."""
    tallest = max(shape.height for shape in shapes)
    for t in range(2 * tallest + segments - 1):
        totals = (down(s, t - s.height, segments, first=k * segments, channel=k) for k, s in enumerate(shapes))
        yield from _upward(shapes, t, segments, beside=tuple(step for step in totals if len(step.src)))


def _both_ways_cost(shapes: tuple[Tree, Tree], segments: int) -> tuple[float, float, float]:
    """Sums only, sums and totals at once, totals only; every moment as long as for the busiest rank."""
    height, kids = max(shape.height for shape in shapes), int((shapes[0].kids + shapes[1].kids).max())
    betas = 2 * height * max(2, kids) + (segments - 1) * (2 + kids)
    gammas = (height + segments - 1) * (kids + 1)
    return 2 * height + segments - 1, betas / (2 * segments), gammas / (2 * segments)


@algorithm(
    allreduce,
    ordered=True,
    exact=False,
    pieces=_halves,
    cost=lambda n, *, segments: _both_ways_cost(_two_trees(n), segments),
    ids={"ucc": "2", "oneccl": "double_tree"},
    reference="Sanders, Speck and Träff 2009; NCCL src/graph/trees.cc",
)
def double_binary_tree(n: int, *, segments: Segments = 8) -> Steps:
    """Each half of the data is added up along its own binary tree and comes back down it, segment after segment.

    Takes about 2·⌈log n⌉ + segments moments of twice size / segments each; the claim is a bound.
    """
    yield from up_and_down(_two_trees(n), segments)


def _two_trees(n: int) -> tuple[Tree, Tree]:
    first, second = two_parents(n)
    return tree(first), tree(second)


def _chained(n: int, group: int, *, balanced: bool, turned: bool) -> tuple[Tree, Tree]:
    """A chain in each node, whose first ranks are joined by double trees between the nodes; one node has it both ways.

    Where it is `balanced`, a node's first child hangs on its second rank, the other child and the node's parent on the
    first; else all on the first (connectTrees).
    """
    g = node_size(n, group)
    local, node = np.arange(n) % g, np.arange(n) // g
    if n == g:
        chains = np.where(local == 0, NOTHING, local - 1), np.where(local == g - 1, NOTHING, local + 1)
        return tree(chains[0]), tree(chains[1])

    def joined(up: Ints, first: NDArray[np.bool_]) -> Tree:
        above = np.where(up == NOTHING, NOTHING, up * g + (first & balanced & (g > 1)))
        return tree(np.where(local == 0, above[node], np.arange(n) - 1))

    nodes = n // g
    first, second = two_parents(nodes, turned=turned)
    node_of, parent = np.arange(nodes), np.where(second == NOTHING, 0, second)
    mirrored = node_of > parent if (nodes % 2 == 0) is not turned else (node_of - 1) % nodes < (parent - 1) % nodes
    return joined(first, node_of < first), joined(second, mirrored)


@algorithm(
    allreduce,
    ordered=True,
    exact=False,
    only=whole_nodes,
    pieces=_halves,
    cost=lambda n, *, segments, **shape: _both_ways_cost(_chained(n, **shape), segments),
    ids={"nccl": "Tree"},
    reference="NCCL src/graph/trees.cc, src/graph/connect.cc",
)
@titled("NCCL tree")
def nccl_tree(
    n: int, *, group: Group = 0, segments: Segments = 8, balanced: bool = True, turned: bool = False
) -> Steps:
    """A chain inside each node, double binary trees between nodes: sums go up, totals come back, pipelined.

    The first rank of a node carries the traffic between nodes, `balanced` the first two. The second tree is the first
    mirrored for even numbers of nodes, `turned` by a node as before NCCL 2.8. The claim is a bound.
    """
    yield from up_and_down(_chained(n, group, balanced=balanced, turned=turned), segments)
