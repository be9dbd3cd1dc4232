"""Numbers that somebody measured on a set-up of his own, as one word: `hop_4.2us,share_0.93,hosts_2`.

`hop` and `share` are of what joins hosts, `link_hop` and `link_share` of what joins GPUs inside one. They replace what
the machine's layers have (`ops.libraries.nccl.layers`), so that a table of few hosts predicts more of the same.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ops.libraries.nccl.constants import HOP_LATENCY
from ops.libraries.nccl.own.pace import Pace
from sim.base.numbers import real, whole
from sim.errors import InputError
from sim.topology import Topology
from sim.units import exact_time, parse_time, us

FAR_LL, FAR_SIMPLE, NEAR_LL = HOP_LATENCY["Ring"]["NET"][0], HOP_LATENCY["Ring"]["NET"][2], 0.6
"""µs of a ring's hop in NCCL's tables: between hosts with LL and with Simple, over NVLinks with LL."""


class NumberKind(NamedTuple):
    """A number's unit, its bounds, and whether it is of what joins hosts."""

    unit: str
    least: float
    most: float
    far: bool


KINDS: Mapping[str, NumberKind] = {
    "hop": NumberKind("s", 0.3 * us, 500 * us, far=True),
    "share": NumberKind("1", 0.05, 1.0, far=True),
    "simple_hop": NumberKind("s", 0.3 * us, 500 * us, far=True),
    "link_hop": NumberKind("s", 0.05 * us, 100 * us, far=False),
    "link_share": NumberKind("1", 0.05, 1.0, far=False),
    "start": NumberKind("s", 0.0, 500 * us, far=False),
}
"""Every number there may be."""
MOST_HOSTS = 100_000
LONGEST = 300


@dataclass(frozen=True, slots=True)
class OwnNumbers:
    """What a set-up costs, as measured there; None for what was not."""

    hop: float | None = None
    """Seconds of a hop between hosts with LL."""
    share: float | None = None
    """Share of the NICs' rate that is reached."""
    simple_hop: float | None = None
    """Seconds of a hop between hosts with Simple."""
    link_hop: float | None = None
    """Seconds of a hop inside a host with LL; hops of other protocols follow in proportion."""
    link_share: float | None = None
    """Share of the rate of links inside a host that is reached."""
    start: float | None = None
    """Seconds before anything moves, beside NCCL's base latency."""
    hosts: int = 0
    """The most hosts among the measurements."""

    def on(self, pace: Pace) -> Pace:
        """A pace with these numbers in the place of its own."""
        changes: dict[str, float] = {}
        if self.hop is not None:
            changes["net_hop"] = self.hop - FAR_LL * us
        if self.share is not None:
            changes["net"] = self.share
        if self.simple_hop is not None:
            changes["net_simple"] = self.simple_hop - FAR_SIMPLE * us - changes.get("net_hop", pace.net_hop)
        if self.start is not None:
            changes["launch"] = self.start
        if self.link_hop is not None:
            times = self.link_hop / (NEAR_LL * us * pace.ll)
            changes |= {key: getattr(pace, key) * times for key in ("ll", "ll128", "simple", "nvls_hop")}
        if self.link_share is not None:
            changes["nvls"] = min(1.0, pace.nvls * self.link_share / pace.nvlink)
            changes["nvlink"] = self.link_share
        return replace(pace, **changes)

    def bears_on(self, *, several_hosts: bool) -> bool:
        """Whether one of its numbers is of what a machine of one host or of several hosts rests on."""
        numbers = self.numbers()
        return any(KINDS[key].far for key in numbers) if several_hosts else any(not KINDS[key].far for key in numbers)

    def numbers(self) -> dict[str, float]:
        """Those that were measured, by name."""
        return {key: value for key, value in asdict(self).items() if key in KINDS and value is not None}

    def __str__(self) -> str:
        """As one word of a plan.

        >>> str(OwnNumbers(hop=4.2e-6, share=0.93, hosts=2))
        'hop_4.2us,share_0.93,hosts_2'
        """
        words = [
            f"{key}_{value / us:.4g}us" if KINDS[key].unit == "s" else f"{key}_{value:.4g}"
            for key, value in self.numbers().items()
        ]
        return ",".join([*words, *([f"hosts_{self.hosts}"] if self.hosts else [])])


def stock(pace: Pace) -> OwnNumbers:
    """What a pace has for each of the numbers."""
    far, far_simple = FAR_LL * us + pace.net_hop, FAR_SIMPLE * us + pace.net_hop + pace.net_simple
    return OwnNumbers(far, pace.net, far_simple, NEAR_LL * us * pace.ll, pace.nvlink, max(0.0, pace.launch))


@lru_cache(maxsize=64)
def own_numbers(word: str) -> OwnNumbers:
    """The numbers that a word tells. Raises InputError for one that tells none.

    >>> own_numbers("hop_4.2us,share_0.93").share
    0.93
    """
    values: dict[str, Any] = {}
    for part in word[:LONGEST].split(","):
        key, _, text = part.strip().rpartition("_")
        if key in values:
            raise InputError("calibration.twice", name=key)
        values[key] = _value(key, text, part.strip())
    numbers = OwnNumbers(**values)
    if not numbers.numbers() or len(word) > LONGEST:
        raise InputError("calibration.word", word=word, choices=KINDS)
    return numbers


def _value(key: str, text: str, part: str) -> float | int:
    if key == "hosts":
        hosts = whole(text)
        if hosts is None or not 1 <= hosts <= MOST_HOSTS:
            raise InputError("calibration.hosts", text=text)
        return hosts
    if key not in KINDS:
        raise InputError("calibration.word", word=part, choices=KINDS)
    kind = KINDS[key]
    value = _seconds(text) if kind.unit == "s" else real(text)
    if value is None or not kind.least <= value <= kind.most:
        least, most = ((exact_time(end) if kind.unit == "s" else f"{end:g}") for end in (kind.least, kind.most))
        raise InputError("calibration.range", name=key, text=text, least=least, most=most)
    return value


def _seconds(text: str) -> float | None:
    try:
        return parse_time(text)
    except InputError:
        return None


def calibrated(topology: Topology, word: str) -> Topology:
    """The machine with somebody's own numbers. Raises InputError for a word that tells none."""
    return replace(topology, calibration=str(own_numbers(word)), router=topology.routes)


def of_machine(topology: Topology) -> OwnNumbers | None:
    """The numbers that a machine was given; None where it was given none."""
    return own_numbers(topology.calibration) if topology.calibration else None


@lru_cache(maxsize=8)
def embodied(topology: Topology) -> Topology:
    """The machine with its own numbers in its links, for those that price no protocol; itself where it has none.

    A hop waits on the link by which it leaves a NIC or, inside a host, a GPU.
    """
    own = of_machine(topology)
    if own is None:
        return topology
    kinds = {device.name: device.kind for device in topology.devices}
    far, near = ("NIC", own.hop, own.share), ("GPU", own.link_hop, own.link_share)
    links = []
    for link in topology.links:
        start, hop, share = {"NET": far, "NVL": near}.get(link.kind, ("", None, None))
        leaves = kinds[link.src] == start or (link.both and kinds[link.dst] == start)
        latency = link.latency if hop is None else hop * leaves
        links.append(replace(link, bandwidth=link.bandwidth * (share or 1.0), latency=latency))
    return replace(topology, links=tuple(links), router=topology.routes)
