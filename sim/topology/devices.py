"""What a machine is made of: devices, the links that join them, and routes over links.

Everything with a capacity is a link: an NVLink, a PCIe lane, a switch port, an inter-socket link, a NIC.
Of very many devices and links there are columns, which look like tuples: an entry is made when it is looked at.
Words are NCCL's (`src/graph/topo.h`): device kinds GPU NVS PCI CPU NIC NET, link kinds NVL PCI SYS NET.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeVar, get_args, overload

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints

DeviceKind = Literal["GPU", "NVS", "PCI", "CPU", "NIC", "NET"]
LinkKind = Literal["NVL", "PCI", "SYS", "NET"]
DEVICE_KINDS, LINK_KINDS = get_args(DeviceKind), get_args(LinkKind)


class DeviceIndex(int):
    """A device's place among the devices of its machine; `Topology.ranks[rank]` is that of a rank's device."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device: a GPU, a switch, a NIC or a CPU.

    Parameters
    ----------
    name : str
        Name, like `GPU0` or `H1.GPU0`.
    kind : str
        GPU, NVS, PCI, CPU, NIC or NET.
    numa : int
        Its NUMA domain; -1 where the machine has none or does not say.
    host : int
        The number of its host.
    """

    name: str
    kind: DeviceKind
    numa: int = -1
    host: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one device to another.

    It has one direction; a half-duplex or shared medium is one link for both directions.

    Parameters
    ----------
    src : str
        The device it starts at.
    dst : str
        The device it ends at.
    bandwidth : float
        Bandwidth, B/s.
    latency : float
        Latency of the first byte, seconds.
    kind : str
        NVL, PCI, SYS or NET.
    both : bool
        Whether both directions use it.
    lanes : int
        NVLinks bonded into it: the # of class NV#.
    """

    src: str
    dst: str
    bandwidth: float
    latency: float
    kind: LinkKind = "NVL"
    both: bool = False
    lanes: int = 1
    """NVLinks bonded into it: the # of class NV#."""

    def turned(self) -> "Link":
        """The same link in the other direction."""
        return replace(self, src=self.dst, dst=self.src)


def both_ways(a: str, b: str, bandwidth: float, latency: float, kind: LinkKind, lanes: int = 1) -> tuple[Link, Link]:
    """Connect two devices with a full-duplex link: one link in each direction.

    Parameters
    ----------
    a : str
        A device.
    b : str
        Another device.
    bandwidth : float
        Bandwidth of each direction, B/s.
    latency : float
        Seconds.
    kind : str
        NVL, PCI, SYS or NET.
    lanes : int
        NVLinks bonded into it.

    Returns
    -------
    tuple of two Link
        From `a` to `b`, and back.
    """
    return (
        Link(a, b, bandwidth, latency, kind, lanes=lanes),
        Link(b, a, bandwidth, latency, kind, lanes=lanes),
    )


class Routes(NamedTuple):
    """Route i crosses `links[offsets[i]:offsets[i + 1]]`, in order; an empty route stays in its device."""

    offsets: Ints
    links: Ints


Router = Callable[[Ints, Ints], Routes]
"""From device indices `src[i]`, `dst[i]` to their routes; a closed form where a machine has one."""


Entry = TypeVar("Entry", Device, Link)
FEW = 4096
"""Entries that are kept once they have been made."""


class Make(NamedTuple):
    """DeviceColumns of one make are called `name`, with their `{host}` and their `{number}` in it."""

    name: str
    kind: DeviceKind


class _Columns(Sequence[Entry]):
    """Entries that are made when they are looked at; equal to a tuple of the same."""

    def _entry(self, i: int) -> Entry:
        raise NotImplementedError

    @overload
    def __getitem__(self, at: SupportsIndex) -> Entry: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Entry, ...]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> Entry | tuple[Entry, ...]:
        if self._made:
            return self._made[at]
        if isinstance(at, slice):
            return tuple(self._entry(i) for i in range(*at.indices(len(self))))
        return self._entry(range(len(self))[at])

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._made) if self._made else map(self._entry, range(len(self)))

    @cached_property
    def _made(self) -> tuple[Entry, ...]:
        """All of them where they are few: whoever draws a machine looks at each many times."""
        return tuple(map(self._entry, range(len(self)))) if len(self) <= FEW else ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return False
        return all(own == entry for own, entry in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))


