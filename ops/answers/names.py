"""What people call an algorithm."""

from ops.collectives import COLLECTIVES
from ops.registry import ALGORITHMS


def called(spec: str, *, beside: str = "", first: bool = False) -> str:
    """Return an algorithm as a sentence names it: without its collective, unless it stands `beside` one of another.

    With `first` it begins a sentence. A library's name, which stands where a collective would, stays.

    >>> called("allreduce.binomial_tree:segments=4"), called("allreduce.ring", first=True)
    ('binomial tree (segments=4)', 'Ring')
    >>> called("allreduce.nccl_tree", first=True)
    'NCCL tree'
    >>> called("allreduce.ring", beside="broadcast.chain"), called("nccl.allreduce")
    ('all-reduce ring', 'nccl.allreduce')
    """
    whole, _, settings = spec.partition(":")
    collective, _, own = whole.partition(".")
    name = whole
    if collective in COLLECTIVES and own:
        name = ALGORITHMS.title(whole) if whole in ALGORITHMS else own.replace("_", " ")
        if beside and beside.partition(".")[0] != collective:
            name = f"{COLLECTIVES.title(collective)} {name}"
        name = name[:1].upper() + name[1:] if first else name
    return f"{name} ({settings})" if settings else name
