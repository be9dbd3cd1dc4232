"""Fitting every layer at once: generations of GPUs on tables of one host, then networks on those of several.

A table that is left out says what to expect of one nobody has measured: its layer is fitted again without it, and a
layer with no other table takes what the others have in common.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean, median
from typing import Any

import numpy as np

from ops.libraries.nccl.layers import HALVES, layers, layers_of, unknown_layer
from ops.libraries.nccl.own.pace import Pace
from ops.measured.calibration import (
    GENERATION,
    MOST_RANKS,
    NETWORK,
    ROUNDS,
    Fitted,
    Prior,
    Sample,
    fit,
    simulate_all,
    thinned,
)
from ops.measured.comparison import Agreement, Compared, by_ranks, halves, verdict
from ops.measured.files import place
from ops.measured.rows import Table
from sim.errors import InputError
from sim.topology import Topology

Factors = Mapping[str, float]
HELD = 0.8
"""The share of rows left out that a band holds."""
RATES = {"nvlink", "nvls", "nvls_gap", "peer_share", "own", "ends", "slot"}
"""Factors of a generation on what its links carry, and on copying beside."""
REPEATED, SAME = 8, 0.02
"""Sizes that two tables share and within how much (median |ln|) their times agree where one repeats the other."""


@dataclass(frozen=True)
class TableGroup:
    """What is left out together: a file, or a system's times in one, with the layers that they rest on.

    `samples` are what is fitted, sizes evenly spread; `whole` all rows, which are judged; the same unless given.
    """

    name: str
    generation: str
    network: str
    samples: tuple[Sample, ...]
    whole: tuple[Sample, ...] = ()

    @property
    def layer(self) -> tuple[str, str]:
        """The one that is fitted to it: the network's where it has several hosts."""
        return ("networks", self.network) if self.network else ("generations", self.generation)


@dataclass
class FittedLayers:
    """Factors of every layer by kind and name."""

    factors: dict[str, dict[str, Factors]] = field(default_factory=lambda: {"generations": {}, "networks": {}})
    without: dict[str, Factors] = field(default_factory=dict)
    """What a table's layer comes to without it, by the table's name, where the layer has others."""

    def pace(self, generation: str, network: str = "") -> Pace:
        """Both layers together; a network that nobody measured is like the one most machines have."""
        generations = self.factors["generations"]
        parts = dict(generations.get(generation) or _mean(list(generations.values())))
        if network:
            parts |= self.factors["networks"].get(network) or self.factors["networks"].get("IB", {})
        return Pace(**parts)


def units(tables: Sequence[Table]) -> tuple[list[TableGroup], list[tuple[str, str]]]:
    """The tables by what is left out together, and those that no machine is known for with the reason."""
    grouped: dict[str, list[tuple[Sample, Sample]]] = {}
    refused: list[tuple[str, str]] = []
    whole: list[tuple[Topology, Table, str]] = []
    for table in tables:
        name = f"{table.file} {table.words[0]}" if table.of_system else table.file
        try:
            topology, placed, _ = place(table)
        except InputError as error:
            refused.append((name, str(error)))
            continue
        if placed.ranks > MOST_RANKS:
            refused.append((name, f"{placed.ranks} ranks are more than the {MOST_RANKS} that are fitted"))
        elif _is_joined(topology, placed.ranks):
            refused.append((name, "NVLinks join its hosts, which no layer is of"))
        elif first := repeated(topology, placed, whole):
            refused.append((name, f"repeats {first}: the same run counts once"))
        elif (few := thinned(placed)).rows:
            grouped.setdefault(name, []).append(
                (Sample(topology, few), Sample(topology, thinned(placed, len(placed.rows))))
            )
            whole.append((topology, placed, name))
    groups = []
    for name, pairs in grouped.items():
        samples = tuple(replace(sample, share=1 / len(pairs)) for sample, _ in pairs)
        parts = layers_of(samples[0].topology)
        if parts and parts[0] is not unknown_layer("generations"):
            every = tuple(sample for _, sample in pairs)
            groups.append(TableGroup(name, parts[0].name, parts[1].name if len(parts) > 1 else "", samples, every))
        else:
            refused.append((name, f"{samples[0].topology.name} has no layer"))
    return groups, refused


