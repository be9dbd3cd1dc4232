"""Pipelines: the data is cut into segments that follow each other down, or up, a chain or a tree.

A rank blocks: in each step it takes part in at most one segment per tree. What several children send up waits in
scratch slots and is then added one after the other.
"""

from typing import Any

import numpy as np

from ops.collectives import broadcast, reduce
from ops.patterns import Channels, Segments, Tree, from_root, rooted, rounds, tree
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Step, Steps, copy
from sim.schedule import steps as schedule
from sim.topology import Ints


def down(shape: Tree, t: int, segments: int, *, first: int = 0, channel: int = 0) -> Step:
    """Moment t of a pipelined broadcast: who is k hops from the root gets segment t - k + 1."""
    child = np.nonzero(shape.parent != NOTHING)[0]
    segment = t - shape.depth[child] + 1
    moving = (segment >= 0) & (segment < segments)
    child = child[moving]
    return copy(shape.parent[child], child, slot=first + segment[moving], channel=channel)


def up(
    shape: Tree, t: int, segments: int, scratch: int, *, first: int = 0, channel: int = 0
) -> tuple[tuple[Step, Step], Step]:
    """Moment t of a pipelined reduction: what children send, and how parents of several add it up.

    An only child's segment is added as it arrives; of several children, the i-th's goes to slot `scratch + i`.
    """
    child = np.nonzero(shape.parent != NOTHING)[0]
    segment = t - shape.height + shape.depth[child]
    moving = (segment >= 0) & (segment < segments)
    child, slot = child[moving], first + segment[moving]
    parent, turn = shape.parent[child], shape.turn[child]
    only = shape.kids[parent] == 1
    direct = schedule.reduce(child[only], parent[only], slot=slot[only], channel=channel)
    child, slot, parent, turn = (x[~only] for x in (child, slot, parent, turn))
    sent = copy(child, parent, slot=slot, to=scratch + turn, channel=channel)
    hears = np.zeros(len(shape.parent), np.bool_)
    hears[parent] = True
    adding, line = np.flatnonzero(hears), (np.cumsum(hears, dtype=np.int32) - 1)[parent]
    heard: Ints = np.full((len(adding), int(turn.max(initial=0)) + 1), NOTHING, dtype=np.int32)
    total = heard.copy()
    heard[line, turn], total[line, turn] = scratch + turn, slot
    return (sent, direct), schedule.reduce(adding, adding, slot=heard, to=total, channel=channel)


def broadcast_down(shape: Tree, segments: int) -> Steps:
    """All moments of a pipelined broadcast."""
    for t in range(shape.height + segments - 1):
        yield down(shape, t, segments)


def reduce_up(shape: Tree, segments: int) -> Steps:
    """All moments of a pipelined reduction."""
    for t in range(shape.height + segments - 1):
        sent, added = up(shape, t, segments, scratch=segments)
        yield sent
        if len(added.src):
            yield added


def _chains(n: int, chains: int, root: int) -> Tree:
    """Chains are runs of places that differ in length by one at most, the longer ones first."""
    wide = min(chains, n - 1)
    length, longer = divmod(n - 1, wide)
    heads = 1 + np.arange(wide) * length + np.minimum(np.arange(wide), longer)
    parent = np.arange(-1, n - 1)
    parent[heads] = 0
    return rooted(parent, root)


