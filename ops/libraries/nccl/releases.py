"""What NCCL's tuner and search reckoned with in other releases than the newest: `src/graph` of each.

Times in µs, rates in GB/s, as there. A release has the tables of the next newer one but for what it says itself; the
newest has those of `ops.libraries.nccl.constants`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ops.libraries.nccl import constants
from ops.libraries.nccl.constants import Generation, Kind, Protocol

Hops = Mapping[str, Mapping[Kind, tuple[float, float, float]]]
Rates = Mapping[Generation, tuple[float, float, float]]


@dataclass(frozen=True, eq=False)
class Release:
    """One release's tables and rules; `since` is the first that has them."""

    since: tuple[int, int, int]
    base: Mapping[str, tuple[float, float, float]]
    hops: Hops
    ll: Rates
    ring_ll128: Rates
    tree_ll128: Rates
    tree: Rates
    tree_correction: Mapping[Protocol, tuple[float, ...]]
    plateau: Mapping[Generation, float]
    """Factor on a ring's latency with Simple between nodes."""
    plateau_by_rank: bool = False
    """Is that for 4 KiB a rank and more, or for 64 bytes a channel and rank?"""
    bus: Mapping[Generation, float] | None = None
    """What all channels together carry at most."""
    ring_ll: tuple[float, float] = (0.5, 0.5)
    """Shares of the bus that a ring reaches with LL: where it adds or crosses nodes, and elsewhere."""
    alone_ll128: float = 0.92
    """Share that a ring with LL128 reaches where nodes have one GPU."""
    ll_inside: float = 0.0
    """Factor on LL's hops inside nodes where there are several; 0 where the network's own time a step counts."""
    both_ways: bool = False
    """Does an allreduce cross the network twice a node, or twice a node but the last?"""
    switch: Literal["", "none", "flat", "copied", "shares"] = ""
    """How in-switch adding is reckoned: by shares of what links carry, or as 5/6 of the graph's rates, where an
    allgather is no faster (flat), is what the graph carries (copied), or lacks a GPU's own share (shares)."""
    switch_least: int = 2
    """GPUs of a node from which on in-switch adding is used."""
    pat: bool = True
    """Is there an algorithm of parallel aggregated trees?"""
    ll128_on: frozenset[Generation] = frozenset(constants.GENERATIONS)
    """GPUs on which LL128 is on unless told."""
    ll128_of: Mapping[str, float] | None = None
    """What a channel carries with LL128 by collective, whatever the GPU."""
    speeds: Mapping[Generation, tuple[float, ...]] = field(default_factory=lambda: constants.SPEEDS)
    net_speeds: Mapping[Generation, tuple[float, ...]] = field(default_factory=lambda: constants.NET_SPEEDS)
    """GB/s that the search tries for a channel inside and between nodes (`src/graph/search.cc`)."""
    most_channels: int = 32
    """Channels of a graph: half of MAXCHANNELS (`src/include/device.h`)."""
    steps: int = 1 << 19
    """Devices that all attempts of a search look at. Before 2.12 every attempt, and all together, had 16 times what is
    here, which finds the same."""
    nets: Literal["own", "by_type", "widest", "listed"] = "own"
    """Which NICs the search tries, in order (ncclTopoSelectNets): the GPUs' own ones, since 2.12 (until 2.18.1) near
    ones turned by the GPU's number, since 2.9 the widest ones by hops, before all as they are listed."""
    tree_shape: Literal["balanced", "by_nodes", "split"] = "balanced"
    """Shape of trees: balanced since 2.10; since 2.8 simple on two nodes, else split on Volta and balanced on newer
    GPUs; split before (`src/init.cc`, `src/graph/search.cc`)."""
    turned: bool = False
    """Is the second tree the first turned by a node where their number is even (before 2.8, `src/graph/trees.cc`)?"""
    nvlink: float = 20.0
    """GB/s of an NVLink of Volta and Ampere (`src/graph/topo.h`)."""
    cross_again: int = 2
    """The crossNic of the search's second try: pairs of rings that change the NIC, or 1 for any (before 2.22)."""
    raises_rings: bool = True
    """Does the search's second pass raise the speed of rings (from 2.19 on)?"""
    simple_tree: float = 0.85
    """Share that a tree reaches where one GPU of a node has all its traffic between nodes (from 2.26 on)."""
    tree_least_alone: bool = True
    """Do nodes of one GPU cost a ring the hops of a tree?"""


def _hops(**changes: dict[Kind, tuple[float, float, float]]) -> Hops:
    return {name: {**hops, **changes.get(name, {})} for name, hops in constants.HOP_LATENCY.items()}


