"""What was made and proved in this process, kept for the next run of the same work, as far as it is small."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST = 1 << 26
"""Bytes that are kept; beyond, what was used least lately goes."""

WIDE = 61
"""Words in a row that are added up with those below them, so that words that change places are seen, too."""


class _FoundParts(NamedTuple):
    """Parts under a key, how many bytes they are, and sums of what is in them."""

    parts: Mapping[str, Any]
    size: int
    sums: bytes


_KEPT: OrderedDict[Hashable, _FoundParts] = OrderedDict()
_LOCK = Lock()


def recall(key: Hashable) -> Mapping[str, Any]:
    """Return what is kept under a key; nothing where nothing is, or somebody has written into it."""
    with _LOCK:
        kept = _KEPT.get(key)
        if kept is None:
            return {}
        _KEPT.move_to_end(key)
    if sums_of(kept.parts) != kept.sums:
        with _LOCK:
            _KEPT.pop(key, None)
        return {}
    return kept.parts


def keep(key: Hashable, parts: Mapping[str, Any]) -> None:
    """Keep parts under a key, in place of those that were kept there."""
    size = sum(array.nbytes for array in arrays_of(parts))
    with _LOCK:
        entry = _KEPT.get(key)
        if size > MOST or (entry and entry.size == size and entry.parts.keys() == parts.keys()):
            return
    kept = _FoundParts(parts, size, sums_of(parts))
    with _LOCK:
        _KEPT[key] = kept
        _KEPT.move_to_end(key)
        while sum(kept.size for kept in _KEPT.values()) > MOST:
            _KEPT.popitem(last=False)


def forget() -> None:
    """Keep nothing of what was kept."""
    with _LOCK:
        _KEPT.clear()


def sums_of(whole: Any) -> bytes:
    """Return sums of all arrays, of which some change when an entry does."""
    sums = []
    for array in arrays_of(whole):
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        words = raw[: len(raw) // (8 * WIDE) * 8 * WIDE].view(np.uint64)
        sums += [words.reshape(-1, WIDE).sum(axis=0).tobytes(), raw[8 * len(words) :].tobytes()]
    return b"".join(sums)


def arrays_of(whole: Any) -> list[NDArray[Any]]:
    """Return all arrays in mappings, tuples and fields of dataclasses, each once; none that repeats one entry.

    >>> column = np.zeros(8)
    >>> [array.nbytes for array in arrays_of({"a": column, "b": (column, np.broadcast_to(column, (9, 8)))})]
    [64]
    """
    seen: set[int] = set()
    arrays, rest = [], [whole]
    while rest:
        part = rest.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            arrays += [part] if all(part.strides) else []
        elif isinstance(part, Mapping):
            rest += part.values()
        elif isinstance(part, tuple):
            rest += part
        elif is_dataclass(part) and not isinstance(part, type):
            rest += (getattr(part, field.name) for field in fields(part))
    return arrays
