"""Models as lists of layers: their tensors, the time of their forward and backward pass, their activations."""

import math
from typing import NamedTuple

from sim.base.files.textfile import check_names
from sim.base.numbers import whole
from sim.errors import InputError, Message
from sim.units import parse_size, parse_time

MOST_LAYERS = 10_000
MOST_PARAMETERS = 1 << 44
PARTS = ("activation", "forward", "backward")
"""What messages call the last three words of a line."""


class Layer(NamedTuple):
    """`tensors` are shapes; times in seconds for a rank's whole batch; `activation` in bytes, kept for backward."""

    name: str
    tensors: tuple[tuple[int, ...], ...]
    forward: float
    backward: float
    activation: float = 0.0
    input: float = 0.0
    """Bytes of what it is given, from which its activations can be computed again."""
    buffers: tuple[tuple[int, ...], ...] = ()
    """Shapes of tensors that are no parameters: running means and variances."""

    @property
    def parameters(self) -> int:
        """How many numbers its tensors hold."""
        return sum(math.prod(shape) for shape in self.tensors)


def parse_layers(text: str) -> list[Layer]:
    """A table: a layer per line (or `;`), `name shape[+shape…] forward backward [activation]`.

    Commas separate as spaces do; `#` begins a comment.

    Raises InputError naming the line.

    >>> parse_layers("fc1 4x3+4 1ms 2ms 1KiB; fc2 2x4 1ms 2ms")[0]
    Layer(name='fc1', tensors=((4, 3), (4,)), forward=0.001, backward=0.002, activation=1024, input=0.0, buffers=())
    """
    layers = []
    for number, line in enumerate(text.replace(";", "\n").splitlines(), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        where = Message("place.line", file="layers", line=number)
        if len(words) not in (4, 5):
            raise InputError("layers.line", where=where, line=line.strip())
        check_names(words[:1], where)
        tensors = tuple(_shape(part, where) for part in words[1].split("+"))
        activation, forward, backward = (Message("layers.part", where=where, part=part) for part in PARTS)
        size = parse_size(words[4], activation) if len(words) == 5 and words[4] != "0" else 0
        times = parse_time(words[2], forward), parse_time(words[3], backward)
        layers.append(Layer(words[0], tensors, *times, size))
        if len(layers) > MOST_LAYERS:
            raise InputError("layers.too_many", most=MOST_LAYERS)
    if not layers:
        raise InputError("layers.empty")
    return layers


def _shape(text: str, where: Message) -> tuple[int, ...]:
    sizes = [whole(part) for part in text.split("x")]
    shape = tuple(size for size in sizes if size is not None and size > 0)
    if len(shape) < len(sizes):
        raise InputError("layers.shape", where=where, text=text)
    if math.prod(shape) > MOST_PARAMETERS:
        raise InputError("layers.too_large", where=where, text=text, most=MOST_PARAMETERS)
    return shape