def _is_joined(topology: Topology, ranks: int) -> bool:
    """Whether the first so many ranks are on several hosts that NVLinks make one node."""
    several = topology.ranks[:ranks]
    hosts = {topology.devices[device].host for device in several}
    return len(hosts) > 1 == len(np.unique(topology.nodes[list(several)]))


def repeated(topology: Topology, table: Table, others: Sequence[tuple[Topology, Table, str]]) -> str:
    """The name of another table that has the same times for the same call on the same machine, if there is one."""
    times = _times(table)
    for machine, other, name in others:
        shared = _times(other)
        strays = [abs(math.log(shared[key] / times[key])) for key in times.keys() & shared.keys()]
        if machine.name == topology.name and len(strays) >= REPEATED and median(strays) < SAME:
            return name
    return ""


def _times(table: Table) -> dict[tuple[str, str, int, int], float]:
    return {(row.collective, row.algorithm, row.ranks, row.size): row.seconds for row in table.rows if row.seconds > 0}


def fit_layers(every: Sequence[TableGroup], progress: Callable[[str], None] = lambda text: None) -> FittedLayers:
    """All generations, then all networks on top of them, each also without every one of its tables."""
    fitted = FittedLayers()
    for kind in ("generations", "networks"):
        members: dict[str, list[TableGroup]] = {}
        for unit in every:
            if unit.layer[0] == kind:
                members.setdefault(unit.layer[1], []).append(unit)
        for name, several in members.items():
            progress(f"{kind[:-1]} {name}: {len(several)} tables")
            fitted.factors[kind][name], without = _layer(several, fitted)
            fitted.without |= without
    return fitted


def _layer(members: Sequence[TableGroup], fitted: FittedLayers) -> tuple[Factors, dict[str, Factors]]:
    """One layer's factors from its tables, drawn to what other generations have in common; by name without each."""
    network = bool(members[0].network)
    samples = {
        unit.name: [
            replace(sample, base=fitted.pace(unit.generation)) if network else sample for sample in unit.samples
        ]
        for unit in members
    }
    start = fitted.pace(members[0].generation) if network else Pace()
    priors = NETWORK if network else GENERATION
    if network and len(members) == 1:  # how much of its NICs one run reached is that run's: others' share is kept
        start = replace(start, net=NETWORK["net"].value)
        priors = {key: prior for key, prior in NETWORK.items() if key != "net"}
    rounds = ROUNDS if network else 2 * ROUNDS

    def fit_to(names: Collection[str], near: Factors | None = None) -> Fitted:
        return fit(
            [sample for name in names for sample in samples[name]], priors=priors, start=start, near=near, rounds=rounds
        )

    whole, without = fit_to(samples), dict[str, Factors]()
    for name in samples if len(samples) > 1 else ():
        part = fit_to([other for other in samples if other != name], whole.strays)
        without[name] = _factors(part, priors)
    return _factors(whole, NETWORK if network else GENERATION), without


def _factors(outcome: Fitted, priors: Mapping[str, Prior]) -> Factors:
    return {key: float(f"{getattr(outcome.pace, key):.4g}") for key in priors}


def _mean(entries: Sequence[Factors]) -> Factors:
    """What generations have in common: factors by their geometric means, seconds by the plain one."""
    names = [entry.name for entry in fields(Pace)]
    usual = Pace(**{key: prior.value for key, prior in GENERATION.items()})
    common = {}
    for key in names:
        values = [entry[key] for entry in entries if key in entry] or [getattr(usual, key)]
        plain = min(values) <= 0 or key not in GENERATION or not GENERATION[key].log
        common[key] = fmean(values) if plain else math.exp(fmean(map(math.log, values)))
    return common


