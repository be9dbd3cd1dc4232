"""What people call the words of a plan, inside a sentence in any language."""

import re
from collections.abc import Mapping
from typing import Any

from ops.collectives import COLLECTIVES
from ops.libraries import LIBRARIES
from ops.plan.library_choice import collective_of
from ops.registry import ALGORITHMS
from sim.errors import Message, Title
from sim.faults.edits import EDITED
from sim.machines import MACHINES
from sim.registry import Registry

LISTS: Mapping[str, Registry[Any]] = {"algorithm": ALGORITHMS, "collective": COLLECTIVES, "machine": MACHINES}


def called(spec: str, *, beside: str = "", first: bool = False) -> Message:
    """Return an algorithm as a sentence names it: without its collective, unless it stands `beside` one of another.

    With `first` it begins a sentence. A library stands for the algorithms that it chooses.

    >>> called("allreduce.binomial_tree:segments=4"), called("allreduce.ring", first=True)
    ('binomial tree (segments=4)', 'Ring')
    >>> called("allreduce.nccl_tree", first=True)
    'NCCL tree'
    >>> called("allreduce.ring", beside="broadcast.chain"), called("nccl.allreduce")
    ('all-reduce ring', 'NCCL')
    """
    whole, _, settings = spec.partition(":")
    before, _, own = whole.partition(".")
    name: Message = Message(whole)
    if before in LIBRARIES and own in COLLECTIVES:
        name = Message(LIBRARIES.title(before))
    elif before in COLLECTIVES and own:
        other = bool(beside) and collective_of(beside.partition(":")[0]) != before
        name = _title("algorithm", whole, own, first=first and not other)
        if other:
            name = Message("answer.called.of", collective=_title("collective", before, first=first), name=name)
    return Message("answer.called.with", name=name, settings=settings) if settings else name


def machine_called(spec: str) -> Message:
    """Return a machine as a sentence names it, with the parameters that it is given.

    >>> machine_called("switch:ranks=8,latency=1us"), machine_called("dgx_a100, edited")
    ('ideal switch (ranks=8, latency=1us)', 'DGX A100, edited')
    """
    if spec.endswith(EDITED):
        return Message("answer.called.edited", name=machine_called(spec.removesuffix(EDITED)))
    name, _, settings = spec.partition(":")
    if name not in MACHINES:
        return Message(spec)
    title = _title("machine", name)
    if not settings:
        return title
    return Message("answer.called.with", name=title, settings=re.sub(r",(?! )", ", ", settings))


def _title(kind: str, name: str, own: str = "", *, first: bool = False) -> Title:
    """The name of an entry of a list, or of what once was one."""
    english = LISTS[kind].title(name) if name in LISTS[kind] else own.replace("_", " ")
    english = english[:1].upper() + english[1:] if first else english
    return Title(f"name.{kind}.{name.rpartition('.')[2]}", english)
