"""Rings that RCCL takes from a table instead of a search: `src/graph/rome_models.cc`, develop of October 2024."""

from collections.abc import Iterator

from ops.libraries.nccl.search.graphs import Channel, ChannelGraph, Pattern
from ops.libraries.nccl.search.system import PathType, System

_FRONTIER = (
    (0, 4, 1, 0, 0, 0, 2, 0), (4, 0, 0, 1, 0, 1, 0, 0), (1, 0, 0, 4, 2, 0, 0, 0), (0, 1, 4, 0, 0, 0, 0, 1),
    (0, 0, 2, 0, 0, 4, 1, 0), (0, 1, 0, 0, 4, 0, 0, 1), (2, 0, 0, 0, 1, 0, 0, 4), (0, 0, 0, 1, 0, 1, 4, 0),
)  # fmt: skip
_MESH = tuple(tuple(int(a != b) for b in range(8)) for a in range(8))
TABLES = {
    (_FRONTIER, 0): "01324576 67542310 01546732 23764510",
    (_FRONTIER, 4): "N0 01546732 N1 N1 23764510 N0 N3 76013245 N2 N2 54231067 N3",
    (_MESH, 0): (
        "01234567 01234576 02413657 02461735 03152746 03516274 04173625 "
        "76543210 67543210 75631420 53716420 64725130 47261530 52637140"
    ),
    (_MESH, 8): (
        "N0 01234567 N7 N1 10243576 N6 N2 25036174 N4 N3 37042165 N5 "
        "N4 46273051 N1 N5 54713260 N0 N6 63140752 N2 N7 72064153 N3"
    ),
}
"""Rings by xGMI links between GPUs and by the number of NICs: models 73, 74, 79 and 81."""


def rings_of(system: System) -> tuple[Channel, ...]:
    """The rings of a node in the table; none where the table has no such node."""
    gpus, nets = system.gpus, system.nets
    widths = {(edge.src, edge.dst): edge.bandwidth for edge in system.edges if edge.type == PathType.NVL}
    least = min(widths.values(), default=1)
    links = tuple(tuple(widths.get((a, b), 0) // least for b in gpus) for a in gpus)
    return tuple(_channels(TABLES.get((links, len(nets)), ""), gpus, nets))


def _channels(text: str, gpus: list[int], nets: list[int]) -> Iterator[Channel]:
    words = text.split()
    for k, word in enumerate(words):
        if not word.startswith("N"):
            ends = [nets[int(words[at][1:])] for at in (k - 1, k + 1)] if nets else [-1, -1]
            yield Channel(tuple(gpus[int(digit)] for digit in word), *ends)


def listed(channels: tuple[Channel, ...], pattern: Pattern, inside: float, between: float) -> ChannelGraph:
    """Channels that no search made as its result; MB/s of each inside and between nodes."""
    kinds = PathType.NVL, PathType.PXB
    return ChannelGraph(pattern, 0, False, *kinds, 1, len(channels), inside, between, 0, channels)