def errors(unit: TableGroup, fitted: FittedLayers) -> list[Compared]:
    """All of a unit's rows as the layers simulate them."""
    pace = fitted.pace(unit.generation, unit.network)
    return [row for rows in simulate_all(unit.whole or unit.samples, pace) for row in rows]


def leave_one_out(every: Sequence[TableGroup], fitted: FittedLayers) -> Iterator[tuple[TableGroup, list[Compared]]]:
    """Every unit with its rows as they come out where its layer was fitted without it."""
    for unit in every:
        yield unit, errors(unit, without(unit, fitted))


def without(unit: TableGroup, fitted: FittedLayers) -> FittedLayers:
    """The layers as they are without a unit's table; its own layer is left out where it has no other table."""
    kind, name = unit.layer
    rest = FittedLayers({key: dict(value) for key, value in fitted.factors.items()})
    rest.factors[kind].pop(name)
    if unit.name in fitted.without:
        rest.factors[kind][name] = fitted.without[unit.name]
    return rest


def held_by(tables: Sequence[Sequence[float]], unseen: int = 0) -> float:
    """What HELD of the strays do not exceed, tables counting alike, some unseen among them; 1 of none."""
    strays = sorted((stray, 1 / len(table)) for table in tables for stray in table)
    if not strays:
        return 1.0
    reached = np.cumsum([weight for _, weight in strays]) >= HELD * (len(tables) + unseen) - 1e-9
    return math.ceil(1000 * strays[int(np.argmax(reached)) if reached.any() else -1][0]) / 1000


def _strays(rows: Sequence[Compared]) -> dict[str, list[float]]:
    """How far off rows are, by halves of the sizes: |ln(simulated / measured)|."""
    return {
        key: [abs(math.log(row.simulated / row.measured)) for row in half]
        for key, half in zip(HALVES, halves(rows), strict=True)
    }


Judged = Sequence[tuple[TableGroup, Sequence[Compared]]]
"""Tables, each with its rows as they come out without it, or without its whole layer."""
Band = dict[str, float]
"""|ln(simulated / measured)| that rows do not exceed, by halves of the sizes."""


def bands(left_out: Judged, strange: Judged, least: int = 2) -> dict[tuple[str, str], Band]:
    """For each layer what most of its rows that were left out do not stray farther than; its tables count alike.

    A layer with fewer than `least` tables has nothing to be left out of: it takes the band of a layer that is not
    known, under an empty name, from what all layers of its kind come to where nothing is known of them (`strange`).
    """
    counts = Counter(group.layer for group, _ in left_out)
    every = {
        layer: pooled_band(rows for group, rows in left_out if group.layer == layer) if count >= least else {}
        for layer, count in counts.items()
    }
    unknown = {(kind, ""): of_another(kind, strange) for kind, _ in counts}
    return {layer: unknown[layer[0], ""] | band for layer, band in every.items()} | unknown


def of_another(kind: str, strange: Judged) -> Band:
    """What one more layer of a kind would do: tables count alike, and one that nobody has seen among them."""
    return pooled_band((rows for group, rows in strange if group.layer[0] == kind), unseen=1)


def pooled_band(tables: Iterable[Sequence[Compared]], unseen: int = 0) -> Band:
    """What four of five rows do not stray farther than, tables counting alike; without a half that no row is of."""
    every = [_strays(rows) for rows in tables]
    by_half = {half: [table[half] for table in every if table[half]] for half in HALVES}
    return {half: held_by(some, unseen) for half, some in by_half.items() if some}


