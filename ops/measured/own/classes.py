"""How near predictions come by class of set-up, every set-up left out: by the layers, and with two numbers of its own.

The two numbers are fitted to other rows of the same table, on top of layers that were fitted without that table.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from ops.libraries.nccl.layers import HALVES, layers_of
from ops.libraries.nccl.own.band import hosts_of
from ops.measured.calibration import MOST_RANKS, thinned
from ops.measured.comparison import MOST_RANKS as MOST_DISTANT
from ops.measured.comparison import Compared, compare_table, halves, verdict
from ops.measured.files import place
from ops.measured.layers import HELD, FittedLayers, Judged, TableGroup, without
from ops.measured.own.baselines import NAMES, medians_of
from ops.measured.own.fit import fit_own
from ops.measured.rows import Table
from sim.errors import InputError

ONE_HOST, SEVERAL = "one host", "several hosts"
OWN_CLASSES = {"CDNA": "AMD", "PCIe": "PCIe"}
"""Generations of GPUs that are a class of their own, wherever the hosts are."""


class ClassErrors(NamedTuple):
    """A class: its set-ups and rows, the medians of their medians below and from 1 MiB, and the share inside the band.

    Set-ups weigh the same, in the shares as in the medians. `own` and `own_inside` are with two numbers of each
    set-up's own.
    """

    name: str
    tables: int
    rows: int
    stock: tuple[float | None, float | None]
    own: tuple[float | None, float | None]
    inside: float | None
    own_inside: float | None
    others: Mapping[str, tuple[float | None, float | None]]
    """What others come to on the same set-ups (`ops.measured.own.baselines`)."""


def classes_of(group: TableGroup) -> list[str]:
    """The classes that a set-up is counted in."""
    if group.generation in OWN_CLASSES:
        return [OWN_CLASSES[group.generation], *([SEVERAL] if group.network else [])]
    return [SEVERAL, f"{SEVERAL}, {group.network}"] if group.network else [ONE_HOST]


def own_rows(
    groups: Sequence[TableGroup], fitted: FittedLayers, progress: Callable[[str], None] = lambda text: None
) -> list[tuple[TableGroup, list[Compared]]]:
    """Every set-up's rows as two numbers of its own have them that were fitted to other rows of its table."""
    judged = []
    for group in groups:
        progress(f"own numbers of {group.name}")
        base = without(group, fitted).pace(group.generation, group.network)
        rows = fit_own([(sample.topology, sample.table) for sample in group.samples], base=base).rows
        judged.append((group, list(rows)))
    return judged


def own_bands(own: Judged, leave: str = "") -> dict[str, dict[str, float]]:
    """How far four of five rows with own numbers stray at most, set-ups counting alike, without one of them."""
    bands: dict[str, dict[str, float]] = {}
    for kind in ("generations", "networks"):
        some = [halves(rows) for group, rows in own if group.layer[0] == kind and group.name != leave]
        bands[kind] = {
            half: _quantile([[abs(math.log(r.simulated / r.measured)) for r in pair[k]] for pair in some if pair[k]])
            for k, half in enumerate(HALVES)
        }
    return bands


def _quantile(tables: Sequence[Sequence[float]]) -> float:
    strays = sorted((stray, 1 / len(table)) for table in tables for stray in table)
    reached = np.cumsum([weight for _, weight in strays]) >= HELD * len(tables) - 1e-9
    return math.ceil(1000 * strays[int(np.argmax(reached))][0]) / 1000 if strays else 1.0


def a_doubling(distant: Sequence[tuple[int, int, Sequence[Compared]]], strays: dict[str, float]) -> dict[str, float]:
    """How much the band widens with each doubling of the hosts, so that it holds four of five rows of larger runs.

    `distant` has runs on more hosts than the layers were fitted to: their hosts, those measured, and their rows.
    """
    return {
        half: max(
            0.0,
            _quantile(
                [
                    [
                        (abs(math.log(row.simulated / row.measured)) - strays[half]) / math.log2(hosts / measured)
                        for row in halves(rows)[k]
                    ]
                    for hosts, measured, rows in distant
                    if halves(rows)[k]
                ]
            ),
        )
        for k, half in enumerate(HALVES)
    }


