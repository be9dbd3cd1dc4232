"""What joins the ranks of a board: cables, and the few switches they meet at."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from sim.topology import Topology
from sim.units import fmt_bandwidth

MOST_HUBS = 6
"""More switches than this say nothing on a board, which then shows none."""
Ends = frozenset[str]


@dataclass
class _Graph:
    """Links by their two ends, each way; devices that only pass on between two others are taken out."""

    ways: dict[Ends, dict[tuple[str, str], list[int]]] = field(default_factory=dict)

    def add(self, src: str, dst: str, links: Iterable[int]) -> None:
        way = self.ways.setdefault(frozenset((src, dst)), {}).setdefault((src, dst), [])
        way += [link for link in links if link not in way]

    def neighbours(self, name: str) -> list[str]:
        return [other for ends in self.ways if name in ends for other in ends - {name}]

    def take_out(self, name: str) -> bool:
        """Join the two cables of a device that has no others; says whether it had two."""
        around = self.neighbours(name)
        if len(around) != 2 or frozenset(around) in self.ways:
            return False
        first, second = (self.ways.pop(frozenset((name, other))) for other in around)
        for src, dst in (around, around[::-1]):
            into, out = (first, second) if src == around[0] else (second, first)
            self.add(src, dst, [*into.get((src, name), []), *out.get((name, dst), [])])
        return True


def cables(topology: Topology, n: int) -> dict[str, list[dict[str, Any]]]:
    """Hubs and cables on the routes between the first n ranks; ends of cables are `rank` or `hub` numbers.

    A cable's `ways` are the links that make it up, one list for each direction.
    """
    number = {(link.src, link.dst): i for i, link in enumerate(topology.links)}
    names = [topology.devices[topology.ranks[r]].name for r in range(n)]
    graph = _Graph()
    for a, b in permutations(names, 2):
        for link in topology.path(a, b):
            graph.add(link.src, link.dst, [number[link.src, link.dst]])
    others = sorted({name for ends in graph.ways for name in ends} - {*names})
    hubs = [name for name in others if not graph.take_out(name)]
    hubs = [name for name in hubs if graph.neighbours(name)]
    if len(hubs) > MOST_HUBS:
        return {"hubs": [], "cables": []}
    ids = {name: f"r{r}" for r, name in enumerate(names)} | {name: f"h{k}" for k, name in enumerate(hubs)}
    return {
        "hubs": [{"name": name, "near": _near(graph, name, names)} for name in hubs],
        "cables": _cables(topology, graph, ids),
    }


def _near(graph: _Graph, hub: str, names: list[str]) -> list[int]:
    """The ranks that a hub stands among: those next to it, or else those next to its neighbours."""
    ring, seen = [hub], {hub}
    while ring:
        around = [name for one in ring for name in graph.neighbours(one) if name not in seen]
        near = sorted({names.index(name) for name in around if name in names})
        if near:
            return near
        seen |= {*around}
        ring = around
    return list(range(len(names)))


def _cables(topology: Topology, graph: _Graph, ids: dict[str, str]) -> list[dict[str, Any]]:
    rates = {
        ends: min(topology.links[i].bandwidth for links in ways.values() for i in links)
        for ends, ways in graph.ways.items()
    }
    widest = max(rates.values(), default=1.0)
    made = []
    for ends, ways in graph.ways.items():
        a, b = sorted(ends, key=lambda name: ids[name])
        made.append(
            {
                "ends": [ids[a], ids[b]],
                "ways": [ways.get((a, b), []), ways.get((b, a), [])],
                "share": rates[ends] / widest,
                "rate": fmt_bandwidth(rates[ends]),
            }
        )
    return made
