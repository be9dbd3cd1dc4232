"""Parameters that several workloads take."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from statistics import NormalDist
from typing import Annotated, Any, TypeVar

from ops.training.layers import Layer
from ops.training.models import MODELS, TFLOPS, layers_of
from sim.errors import InputError
from sim.parameters import Bounds, Choice, spread
from sim.units import GBps

Function = TypeVar("Function", bound=Callable[..., Any])

WIDTHS = {"float32": 4, "float16": 2, "bfloat16": 2, "float8": 1}
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
Variation = Annotated[float, Bounds(0.0, 0.2)]
"""Standard deviation of the GPUs' speeds, as a share of their mean."""
SAME = "same"
"""Numbers that travel are those that compute."""
Type = Annotated[str, Choice(tuple(WIDTHS))]


@dataclass(frozen=True)
class TrainedModel:
    """What a step trains: a preset or a table of layers, the samples per rank, and what a GPU achieves.

    The fields are parameters of every workload marked with `trains`; 0 and "" stand for the preset's own.
    """

    model: str
    layers: str
    batch: int
    tflops: float
    dtype: str

    @cached_property
    def table(self) -> list[Layer]:
        """Its layers. Raises InputError for a table that is none, and for a speed below zero."""
        return layers_of(self.model, self.layers, self.batch, self.tflops)

    @property
    def width(self) -> int:
        """Bytes of a number."""
        return WIDTHS[self.dtype]

    @property
    def flops(self) -> float:
        """Operations a second of one GPU."""
        return (self.tflops or MODELS[self.model].tflops) * TFLOPS


def trains(model: str, dtype: str) -> Callable[[Function], Function]:
    """Give a workload a `TrainedModel`'s parameters in the place of its argument `trained`, with these defaults."""
    fields = {
        "model": (ModelName, model),
        "layers": (str, ""),
        "batch": (Batch, 0),
        "tflops": (float, 0.0),
        "dtype": (Type, dtype),
    }

    def put(function: Function) -> Function:
        @spread("trained", fields)
        @wraps(function)
        def with_model(*values: Any, trained: dict[str, Any], **named: Any) -> Any:
            return function(*values, trained=TrainedModel(**trained), **named)

        return with_model  # type: ignore[return-value]

    return put


def check(value: float, low: float, high: float, what: str) -> None:
    """Raise InputError unless a number lies between two others."""
    if not low <= value <= high:
        raise InputError("training.range", what=what, value=value, low=low, high=high)


def positive(value: float, what: str) -> None:
    """Raise InputError unless a number is above zero."""
    if not value > 0:
        raise InputError("training.positive", what=what, value=value)


def slowness(place: int, n: int, variation: float) -> float:
    """How many times longer the GPU at a place of n computes where the first is fastest, the last slowest.

    Speeds are normal, each at the mean of its place among n (Blom 1958), `variation` their standard deviation.

    >>> [round(slowness(place, 3, 0.1), 3) for place in range(3)], slowness(0, 1, 0.1)
    ([0.92, 1.0, 1.095], 1.0)
    """
    if not variation:
        return 1.0
    return 1 / (1 - variation * NormalDist().inv_cdf((place + 0.625) / (n + 0.25)))
