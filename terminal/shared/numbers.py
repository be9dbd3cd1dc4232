"""`run --dtype … --op …` and `--show-values`: the same schedule on real numbers, checked or shown step by step."""

from typing import Any

import numpy as np

from ops.plan import Plan
from ops.run import Run
from ops.run.values import Values, number
from sim.errors import InputError
from sim.schedule import Schedule
from sim.schedule.numeric import compare, cut, random_inputs
from sim.topology import Floats

WIDEST = 160
"""Characters of a row that can be read."""
MOST_NUMBERS = 1 << 22
"""In all buffers together. Blocks are cut down to their first elements beyond it: all elements fare alike."""


def check(plan: Plan, outcome: Run, op: str, dtype: str) -> dict[str, Any]:
    """Run the schedule on random numbers and compare. Raises InputError for bytes that are no whole elements."""
    schedule, size, blocks = outcome.trace.schedule, int(outcome.size), outcome.blocks
    typed = plan.block_bytes or blocks or []
    width = np.dtype(dtype).itemsize
    for flag, total in [("--size", size)] if blocks is None else [("--counts:", round(count)) for count in typed]:
        if total % width:
            raise InputError("option.elements", option=flag, bytes=total, dtype=dtype, width=width)
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


def as_data(values: Values, schedule: Schedule) -> dict[str, Any]:
    """Return the numbers as JSON: states by step, place and slot (null for an empty place), and every move."""
    states = [
        [[_plain(x) if held else None for x, held in zip(*row, strict=True)] for row in zip(*state, strict=True)]
        for state in zip(values.states, values.is_held, strict=True)
    ]
    owner = schedule.transfer_of
    moves = [
        {
            "step": int(schedule.step_of[owner[m]]) + 1,
            "src": int(schedule.src[owner[m]]),
            "dst": int(schedule.dst[owner[m]]),
            "from_slot": int(schedule.from_slot[m]),
            "to_slot": int(schedule.to_slot[m]),
            "arrives": _plain(values.arrived[m]),
            "adds": bool(values.adds[m]),
            "becomes": _plain(values.left[m]),
        }
        for m in range(len(owner))
    ]
    end = [
        [_plain(x) if held else None for x, held in zip(*row, strict=True)]
        for row in zip(values.final, values.is_held[-1], strict=True)
    ]
    return {
        "op": values.op,
        "dtype": values.dtype,
        "right": values.is_right,
        "states": states,
        "moves": moves,
        "end": end,
    }


def as_table(values: Values, schedule: Schedule) -> str:
    """Print a row for every rank and a column for every block; changed cells show the sum.

    If a row is too long to read, a step lists only its changes.
    """
    places = [f"rank {r}" for r in range(schedule.n)] + [f"switch {s}" for s in range(schedule.places - schedule.n)]
    head = f"values, {values.dtype} {values.op}: a column for every block of the buffer"
    tables = [[head, *_rows(places, _words(values.states[0], values.is_held[0]))]]
    for step in range(schedule.steps):
        phase = schedule.phase_of(step)
        title = f"step {step + 1} of {schedule.steps}{f', {phase}' if phase else ''}"
        changes, cells = _changes(values, schedule, step), _words(values.states[step + 1], values.is_held[step + 1])
        for (place, slot), change in changes.items():
            cells[place][slot] = change
        rows = _rows(places, cells)
        tables.append([title, *(rows if len(rows[0]) <= WIDEST else _listed(places, changes))])
    if values.op == "mean":
        rows = _rows(places, _words(values.final, values.is_held[-1]))
        tables.append(["end: divided by the number of ranks that were added up", *rows])
    return "\n\n".join("\n".join(lines) for lines in tables)


def _changes(values: Values, schedule: Schedule, step: int) -> dict[tuple[int, int], str]:
    """Return the changes of a step by place and slot."""
    owner, changes = schedule.transfer_of, dict[tuple[int, int], str]()
    for m in range(*schedule.moves[schedule.step_start[step : step + 2]].tolist()):
        place = int(schedule.dst[owner[m]]), int(schedule.to_slot[m])
        change = values.sum_of(m) if values.adds[m] else f"<-{values.sum_of(m)}"
        changes[place] = f"{changes[place]}, {change}" if place in changes else change
    return changes


def _listed(places: list[str], changes: dict[tuple[int, int], str]) -> list[str]:
    lines = dict[int, list[str]]()
    for (place, slot), change in sorted(changes.items()):
        lines.setdefault(place, []).append(f"block {slot}: {change}")
    width = max(map(len, places))
    return [f"  {places[place]:{width}}  {'; '.join(words)}" for place, words in lines.items()]


def _words(numbers: Any, held: Any) -> list[list[str]]:
    return [
        [number(x) if is_held else "." for x, is_held in zip(*row, strict=True)]
        for row in zip(numbers, held, strict=True)
    ]


def _rows(places: list[str], cells: list[list[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    first = max(map(len, places))
    return [
        f"  {place:{first}}  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for place, row in zip(places, cells, strict=True)
    ]


def _plain(value: Any) -> int | float | None:
    if isinstance(value, np.integer):
        return int(value)
    return float(value) if np.isfinite(value) else None
