"""Real numbers through real schedules: what each rank holds after a collective, in float64."""

import numpy as np
from numpy.typing import NDArray

from ops.registry import ALGORITHMS
from sim.schedule import Schedule
from sim.schedule.numeric import execute
from sim.topology import Floats

Array = NDArray[np.float64]


def allgather(parts: Array) -> Array:
    """From `parts[rank]` to what every rank then has: `[rank, rank of origin, …]`."""
    n = len(parts)
    if n < 2:
        return parts[None]
    schedule, pieces = _ring("allgather", n)
    inputs, width = _laid(schedule, parts.reshape(n, 1, -1), pieces)
    for rank in range(1, n):
        inputs[rank] = np.roll(inputs[rank], rank * pieces, axis=0)
    return execute(schedule, inputs)[:n, : n * pieces].reshape(n, n, -1)[:, :, :width].reshape(n, *parts.shape)


def allreduce(buffers: Array) -> Array:
    """The sum of `buffers[rank]`, as each rank then has it."""
    n = len(buffers)
    if n < 2:
        return buffers
    schedule, pieces = _ring("allreduce", n)
    inputs, width = _laid(schedule, buffers.reshape(n, 1, -1), pieces)
    return execute(schedule, inputs)[:n, :pieces].reshape(n, -1)[:, :width].reshape(buffers.shape)


def reduce_scatter(buffers: Array) -> Array:
    """From `buffers[rank, part, …]` to part r of their sum at rank r."""
    n = len(buffers)
    if n < 2:
        return buffers[:, 0]
    schedule, pieces = _ring("reduce_scatter", n)
    inputs, width = _laid(schedule, buffers.reshape(n, n, -1), pieces)
    done = execute(schedule, inputs)[:n, : n * pieces].reshape(n, n, -1)
    return done[np.arange(n), np.arange(n), :width].reshape(buffers.shape[0], *buffers.shape[2:])


def _ring(collective: str, n: int) -> tuple[Schedule, int]:
    """The ring schedule, and the pieces its unit block is cut into."""
    schedule = ALGORITHMS[f"{collective}.ring"].schedule(n)
    assert schedule.promise is not None
    return schedule, schedule.promise.blocks // (1 if collective == "allreduce" else n)


def _laid(schedule: Schedule, parts: Floats, pieces: int) -> tuple[Floats, int]:
    """`parts[rank, part, element]` in the first slots of every rank, and the elements of a part."""
    assert schedule.promise is not None
    n, count, width = parts.shape
    padded = np.zeros((n, count, -(-width // pieces) * pieces))
    padded[:, :, :width] = parts
    inputs = np.zeros((schedule.places, schedule.promise.given.shape[1], padded.shape[2] // pieces))
    inputs[:n, : count * pieces] = padded.reshape(n, count * pieces, -1)
    return inputs, width
