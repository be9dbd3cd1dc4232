"""`run --dtype … --op …`: the same schedule on real numbers."""

from typing import Any

import numpy as np

from ops.plan import Plan
from ops.run import Run
from sim.errors import InputError
from sim.schedule.numeric import compare, cut, random_inputs
from sim.topology import Floats

MOST_NUMBERS = 1 << 22
"""In all buffers together. Blocks are cut down to their first elements beyond it: all elements fare alike."""


def check(plan: Plan, outcome: Run, op: str, dtype: str) -> dict[str, Any]:
    """Run the schedule on random numbers and compare. Raises InputError for bytes that are no whole elements."""
    schedule, size, blocks = outcome.trace.schedule, int(outcome.size), outcome.blocks
    typed = plan.block_bytes or blocks or []
    width = np.dtype(dtype).itemsize
    for flag, number in [("--size", size)] if blocks is None else [("--counts:", round(count)) for count in typed]:
        if number % width:
            raise InputError("option.elements", option=flag, bytes=number, dtype=dtype, width=width)
    promise = schedule.promise
    if promise is None:
        raise InputError("option.no_numbers", schedule=schedule.name)
    lengths = cut(schedule, size // width) if blocks is None else _whole_elements(np.array(blocks) / width)
    checked = np.minimum(lengths, max(1, MOST_NUMBERS // (schedule.places * schedule.slots)))
    compared = compare(schedule, random_inputs(promise, checked, dtype, op), op)
    return {
        "dtype": dtype,
        "op": op,
        "right": compared.ok,
        "largest_error": compared.error if np.isfinite(compared.error) else None,
        "block_elements": int(lengths.max(initial=0)),
        "checked_elements": int(checked.max(initial=0)),
    }


def _whole_elements(shares: Floats) -> Any:
    """Shares of a buffer rounded so that they still make up the whole."""
    return np.diff(np.floor(np.cumsum(shares) + 1e-6).astype(np.int64), prepend=0)


def in_words(numbers: dict[str, Any]) -> str:
    """The outcome in one line."""
    first = ""
    if numbers["checked_elements"] < numbers["block_elements"]:
        first = f", first {numbers['checked_elements']:,} of {numbers['block_elements']:,} elements of each block"
    error = f", off by {numbers['largest_error']:.2g} at most" if numbers["largest_error"] else ""
    return f"{numbers['dtype']} {numbers['op']} {'right' if numbers['right'] else 'WRONG'}{error}{first}"
