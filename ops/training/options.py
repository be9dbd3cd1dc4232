"""Parameters that several workloads take."""

from typing import Annotated

from ops.training.models import MODELS
from sim.errors import InputError
from sim.parameters import Bounds, Choice
from sim.units import GBps

WIDTHS = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of a number by type."""
V100_MEMORY = 900 * GBps
"""HBM2 of a V100 (NVIDIA V100 datasheet)."""

Ranks = Annotated[int, Bounds(0, 1 << 16)]
"""How many ranks take part; 0 stands for the whole machine."""
ModelName = Annotated[str, Choice(tuple(MODELS))]
Batch = Annotated[int, Bounds(0, 1 << 20)]
"""Samples per rank; 0 stands for the preset's own."""
State = Annotated[int, Bounds(0, 64)]
"""Bytes of the optimizer per parameter."""
Type = Annotated[str, Choice(tuple(WIDTHS))]


def check(value: float, low: float, high: float, what: str) -> None:
    """Raise InputError unless a number lies between two others."""
    if not low <= value <= high:
        raise InputError(f"{what}={value:g} is outside {low:g}..{high:g}: choose one inside")


def positive(value: float, what: str) -> None:
    """Raise InputError unless a number is above zero."""
    if not value > 0:
        raise InputError(f"{what}={value:g} is not above zero: give a number like 10")
