"""Generations of GPUs as NCCL counts them, and what follows from one: whether an NVSwitch of it can reduce."""

from typing import Literal, get_args

Generation = Literal["", "Pascal", "Volta", "Ampere", "Hopper", "Blackwell", "CDNA", "CDNA2", "CDNA3", "CDNA4"]
"""Turing counts as Volta and Ada as Ampere, as in NCCL's tables; empty where nothing says which GPUs these are."""
GENERATIONS: tuple[Generation, ...] = tuple(word for word in get_args(Generation) if word)

BY_SM: tuple[tuple[int, Generation], ...] = (
    (60, "Pascal"),
    (70, "Volta"),
    (80, "Ampere"),
    (90, "Hopper"),
    (100, "Blackwell"),
)
"""From which compute capability on (CUDA C++ Programming Guide)."""
BY_GCN: tuple[tuple[str, Generation], ...] = (
    ("gfx942", "CDNA3"),
    ("gfx950", "CDNA4"),
    ("gfx90a", "CDNA2"),
    ("gfx908", "CDNA"),
)
"""AMD's architectures by their name in ROCm."""
REDUCING: tuple[Generation, ...] = ("Hopper", "Blackwell")
"""GPUs whose NVSwitch adds and copies what it carries: NVLink SHARP came with the third NVSwitch (NVIDIA H100 white
paper); NCCL's NVLS asks for compute capability 9.0 (`src/transport/nvls.cc`)."""


def of_sm(sm: int) -> Generation:
    """Return the generation of a compute capability, like 90 for 9.0; empty for one before Pascal.

    >>> of_sm(75), of_sm(89), of_sm(120), of_sm(37)
    ('Volta', 'Ampere', 'Blackwell', '')
    """
    return next((word for least, word in reversed(BY_SM) if sm >= least), "")


def can_reduce(generation: Generation) -> bool:
    """Return whether NVSwitches of these GPUs add and copy; an unknown generation is taken to."""
    return not generation or generation in REDUCING
