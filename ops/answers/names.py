"""What people call an algorithm."""

import re

from ops.collectives import COLLECTIVES

ACRONYMS = ("nccl", "nvls", "ll", "ll128")


def called(spec: str, *, beside: str = "", first: bool = False) -> str:
    """Return an algorithm as a sentence names it: without its collective, unless it stands `beside` one of another.

    With `first` it begins a sentence. A library's name, which stands where a collective would, stays.

    >>> called("allreduce.binomial_tree:segments=4"), called("allreduce.ring", first=True)
    ('binomial tree (segments=4)', 'Ring')
    >>> called("allreduce.nccl_tree", first=True)
    'NCCL tree'
    >>> called("allreduce.ring", beside="broadcast.chain"), called("nccl.allreduce")
    ('allreduce ring', 'nccl.allreduce')
    """
    whole, _, settings = spec.partition(":")
    collective, _, own = whole.partition(".")
    if collective not in COLLECTIVES or not own:
        name = whole
    else:
        is_other = bool(beside) and beside.partition(".")[0] != collective
        words = re.split(r"[._]", f"{collective}.{own}" if is_other else own)
        name = " ".join(word.upper() if word in ACRONYMS else word for word in words)
        name = name[:1].upper() + name[1:] if first else name
    return f"{name} ({settings})" if settings else name