def coverage(left_out: Judged, strange: Judged) -> dict[str, int]:
    """For each table: the number of held-out rows inside the error band fitted without it.

    The only one of its layer is held against what the other layers of its kind do where nothing is known of them; one
    whose layer has a single other table too, as such layers take that band. Where there are no others nothing is told.
    """
    counts = Counter(group.layer for group, _ in left_out)
    held = {}
    for group, rows in left_out:
        rest = [pair for pair in left_out if pair[0] is not group]
        others = [
            pair
            for pair in strange
            if pair[0] is not group and (counts[group.layer] > 1 or pair[0].layer != group.layer)
        ]
        every = bands(rest, others)
        band = (
            every.get(group.layer) or every.get((group.layer[0], "")) or bands(rest, others, least=1).get(group.layer)
        )
        if band:
            strays = _strays(rows).items()
            held[group.name] = sum(stray <= band.get(half, math.inf) for half, some in strays for stray in some)
    return held


def inside(left_out: Judged, strange: Judged) -> float:
    """The share of rows left out that lie inside the band; tables weigh the same."""
    held = coverage(left_out, strange)
    shares = [held[group.name] / len(rows) for group, rows in left_out if group.name in held]
    return fmean(shares) if shares else 0.0


def unseen(every: Sequence[TableGroup], fitted: FittedLayers) -> Iterator[tuple[TableGroup, list[Compared]]]:
    """Every unit with its rows where its layer is not known at all: by what others of its kind have."""
    for unit in every:
        rest = FittedLayers({key: dict(value) for key, value in fitted.factors.items()})
        rest.factors[unit.layer[0]].pop(unit.layer[1])
        yield unit, errors(unit, rest)


def entries(
    every: Sequence[TableGroup], fitted: FittedLayers, left_out: Judged, strange: Judged
) -> dict[str, dict[str, Any]]:
    """Layers as `layers.json` keeps them: factors, tables with their errors, the band, and the error unseen.

    Under `unknown` stands by kind what a layer that is not known is expected to cost, and its band.
    """
    band, held = bands(left_out, strange), coverage(left_out, strange)
    unknown = {unit.name: rows for unit, rows in strange}
    kept_layers: dict[str, dict[str, Any]] = {}
    for kind, some in layers().items():
        for name, layer in some.items():
            entry: dict[str, Any] = {"machines": list(layer.machines)}
            entry["pace"] = dict(fitted.factors[kind].get(name, layer.pace))
            entry["tables"] = {
                unit.name: {
                    "rows": len(without),
                    "fitted": _shares(verdict(errors(unit, fitted))),
                    "left_out": _shares(verdict(without)),
                    "by_ranks": {
                        str(n): {"rows": part.rows, "left_out": _shares(part)} for n, part in by_ranks(without).items()
                    },
                    "unseen": _shares(verdict(unknown[unit.name])),
                    "inside": held.get(unit.name),
                }
                for unit, without in left_out
                if unit.layer == (kind, name)
            }
            entry["strays"] = dict(band.get((kind, name), band.get((kind, ""), {})))
            entry["unseen"] = _shares(
                verdict([row for unit, rows in strange if unit.layer == (kind, name) for row in rows])
            )
            kept_layers.setdefault(kind, {})[name] = entry | ({"note": layer.note} if layer.note else {})
    return kept_layers | {"unknown": {kind: _unknown(kind, fitted, band.get((kind, ""), {})) for kind in layers()}}


def _unknown(kind: str, fitted: FittedLayers, band: Band) -> dict[str, Factors]:
    """What a layer nobody measured is expected to cost; networks are like the one most machines have.

    GPUs that no table is of are older than those measured, and NCCL's rates for them hold what copying takes: so they
    share the others' latencies alone. Two tables of A40s say so, and rows of V100s and RTX 2080 Ti that are published.
    """
    some = list(fitted.factors[kind].values())
    common = {key: float(f"{value:.4g}") for key, value in _mean(some).items() if key in set(GENERATION) - RATES}
    return {"pace": common if kind == "generations" else {}, "strays": band}


def _shares(agreement: Agreement) -> list[float | None]:
    return [None if share is None else round(share, 4) for share in (agreement.small, agreement.large)]
