"""Fitting what GPUs and networks cost to measured tables: one pace for all sizes and numbers of GPUs of a layer.

Least squares of the logarithm of simulated over measured, tables counting alike, small and large sizes too; every
factor is drawn towards what NCCL or its vendor publishes, or what other generations have, and stays there where the
tables say nothing. Shares of links end at 1.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.libraries.nccl.layers import LARGE
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.variables import Variables
from ops.measured.comparison import HONOURED, Compared, compare_table, halves
from ops.measured.rows import Measured, Table
from ops.measured.run_words import forced
from sim.base.arrays import Floats
from sim.topology import Topology
from sim.units import us


class Prior(NamedTuple):
    """Where a factor is drawn to, how far it may stray, and its bounds; `log` strays in shares of itself."""

    value: float
    stray: float
    least: float
    most: float
    log: bool = False


GENERATION: Mapping[str, Prior] = {
    "launch": Prior(0.0, 3 * us, -5 * us, 60 * us),
    "ll128_start": Prior(-5 * us, 2 * us, -10 * us, 40 * us),
    "simple_start": Prior(2 * us, 3 * us, -6 * us, 60 * us),
    "ll": Prior(1.5, 0.3, 0.5, 8.0, log=True),
    "ll128": Prior(1.1, 0.3, 0.3, 8.0, log=True),
    "simple": Prior(2.2, 0.5, 0.3, 12.0, log=True),
    "nvls_hop": Prior(0.4, 0.3, 0.1, 4.0, log=True),
    "nvls_gap": Prior(18e3, 0.7, 2e3, 100e3, log=True),
    "nvlink": Prior(0.98, 0.03, 0.4, 1.0),
    "nvls": Prior(0.92, 0.03, 0.3, 1.0),
    "peer": Prior(2 * us, 2 * us, -4 * us, 60 * us),
    "peer_share": Prior(0.86, 0.05, 0.4, 1.0),
    "own": Prior(1.0, 0.8, 0.1, 4.0, log=True),
    "ends": Prior(1.2, 0.4, 0.3, 4.0, log=True),
    "slot": Prior(0.53, 0.3, 0.1, 2.0, log=True),
}
"""What GPUs cost; the published or usual value of each."""
NETWORK: Mapping[str, Prior] = {
    "net_hop": Prior(2 * us, 10 * us, -2 * us, 300 * us),
    "net_ll128": Prior(3 * us, 10 * us, -3 * us, 300 * us),
    "net_simple": Prior(3 * us, 10 * us, -10 * us, 300 * us),
    "net_slot": Prior(1.0, 0.7, 0.0, 4.0),
    "net": Prior(0.95, 0.02, 0.3, 1.0),
}
"""What a network costs."""
DRAW = 0.05
"""What straying as far as a prior says costs, beside the same logarithmic error of one table."""
SOFT = 0.05
"""Logarithmic error from which a row counts less than its square: a table may have a row gone wrong."""
OVERTAKEN = 1.25
"""How many times what a larger size took makes a row one gone wrong, which fits do not look at."""
ROUNDS = 6
"""Of a fit that simulates. Where sums take that place twice as many are made, after which more change nothing."""
STEP = 0.1
"""Strays over which slopes are taken: what is shorter changes nothing that an engine with instants can see."""
INSIDE = 1e-3
"""How far from its bounds a fit begins, in strays."""
MOST_RANKS = 32
"""Tables of more ranks are for judging, not for fitting: they take long to simulate."""


@dataclass(frozen=True)
class Sample:
    """A table with its machine; every size from a list that is spread evenly."""

    topology: Topology
    table: Table
    options: Variables | None = None
    base: Pace | None = None
    """What its other layers cost; the start of the fit unless given."""
    share: float = 1.0
    """How much it counts: several of one set-up count as one together."""
    simulated: dict[tuple[Measured, Pace], list[Compared]] = field(default_factory=dict, compare=False, repr=False)
    """Every row at every pace that was tried: fits that leave out some of the rows try the same again."""

    def at(self, pace: Pace, factors: Iterable[str] = ()) -> Pace:
        """A pace for this sample: its own base with some of the factors, or all."""
        return replace(self.base, **{key: getattr(pace, key) for key in factors}) if self.base else pace


@dataclass(frozen=True)
class Fitted:
    """A pace, the objective before and after, the rows as it simulates them, and how far factors strayed."""

    pace: Pace
    before: float
    after: float
    rows: tuple[Compared, ...]
    strays: Mapping[str, float]


def thinned(table: Table, most: int = 14) -> Table:
    """At most so many sizes of a table and algorithm, evenly spread."""
    rows = [row for row in table.rows if table.kind != "named" or row.algorithm in HONOURED]
    names = dict.fromkeys(row.algorithm for row in rows)
    kept = []
    for name in names:
        of_name = [row for row in rows if row.algorithm == name]
        step = max(1, math.ceil(len(of_name) / most))
        kept += of_name[::-1][::step][::-1]
    return replace(table, rows=tuple(kept), unread=())


def objective(rows: Sequence[Compared]) -> float:
    """Mean |ln error| of one table, small and large sizes alike."""
    means = [sum(abs(math.log(r.simulated / r.measured)) for r in half) / len(half) for half in halves(rows) if half]
    return sum(means) / len(means) if means else 0.0


def simulate_all(samples: Sequence[Sample], pace: Pace, factors: Iterable[str] = ()) -> Iterator[list[Compared]]:
    """Every sample's rows at a pace."""
    for sample in samples:
        at, kept = sample.at(pace, factors), sample.simulated
        for row in sample.table.rows:
            if (row, at) not in kept:
                alone, options = replace(sample.table, rows=(row,)), sample.options or forced(sample.table)
                kept[row, at], _ = compare_table(sample.topology, alone, pace=at, options=options, quick=True)
        yield [compared for row in sample.table.rows for compared in kept[row, at]]


