"""Google's TPU slices: chips in a torus, no switches. Figures from jax-ml/scaling-book, TPUs."""

from sim.machines import machine
from sim.machines.networks import Sizes, grid
from sim.registry import titled
from sim.topology import Topology
from sim.units import Bandwidth, GBps, Time, us


@machine
@titled("TPU v4")
def tpu_v4(
    *,
    dims: Sizes = (4, 4, 4),
    bandwidth: Bandwidth = 45 * GBps,
    latency: Time = 1 * us,
) -> Topology:
    """TPU v4p slice: a 3-D torus of chips, 45 GB/s per link and direction; an axis closes if 4 divides its length."""
    return grid("tpu_v4", dims, bandwidth, latency, wrap=_closed(dims, 4))


@machine
@titled("TPU v5p")
def tpu_v5p(
    *,
    dims: Sizes = (4, 4, 4),
    bandwidth: Bandwidth = 90 * GBps,
    latency: Time = 1 * us,
) -> Topology:
    """TPU v5p slice: a 3-D torus of chips, 90 GB/s per link and direction; an axis closes if 4 divides its length."""
    return grid("tpu_v5p", dims, bandwidth, latency, wrap=_closed(dims, 4))


@machine
@titled("TPU v5e")
def tpu_v5e(
    *,
    dims: Sizes = (4, 4),
    bandwidth: Bandwidth = 45 * GBps,
    latency: Time = 1 * us,
) -> Topology:
    """TPU v5e slice: a 2-D grid of chips, 45 GB/s per link and direction; only an axis of 16 closes to a ring."""
    return grid("tpu_v5e", dims, bandwidth, latency, wrap=_closed(dims, 16))


@machine
@titled("TPU v6e")
def tpu_v6e(
    *,
    dims: Sizes = (4, 4),
    bandwidth: Bandwidth = 90 * GBps,
    latency: Time = 1 * us,
) -> Topology:
    """TPU v6e slice: a 2-D grid of chips, 90 GB/s per link and direction; only an axis of 16 closes to a ring."""
    return grid("tpu_v6e", dims, bandwidth, latency, wrap=_closed(dims, 16))


def _closed(dims: tuple[int, ...], multiple: int) -> tuple[bool, ...]:
    return tuple(size % multiple == 0 for size in dims)
