"""Well-known models as layers, their parameters and operations computed from their published shapes.

Tests hold the totals against the published ones. Backward passes take twice the operations of forward passes.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from ops.training.layers import Layer, parse_layers
from sim.errors import InputError

TFLOPS = 1e12
V100_HALF = 7.85
"""TFLOP/s: half of a V100's 15.7 in float32 (NVIDIA V100 datasheet), where no measured step is known."""


class Part(NamedTuple):
    """One layer before it meets a GPU: `operations` forward, `activation` and `input` bytes per sample."""

    name: str
    tensors: tuple[tuple[int, ...], ...]
    operations: float
    activation: float
    input: float = 0.0
    buffers: tuple[tuple[int, ...], ...] = ()


class Model(NamedTuple):
    """A preset: its parts, and the batch and TFLOP/s a measured GPU had with it."""

    title: str
    parts: Callable[[], list[Part]]
    batch: int
    tflops: float
    source: str


def _convolution(name: str, inputs: int, outputs: int, kernel: int, side: int, groups: int = 1) -> Part:
    """A convolution with batch norm; `side` is that of its output. Both keep their output for backward, in float32."""
    weights = (outputs, inputs // groups, kernel, kernel)
    pixels, norm = side * side, (outputs,)
    kept, running = 8.0 * outputs * pixels, (norm, norm, ())
    return Part(name, (weights, norm, norm), 2.0 * math.prod(weights) * pixels, kept, buffers=running)


def _linear(name: str, inputs: int, outputs: int) -> Part:
    return Part(name, ((outputs, inputs), (outputs,)), 2.0 * inputs * outputs, 4.0 * outputs)


def resnet(blocks: tuple[int, int, int, int], groups: int = 1, width: int = 64) -> list[Part]:
    """Bottleneck residual networks for 224 x 224 images, stride in the 3 x 3 convolution, as torchvision has them."""
    parts = [_convolution("conv1", 3, 64, 7, 112)]
    inputs, side = 64, 56
    for stage, count in enumerate(blocks):
        planes = 64 << stage
        inner = planes * width // 64 * groups
        for block in range(count):
            name = f"layer{stage + 1}.{block}"
            before = side
            side = 56 >> stage
            parts += [
                _convolution(f"{name}.conv1", inputs, inner, 1, before),
                _convolution(f"{name}.conv2", inner, inner, 3, side, groups),
                _convolution(f"{name}.conv3", inner, planes * 4, 1, side),
            ]
            if block == 0:
                parts.append(_convolution(f"{name}.downsample", inputs, planes * 4, 1, side))
            inputs = planes * 4
    return [*parts, _linear("fc", 2048, 1000)]


def vgg16() -> list[Part]:
    """Configuration D of Simonyan and Zisserman 2014."""
    parts, inputs, side = [], 3, 224
    for stage, (outputs, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
        for k in range(count):
            shape, pixels = (outputs, inputs, 3, 3), side * side
            tensors = (shape, (outputs,))
            name = f"conv{stage + 1}_{k + 1}"
            parts.append(Part(name, tensors, 2.0 * math.prod(shape) * pixels, 4.0 * outputs * pixels))
            inputs = outputs
        side //= 2
    return [*parts, _linear("fc6", 25088, 4096), _linear("fc7", 4096, 4096), _linear("fc8", 4096, 1000)]


def transformer(depth: int, hidden: int, heads: int, length: int, width: int = 4) -> list[Part]:
    """Blocks of attention and feed-forward, four times as wide inside; a sample is `length` tokens.

    Activations after Korthikanti et al. 2022, "Reducing Activation Recomputation", section 4.1, in numbers of `width`
    bytes; without `heads` the scores are not kept, as fused attention does.
    """
    h, s = hidden, length
    vectors = ((h,), (h,))
    attention = ((3 * h, h), (3 * h,), (h, h), (h,), *vectors)
    forward = ((4 * h, h), (4 * h,), (h, 4 * h), (h,), *vectors)
    half = width / 2.0
    kept_attention, kept_forward, tokens = half * s * (13 * h + 5 * heads * s), half * s * 21 * h, float(width * s * h)
    return [
        part
        for k in range(depth)
        for part in (
            Part(f"block{k}.attention", attention, 8.0 * s * h * h + 4.0 * s * s * h, kept_attention, tokens),
            Part(f"block{k}.mlp", forward, 16.0 * s * h * h, kept_forward, tokens),
        )
    ]


def gpt2(
    depth: int = 12, hidden: int = 768, heads: int = 12, length: int = 1024, words: int = 50257, width: int = 4
) -> list[Part]:
    """GPT-2 (Radford et al. 2019): learned positions, the output tied to the word embedding."""
    embedding = Part(
        "embedding", ((words, hidden), (length, hidden)), 2.0 * length * words * hidden, 4.0 * length * hidden
    )
    blocks = transformer(depth, hidden, heads, length, width)
    return [embedding, *blocks, Part("final_norm", ((hidden,), (hidden,)), 0.0, 4.0 * length * hidden)]


def llama(depth: int, hidden: int, inner: int, keys: int, length: int = 8192, words: int = 128256) -> list[Part]:
    """Llama 3 (Grattafiori et al. 2024, table 3): `keys` wide keys and values, gated feed-forward `inner` wide."""
    h, s = hidden, length
    attention = ((h, h), (2 * keys, h), (h, h), (h,))
    forward = ((2 * inner, h), (h, inner), (h,))
    tokens = 2.0 * s * h
    parts = [Part("embedding", ((words, h),), 0.0, tokens)]
    for k in range(depth):
        scores, weights = 4.0 * s * s * h, 2.0 * s * h * (2 * h + 2 * keys)
        parts += [
            Part(f"block{k}.attention", attention, weights + scores, 13.0 * s * h, tokens),
            Part(f"block{k}.mlp", forward, 6.0 * s * h * inner, 4.0 * s * h + 6.0 * s * inner, tokens),
        ]
    return [*parts, Part("output", ((words, h), (h,)), 2.0 * s * words * h, tokens, tokens)]


def bert(depth: int = 24, hidden: int = 1024, heads: int = 16, length: int = 128, words: int = 30522) -> list[Part]:
    """BERT (Devlin et al. 2018) with its pooler: 512 positions, 2 segments; samples of 128 tokens."""
    h = hidden
    embedding = Part("embedding", ((words, h), (512, h), (2, h), (h,), (h,)), 0.0, 4.0 * length * h)
    pooler = Part("pooler", ((h, h), (h,)), 2.0 * h * h, 4.0 * h)
    return [embedding, *transformer(depth, hidden, heads, length), pooler]


V100_DDP = "one V100 without DDP, batch 32, float32: pytorch/pytorch benchmarks/distributed/ddp/README.md"
HALF = "half of a V100's float32 peak"


def _measured(parts: Callable[[], list[Part]], batch: int, seconds: float) -> float:
    """TFLOP/s of a GPU that took so long for forward and backward."""
    return 3 * batch * sum(part.operations for part in parts()) / seconds / TFLOPS


def _timed(title: str, parts: Callable[[], list[Part]], seconds: float) -> Model:
    return Model(title, parts, 32, _measured(parts, 32, seconds), V100_DDP)


MPT = {
    "125m": (12, 768, 24, 345.0), "350m": (24, 1024, 18, 345.0), "760m": (24, 1536, 24, 345.0),
    "1b": (24, 2048, 14, 413.0), "3b": (32, 2560, 6, 418.0), "7b": (32, 4096, 6, 459.0),
    "13b": (40, 5120, 2, 393.0), "30b": (48, 7168, 3, 377.0), "70b": (80, 8192, 8, 421.0),
}  # fmt: skip
"""Blocks, width, micro-batch, and TFLOP/s of one of the fewest H100 that are published."""
FOUNDRY = "H100, bfloat16, FSDP: mosaicml/llm-foundry scripts/train/benchmarking/README.md"
H100_TITAN, TITAN = 390.0, "8 H100, compiled: pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan.md"


def _mpt(name: str, depth: int, hidden: int, batch: int, tflops: float) -> Model:
    """MPT (MosaicML 2023): GPT-2's shapes, 2,048 tokens, fused attention in bfloat16."""
    return Model(f"MPT {name}", lambda: gpt2(depth, hidden, 0, 2048, 50368, 2), batch, tflops, FOUNDRY)


MODELS: dict[str, Model] = {
    "resnet50": _timed("ResNet-50", lambda: resnet((3, 4, 6, 3)), 0.097),
    "resnet101": _timed("ResNet-101", lambda: resnet((3, 4, 23, 3)), 0.162),
    "resnext50": _timed("ResNeXt-50 32x4d", lambda: resnet((3, 4, 6, 3), 32, 4), 0.145),
    "resnext101": _timed("ResNeXt-101 32x8d", lambda: resnet((3, 4, 23, 3), 32, 8), 0.415),
    "vgg16": Model("VGG-16", vgg16, 32, V100_HALF, HALF),
    "bert_large": Model("BERT-large", bert, 8, V100_HALF, HALF),
    "gpt2": Model("GPT-2", gpt2, 4, V100_HALF, HALF),
    "gpt2_xl": Model("GPT-2 XL", lambda: gpt2(48, 1600, 25), 1, V100_HALF, HALF),
    **{f"mpt_{name}": _mpt(name, *row) for name, row in MPT.items()},
    "llama3_8b": Model("Llama 3 8B", lambda: llama(32, 4096, 14336, 1024), 2, H100_TITAN, TITAN),
    "llama3_70b": Model("Llama 3 70B", lambda: llama(80, 8192, 28672, 1024), 1, H100_TITAN, TITAN),
    "llama3_405b": Model("Llama 3 405B", lambda: llama(126, 16384, 53248, 1024), 1, H100_TITAN, TITAN),
}
"""Presets by the word a person types."""


def layers_of(model: str, layers: str, batch: int, tflops: float) -> list[Layer]:
    """The layers of a preset for this batch and GPU (0 stands for the preset's own), or those of a person's table."""
    if layers:
        return parse_layers(layers)
    preset = MODELS[model]
    samples, rate = batch or preset.batch, (tflops or preset.tflops) * TFLOPS
    if rate <= 0:
        raise InputError("training.tflops", tflops=tflops)
    parts = [part._replace(operations=part.operations * samples / rate) for part in preset.parts()]
    return [
        Layer(p.name, p.tensors, p.operations, 2 * p.operations, p.activation * samples, p.input * samples, p.buffers)
        for p in parts
    ]
