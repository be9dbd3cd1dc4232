"""How PyTorch prints a tensor: four digits, columns of one width, long ones cut short (torch/_tensor_str.py)."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
DIGITS, LINE, LONG, EDGE = 4, 80, 1000, 3
PLAIN = ("float32", "int64", "bool", "complex64")
"""Types of elements that go without saying."""


def shown(array: Array) -> str:
    """The text of a tensor."""
    begin = "tensor("
    body = _body(array, len(begin)) if array.size else "[]"
    notes = [f"size={tuple(array.shape)}"] if not array.size and array.ndim != 1 else []
    if array.dtype.name not in PLAIN or (not array.size and array.dtype.name == "int64"):
        notes.append(f"dtype=torch.{array.dtype.name}")
    text, last = begin + body, len(begin + body) - (begin + body).rfind("\n") - 1
    for note in notes:
        wraps = last + len(note) + 4 > LINE
        text += (",\n" + " " * len(begin) if wraps else ", ") + note
        last = len(begin) + len(note) if wraps else last + len(note) + 2
    return text + ")"


def _body(array: Array, indent: int) -> str:
    cut = array.size > LONG
    values = _edges(array).reshape(-1) if cut else array.reshape(-1)
    if np.iscomplexobj(values):
        real, imaginary = _written(values.real), _written(values.imag)

        def write(value: Any) -> str:
            tail = imaginary(value.imag).lstrip() + "j"
            return real(value.real) + (tail if tail[0] == "-" else "+" + tail)

        return _rows(array, indent, write, cut)
    return _rows(array, indent, _written(values), cut)


def _edges(array: Array) -> Array:
    """What is shown of a long tensor."""
    for axis, length in enumerate(array.shape):
        if length > 2 * EDGE:
            array = np.take(array, [*range(EDGE), *range(length - EDGE, length)], axis)
    return array


def _written(values: Array) -> Callable[[Any], str]:
    """What writes one of these values, all as wide as the widest."""
    if not np.issubdtype(values.dtype, np.floating):
        width = max(len(str(value)) for value in values.tolist())
        return lambda value: str(value).rjust(width)
    finite = values[np.isfinite(values) & (values != 0)].astype(float)
    form = _form(finite)
    width = max([len(form(value)) for value in finite.tolist()] or [1])
    return lambda value: form(value).rjust(width)


def _form(finite: Array) -> Callable[[float], str]:
    """How floats are written: as whole numbers, with four digits, or with an exponent."""
    whole = bool((finite == np.ceil(finite)).all())
    sizes = np.abs(finite)
    if finite.size:
        far = sizes.max() / sizes.min() > 1000.0 or sizes.max() > 1e8
        if far or (not whole and sizes.min() < 1e-4):
            return lambda value: f"{value:.{DIGITS}e}"
    if whole:
        return lambda value: f"{value:.0f}" + ("." if math.isfinite(value) else "")
    return lambda value: f"{value:.{DIGITS}f}"


def _rows(array: Array, indent: int, write: Callable[[Any], str], cut: bool) -> str:
    if array.ndim == 0:
        return write(array.item())
    short = cut and len(array) > 2 * EDGE
    if array.ndim > 1:
        parts = [_rows(row, indent + 1, write, cut) for row in (array[:EDGE] if short else array)]
        if short:
            parts += ["...", *(_rows(row, indent + 1, write, cut) for row in array[-EDGE:])]
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    texts = [write(value) for value in (array[:EDGE] if short else array).tolist()]
    if short:
        texts += [" ...", *(write(value) for value in array[-EDGE:].tolist())]
    widest = len(write(array[:1].tolist()[0])) + 2 if len(array) else 2
    per_line = max(1, (LINE - indent) // widest)
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