def bands_beside(
    tables: Sequence[Table], groups: Sequence[TableGroup], own: Judged, kept: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """What `layers.json` keeps of bands beside those of layers: with own numbers, and how they widen with hosts."""
    hosts, distant = hosts_of_layers(groups), list[tuple[int, int, Sequence[Compared]]]()
    for table in tables:
        try:
            topology, placed, _ = place(table)
        except InputError:
            continue
        layers, many = layers_of(topology), hosts_of(topology, placed.ranks)
        measured = hosts.get(layers[-1].name, 0) if len(layers) > 1 else 0
        if MOST_RANKS < placed.ranks <= MOST_DISTANT and many > measured > 0:
            distant.append((many, measured, compare_table(topology, thinned(placed))[0]))
    strays: dict[str, float] = next((entry["strays"] for name, entry in kept["networks"].items() if name == "IB"), {})
    return {"own": own_bands(own), "hosts": hosts, "a_doubling": a_doubling(distant, strays)}


def class_errors(left_out: Judged, own: Judged, held: dict[str, int]) -> list[ClassErrors]:
    """One for every class, in the order of the set-ups; `held` says how many rows lie inside the band, by table."""
    names = dict.fromkeys(name for group, _ in left_out for name in classes_of(group))
    return [_class(name, left_out, own, held) for name in names]


def _class(name: str, left_out: Judged, own: Judged, held: dict[str, int]) -> ClassErrors:
    stock = [(group, rows) for group, rows in left_out if name in classes_of(group)]
    with_own = [(group, rows) for group, rows in own if name in classes_of(group)]
    banded = [(group, rows) for group, rows in stock if group.name in held]
    own_held = [_held(rows, own_bands(own, group.name)[group.layer[0]]) / len(rows) for group, rows in with_own if rows]
    return ClassErrors(
        name,
        len(stock),
        sum(len(rows) for _, rows in stock),
        _medians(stock),
        _medians(with_own),
        fmean(held[group.name] / len(rows) for group, rows in banded) if banded else None,
        fmean(own_held) if own_held else None,
        _of_others([group for group, _ in stock]),
    )


def _of_others(groups: Sequence[TableGroup]) -> dict[str, tuple[float | None, float | None]]:
    every = [medians_of(group) for group in groups]
    pairs = {name: [one[name] for one in every] for name in NAMES}
    return {
        name: (_median([one[0] for one in some]), _median([one[1] for one in some])) for name, some in pairs.items()
    }


def _held(rows: Sequence[Compared], band: dict[str, float]) -> int:
    return sum(
        abs(math.log(row.simulated / row.measured)) <= band[half]
        for half, some in zip(HALVES, halves(rows), strict=True)
        for row in some
    )


def _medians(judged: Judged) -> tuple[float | None, float | None]:
    agreed = [verdict(rows) for _, rows in judged]
    return _median([one.small for one in agreed]), _median([one.large for one in agreed])


def _median(errors: Sequence[float | None]) -> float | None:
    banded = [error for error in errors if error is not None]
    return float(np.median(banded)) if banded else None


def hosts_of_layers(groups: Sequence[TableGroup]) -> dict[str, int]:
    """The most hosts among the set-ups of each network."""
    hosts: dict[str, int] = {}
    for group in groups:
        if group.network:
            most = max(hosts_of(sample.topology, sample.table.ranks) for sample in group.samples)
            hosts[group.network] = max(most, hosts.get(group.network, 0))
    return hosts


def as_dict(one: ClassErrors) -> dict[str, Any]:
    """As the terminal's JSON has it."""
    plain = one._asdict()
    for key in ("stock", "own"):
        plain |= dict(zip((f"{key}_{half}" for half in HALVES), plain.pop(key), strict=True))
    return plain | {"others": {name: list(pair) for name, pair in one.others.items()}}
