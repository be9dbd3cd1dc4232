"""A scene: everything a person has chosen, as plain words; what it looks like run; how it travels in a link."""

import base64
import binascii
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from ops import ALGORITHMS
from ops.work import carry_out, registered
from sim import metrics
from sim.errors import InputError
from sim.formats import read_topology
from sim.machines import build
from sim.parameters import parse_assignments
from sim.topology import Topology
from sim.units import fmt_bandwidth, fmt_time, parse_size
from ui.payload import FULL, pack

CAPTURES = Path(__file__).parents[1] / "assets" / "captures"
LONGEST_LINK = 6000
"""Characters of a packed capture that a link may carry; longer ones stay out of it."""


@dataclass(frozen=True)
class Scene:
    """All words, so that it can be a link, a cache key and a form at once.

    `machine` is a spec like `switch:ranks=8`; `capture` the text of one, or empty, and `rates` what it does not
    say, as `key=value,…`; `settings` are algorithm parameters in the same form; `ranks` is 0 for all there are.
    """

    algorithm: str = "allreduce.ring"
    machine: str = "dgx_a100"
    capture: str = ""
    rates: str = ""
    ranks: int = 0
    size: str = "64MiB"
    root: int = 0
    settings: str = ""


@dataclass(frozen=True)
class Picture:
    """What a run of a scene shows: the player's payload and the numbers beside it."""

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


def examples() -> dict[str, str]:
    """The captures that come with the project, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(CAPTURES.glob("*.txt"))}


def topology_of(scene: Scene) -> Topology:
    """The scene's machine. Raises InputError."""
    if not scene.capture:
        return build(scene.machine)
    return read_topology(scene.capture, "capture", **_assignments(scene.rates, "capture"))


def _assignments(words: str, owner: str) -> dict[str, str]:
    return parse_assignments(words.split(",") if words else [], owner)


def ranks_of(scene: Scene, topology: Topology) -> int:
    """How many ranks take part. Raises InputError when the machine has fewer."""
    if scene.ranks > topology.n:
        raise InputError(f"{topology.name} holds {topology.n} ranks, not {scene.ranks}: ask for {topology.n} or fewer")
    return scene.ranks or topology.n


@st.cache_data(max_entries=64, show_spinner=False)
def run(scene: Scene, language: str) -> Picture:
    """Simulate and prove the scene. Raises InputError."""
    topology = topology_of(scene)
    algorithm = ALGORITHMS[scene.algorithm]
    n = ranks_of(scene, topology)
    given = _assignments(scene.settings, scene.algorithm)
    root = scene.root if algorithm.collective.rooted else 0
    work = registered(algorithm, n, root=root, topology=topology, given=given)
    size = parse_size(scene.size) if work.sized else 0
    outcome = carry_out(topology, work, size, history=work.schedule.transfers <= FULL)
    trace, bound, worst = outcome.trace, outcome.bound, outcome.bottleneck
    return Picture(
        payload={"packed": pack(trace, language), "full": trace.history is not None},
        time=fmt_time(trace.time),
        algbw=fmt_bandwidth(metrics.algbw(trace)),
        busbw=fmt_bandwidth(outcome.busbw),
        bound=fmt_time(bound),
        near=bound / trace.time if trace.time > 0 else 1.0,
        bottleneck=f"{worst[1].src} → {worst[1].dst}, {worst[0].share:.0%}" if worst else "",
        verdict=trace.verdict.verdict,
        reason=trace.verdict.reason,
        transfers=work.schedule.messages,
    )


def to_link(scene: Scene) -> dict[str, str]:
    """Query parameters that bring the scene back; what is as usual is left out."""
    usual = asdict(Scene())
    words = {name: str(value) for name, value in asdict(scene).items() if value != usual[name]}
    if scene.capture:
        words.pop("machine", None)
        known = next((name for name, text in examples().items() if text == scene.capture), "")
        packed = base64.urlsafe_b64encode(zlib.compress(scene.capture.encode(), 9)).decode()
        words["capture"] = f"example-{known}" if known else packed if len(packed) <= LONGEST_LINK else ""
    return {name: value for name, value in words.items() if value}


def from_link(words: dict[str, str]) -> Scene:
    """The scene a link describes. Raises InputError naming the parameter that is damaged."""
    scene = Scene()
    for name in ("algorithm", "machine", "size", "settings", "rates"):
        if name in words:
            scene = replace(scene, **{name: words[name][:300]})
    for name in ("ranks", "root"):
        if name in words:
            if not words[name].isdecimal() or len(words[name]) > 7:
                raise InputError(f"the link's {name}={words[name][:20]!r} is not a whole number: correct the address")
            scene = replace(scene, **{name: int(words[name])})
    if "capture" in words:
        scene = replace(scene, capture=_capture(words["capture"]))
    return scene


def _capture(word: str) -> str:
    if word.startswith("example-"):
        name = word.removeprefix("example-")
        if name not in examples():
            raise InputError(f"the link's capture {name[:40]!r} is not among {', '.join(examples())}")
        return examples()[name]
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(base64.b64decode(word, altchars=b"-_", validate=True), 1 << 20).decode()
    except (binascii.Error, zlib.error, ValueError):
        text = ""
    if not unpacker.eof:
        raise InputError("the link's capture is damaged: paste the capture again")
    return text
