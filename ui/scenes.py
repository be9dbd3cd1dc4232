"""A scene: everything a person has chosen, as plain words; what it looks like run; how it travels in a link."""

import base64
import binascii
import math
import re
import zlib
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ops import ALGORITHMS
from ops.formats import LARGEST_TEXT, read_schedule, write_schedule
from ops.lab.crossovers import crossovers, reason
from ops.work import Outcome, Work, carry_out, imported, kept, registered
from sim import metrics
from sim.errors import InputError, StalledError
from sim.formats import read_topology
from sim.machines import build
from sim.parameters import parse_assignments
from sim.topology import Topology
from sim.trace import FORMAT, Trace, from_json
from sim.units import MiB, fmt_bandwidth, fmt_size, parse_size
from ui.payload import FULL, pack
from ui.stall import told
from ui.units import fmt_time

CAPTURES = Path(__file__).parents[1] / "assets" / "captures"
STALLED = "stalled"
"""The verdict of a run that never ends."""
LONGEST_WORD = 1000
LARGEST_SCENE = 4_000_000
"""Characters of a scene written down."""
MOST_CROSSED = 20_000
"""Runs of more transfers take too long to be tried at many sizes."""
LONGEST_LINK = 6000
"""Characters of a packed text that a link may carry; longer ones stay out of it."""


@dataclass(frozen=True)
class Scene:
    """All words, so that it can be a link, a cache key and a form at once.

    `machine` is a spec like `switch:ranks=8`; `capture` the text of one, or empty, and `rates` what it does not
    say, as `key=value,…`; `schedule` is the text of one from outside, or of a run that was kept, or empty;
    `settings` are parameters of the algorithm or of the schedule's format, `trouble` what goes wrong, one spec after
    the other with semicolons between; `ranks` is 0 for all there are; `against` tells which runs stand beside it.
    """

    algorithm: str = "allreduce.ring"
    machine: str = "dgx_a100"
    capture: str = ""
    rates: str = ""
    ranks: int = 0
    size: str = "64MiB"
    root: int = 0
    settings: str = ""
    schedule: str = ""
    trouble: str = ""
    against: str = ""

    def with_trouble(self, words: str) -> "Scene":
        """The same in other trouble."""
        return replace(self, trouble=words)


@dataclass(frozen=True)
class Picture:
    """What a run of a scene shows: the player's payload and the numbers beside it."""

    title: str
    collective: str
    payload: dict[str, Any]
    time: str
    algbw: str
    busbw: str
    bound: str
    near: float
    bottleneck: str
    verdict: str
    reason: str
    transfers: int
    seconds: float
    messages: int
    waiting: float
    flowing: float


def examples() -> dict[str, str]:
    """The captures that come with the project, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(CAPTURES.glob("*.txt"))}


@cache
def example_schedules() -> dict[str, str]:
    """Schedules as other tools write them, made from algorithms that are proved."""
    ring, bruck = ALGORITHMS["allreduce.ring"].schedule(8), ALGORITHMS["allgather.bruck"].schedule(8)
    counts = [[0 if a == b else 64 << 10 << (a + b) % 4 for b in range(8)] for a in range(8)]
    return {
        "allreduce-ring-8 (MSCCL XML)": write_schedule(ring, "msccl_xml"),
        "allgather-bruck-8 (GOAL)": write_schedule(bruck, "goal", size=8 * MiB),
        "alltoallv-8 (matrix)": "".join(" ".join(map(str, row)) + "\n" for row in counts),
    }


def is_trace(text: str) -> bool:
    """Whether it is a run that was kept, with its machine."""
    return text.lstrip().startswith("{") and f'"format": "{FORMAT}"' in text[:200]


def decoded(data: bytes, name: str) -> str:
    """The text of a file that a person opened. Raises InputError for one that is too large or no text."""
    if len(data) > LARGEST_TEXT:
        raise InputError(f"{name} is larger than {fmt_size(LARGEST_TEXT)}: open a smaller file")
    if b"\0" in data[:4096]:
        raise InputError(f"{name} is not a text file: open one that is")
    return data.decode("utf-8-sig", errors="replace")


def topology_of(scene: Scene) -> Topology:
    """The scene's machine. Raises InputError."""
    if is_trace(scene.schedule):
        return from_json(scene.schedule).topology
    if not scene.capture:
        return build(scene.machine)
    return read_topology(scene.capture, "capture", **_assignments(scene.rates, "capture"))


def work_of(scene: Scene, topology: Topology) -> Work:
    """What the scene runs. Raises InputError."""
    if scene.schedule:
        return read(scene.schedule, scene.settings)
    entry = ALGORITHMS[scene.algorithm]
    given = _assignments(scene.settings, scene.algorithm)
    if scene.ranks > topology.n:
        raise InputError(f"{topology.name} holds {topology.n} ranks, not {scene.ranks}: ask for {topology.n} or fewer")
    root = scene.root if entry.collective.rooted else 0
    return registered(entry, scene.ranks or topology.n, root=root, topology=topology, given=given)


@st.cache_resource(max_entries=16, show_spinner=False)
def read(text: str, settings: str) -> Work:
    """A schedule from outside; nobody changes it, so all who give the same text share it. Raises InputError."""
    return imported(read_schedule(text, "schedule", **_assignments(settings, "schedule")))


def _assignments(words: str, owner: str) -> dict[str, str]:
    return parse_assignments(words.split(",") if words else [], owner)


