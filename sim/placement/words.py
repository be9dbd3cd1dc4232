"""Which GPUs of which hosts take part, and which rank each plays.

Said in words: `per_host=4`, with `hosts=2` the first two alone, with `order=cyclic` dealt out in turns; or a list,
rank 0 first, of numbers (`0-3,8-11`, as the machine counts its GPUs), of GPUs by host (`0:0-3,1:4-7`; `*:4-7` for every
host) or of names (`H0.GPU0`, `H0.GPU4-7`). A text of many lines is a rank file (`sim.placement.rank_file`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote

import numpy as np

from sim.base.numbers import whole
from sim.errors import InputError, first_few
from sim.placement.rank_file import in_one_line, is_rank_file, spots
from sim.topology.model import Topology

ORDERS = ("block", "cyclic")
"""Ranks host by host, or dealt to the hosts in turns."""
EXAMPLES = "`per_host=4`, `0-3,8-11`, `0:0-3,1:4-7`"
_WORDS = ("per_host", "hosts", "order")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")
_OF_HOST = re.compile(r"(\*|(?:host|node|h)?\d{1,9}|\d{1,9}-\d{1,9}):(\S*)", re.IGNORECASE)
_NAMES = re.compile(r"(\S*\D)(\d{1,9})-(\d{1,9})")
_SHORT = 40
"""Characters of a placement that the machine's name tells whole."""


def placed(topology: Topology, text: str) -> Topology:
    """The machine with ranks on the GPUs that a text names, and its own routes. Raises InputError.

    >>> from sim.machines import build
    >>> [m.devices[r].name for m in [placed(build("dgx_a100:hosts=2"), "0:6-7,1:0")] for r in m.ranks]
    ['H0.GPU6', 'H0.GPU7', 'H1.GPU0']
    """
    text = in_one_line(text, "placement") if "\n" in text.strip() else text
    chosen = _Chooser(topology).devices(text)
    if not chosen:
        raise InputError("placement.empty", examples=EXAMPLES)
    twice, times = Counter(chosen).most_common(1)[0]
    if times > 1:
        raise InputError("placement.twice", name=topology.devices[twice].name, times=times)
    short = " ".join(text.split())
    label = short if len(short) <= _SHORT and not is_rank_file(text) else f"{len(chosen)} GPUs placed"
    return replace(topology, name=f"{topology.name}, {label}", ranks=tuple(chosen), router=topology.routes)


def placement_of(topology: Topology, n: int) -> list[str]:
    """The devices of the first n ranks by name; none where they are the machine's GPUs in their order."""
    ranks = topology.ranks[:n]
    if np.array_equal(np.flatnonzero(topology.kinds == "GPU")[:n], ranks):
        return []
    return [topology.devices[device].name for device in ranks]