_NEWEST = Release(
    since=(2, 30, 0),
    base=constants.BASE_LATENCY,
    hops=constants.HOP_LATENCY,
    ll=constants.LL_MOST,
    ring_ll128=constants.RING_LL128_MOST,
    tree_ll128=constants.TREE_LL128_MOST,
    tree=constants.TREE_MOST,
    tree_correction=constants.TREE_CORRECTION,
    plateau={"Volta": 1.9, "Ampere": 1.4, "Hopper": 1.4, "Blackwell": 1.4},
)
_BLACKWELL = (90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18)
_BLACKWELL_NET = tuple(speed for speed in constants.NET_SPEEDS["Blackwell"] if speed not in (86, 80))
_2_28_7 = replace(
    _NEWEST,
    since=(2, 28, 7),
    speeds={**constants.SPEEDS, "Blackwell": _BLACKWELL},
    net_speeds={**constants.NET_SPEEDS, "Blackwell": _BLACKWELL_NET},
)
_2_27 = replace(
    _2_28_7,
    since=(2, 27, 0),
    hops=_hops(NVLSTree={"NET": (0.0, 0.0, 14.0)}),
    ring_ll128={**constants.RING_LL128_MOST, "Blackwell": (73.4, 73.4, 73.4)},
    tree_ll128={**constants.TREE_LL128_MOST, "Blackwell": (73.4, 73.4, 58.0)},
    tree={**constants.TREE_MOST, "Blackwell": (77.4, 82.8, 72.0)},
    switch="shares",
    switch_least=3,
)
_2_23 = replace(
    _2_27,
    since=(2, 23, 0),
    # no Blackwell yet: its GPUs count as the newest known
    ll={**constants.LL_MOST, "Blackwell": constants.LL_MOST["Hopper"]},
    ring_ll128={**constants.RING_LL128_MOST, "Blackwell": constants.RING_LL128_MOST["Hopper"]},
    tree_ll128={**constants.TREE_LL128_MOST, "Blackwell": constants.TREE_LL128_MOST["Hopper"]},
    tree={**constants.TREE_MOST, "Blackwell": constants.TREE_MOST["Hopper"]},
    speeds={**constants.SPEEDS, "Blackwell": constants.SPEEDS["Hopper"]},
    net_speeds={**constants.NET_SPEEDS, "Blackwell": constants.NET_SPEEDS["Hopper"]},
    most_channels=16,
    switch="copied",
    simple_tree=1.0,
)
_OLD_TREE: dict[Kind, tuple[float, float, float]] = {
    "NVLINK": (0.6, 1.25, 28.0), "PCI": (1.0, 1.9, 28.0), "NET": (5.0, 8.5, 28.0)
}  # fmt: skip
_AS_AMPERE: dict[Generation, tuple[float, float, float]] = {
    "Hopper": constants.LL_MOST["Ampere"],
    "Blackwell": constants.LL_MOST["Ampere"],
}
_OLD_SPEEDS = constants.SPEEDS["Ampere"]
_OLDER_SPEEDS = (44, 30, 22, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3)
_OLDEST_SPEEDS = (42, 30, 24, 21, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12)
_OLDER_NET_SPEEDS = (48, 30, 28, 24, 22, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12)


def _as_hopper(old: tuple[float, ...], hopper: tuple[float, ...]) -> dict[Generation, tuple[float, ...]]:
    return {"Volta": old, "Ampere": old, "Hopper": hopper, "Blackwell": hopper}