def cost(samples: Sequence[Sample], pace: Pace, factors: Iterable[str] = ()) -> float:
    """The mean of all set-ups' objectives; 0 where none has a row that is simulated."""
    every = zip(samples, simulate_all(samples, pace, factors), strict=True)
    tables = [(objective(rows), sample.share) for sample, rows in every if rows]
    return sum(error * share for error, share in tables) / sum(share for _, share in tables) if tables else 0.0


def fit(
    samples: Sequence[Sample],
    progress: Callable[[str], None] = lambda text: None,
    *,
    start: Pace | None = None,
    priors: Mapping[str, Prior],
    near: Mapping[str, float] | None = None,
    rounds: int = ROUNDS,
) -> Fitted:
    """The pace nearest to the samples and to what is published; factors without a prior stay as `start` has them.

    Left out are factors that none of the samples feels: a network's where all ranks are on one host. `near` are strays
    of a fit to these samples and one more; the more samples there are, the fewer rounds it takes from there.
    """
    from scipy.optimize import least_squares  # a quarter of a second that only fits need

    begun = start or Pace()
    first = replace(begun, **{key: prior.value for key, prior in priors.items()})
    felt = {key: prior for key, prior in priors.items() if _feels(samples, key)}
    first = replace(first, **{key: getattr(begun, key) for key in priors if key not in felt})
    before = cost(samples, begun, felt)

    def pace_at(strays: Floats) -> Pace:
        return replace(first, **{key: _value(felt[key], x) for key, x in zip(felt, strays, strict=True)})

    def misses(strays: Floats) -> Floats:
        tried.append(strays)
        return errors(strays)

    def errors(strays: Floats) -> Floats:
        rows = itertools.chain.from_iterable(simulate_all(samples, pace_at(strays), felt))
        return np.concatenate([np.log([row.simulated / row.measured for row in rows]), DRAW * strays])

    def loss(squares: Floats) -> Floats:
        slope = 1 / np.sqrt(1 + squares)
        soft: Floats = weights * np.stack([2 / slope - 2, slope, -0.5 * slope**3])
        return soft

    def slopes(strays: Floats) -> Floats:
        here = errors(strays)
        if near and len(tried) == most:  # the last step is made: what lies beyond it is asked for, and not used
            return np.zeros((len(here), len(felt)))
        steps = np.where(strays + STEP < bounds[1], STEP, -STEP)
        return np.stack([(errors(strays + steps[k] * unit) - here) / steps[k] for k, unit in enumerate(units)], axis=1)

    tried: list[Floats] = []
    units = np.eye(len(felt))
    bounds = np.array([[_stray(prior, end) for prior in felt.values()] for end in (0, 1)])
    begin = np.clip([(near or {}).get(key, 0.0) for key in felt], bounds[0] + INSIDE, bounds[1] - INSIDE)
    most = rounds if near is None else max(2, rounds // len(samples))
    simulated = zip(samples, simulate_all(samples, pace_at(begin), felt), strict=True)
    counts = np.full(len(felt), sum(sample.share for sample in samples))
    weights = np.concatenate([*(sample.share * _weights(rows) for sample, rows in simulated), counts])
    solved = least_squares(misses, begin, jac=slopes, bounds=bounds, loss=loss, f_scale=SOFT, max_nfev=most)
    pace = pace_at(solved.x)
    rows = [row for rows in simulate_all(samples, pace, felt) for row in rows]
    after = cost(samples, pace, felt)
    progress(f"{len(samples)} tables: {before:.3f} -> {after:.3f}")
    return Fitted(pace, before, after, tuple(rows), dict(zip(felt, solved.x.tolist(), strict=True)))


def _weights(rows: Sequence[Compared]) -> Floats:
    """What the rows of one table count, small and large ones as much as any other table's; none that went wrong."""
    counted = ~overtaken(rows)
    large = np.array([row.size >= LARGE for row in rows], np.bool_)
    counts = np.where(large, max(1, (large & counted).sum()), max(1, (~large & counted).sum()))
    weights: Floats = counted / counts
    return weights


def overtaken(rows: Sequence[Compared]) -> NDArray[np.bool_]:
    """Rows that took far longer than a larger size of the same run: the first, when nothing was warm, and mishaps."""
    least: dict[tuple[str, str, int], float] = {}
    wrong = np.zeros(len(rows), np.bool_)
    for k in sorted(range(len(rows)), key=lambda k: -rows[k].size):
        run = rows[k].collective, rows[k].algorithm, rows[k].ranks
        wrong[k] = rows[k].measured > OVERTAKEN * least.get(run, math.inf)
        least[run] = min(rows[k].measured, least.get(run, math.inf))
    return wrong


def _value(prior: Prior, stray: float) -> float:
    value = prior.value * math.exp(stray * prior.stray) if prior.log else prior.value + stray * prior.stray
    return min(prior.most, max(prior.least, value))


def _stray(prior: Prior, end: int) -> float:
    limit = (prior.least, prior.most)[end]
    return math.log(limit / prior.value) / prior.stray if prior.log else (limit - prior.value) / prior.stray


def _feels(samples: Sequence[Sample], key: str) -> bool:
    """Whether a factor can show in any of these tables."""
    several = [_hosts(sample) > 1 for sample in samples]
    collectives = {row.collective for sample in samples for row in sample.table.rows}
    switch = any(device.kind == "NVS" for sample in samples for device in sample.topology.devices)
    if key in NETWORK:
        return any(several)
    if key == "own":
        return "alltoall" in collectives
    if key in ("peer", "peer_share"):
        return bool(collectives & {"alltoall", "sendrecv"})
    return switch or not key.startswith("nvls")


def _hosts(sample: Sample) -> int:
    """Hosts that a table's ranks are on."""
    ranks = sample.table.ranks or sample.topology.n
    return len({sample.topology.devices[device].host for device in sample.topology.ranks[:ranks]})
