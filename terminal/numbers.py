"""`run --dtype … --op …`: the same schedule on real numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sim.errors import InputError

if TYPE_CHECKING:
    from sim.schedule import Schedule
    from sim.topology import Floats

MOST_NUMBERS = 1 << 22
"""In all buffers together. Blocks are cut down to their first elements beyond it: all elements fare alike."""


def wanted(dtype: str | None, op: str | None) -> tuple[str, str] | None:
    """The dtype and op to use; None when neither is asked for. Raises InputError for names there are none of."""
    if dtype is None and op is None:
        return None
    from sim.schedule.numeric import DTYPES, OPS

    for flag, name, known in (("--dtype", dtype, DTYPES), ("--op", op, OPS)):
        if name is not None and name not in known:
            raise InputError(f"{flag} {name[:40]!r} is unknown: choose from {', '.join(known)}")
    return dtype or DTYPES[0], op or "sum"


def check(
    schedule: "Schedule", size: int, blocks: Sequence[float] | None, typed: Sequence[float], dtype: str, op: str
) -> dict[str, Any]:
    """Run the schedule on random numbers and compare.

    `blocks` are the bytes of every block where they differ, `typed` those that were asked for. Raises InputError for
    bytes that are no whole elements.
    """
    import numpy as np

    from sim.schedule.numeric import compare, cut, random_inputs

    width = np.dtype(dtype).itemsize
    for flag, number in [("--size", size)] if blocks is None else [("--counts:", round(count)) for count in typed]:
        if number % width:
            raise InputError(f"{flag} {number} is no whole number of {dtype} elements: use multiples of {width} bytes")
    promise = schedule.promise
    if promise is None:
        raise InputError(f"{schedule.name} promises nothing to compare numbers with: leave out --dtype and --op")
    lengths = cut(schedule, size // width) if blocks is None else _whole_elements(np.array(blocks) / width)
    checked = np.minimum(lengths, max(1, MOST_NUMBERS // (schedule.places * schedule.slots)))
    outcome = compare(schedule, random_inputs(promise, checked, dtype, op), op)
    return {
        "dtype": dtype,
        "op": op,
        "right": outcome.ok,
        "largest_error": outcome.error if np.isfinite(outcome.error) else None,
        "block_elements": int(lengths.max(initial=0)),
        "checked_elements": int(checked.max(initial=0)),
    }


def _whole_elements(shares: "Floats") -> Any:
    """Shares of a buffer rounded so that they still make up the whole."""
    import numpy as np

    return np.diff(np.floor(np.cumsum(shares) + 1e-6).astype(np.int64), prepend=0)


def told(numbers: dict[str, Any]) -> str:
    """The outcome in one line."""
    first = ""
    if numbers["checked_elements"] < numbers["block_elements"]:
        first = f", first {numbers['checked_elements']:,} of {numbers['block_elements']:,} elements of each block"
    error = f", off by {numbers['largest_error']:.2g} at most" if numbers["largest_error"] else ""
    return f"{numbers['dtype']} {numbers['op']} {'right' if numbers['right'] else 'WRONG'}{error}{first}"