class _Chooser:
    """Finds the GPUs that words name on a machine."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.hosts: dict[int, list[int]] = {}
        for device in topology.ranks:
            self.hosts.setdefault(int(topology.places[0][device]), []).append(device)

    def devices(self, text: str) -> list[int]:
        """Device indices by rank."""
        if is_rank_file(text):
            return [self._gpu(host, gpu) for host, gpu in spots(text, "placement")]
        words = [word for word in re.split(r"[,\s]+", text, flags=re.ASCII) if word]
        if any("=" in word for word in words):
            return self._counted(words)
        return list(self._listed(words))

    def _counted(self, words: Sequence[str]) -> list[int]:
        values = dict(word.partition("=")[::2] for word in words)
        unknown = next((word for word in words if word.partition("=")[0] not in _WORDS or "=" not in word), None)
        if unknown is not None:
            raise InputError("placement.unknown", unknown=unknown, examples=EXAMPLES)
        if len(values) < len(words):
            raise InputError("placement.word_twice", examples=EXAMPLES)
        hosts = self._count("hosts", values.get("hosts", str(len(self.hosts))), len(self.hosts))
        gpus = [*self.hosts.values()][:hosts]
        fewest = min(map(len, gpus))
        each = self._count("per_host", values["per_host"], fewest) if "per_host" in values else None
        order = values.get("order", ORDERS[0])
        if order not in ORDERS:
            raise InputError("placement.order", order=order, orders=ORDERS)
        chosen = [of_host[:each] for of_host in gpus]
        if order == ORDERS[0]:
            return [device for of_host in chosen for device in of_host]
        return [of_host[k] for k in range(max(map(len, chosen))) for of_host in chosen if k < len(of_host)]

    def _count(self, word: str, text: str, most: int) -> int:
        value = whole(text)
        if value is None or not 1 <= value <= most:
            why = "placement.hosts" if word == "hosts" else "placement.per_host"
            raise InputError(why, word=word, text=text, topology=self.topology.name, most=most)
        return value

    def _listed(self, words: Sequence[str]) -> Iterator[int]:
        """GPUs one by one; a number behind `HOST:` belongs to that host until another is named."""
        hosts: list[int] = []
        several: list[str] = []
        for word in words:
            match = _OF_HOST.fullmatch(word)
            if match is not None:
                yield from self._on(hosts, several)
                hosts, several = self._hosts(match[1]), [match[2]]
            elif hosts and (whole(word) is not None or _RANGE.fullmatch(word) or word == "*"):
                several.append(word)
            else:
                yield from self._on(hosts, several)
                hosts, several = [], []
                yield from self._named(word)
        yield from self._on(hosts, several)

    def _on(self, hosts: Sequence[int], several: Sequence[str]) -> Iterator[int]:
        for host in hosts:
            for word in several:
                least, most = (0, len(self._of(host)) - 1) if word == "*" else self._ends(word)
                self._gpu(host, most)
                yield from (self._gpu(host, gpu) for gpu in range(least, most + 1))

    def _named(self, word: str) -> Iterator[int]:
        topology, several = self.topology, _NAMES.fullmatch(word)
        if (name := unquote(word)) in topology.index:
            yield self._rank_of(name)
        elif whole(word) is not None or _RANGE.fullmatch(word):
            least, most = self._ends(word)
            if most >= topology.n:
                raise InputError("placement.gpus", topology=topology.name, last=topology.n - 1, most=most)
            yield from topology.ranks[least : most + 1]
        elif several is not None and f"{several[1]}{several[2]}" in topology.index:
            least, most = self._ends(f"{several[2]}-{several[3]}")
            for number in range(least, min(most, least + topology.n) + 1):
                yield self._rank_of(f"{several[1]}{number}")
        else:
            raise InputError("placement.no_gpu_here", word=word, topology=topology.name, examples=EXAMPLES)

    def _rank_of(self, name: str) -> int:
        device = self.topology.index.get(name)
        if device is None or device not in self.topology.ranks:
            names = [self.topology.devices[k].name for k in self.topology.ranks]
            raise InputError("placement.no_gpu", name=name, topology=self.topology.name, names=first_few(names, 6))
        return device

    def _hosts(self, word: str) -> list[int]:
        if word == "*":
            return [*range(len(self.hosts))]
        least, most = self._ends(re.sub(r"^\D+", "", word))
        self._of(most)
        return [*range(least, most + 1)]

    def _ends(self, word: str) -> tuple[int, int]:
        first, _, last = word.partition("-")
        least, most = whole(first), whole(last or first)
        if least is None or most is None or not 0 <= least <= most:
            raise InputError("placement.range", word=word)
        return least, most

    def _of(self, host: int) -> list[int]:
        if host >= len(self.hosts):
            why = "placement.no_host" if len(self.hosts) > 1 else "placement.one_host"
            raise InputError(why, name=self.topology.name, count=len(self.hosts), host=host)
        return [*self.hosts.values()][host]

    def _gpu(self, host: int, gpu: int) -> int:
        of_host = self._of(host)
        if gpu >= len(of_host):
            name, last = self.topology.name, len(of_host) - 1
            raise InputError("placement.host_gpu", host=host, name=name, last=last, gpu=gpu)
        return of_host[gpu]