def _binary(n: int, root: int) -> Tree:
    """Place v's children are 2v + 1 and 2v + 2."""
    v = np.arange(n)
    return rooted(np.where(v > 0, (v - 1) // 2, NOTHING), root)


def _segments(n: int, *, segments: int, **_: Any) -> int:
    return segments


def _chain_cost(n: int, *, segments: int, chains: int) -> tuple[float, float]:
    wide = min(chains, n - 1)
    hops = -(-(n - 1) // wide) - 1
    return segments + hops, (wide * segments + hops) / segments


@algorithm(
    broadcast,
    name="chain",
    ordered=True,
    pieces=_segments,
    cost=_chain_cost,
    ids={"openmpi": "2, 3", "nccl": "Ring", "kucg": "6", "oneccl": "ring"},
    presets={"openmpi:2": {"chains": 4}, "kucg:6": {"segments": 1}},
)
def chain_broadcast(n: int, *, root: int = 0, segments: Segments = 8, chains: Channels = 1) -> Steps:
    """Segments follow each other from rank to rank along a chain, or along several side by side.

    With one chain: n - 2 + segments messages of size / segments each; best with √((n - 2)·β·size / α) segments.
    Several are runs of ranks that the root feeds at once.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["broadcast.chain"].schedule(4, segments=3)))
            rank 0  rank 1  rank 2  rank 3
    before  000     ...     ...     ...
    step 1  000     0..     ...     ...
    step 2  000     00.     0..     ...
    step 3  000     000     00.     0..
    step 4  000     000     000     00.
    step 5  000     000     000     000
    """
    yield from broadcast_down(_chains(n, chains, root), segments)


@algorithm(
    reduce,
    name="chain",
    ordered=True,
    exact=False,
    pieces=_segments,
    cost=lambda n, **p: (*_chain_cost(n, **p), _chain_cost(n, **p)[1]),
    ids={"openmpi": "2, 3", "nccl": "Ring", "oneccl": "ring"},
    presets={"openmpi:2": {"chains": 4}},
)
def chain_reduce(n: int, *, root: int = 0, segments: Segments = 8, chains: Channels = 1) -> Steps:
    """Segments of partial sums follow each other from rank to rank along a chain, or several, to the root.

    The claim is met with one chain and is a bound with several.
    """
    yield from reduce_up(_chains(n, chains, root), segments)


def _tree_cost(height: int, segments: int) -> tuple[float, float]:
    moments = height + segments - 1
    return moments, 2 * moments / segments


@algorithm(
    broadcast,
    name="binary_tree",
    ordered=True,
    exact=False,
    pieces=_segments,
    cost=lambda n, *, segments: _tree_cost(rounds(n + 1) - 1, segments),
    ids={"openmpi": "5", "mpich": "pipelined_tree"},
)
def binary_tree_broadcast(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """Segments follow each other down a complete binary tree; each rank serves two at once.

    The claim is met where the deepest level has two ranks or more and is a bound otherwise.
    """
    yield from broadcast_down(_binary(n, root), segments)


@algorithm(
    reduce,
    name="binary_tree",
    ordered=True,
    exact=False,
    pieces=_segments,
    cost=lambda n, *, segments: (*_tree_cost(rounds(n + 1) - 1, segments), _tree_cost(rounds(n + 1) - 1, segments)[1]),
    ids={"openmpi": "4"},
)
def binary_tree_reduce(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """Segments of partial sums follow each other up a complete binary tree.

    The claim is met where the deepest level has two ranks or more and is a bound otherwise.
    """
    yield from reduce_up(_binary(n, root), segments)


def _in_order(n: int) -> Tree:
    """Every subtree is a run of ranks: the left child's, the right child's, then its own root."""
    parent = np.full(n, NOTHING, dtype=np.int32)
    low, high = np.array([0]), np.array([n - 1])
    while len(low):
        middle = low + (high - low + 1) // 2 - 1
        left, right = middle >= low, high - 1 > middle
        parent[middle[left]], parent[high[right] - 1] = high[left], high[right]
        low, high = np.concatenate([low[left], middle[right] + 1]), np.concatenate([middle[left], high[right] - 1])
    return tree(parent)


def _in_order_cost(n: int, *, segments: int) -> tuple[float, float, float]:
    alphas, betas = _tree_cost(rounds(n + 1), segments)
    return alphas, betas, betas


@algorithm(
    reduce,
    ordered=True,
    exact=False,
    pieces=_segments,
    cost=_in_order_cost,
    ids={"openmpi": "6"},
)
@titled("in-order binary tree")
def in_order_binary_tree(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """A pipelined binary tree whose subtrees are runs of ranks, for operations that do not commute.

    The tree's own root is the last rank, which passes the total on. The claim is a bound.
    """
    shape = _in_order(n)
    for t in range(shape.height + segments):
        s = t - shape.height
        total = () if s < 0 or root == n - 1 else (copy(n - 1, root, slot=s),)
        if t < shape.height + segments - 1:
            sent, added = up(shape, t, segments, scratch=segments)
            yield *sent, *total
            if len(added.src):
                yield added
        elif total:
            yield total


def _split_cost(n: int, *, segments: int) -> tuple[float, float]:
    moments = rounds(n + 1) - 2 + segments
    return moments + 1, moments / segments + 1 / 2


@algorithm(
    broadcast,
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: 2 * segments,
    cost=_split_cost,
    ids={"openmpi": "4"},
)
def split_binary_tree(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """One half of the data goes down the left half of a binary tree, the other down the right; then pairs swap.

    Places 1, 3, 5 … make up the left subtree, 2, 4, 6 … the right one. The claim is a bound.
    """
    v = np.arange(n)
    level = 1 << np.array([rounds(x + 2) - 1 for x in range(n)])
    above = np.where(v - level // 2 < level - 1, v - level // 2, v - level)
    shape = rooted(np.where(v > 0, above, NOTHING), root)
    side = 1 - (np.arange(n) - root) % n % 2
    yield "down"
    for t in range(shape.height + segments - 1):
        step = down(shape, t, segments)
        half = (side[step.dst].reshape(-1, 1) * segments + step.slot).astype(np.int32)
        yield step._replace(slot=half, to=half)
    yield "swap"
    left, right = np.arange(1, n, 2), np.arange(2, n, 2)
    alone = left[len(right) :]
    lower = np.broadcast_to(np.arange(segments), (n, segments))
    yield (
        copy(from_root(left[: len(right)], root, n), from_root(right, root, n), slot=lower[: len(right)]),
        copy(from_root(right, root, n), from_root(left[: len(right)], root, n), slot=lower[: len(right)] + segments),
        copy(from_root(alone * 0, root, n), from_root(alone, root, n), slot=lower[: len(alone)] + segments),
    )