_2_18 = replace(
    _2_23,
    since=(2, 18, 0),
    base={**constants.BASE_LATENCY, "Tree": (6.8, 14.0, 0.0)},
    hops=_hops(
        Tree=_OLD_TREE,
        NVLS={"NVLINK": (0.0, 0.0, 23.0)},
        NVLSTree={"NVLINK": (0.0, 0.0, 23.0), "NET": (0.0, 0.0, 14.0)},
    ),
    ll={**constants.LL_MOST, **_AS_AMPERE},
    ring_ll=(1 / 4, 1 / 3),
    alone_ll128=0.7,
    both_ways=True,
    speeds=_as_hopper(_OLD_SPEEDS, (60, 40, 30, 24, 20, 15, 12, 6, 3)),
    net_speeds=_as_hopper(
        constants.NET_SPEEDS["Ampere"], (48, 45, 42, 40, 30, 24, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12)
    ),
    cross_again=1,
    raises_rings=False,
    switch="flat",
    pat=False,
    tree_least_alone=False,
)
_2_12 = replace(
    _2_18,
    since=(2, 12, 0),
    base={"Tree": (4.4, 4.4, 0.0), "Ring": (3.6, 10.0, 8.4)},
    hops=_hops(
        Tree={**_OLD_TREE, "NVLINK": (0.52, 1.25, 28.0)},
        Ring={"NVLINK": (0.47, 1.9, 3.4), "NET": (2.7, 4.0, 9.6)},
    ),
    ring_ll128=dict.fromkeys(constants.GENERATIONS, (20.0, 20.0, 20.0)),
    tree_ll128=dict.fromkeys(constants.GENERATIONS, (20.0, 20.0, 20.0)),
    tree={**dict.fromkeys(constants.GENERATIONS, constants.TREE_MOST["Ampere"]), "Volta": constants.TREE_MOST["Volta"]},
    plateau=dict.fromkeys(constants.GENERATIONS, 1.9),
    speeds=_as_hopper(_OLDER_SPEEDS, (66, 33, 24, 20, 15, 12, 6, 3)),
    net_speeds=_as_hopper(_OLDER_NET_SPEEDS, (48, 45, 30, 24, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12)),
    plateau_by_rank=True,
    bus=dict.fromkeys(("Ampere", "Hopper", "Blackwell"), 235.0),
    ll_inside=1.8,
    switch="none",
    ll128_on=frozenset(("Volta", "Ampere")),
    steps=1 << 18,
    nets="by_type",
    nvlink=22.0,
)
_2_10 = replace(
    _2_12,
    since=(2, 10, 0),
    ll128_of={"broadcast": 18.8, "reduce": 12.0, "allgather": 18.3, "reduce_scatter": 15.2, "allreduce": 16.9},
    tree={**dict.fromkeys(constants.GENERATIONS, (24.0, 22.5, 16.0)), "Volta": constants.TREE_MOST["Volta"]},
    tree_correction={
        **constants.TREE_CORRECTION,
        "LL128": (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.5, 0.6, 0.6, 0.7, 0.7, 0.8, 0.9, 0.9, 0.92,
                  0.92),
    },
    both_ways=False,
    speeds=dict.fromkeys(constants.GENERATIONS, _OLDER_SPEEDS),
    net_speeds=dict.fromkeys(constants.GENERATIONS, tuple(speed for speed in _OLDER_NET_SPEEDS if speed != 28)),
    steps=3 << 15,
    nets="widest",
)  # fmt: skip
_2_9 = replace(
    _2_10,
    since=(2, 9, 0),
    speeds=dict.fromkeys(constants.GENERATIONS, _OLDEST_SPEEDS),
    net_speeds=dict.fromkeys(constants.GENERATIONS, _OLDEST_SPEEDS),
    tree_shape="by_nodes",
    nvlink=21.0,
)
_2_8 = replace(_2_9, since=(2, 8, 0), nets="listed")
_2_7_SPEEDS = tuple(speed for speed in _OLDEST_SPEEDS if speed != 30)
_2_7 = replace(
    _2_8,
    since=(2, 7, 0),  # its search; the tuner's tables are those of 2.8
    speeds=dict.fromkeys(constants.GENERATIONS, _2_7_SPEEDS),
    net_speeds=dict.fromkeys(constants.GENERATIONS, _2_7_SPEEDS),
    tree_shape="split",
    turned=True,
)
RELEASES: dict[str, Release] = {
    ".".join(map(str, release.since)).removesuffix(".0"): release
    for release in (_2_7, _2_8, _2_9, _2_10, _2_12, _2_18, _2_23, _2_27, _2_28_7, _NEWEST)
}
"""By the name of the first release that reckons so."""
OLDEST, *_, NEWEST = RELEASES


def is_since(release: str, first: str) -> bool:
    """Whether one of `RELEASES` is another one or newer."""
    return [*RELEASES].index(release) >= [*RELEASES].index(first)


def release_of(version: str) -> str:
    """The one of `RELEASES` whose tables a version has; the oldest for all before it, the newest where none is told.

    >>> release_of("2.21.5+cuda12.4"), release_of("2.28.3"), release_of("2.29.2"), release_of("2.4"), release_of("")
    ('2.18', '2.27', '2.28.7', '2.7', '2.30')
    """
    numbers = [int(number) for number in re.findall(r"\d{1,6}", version)[:3]]
    if not numbers:
        return NEWEST
    full = (*numbers, 0, 0)[:3]
    return next((name for name, release in reversed(RELEASES.items()) if full >= release.since), OLDEST)
