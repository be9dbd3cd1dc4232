"""How variants compare while one quantity changes: bandwidth, latency, size or hosts; and where the winner changes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ops.plan import Plan
from ops.plan.notation import entries, listed, size_word
from ops.report import with_hosts_and_nics
from sim.errors import InputError, StalledError
from sim.topology import Topology
from sim.units import fmt_size, fmt_time

QUANTITIES = ("size", "bandwidth", "latency", "hosts")
FACTORS = tuple(2.0 ** (k / 2) for k in range(-6, 7))
"""What the bandwidth of links is multiplied by."""
LATENCIES = tuple(1e-7 * 2.0**k for k in range(12))
"""Latencies of links, s."""
SIZES = tuple(float(1 << k) for k in range(10, 31, 2))
"""Bytes."""
HOSTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
NEAR = 1.02
"""How near to it the value is that a change of the winner is reported at."""
ALL = "all"
"""Links of every kind."""


@dataclass(frozen=True)
class Quantity:
    """A quantity and its values: bytes, s, hosts, or bandwidth factors; `kind` names the links that change."""

    name: str
    values: tuple[float, ...]
    kind: str = ALL

    def of(self, plan: Plan, value: float) -> Plan:
        """Return a plan with another value of this quantity. Raises InputError."""
        if self.name == "size":
            return replace(plan, size=size_word(round(value)), counts="")
        if self.name == "hosts":
            return with_hosts_and_nics(plan, round(value), 0)
        if self.name == "bandwidth" and value == 1:
            return plan
        rate = f"times={value:.6g}" if self.name == "bandwidth" else f"latency={value * 1e9:.6g}ns"
        kind = f"kind={self.kind}," if self.kind != ALL else ""
        return replace(plan, edits=listed([*entries(plan.edits), f"set_class:{kind}{rate}"]))

    def usual(self, plan: Plan, topology: Topology) -> float:
        """Return the value that is nearest to the plan's own on its machine."""
        own = {
            "size": float(plan.bytes or 1),
            "latency": float(np.median(topology.latency)),
            "hosts": float(len({int(topology.nodes[device]) for device in topology.ranks})),
        }.get(self.name, 1.0)
        return min(self.values, key=lambda value: abs(math.log(value / max(own, 1e-9))))

    def text(self, value: float) -> str:
        """Return a value as people read it."""
        if self.name == "size":
            return fmt_size(round(value))
        return {"bandwidth": f"{value:.3g}×", "latency": fmt_time(value)}.get(self.name, f"{value:.0f}")


@dataclass(frozen=True)
class WinnerChange:
    """From a value of a quantity on, the run number `after` is faster than all others, up to it `before`."""

    value: float
    before: int
    after: int


@dataclass(frozen=True)
class Curves:
    """Times of runs at the values of a quantity, s, None where a run is not possible; and where the winner changes.

    `winners` are the places of the fastest runs, None where no run is possible.
    """

    values: tuple[float, ...]
    times: tuple[tuple[float | None, ...], ...]
    winners: tuple[int | None, ...]
    changes: tuple[WinnerChange, ...]


def quantity_of(name: str, plan: Plan, kind: str = ALL) -> Quantity:
    """Return a quantity with the values that are tried, among them the plan's own."""
    values = {"size": SIZES, "bandwidth": FACTORS, "latency": LATENCIES, "hosts": HOSTS}[name]
    if name == "size" and plan.size:
        values = tuple(sorted({*values, float(plan.bytes)}))
    return Quantity(name, values, kind)


def times_of(plan: Plan, quantity: Quantity) -> tuple[float | None, ...]:
    """Run a plan at all values of a quantity. Raises InputError where it is possible at none."""
    problem: InputError | None = None
    times: list[float | None] = []
    timed = _timed(plan, quantity)
    for value in quantity.values:
        try:
            times.append(timed(value))
        except InputError as error:
            problem = problem or error
            times.append(None)
    if problem and not any(time is not None for time in times):
        raise problem
    return tuple(times)


def crossing_of(before: Plan, after: Plan, quantity: Quantity, low: float, high: float) -> float:
    """Return from which value on a run is faster than another that is faster at `low`; hosts are not halved."""
    old, new = _timed(before, quantity), _timed(after, quantity)
    while quantity.name != "hosts" and high > low * NEAR:
        middle = math.sqrt(low * high)
        try:
            low, high = (middle, high) if old(middle) <= new(middle) else (low, middle)
        except InputError:
            break
    return high


def curves(
    plans: Sequence[Plan],
    quantity: Quantity,
    times: Callable[[Plan, Quantity], tuple[float | None, ...]] = times_of,
    crossing: Callable[[Plan, Plan, Quantity, float, float], float] = crossing_of,
) -> Curves:
    """Run plans at all values of a quantity. Raises InputError where one of them is possible at none.

    A change of the winner between two values is closed in on; one that is gone at the next value is missed.
    """
    every = tuple(times(plan, quantity) for plan in plans)
    winners = tuple(_winner([run[at] for run in every]) for at in range(len(quantity.values)))
    changes = []
    for (low, before), (high, after) in pairwise(zip(quantity.values, winners, strict=True)):
        if before is not None and after is not None and before != after:
            value = crossing(plans[before], plans[after], quantity, low, high)
            changes.append(WinnerChange(value, before, after))
    return Curves(quantity.values, every, winners, tuple(changes))


def _timed(plan: Plan, quantity: Quantity) -> Callable[[float], float]:
    """Return what runs a plan with a value of a quantity, and returns seconds; raises InputError."""
    whole = plan.prepare() if quantity.name == "size" and not plan.depends_on_size else None

    def timed(value: float) -> float:
        other = quantity.of(plan, value)
        try:
            return (whole.run(other, written=0) if whole else other.run(written=0)).time
        except StalledError:
            return math.inf

    return timed


def _winner(times: Sequence[float | None]) -> int | None:
    """Return which run is the fastest, the first of equal ones; None where none is possible."""
    possible = [(each, k) for k, each in enumerate(times) if each is not None]
    return min(possible)[1] if possible else None
