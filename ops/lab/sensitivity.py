"""Which links matter: what a run gains or loses with each of them faster or slower, and what losing one costs."""

import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np

from ops.lab.cells import prepare
from ops.plan import PreparedRun
from ops.run import Run
from sim.base import watch
from sim.errors import InputError, Message, StalledError, UnreachableError
from sim.faults.kinds.links import dead_link
from sim.symmetry.equivalent import equivalent_links, has_one_way_around
from sim.symmetry.folded import FoldedSchedule
from sim.topology import Link, Topology
from sim.units import fmt_bandwidth, fmt_time

By = Literal["class", "link"]
Progress = Callable[[int, int], None]
MOST = 64
"""Groups of links looked at one by one, the busiest first."""
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
    """What a run takes without any one of some equivalent cables, in seconds; `reason` tells why it never ends.

    `cables` are the ends of each of them, that of the run first.
    """

    name: str
    cables: tuple[tuple[str, str], ...]
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
        raise InputError("sensitivity.factor", factor=factor)
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

    What would have crossed the cable goes another way if there is one. One run stands for all cables that the schedule
    and the machine's symmetry make equivalent. Raises InputError where so many runs take longer than they may.
    """
    plain = run.run()
    groups, losses = list(_cables(run, plain)), []
    prepare(len(groups))
    begun = clock.perf_counter()
    for k, (name, cables) in enumerate(groups):
        src, dst = cables[0]
        dead = replace(dead_link(run.topology, src=src, dst=dst, reroute=True), name=f"without {name}")
        time, reason = None, ""
        try:
            time = run.run(faults=[dead]).time
        except (UnreachableError, StalledError) as error:
            reason = str(error)
        losses.append(Loss(name, cables, time, reason))
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
    watch.expect(Message("sensitivity.times", name=plain.work.name, count=changes * runs), needs)


def _cables(run: PreparedRun, plain: Run) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The cables that the run crossed, by classes: a name and the ends of each cable, the busiest first."""
    topology, folded, plan = run.topology, run.work.folded, run.plan
    first = np.arange(len(topology.links))
    if folded is not None and not (plan.faults or plan.counts or run.work.pace or run.work.made):
        first = equivalent_links(topology, folded)
    classes: dict[int, list[Group]] = {}
    for group in _groups(plain, "link", None):
        classes.setdefault(int(first[group.links].min()), []).append(group)
    for groups in islice(_split(topology, folded, classes.values()), MOST):
        links = [topology.links[group.links[0]] for group in groups]
        several = f"{len(groups)} x " if len(groups) > 1 else ""
        yield f"{several}{groups[0].name}", tuple((link.src, link.dst) for link in links)


def _split(topology: Topology, folded: FoldedSchedule | None, classes: Iterable[list[Group]]) -> Iterator[list[Group]]:
    """Classes as they are where what they carry has one way around them, one by one where it has a choice."""
    for groups in classes:
        if folded is None or len(groups) == 1 or has_one_way_around(topology, folded, groups[0].links):
            yield groups
        else:
            yield from ([group] for group in groups)


def _groups(plain: Run, by: By, most: int | None = MOST) -> Iterator[Group]:
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
    for links in crossed[:most]:
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
