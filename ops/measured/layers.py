"""Fitting every layer at once: generations of GPUs on tables of one host, then networks on those of several.

A table that is left out says what to expect of one nobody has measured: its layer is fitted again without it, and a
layer with no other table takes what the others have in common.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean
from typing import Any

from ops.libraries.nccl.protocol_cost import Pace, layers, layers_of
from ops.measured.calibration import GENERATION, MOST_RANKS, NETWORK, Fitted, Prior, Sample, fit, thinned
from ops.measured.comparison import LARGE, Compared, compare_table, forced
from ops.measured.files import place
from ops.measured.rows import Table
from sim.errors import InputError

Factors = Mapping[str, float]
COMMON: Factors = {"ends": 1.0, "slot": 0.53}
"""What every generation has: copying at the ends, and half a slot's filling, fitted to all of them together."""
HELD = 0.8
"""The share of rows left out that a band holds."""
MOST_SIZES = 7
"""Sizes of a table that a fit looks at."""


@dataclass(frozen=True)
class TableGroup:
    """What is left out together: a file, or a system's times in one, with the layers that they rest on."""

    name: str
    generation: str
    network: str
    samples: tuple[Sample, ...]

    @property
    def layer(self) -> tuple[str, str]:
        """The one that is fitted to it: the network's where it has several hosts."""
        return ("networks", self.network) if self.network else ("generations", self.generation)


