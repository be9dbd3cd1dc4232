"""Errors of small and of large messages: a median below 1 MiB, and one from there on."""

from collections.abc import Mapping
from typing import Any

from ops.measured.comparison import Agreement

HALVES = {"below_1MiB": "below 1 MiB", "from_1MiB": "from 1 MiB on"}
"""What the halves are called in words, by the ends of their keys."""


def halves(name: str, medians: Agreement) -> dict[str, float | None]:
    """Return both medians as data, under keys that begin with a name."""
    return {f"{name}_below_1MiB": medians.small, f"{name}_from_1MiB": medians.large}


def in_words(data: Mapping[str, Any], name: str = "") -> str:
    """Return both medians in words, without one that does not exist; keys begin with `name`.

    >>> in_words({"error_below_1MiB": 0.0512, "error_from_1MiB": 0.02}, "error_")
    '5.1% below 1 MiB, 2.0% from 1 MiB on'
    """
    shares = [(data[f"{name}{key}"], where) for key, where in HALVES.items()]
    return ", ".join(f"{share:.1%} {where}" for share, where in shares if share is not None)
