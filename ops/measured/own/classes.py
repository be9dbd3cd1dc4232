"""How near predictions come by class of set-up, every set-up left out: by the layers, and with two numbers of its own.

The two numbers are fitted to other rows of the same table, on top of layers that were fitted without that table.
"""

import math
from collections import Counter
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
from ops.measured.layers import Band, FittedLayers, Judged, TableGroup, held_by, pooled_band, without
from ops.measured.own.baselines import NAMES, medians_of
from ops.measured.own.fit import fit_own
from ops.measured.rows import Table
from sim.errors import InputError

ONE_HOST, SEVERAL = "one host", "several hosts"
OWN_LEAST = 2
"""Set-ups of a layer from which on its band with own numbers is its own."""
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


def own_bands(own: Judged, leave: str = "") -> dict[str, dict[str, Band]]:
    """How far four of five rows with own numbers stray at most, without one of the set-ups.

    By kind and name of layer, of its own set-ups where it has `OWN_LEAST`; under an empty name what all of a kind do.
    """
    rest = [(group, rows) for group, rows in own if group.name != leave]
    bands: dict[str, dict[str, Band]] = {}
    for kind in ("generations", "networks"):
        counts = Counter(group.layer[1] for group, _ in rest if group.layer[0] == kind)
        bands[kind] = {
            "": dict.fromkeys(HALVES, 1.0) | pooled_band(rows for group, rows in rest if group.layer[0] == kind)
        }
        for name, count in counts.items():
            if count >= OWN_LEAST:
                bands[kind][name] = bands[kind][""] | pooled_band(r for group, r in rest if group.layer == (kind, name))
    return bands


class DistantRun(NamedTuple):
    """A run on more hosts than its network was measured on: how many times as many, its rows, the network's band."""

    times: float
    rows: Sequence[Compared]
    band: Band


def a_doubling(distant: Sequence[DistantRun]) -> Band:
    """How much bands widen with each doubling of the hosts, so that they hold four of five rows of larger runs."""
    beyond: dict[str, list[list[float]]] = {half: [] for half in HALVES}
    for run in distant:
        for half, rows in zip(HALVES, halves(run.rows), strict=True):
            if rows and half in run.band:
                strays = [abs(math.log(row.simulated / row.measured)) for row in rows]
                beyond[half].append([(stray - run.band[half]) / math.log2(run.times) for stray in strays])
    return {half: max(0.0, held_by(tables)) for half, tables in beyond.items()}


def bands_beside(
    tables: Sequence[Table],
    groups: Sequence[TableGroup],
    fitted: FittedLayers,
    own: Judged,
    kept: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """What `layers.json` keeps of bands beside those of layers: with own numbers, and how they widen with hosts."""
    hosts, distant = hosts_of_layers(groups), list[DistantRun]()
    for table in tables:
        try:
            topology, placed, _ = place(table)
        except InputError:
            continue
        layers, many = layers_of(topology), hosts_of(topology, placed.ranks)
        measured = hosts.get(layers[-1].name, 0) if len(layers) > 1 else 0
        if MOST_RANKS < placed.ranks <= MOST_DISTANT and many > measured > 0:
            pace = fitted.pace(*(layer.name for layer in layers))
            rows = compare_table(topology, thinned(placed), pace=pace)[0]
            distant.append(DistantRun(many / measured, rows, kept["networks"][layers[-1].name]["strays"]))
    return {"own": own_bands(own), "hosts": hosts, "a_doubling": a_doubling(distant)}


def class_errors(left_out: Judged, own: Judged, held: dict[str, int]) -> list[ClassErrors]:
    """One for every class, in the order of the set-ups; `held` says how many rows lie inside the band, by table."""
    names = dict.fromkeys(name for group, _ in left_out for name in classes_of(group))
    return [_class(name, left_out, own, held) for name in names]


def _class(name: str, left_out: Judged, own: Judged, held: dict[str, int]) -> ClassErrors:
    stock = [(group, rows) for group, rows in left_out if name in classes_of(group)]
    with_own = [(group, rows) for group, rows in own if name in classes_of(group)]
    banded = [(group, rows) for group, rows in stock if group.name in held]
    own_held = [_held(rows, _own_band(own, group)) / len(rows) for group, rows in with_own if rows]
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


def _own_band(own: Judged, group: TableGroup) -> Band:
    """The band of a set-up with own numbers as it is without it."""
    kind, name = group.layer
    bands = own_bands(own, group.name)[kind]
    return bands.get(name, bands[""])


def _of_others(groups: Sequence[TableGroup]) -> dict[str, tuple[float | None, float | None]]:
    every = [medians_of(group) for group in groups]
    pairs = {name: [one[name] for one in every] for name in NAMES}
    return {
        name: (_median([one[0] for one in some]), _median([one[1] for one in some])) for name, some in pairs.items()
    }


def _held(rows: Sequence[Compared], band: Band) -> int:
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
