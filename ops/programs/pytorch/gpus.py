"""What GPUs compute and how fast they read their memory, as their makers' data sheets have it."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from ops.programs.pytorch.profile import Profile
from ops.training.layers import Layer
from sim.errors import InputError
from sim.topology import Topology

TERA, GIGA = 1e12, 1e9
EFFICIENCY = 0.5
"""The share of its peaks that a GPU reaches unless a person says otherwise."""


class Gpu(NamedTuple):
    """Dense peaks in TFLOP/s for float32, as PyTorch multiplies it by default, and 16-bit types; memory in GB/s."""

    single: float
    half: float
    memory: float


GPUS = {
    "v100": Gpu(15.7, 125, 900),
    "a100": Gpu(19.5, 312, 2039),
    "h100": Gpu(67, 989.5, 3350),
    "h200": Gpu(67, 989.5, 4800),
    "h20": Gpu(44, 148, 4000),
    "b200": Gpu(75, 2250, 7700),
    "l40s": Gpu(91.6, 362, 864),
    "mi300x": Gpu(163.4, 1307.4, 5300),
}
"""NVIDIA's data sheets of V100 SXM2, A100 80GB SXM, H100 SXM, H200 SXM, H20, HGX B200 (an eighth) and L40S; AMD's of
the MI300X. Peaks without sparsity."""
_OF_MACHINE = {
    "dgx1v": "v100", "dgx2": "v100", "dgx_a100": "a100", "aws_p4d": "a100", "a100_quad": "a100", "dgx_h100": "h100",
    "aws_p5": "h100", "gcp_a3_high": "h100", "gcp_a3_mega": "h100", "h100_quad": "h100", "dgx_h200": "h200",
    "gcp_a3_ultra": "h200", "h20": "h20", "dgx_b200": "b200", "l40s": "l40s", "mi300x": "mi300x",
}  # fmt: skip
"""The GPU of a machine where its name says it."""


class Roofline(NamedTuple):
    """How long work takes: the longer of its operations and its bytes, at a share of a GPU's peaks."""

    gpu: str
    efficiency: float = EFFICIENCY

    def __str__(self) -> str:
        return f"compute by a roofline of {self.gpu} at {self.efficiency:.0%} of its peaks"

    def to_json(self) -> str:
        """Return operations and bytes per second, as processes of a script read them."""
        gpu = GPUS[self.gpu]
        single, half = (peak * TERA * self.efficiency for peak in (gpu.single, gpu.half))
        return json.dumps({"single": single, "half": half, "memory": gpu.memory * GIGA * self.efficiency})


class LayerTimes(NamedTuple):
    """How long work takes: what a table says of each module, everything else no time."""

    layers: Sequence[Layer]

    def __str__(self) -> str:
        return f"compute by a table of {len(self.layers)} modules"

    def to_json(self) -> str:
        """Return forward and backward seconds by module, as processes of a script read them."""
        return json.dumps({"layers": {layer.name: (layer.forward, layer.backward) for layer in self.layers}})


Compute = Roofline | LayerTimes | Profile


def roofline(topology: Topology, gpu: str | None, efficiency: float = EFFICIENCY) -> Roofline | None:
    """Return the roofline of a GPU, the machine's own unless named; None where neither says which.

    Raises InputError for a GPU without data sheet, or a share outside of 0 to 1.

    >>> from sim.machines import build
    >>> print(roofline(build("dgx_h100"), None))
    compute by a roofline of h100 at 50% of its peaks
    """
    name = (gpu or _OF_MACHINE.get(topology.name.partition(":")[0], "")).lower()
    if not name or name == "none":
        return None
    if name not in GPUS:
        raise InputError("gpu.unknown", gpu=name, choices=GPUS)
    if not 0 < efficiency <= 1:
        raise InputError("gpu.efficiency", efficiency=efficiency)
    return Roofline(name, efficiency)
