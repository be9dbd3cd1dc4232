"""Fitting every layer at once: generations of GPUs on tables of one host, then networks on those of several.

A table that is left out says what to expect of one nobody has measured: its layer is fitted again without it, and a
layer with no other table takes what the others have in common.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean, median
from typing import Any

from ops.libraries.nccl.layers import Pace, layers, layers_of
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
from ops.measured.comparison import LARGE, Agreement, Compared, verdict
from ops.measured.files import place
from ops.measured.rows import Table
from sim.errors import InputError
from sim.topology import Topology

Factors = Mapping[str, float]
HELD = 0.8
"""The share of rows left out that a band holds."""
MOST_SIZES = 7
"""Sizes of a table that a fit looks at."""
REPEATED, SAME = 8, 0.02
"""Sizes that two tables share and within how much (median |ln|) their times agree where one repeats the other."""


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
    grouped: dict[str, list[Sample]] = {}
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
        elif first := repeated(topology, placed, whole):
            refused.append((name, f"repeats {first}: the same run counts once"))
        elif (few := thinned(placed, MOST_SIZES)).rows:
            grouped.setdefault(name, []).append(Sample(topology, few))
            whole.append((topology, placed, name))
    groups = []
    for name, samples in grouped.items():
        parts = layers_of(samples[0].topology)
        if parts:
            groups.append(TableGroup(name, parts[0].name, parts[1].name if len(parts) > 1 else "", tuple(samples)))
        else:
            refused.append((name, f"{samples[0].topology.name} has no layer"))
    return groups, refused


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
    rounds = ROUNDS if network else 2 * ROUNDS

    def fit_to(names: Collection[str], near: Factors | None = None) -> Fitted:
        return fit(
            [sample for name in names for sample in samples[name]], priors=priors, start=start, near=near, rounds=rounds
        )

    whole, without = fit_to(samples), dict[str, Factors]()
    for name in samples if len(samples) > 1 else ():
        part = fit_to([other for other in samples if other != name], whole.strays)
        without[name] = _factors(part, priors)
    return _factors(whole, priors), without


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
    """A unit's rows as the layers simulate them."""
    pace = fitted.pace(unit.generation, unit.network)
    return [row for rows in simulate_all(unit.samples, pace) for row in rows]


def leave_one_out(every: Sequence[TableGroup], fitted: FittedLayers) -> Iterator[tuple[TableGroup, list[Compared]]]:
    """Every unit with its rows as they come out where its layer was fitted without it."""
    for unit in every:
        kind, name = unit.layer
        rest = FittedLayers({key: dict(value) for key, value in fitted.factors.items()})
        rest.factors[kind].pop(name)
        if unit.name in fitted.without:
            rest.factors[kind][name] = fitted.without[unit.name]
        yield unit, errors(unit, rest)


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


def coverage(pairs: Sequence[tuple[TableGroup, Sequence[Compared]]]) -> dict[str, int]:
    """By table how many of its rows, left out, lie inside the band as it is without that table.

    Only of layers that have several: others have nothing to be left out of. One that has a single other table takes
    the band of its kind, as such layers do, or that table's where there is no other.
    """
    counts = Counter(group.layer for group, _ in pairs)
    held = {}
    for group, rows in pairs:
        if counts[group.layer] >= 2:
            rest = [pair for pair in pairs if pair[0] is not group]
            band = bands(rest)[group.layer] or bands(rest, least=1)[group.layer]
            strays = _strays(rows).items()
            held[group.name] = sum(stray <= band.get(half, math.inf) for half, some in strays for stray in some)
    return held


def inside(pairs: Sequence[tuple[TableGroup, Sequence[Compared]]]) -> float:
    """The share of rows left out that lie inside the band."""
    held = coverage(pairs)
    rows = sum(len(rows) for group, rows in pairs if group.name in held)
    return sum(held.values()) / rows if rows else 0.0


def unseen(every: Sequence[TableGroup], fitted: FittedLayers) -> dict[tuple[str, str], Agreement]:
    """For each layer how far off its tables are where it is not known at all: by what others of its kind have."""
    agreements = {}
    for layer in dict.fromkeys(unit.layer for unit in every):
        rest = FittedLayers({key: dict(value) for key, value in fitted.factors.items()})
        rest.factors[layer[0]].pop(layer[1])
        agreements[layer] = verdict([row for unit in every if unit.layer == layer for row in errors(unit, rest)])
    return agreements


def entries(
    every: Sequence[TableGroup], fitted: FittedLayers, pairs: Sequence[tuple[TableGroup, Sequence[Compared]]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Layers as `layers.json` keeps them: factors, tables with their errors, the band, and the error unseen."""
    band, strange, held = bands(pairs), unseen(every, fitted), coverage(pairs)
    kept_layers: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, some in layers().items():
        for name, layer in some.items():
            entry: dict[str, Any] = {"machines": list(layer.machines)}
            entry["pace"] = dict(fitted.factors[kind].get(name, layer.pace))
            entry["tables"] = {
                unit.name: {
                    "rows": len(without),
                    "fitted": _shares(verdict(errors(unit, fitted))),
                    "left_out": _shares(verdict(list(without))),
                    "inside": held.get(unit.name),
                }
                for unit, without in pairs
                if unit.layer == (kind, name)
            }
            entry["strays"] = dict(band.get((kind, name), band.get((kind, ""), {})))
            entry["unseen"] = _shares(strange[kind, name]) if (kind, name) in strange else [None, None]
            kept_layers.setdefault(kind, {})[name] = entry | ({"note": layer.note} if layer.note else {})
    return kept_layers


def _shares(agreement: Agreement) -> list[float | None]:
    return [None if share is None else round(share, 4) for share in (agreement.small, agreement.large)]


def kept() -> FittedLayers:
    """The layers as `layers.json` keeps them."""
    return FittedLayers({kind: {name: layer.pace for name, layer in some.items()} for kind, some in layers().items()})