@st.cache_data(max_entries=64, show_spinner=False)
def run(scene: Scene, language: str) -> Picture:
    """Simulate and prove the scene; one that stalls is shown up to there. Raises InputError."""
    try:
        outcome = carried_out(scene)
    except (InputError, StalledError) as error:
        if error.trace is None:
            raise
        return _stalled(error.trace, language)
    trace, bound, worst = outcome.trace, outcome.bound, outcome.bottleneck
    known = outcome.work.collective
    return Picture(
        title=f"{outcome.work.name} · {trace.topology.name}",
        collective=known.name if known else "",
        payload={"packed": pack(trace, language), "full": trace.schedule.transfers <= FULL},
        time=fmt_time(trace.time),
        algbw=fmt_bandwidth(metrics.algbw(trace)),
        busbw=fmt_bandwidth(outcome.busbw),
        bound=fmt_time(bound) if bound else "",
        near=bound / trace.time if trace.time > 0 else 1.0,
        bottleneck=f"{worst[1].src} → {worst[1].dst}, {worst[0].share:.0%}" if worst else "",
        verdict=trace.verdict.verdict,
        reason=trace.verdict.reason,
        transfers=trace.schedule.messages,
        seconds=trace.time,
        **asdict(reason(outcome)),
    )


def _stalled(trace: Trace, language: str) -> Picture:
    """A run that never ends: what it did until nothing moved."""
    return Picture(
        title=f"{trace.schedule.name} · {trace.topology.name}",
        collective="",
        payload={"packed": pack(trace, language), "full": trace.schedule.transfers <= FULL},
        time=fmt_time(trace.time),
        algbw="",
        busbw="",
        bound="",
        near=0.0,
        bottleneck="",
        verdict=STALLED,
        reason=told(trace, language),
        transfers=trace.schedule.messages,
        seconds=math.inf,
        messages=0,
        waiting=0.0,
        flowing=0.0,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def crossings(scene: Scene, runs: tuple[Scene, ...]) -> list[tuple[str, str, str]]:
    """At which size one algorithm overtakes another on the scene's machine, as `below, above, size`."""
    topology = topology_of(scene)
    works = {run.algorithm: work_of(run, topology) for run in runs}
    if max(work.schedule.transfers for work in works.values()) > MOST_CROSSED or not works[scene.algorithm].sized:
        return []
    return [(c.below, c.above, fmt_size(c.size)) for c in crossovers(topology, works)]


def file_name(scene: Scene) -> str:
    """What a file of this scene is called, without its ending."""
    words = ("schedule" if scene.schedule else scene.algorithm, "capture" if scene.capture else scene.machine)
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(words)).strip("-")[:60]


def carried_out(scene: Scene) -> Outcome:
    """The scene's run, whatever stands beside it. Raises InputError."""
    if is_trace(scene.schedule):
        return kept(from_json(scene.schedule))
    topology = topology_of(scene)
    work = work_of(scene, topology)
    size = parse_size(scene.size) if work.sized else 0
    trouble = scene.trouble.split(";") if scene.trouble else []
    return carry_out(topology, work, size, history=work.schedule.transfers <= FULL, trouble=trouble)


def to_link(scene: Scene) -> dict[str, str]:
    """Query parameters that bring the scene back; what is as usual is left out."""
    usual = asdict(Scene())
    words = {name: str(value) for name, value in asdict(scene).items() if value != usual[name]}
    if scene.capture:
        words.pop("machine", None)
        words["capture"] = _packed(scene.capture, examples())
    if scene.schedule:
        words.pop("algorithm", None)
        words["schedule"] = _packed(scene.schedule, example_schedules())
    return {name: value for name, value in words.items() if value}


def from_link(words: dict[str, str]) -> Scene:
    """The scene a link describes. Raises InputError naming the parameter that is damaged."""
    scene = Scene()
    for name in ("algorithm", "machine", "size", "settings", "rates", "trouble", "against"):
        if name in words:
            scene = replace(scene, **{name: words[name][:LONGEST_WORD]})  # type: ignore[arg-type]
    for name in ("ranks", "root"):
        if name in words:
            if not words[name].isdecimal() or len(words[name]) > 7:
                raise InputError(f"the link's {name}={words[name][:20]!r} is not a whole number: correct the address")
            scene = replace(scene, **{name: int(words[name])})  # type: ignore[arg-type]
    if "capture" in words:
        scene = replace(scene, capture=_unpacked(words["capture"], examples(), "capture"))
    if "schedule" in words:
        scene = replace(scene, schedule=_unpacked(words["schedule"], example_schedules(), "schedule"))
    return scene


def _packed(text: str, known: dict[str, str]) -> str:
    """A text as a word of a link; empty when it is too long for one."""
    name = next((name for name, example in known.items() if example == text), "")
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()
    return f"example-{name}" if name else packed if len(packed) <= LONGEST_LINK else ""


def _unpacked(word: str, known: dict[str, str], what: str) -> str:
    if word.startswith("example-"):
        name = word.removeprefix("example-")
        if name not in known:
            raise InputError(f"the link's {what} {name[:40]!r} is not among {', '.join(known)}: correct the address")
        return known[name]
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(base64.b64decode(word, altchars=b"-_", validate=True), 1 << 20).decode()
    except (binascii.Error, zlib.error, ValueError):
        text = ""
    if not unpacker.eof:
        raise InputError(f"the link's {what} is damaged: paste the {what} again")
    return text
