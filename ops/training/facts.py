"""Facts of a step as a person reads them; the end of a fact's name is its unit."""

from collections.abc import Callable
from typing import Any

from sim.units import fmt_share, fmt_size, fmt_time


def is_table(value: Any) -> bool:
    """Whether a fact is rows of facts."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def words(key: str) -> str:
    """A fact's name without its unit.

    >>> words("without_overlap_s")
    'without overlap'
    """
    for unit in ("_s", "_bytes", "_share"):
        key = key.removesuffix(unit)
    return key.replace("_", " ")


MOST = 12
"""Entries of a list that are shown."""


def shown(key: str, value: Any, and_more: Callable[[int], str] = " and {} more".format) -> str:
    """A fact as a person reads it; `and_more` says how many entries of a long list are left out."""
    if isinstance(value, list):
        texts = [shown(key, one) for one in value]
        return ", ".join(texts[:MOST]) + (and_more(len(texts) - MOST) if len(texts) > MOST else "")
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    if key.endswith("_s"):
        return fmt_time(value)
    if key.endswith("_bytes"):
        return fmt_size(value)
    if key.endswith("_share"):
        return fmt_share(value, 1)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