@dataclass
class FittedLayers:
    """Factors of every layer by kind and name."""

    factors: dict[str, dict[str, Factors]] = field(default_factory=lambda: {"generations": {}, "networks": {}})

    def pace(self, generation: str, network: str = "") -> Pace:
        """Both layers together; a network that nobody measured is like the one most machines have."""
        generations = self.factors["generations"]
        parts = dict(generations.get(generation) or _mean(list(generations.values())))
        if network:
            parts |= self.factors["networks"].get(network) or self.factors["networks"].get("IB", {})
        return Pace(**parts)

    def as_entries(
        self, every: Sequence[TableGroup], band: Mapping[tuple[str, str], Mapping[str, float]]
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """As `layers.json` keeps them, with the tables of each and the band that holds what was left out."""
        entries: dict[str, dict[str, dict[str, Any]]] = {}
        for kind, some in layers().items():
            for name, layer in some.items():
                entry: dict[str, Any] = {"machines": list(layer.machines)}
                entry["pace"] = dict(self.factors[kind].get(name, layer.pace))
                entry["tables"] = [unit.name for unit in every if unit.layer == (kind, name)]
                entry["strays"] = dict(band.get((kind, name), band.get((kind, ""), {})))
                entries.setdefault(kind, {})[name] = entry | ({"note": layer.note} if layer.note else {})
        return entries


def units(tables: Sequence[Table]) -> tuple[list[TableGroup], list[tuple[str, str]]]:
    """The tables by what is left out together, and those that no machine is known for with the reason."""
    grouped: dict[str, list[Sample]] = {}
    refused: list[tuple[str, str]] = []
    for table in tables:
        file = table.source.replace("\\", "/").rpartition("/")[2]
        name = f"{file} {table.words[0]}" if table.kind == "nccl-tests" and file.endswith(".csv") else file
        try:
            topology, placed, _ = place(table)
        except InputError as error:
            refused.append((name, str(error)))
            continue
        if placed.ranks > MOST_RANKS:
            refused.append((name, f"{placed.ranks} ranks are more than the {MOST_RANKS} that are fitted"))
        elif (few := thinned(placed, MOST_SIZES)).rows:
            grouped.setdefault(name, []).append(Sample(topology, few))
    groups = []
    for name, samples in grouped.items():
        parts = layers_of(samples[0].topology)
        if parts:
            groups.append(TableGroup(name, parts[0].name, parts[1].name if len(parts) > 1 else "", tuple(samples)))
        else:
            refused.append((name, f"{samples[0].topology.name} has no layer"))
    return groups, refused


def fit_layers(every: Sequence[TableGroup], progress: Callable[[str], None] = lambda text: None) -> FittedLayers:
    """All generations, then all networks on top of them."""
    fitted = FittedLayers()
    for kind in ("generations", "networks"):
        for name in dict.fromkeys(unit.layer[1] for unit in every if unit.layer[0] == kind):
            progress(f"{kind[:-1]} {name}")
            fitted.factors[kind][name] = _layer([unit for unit in every if unit.layer == (kind, name)], fitted)
    return fitted


def _layer(members: Sequence[TableGroup], fitted: FittedLayers) -> Factors:
    """One layer's factors from its tables, drawn to what other generations have in common."""
    samples = [
        replace(sample, base=fitted.pace(unit.generation)) if unit.network else sample
        for unit in members
        for sample in unit.samples
    ]
    if members[0].network:
        outcome = fit(samples, priors=NETWORK, start=samples[0].base)
        return _factors(outcome, NETWORK)
    outcome = fit(samples, priors=GENERATION, start=Pace(**COMMON))
    return {**COMMON, **_factors(outcome, GENERATION)}


def _factors(outcome: Fitted, priors: Mapping[str, Prior]) -> Factors:
    return {key: float(f"{getattr(outcome.pace, key):.4g}") for key in priors}


def _mean(entries: Sequence[Factors]) -> Factors:
    """What generations have in common: factors by their geometric means, seconds by the plain one."""
    names = [entry.name for entry in fields(Pace)]
    usual = Pace(**COMMON, **{key: prior.value for key, prior in GENERATION.items()})
    common = {}
    for key in names:
        values = [entry[key] for entry in entries if key in entry] or [getattr(usual, key)]
        plain = min(values) <= 0 or key not in GENERATION or not GENERATION[key].log
        common[key] = fmean(values) if plain else math.exp(fmean(map(math.log, values)))
    return common


def errors(unit: TableGroup, fitted: FittedLayers) -> list[Compared]:
    """A unit's rows as the layers simulate them."""
    pace = fitted.pace(unit.generation, unit.network)
    return [
        row
        for sample in unit.samples
        for row in compare_table(sample.topology, sample.table, pace=pace, options=forced(sample.table), quick=True)[0]
    ]


def leave_one_out(
    every: Sequence[TableGroup], fitted: FittedLayers, progress: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[TableGroup, list[Compared]]]:
    """Every unit with its rows as they come out where its layer was fitted without it."""
    for unit in every:
        kind, name = unit.layer
        others = [other for other in every if other is not unit and other.layer == unit.layer]
        progress(f"without {unit.name}")
        without = FittedLayers({key: dict(value) for key, value in fitted.factors.items()})
        without.factors[kind].pop(name)
        if others:
            without.factors[kind][name] = _layer(others, without)
        yield unit, errors(unit, without)


def _quantile(values: Sequence[float]) -> float:
    """What HELD of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, math.ceil(HELD * len(values)) - 1)]


def _strays(rows: Sequence[Compared]) -> dict[str, list[float]]:
    """How far off rows are, by halves of the sizes: |ln(simulated / measured)|."""
    return {
        key: [abs(math.log(row.simulated / row.measured)) for row in rows if (row.size >= LARGE) == large]
        for large, key in ((False, "below_1MiB"), (True, "from_1MiB"))
    }


def bands(
    pairs: Sequence[tuple[TableGroup, Sequence[Compared]]], least: int = 2
) -> dict[tuple[str, str], dict[str, float]]:
    """For each layer what most of its rows that were left out do not stray farther than, by halves of the sizes.

    A layer with fewer than `least` tables has nothing to be left out of; it takes the band of those of its kind that
    have as many, and so do layers without a table, under an empty name.
    """
    counts = Counter(group.layer for group, _ in pairs)
    by_layer: dict[tuple[str, str], dict[str, list[float]]] = {}
    for group, rows in pairs:
        if counts[group.layer] >= least:
            for layer in (group.layer, (group.layer[0], "")):
                for half, strays in _strays(rows).items():
                    by_layer.setdefault(layer, {}).setdefault(half, []).extend(strays)
    every = {
        layer: {half: math.ceil(1000 * _quantile(strays)) / 1000 for half, strays in halves.items() if strays}
        for layer, halves in by_layer.items()
    }
    kinds = {kind: every.get((kind, ""), {}) for kind, _ in counts}
    return every | {layer: kinds[layer[0]] | every.get(layer, {}) for layer in counts}


def inside(pairs: Sequence[tuple[TableGroup, Sequence[Compared]]]) -> float:
    """The share of rows left out that lie inside the band, as it is where their own table is left out of it too."""
    counts = Counter(group.layer for group, _ in pairs)
    hits = []
    for group, rows in pairs:
        if counts[group.layer] < 2:
            continue
        band = bands([pair for pair in pairs if pair[0] is not group], least=1)[group.layer]
        for half, strays in _strays(rows).items():
            hits += [stray <= band.get(half, math.inf) for stray in strays]
    return fmean(hits) if hits else 0.0


def kept() -> FittedLayers:
    """The layers as `layers.json` keeps them."""
    return FittedLayers({kind: {name: layer.pace for name, layer in some.items()} for kind, some in layers().items()})
