"""Which GPUs a capture shows: by the name the text around gives them, else by how many NVLinks each has."""

import re
from dataclasses import replace
from typing import NamedTuple

from sim.topology.host import (
    AMPERE,
    BLACKWELL,
    BRIDGED,
    GRACE,
    GRACE_BLACKWELL,
    HOPPER,
    MOST_NVLINKS,
    PASCAL,
    VOLTA,
    Rates,
)


class Generation(NamedTuple):
    """GPUs that share rates: the most NVLinks one has (NVIDIA data sheets), and what texts call them."""

    rates: Rates
    most_nvlinks: int
    names: str


GENERATIONS = (
    Generation(GRACE_BLACKWELL, 18, "GB200|GB300"),
    Generation(BLACKWELL, 18, "B100|B200|B300"),
    Generation(BLACKWELL, 0, r"RTX[ -]PRO[ -][2-6]\d{3}|RTX[ -]?50[5-9]0(?: ?Ti)?|GB10"),
    Generation(GRACE, 18, "GH200"),
    Generation(HOPPER, 18, "H100|H200|H800|H20"),
    Generation(AMPERE, 12, "A100|PG506"),
    Generation(AMPERE, 8, "A800"),
    Generation(AMPERE, 4, "A30"),
    Generation(
        BRIDGED, 4, r"A40|A10G?|(?:RTX )?A[456][05]00|RTX[ -]?30[5-9]0(?: ?Ti)?|(?:GeForce|GTX) 30[5-9]0(?: ?Ti)?"
    ),
    Generation(AMPERE, 0, r"L40S?|L20|RTX[ -]?[56]000 Ada|RTX[ -]?40[5-9]0(?: ?Ti)?|A16|(?<=NVIDIA )(?:L4|L2|A2)"),
    Generation(VOLTA, 6, "V100S?|GV100"),
    Generation(
        VOLTA, 2, r"TITAN RTX|Quadro RTX ?[4568]000|RTX ?[68]000(?! Ada)|RTX[ -]?20[678]0(?: ?Ti| Super)?|TITAN V"
    ),
    Generation(VOLTA, 0, r"(?<=NVIDIA )T4|(?<=Tesla )T4|K80|K40|M40|M60"),
    Generation(PASCAL, 4, "P100|GP100"),
    Generation(PASCAL, 0, r"P40|(?<=Tesla )P4|GTX ?10[5-8]0(?: ?Ti)?"),
)
"""Every generation by what names it; a name that needs a word before it has two letters that mean other things too."""

OPEN = "Hopper or newer"
"""What many NVLinks show."""
BY_NVLINKS = (
    (13, HOPPER, OPEN),
    (5, AMPERE, "A100 or A800"),
    (3, BRIDGED, "Ampere cards with an NVLink bridge"),
    (1, VOLTA, "Volta or Turing"),
    (0, AMPERE, "cards on PCIe gen4"),
)
"""From how many NVLinks per GPU, its rates and their name: V100 has 6, GA102 4, A100 12, A800 8, H100 18
(NVIDIA data sheets). Six links are V100's, told apart below."""

_NAME = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\d[x×]))(?:"
    + "|".join(f"({g.names})" for g in GENERATIONS)
    + r")s?(?:NVL|SXM\d?)?(?![A-Za-z0-9])",
    re.IGNORECASE,
)


_GEFORCE = re.compile(r"GeForce|(?<![A-Za-z0-9])RTX[ -]?[345]0[5-9]0(?![A-Za-z0-9])", re.IGNORECASE)
_PEERS = re.compile(r"P2P=Enabled|topo -p2p|NCCL_P2P_LEVEL|via P2P")
"""What stands in a text whose GPUs reach each other's memory, or are made to."""


def has_no_peers(text: str) -> bool:
    """Whether a text names GeForce cards, whose driver has no P2P, and shows none.

    >>> has_no_peers("NVIDIA GeForce RTX 4090"), has_no_peers("RTX 4090, P2P=Enabled"), has_no_peers("RTX 4000 Ada")
    (True, False, False)
    """
    return _GEFORCE.search(text) is not None and _PEERS.search(text) is None


class Named(NamedTuple):
    """A name in a text, and its generation."""

    name: str
    generation: Generation


def named(text: str) -> list[Named]:
    """The GPUs a text names, each generation once, in order.

    >>> [(found.name, found.generation.rates.nvlink / 1e9) for found in named("8x B200, not the A100 of before; B300")]
    [('B200', 40.1), ('A100', 20.0)]
    """
    names: dict[int, Named] = {}
    for match in _NAME.finditer(text):
        at = (match.lastindex or 1) - 1
        names.setdefault(at, Named(match[at + 1], GENERATIONS[at]))
    return list(names.values())


def generation(text: str, nvlinks: dict[tuple[str, str], int]) -> tuple[Rates, list[str]]:
    """Rates of the GPUs whose NVLinks these are, and why.

    A GPU that the text names is believed where it can have as many links; of several that can, none is.
    """
    per_gpu = nvlinks_per_gpu(nvlinks)
    candidates = named(text)
    possible = [one for one in candidates if per_gpu <= one.generation.most_nvlinks]
    rates = {id(one.generation.rates) for one in possible}
    if len(rates) == 1:
        return possible[0].generation.rates, [f"the text names {possible[0].name}"]
    by_links, words = next((rates, words) for least, rates, words in BY_NVLINKS if per_gpu >= least)
    if per_gpu in (5, 6):
        by_links, words = VOLTA, "V100"
    counted = f"{per_gpu} NVLinks per GPU read as {words}" if per_gpu else f"no NVLinks: read as {words}"
    names = " and ".join(one.name for one in possible or candidates)
    if possible:
        return by_links, [f"the text names {names}, and any of them may be meant: give gpu= to say which", counted]
    if candidates:
        return by_links, [f"the text names {names}, which has fewer NVLinks than the table shows", counted]
    return by_links, [counted]


def newer(rates: Rates, suggestions: list[str]) -> Rates:
    """Rates of GPUs of which only the number of NVLinks is known: they are Blackwell where one carries so much."""
    if any(OPEN in line for line in suggestions) and rates.nvlink > (HOPPER.nvlink + BLACKWELL.nvlink) / 2:
        return replace(rates, generation=BLACKWELL.generation)
    return rates


def nvlinks_per_gpu(nvlinks: dict[tuple[str, str], int]) -> int:
    """How many NVLinks a GPU has: all to other GPUs, or those of one pair where a switch shares them out."""
    total: dict[str, int] = {}
    for pair, n in nvlinks.items():
        for gpu in pair:
            total[gpu] = total.get(gpu, 0) + n
    most = max(total.values(), default=0)
    return most if most <= MOST_NVLINKS else max(nvlinks.values())