class DeviceColumns(_Columns[Device]):
    """Device i is of make `make[i]`, stands in host `host[i]` and has a `number[i]` there; none has a NUMA domain.

    Whoever makes them sees to it that no two are called the same.
    """

    def __init__(self, makes: Sequence[Make], make: NDArray[np.uint8], host: Ints, number: Ints) -> None:
        self.makes, self.make, self.host, self.number = tuple(makes), make, host, number

    def __len__(self) -> int:
        return len(self.make)

    def _entry(self, i: int) -> Device:
        make, host = self.makes[self.make[i]], int(self.host[i])
        return Device(make.name.format(host=host, number=int(self.number[i])), make.kind, host=host)

    def names(self) -> Iterator[str]:
        """What they are called, in order."""
        columns = (self.make.tolist(), self.host.tolist(), self.number.tolist())
        for make, host, number in zip(*columns, strict=True):
            yield self.makes[make].name.format(host=host, number=number)


class LinkColumns(_Columns[Link]):
    """Link i leads from device `ends[0][i]` to `ends[1][i]` and is of kind `LINK_KINDS[kind[i]]`; one way, one lane."""

    def __init__(
        self,
        devices: DeviceColumns,
        ends: tuple[Ints, Ints],
        bandwidth: Floats,
        latency: Floats,
        kind: NDArray[np.uint8],
    ) -> None:
        self.devices, self.ends, self.kind, self.bandwidth, self.latency = devices, ends, kind, bandwidth, latency

    def __len__(self) -> int:
        return len(self.kind)

    def _entry(self, i: int) -> Link:
        src, dst = (self.devices[int(end[i])].name for end in self.ends)
        return Link(src, dst, float(self.bandwidth[i]), float(self.latency[i]), LINK_KINDS[self.kind[i]])


def names_of(devices: Sequence[Device]) -> Iterator[str]:
    """What devices are called, in order."""
    return devices.names() if isinstance(devices, DeviceColumns) else (device.name for device in devices)


def kinds_of(devices: Sequence[Device]) -> NDArray[Any]:
    """The kind of each device, as texts."""
    if isinstance(devices, DeviceColumns):
        return np.array([make.kind for make in devices.makes])[devices.make]
    return np.array([device.kind for device in devices], "U3")


def places_of(devices: Sequence[Device]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The host and the NUMA domain of each device."""
    if isinstance(devices, DeviceColumns):
        return devices.host.astype(np.int64), np.full(len(devices), -1)
    hosts = np.array([device.host for device in devices], np.int64)
    return hosts, np.array([device.numa for device in devices], np.int64)


def link_kinds(links: Sequence[Link]) -> NDArray[np.uint8]:
    """Return the kind of each link, as its number in LINK_KINDS."""
    if isinstance(links, LinkColumns):
        return links.kind
    return np.array([LINK_KINDS.index(link.kind) for link in links], np.uint8)


def shared_by_both(links: Sequence[Link]) -> NDArray[np.bool_]:
    """Which links both directions use."""
    if isinstance(links, LinkColumns):
        return np.zeros(len(links), np.bool_)
    return np.array([link.both for link in links], np.bool_)


def cables(
    devices: DeviceColumns, a: Ints, b: Ints, rates: Floats, waits: Floats, kinds: NDArray[np.uint8]
) -> LinkColumns:
    """Full-duplex cables, of B/s and s: link 2 k leads from device `a[k]` to `b[k]`, link 2 k + 1 back.

    Kinds are numbers in LINK_KINDS.
    """
    ends = np.stack([a, b], axis=1).reshape(-1), np.stack([b, a], axis=1).reshape(-1)
    there_and_back = ends[0].astype(np.int32), ends[1].astype(np.int32)
    bandwidth, latency = (np.repeat(column, 2).astype(np.float64) for column in (rates, waits))
    return LinkColumns(devices, there_and_back, bandwidth, latency, np.repeat(kinds, 2))
