"""Which links matter: what a run gains or loses with each of them faster or slower, and what losing one costs."""

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ops.lab.cells import prepare
from ops.request import PreparedRun
from ops.request.notation import listed
from ops.run import Run
from sim.base import watch
from sim.errors import InputError, StalledError
from sim.topology import Link, Topology
from sim.units import fmt_bandwidth, fmt_time

By = Literal["class", "link"]
Progress = Callable[[int, int], None]
MOST = 64
"""Cables looked at one by one, the busiest first."""
WHATS = ("bandwidth", "latency")
"""What is changed of a link."""


@dataclass(frozen=True)
class Swing:
    """What a run takes, in seconds, with links `slower` and `faster` by a factor in `what`: bandwidth or latency."""

    name: str
    what: str
    links: int
    slower: float
    faster: float

    @property
    def range(self) -> float:
        """How much of the run's time is at stake, in seconds."""
        return abs(self.slower - self.faster)


@dataclass(frozen=True)
class Loss:
    """What a run takes without a cable, in seconds; `reason` tells why it never ends."""

    name: str
    src: str
    dst: str
    time: float | None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Group:
    """Links that are changed together: their numbers, and what they are called."""

    name: str
    links: list[int]
    use: float


def sensitivity(
    run: PreparedRun,
    *,
    factor: float = 2.0,
    by: By = "class",
    most: int = MOST,
    whats: Sequence[str] = WHATS,
    progress: Progress = lambda done, of: None,
) -> tuple[Run, list[Swing]]:
    """The run as it is, and how its time swings with links a `factor` slower and faster, the largest swing first.

    Links change by class, that is kind, ends and bandwidth, or cable by cable: the `most` busiest of them, in each of
    `whats`. Routes stay what they were. What the run does not cross is left out, since it changes nothing. Raises
    InputError for a factor that is not above 1, and where so many runs take longer than they may.
    """
    if not 1 < factor <= 1e6:
        raise InputError(f"a factor of {factor:g} is not between 1 and a million: 2 halves and doubles")
    topology, plain = run.topology, run.run()
    groups = list(_groups(plain, by))[:most]
    changes = [(group, what) for group in groups for what in whats if _has(topology, group, what)]
    swings = []
    prepare(2 * len(changes))
    begun = clock.perf_counter()
    for k, (group, what) in enumerate(changes):
        times = [
            replace(run, topology=_changed(topology, group.links, what, scale)).run().time
            for scale in _scales(what, factor)
        ]
        swings.append(Swing(group.name, what, len(group.links), *times))
        if not k:
            _expect(plain, clock.perf_counter() - begun, len(changes), 2)
        progress(k + 1, len(changes))
    return plain, sorted(swings, key=lambda swing: -swing.range)


def failures(run: PreparedRun, *, progress: Progress = lambda done, of: None) -> tuple[Run, list[Loss]]:
    """The run as it is, and what it takes without each cable it uses, both directions, the dearest first.

    What would have crossed the cable goes another way if there is one. Raises InputError where so many runs take longer
    than they may.
    """
    request, plain = run.request, run.run()
    groups, losses = list(_groups(plain, "link")), []
    prepare(len(groups))
    begun = clock.perf_counter()
    for k, group in enumerate(groups):
        link = run.topology.links[group.links[0]]
        dead = f"dead_link:src={link.src},dst={link.dst},both=yes,reroute=yes"
        time, reason = None, ""
        try:
            time = run.run(replace(request, trouble=listed([*request.troubles, dead]))).time
        except (InputError, StalledError) as error:
            reason = str(error)
        losses.append(Loss(group.name, link.src, link.dst, time, reason))
        if not k:
            _expect(plain, clock.perf_counter() - begun, len(groups))
        progress(k + 1, len(groups))
    return plain, sorted(losses, key=lambda loss: -(np.inf if loss.time is None else loss.time))


def _expect(plain: Run, took: float, changes: int, runs: int = 1) -> None:
    """Say what so many changes are going to take, of so many runs each, once the first of them took so many seconds.

    A run of its own is no measure: changed, ranks that were all alike have to be simulated one by one.
    """
    size = plain.real.get("estimated_bytes", 0.0)
    needs = watch.Estimate(changes * runs * plain.work.transfers, size, changes * took)
    watch.expect(f"{plain.work.name}, {changes * runs} times,", needs)


def _groups(plain: Run, by: By) -> Iterator[Group]:
    """What the run crossed, in groups, the busiest first."""
    topology, use = plain.topology, plain.link_use
    kinds = {device.name: device.kind for device in topology.devices}
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, link in enumerate(topology.links):
        ends = (kinds[link.src], kinds[link.dst]) if by == "class" else (link.src, link.dst)
        same = (link.kind, link.bandwidth, link.latency) if by == "class" else ()
        groups.setdefault((*sorted(ends), *same), []).append(i)
    crossed = [links for links in groups.values() if use[links].max() > 0]
    crossed.sort(key=lambda links: -use[links].max())
    for links in crossed[:MOST]:
        link = topology.links[links[0]]
        yield Group(_named(link, links, kinds, by), links, float(use[links].max()))


def _named(link: Link, links: list[int], kinds: Mapping[str, str], by: By) -> str:
    if by == "link":
        return f"{link.src} - {link.dst}"
    ends = f"{kinds[link.src]} - {kinds[link.dst]}"
    return f"{len(links)} x {link.kind} {ends}, {fmt_bandwidth(link.bandwidth)}, {fmt_time(link.latency)}"


def _has(topology: Topology, group: Group, what: str) -> bool:
    return what == "bandwidth" or bool(topology.latency[group.links].max() > 0)


def _scales(what: str, factor: float) -> tuple[float, float]:
    return (1 / factor, factor) if what == "bandwidth" else (factor, 1 / factor)


def _changed(topology: Topology, links: list[int], what: str, scale: float) -> Topology:
    """The same machine with some links scaled; routes as they were."""
    scaled = set(links)
    changed = tuple(
        replace(link, **{what: getattr(link, what) * scale}) if i in scaled else link
        for i, link in enumerate(topology.links)
    )
    return replace(topology, links=changed, router=topology.routes)
