"""A trace packed for the browser: typed columns, compressed once, decoded there; no rules of any collective.

Contract, version 4. `pack` gives a JSON-only dict; `tl` is base64 of zlib of: 4 bytes header length, the JSON
header, then columns at the offsets the header lists as `[name, dtype, offset, length]`. Times are whole ticks
of `tick` seconds. Rows are transfers in schedule order; `end` is the difference to the row before. `sets` are words of
64 bits, one for each rank, the lower half first. Beyond `FULL` transfers or `ROUTES` routes both are left out, and
steps and link loads alone are sent.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.answers.sending import least
from ops.plan import Plan
from ops.run.part import FULL
from ops.run.values import Values, captioned, values_of
from sim.errors import InputError
from sim.schedule import REDUCE, Schedule
from sim.schedule.switch_devices import switch_devices
from sim.trace import Trace
from sim.trace.breakdown import PARTS, Breakdown, breakdown
from sim.trace.link_load import spells, utilisation
from sim.trace.metrics import critical_path
from ui.layout.algorithm_layout import Shape, shape_of
from ui.layout.boxes import Stage
from ui.layout.captions import block_name, closing, goal, opening, step_captions
from ui.layout.folding import folded
from ui.layout.lines import SIZES, between
from ui.layout.lines import columns as line_columns
from ui.layout.machine_layout import arrange
from ui.layout.names import box_names, device_names
from ui.layout.provenance import NAMED, Contents, at_first, followed, unfollowed
from ui.layout.stall import sentence
from ui.player.numbers import in_words
from ui.player.rerun import rerun_columns, small
from ui.text import retold, say, speaking

VERSION = 4
ROUTES = 300_000
"""Every route is drawn as a line of its own."""
BINS = 240
"""Columns of the load chart."""
SHORT = 1 << 20
"""Bytes that are packed in haste: somebody waits for them, and a tenth less would not be there any sooner."""
Array = NDArray[Any]


def pack(trace: Trace, language: str = "en", why: Breakdown | None = None, plan: Plan | None = None) -> dict[str, Any]:
    """Everything the player needs to show a trace at any instant.

    `why` is its breakdown where somebody has it; `plan` says which numbers its blocks show, if any.
    """
    full = has_rows(trace)
    why = why or (breakdown(trace) if trace.stall is None else None)
    contents = followed(trace, _ticks(trace, trace.end)) if full and not trace.excerpt else unfollowed(trace)
    places = place_devices(trace)
    names = place_names(trace, places, language)
    hidden, shape = folded(trace), shape_of(trace.schedule, contents.block) if full else None
    stage = arrange(trace.topology, hidden)
    captions = step_captions(trace, contents, names, language)
    values, note = _numbers(trace, plan, language) if full and plan and plan.values else (None, "")
    whole_stage = arrange(trace.topology) if hidden else None
    header = {
        "meta": _meta(trace, full=full) | {"stalled": sentence(trace, language)},
        "devices": _devices(trace, stage, language) | {"hidden": sorted(hidden)},
        "unfolded": _placed(whole_stage, language) if whole_stage else None,
        "kinds": {kind: list(size) for kind, size in SIZES.items()},
        "places": {"device": places, "name": names},
        "links": _links(trace),
        "steps": {
            **_steps(trace),
            "opening": opening(trace.schedule, language),
            "goal": goal(trace.schedule, language),
            "caption": captions if values is None else captioned(captions, values, trace.schedule),
            "closing": closing(trace.schedule, language, kept=trace.verdict.verdict == "ok"),
        },
        "block_names": _block_names(trace.schedule) if full else [],
        "shape": _shape(shape, language) if shape else None,
        "faults": list(trace.faults),
        "why": _why(why) if why else None,
    }
    columns = _rows(trace, contents) | _routes(trace) | rerun_columns(trace) if full else {}
    if full and not trace.excerpt:
        columns["path"] = small(why.path if why else np.array(critical_path(trace), np.int64))
    elif full:  # most of it lies between other ranks
        columns["path"] = np.zeros(0, np.uint8)
    if full and why and not trace.excerpt:
        columns["path_on"] = why.spent_on
    if values is not None:
        header["values"], numbers = in_words(values, trace.schedule)
        columns |= numbers
    columns["load"] = _load(trace)
    columns |= _lines("line", trace, stage)
    if whole_stage:
        columns |= _lines("unfolded_line", trace, whole_stage)
    if shape:
        columns |= line_columns("shape_line", shape.lines())
    packed = _join(header, columns)
    return {
        "id": hashlib.sha256(packed).hexdigest()[:16],
        "note": note or _note(trace, language),
        "tl": base64.b64encode(zlib.compress(packed, 1 if len(packed) < SHORT else 6)).decode("ascii"),
    }


def _numbers(trace: Trace, plan: Plan, language: str) -> tuple[Values | None, str]:
    """Return the numbers in the blocks, or None and the error as a sentence."""
    try:
        return values_of(trace.schedule, plan.values, plan.op, plan.dtype, trace.end), ""
    except InputError as error:
        with speaking(language):
            return None, retold(error)


def _note(trace: Trace, language: str) -> str:
    """What a picture leaves out; nothing where it shows the whole run."""
    if trace.excerpt:
        names = [trace.topology.devices[device].name for device in trace.topology.ranks]
        shown = f"{names[0]} … {names[trace.excerpt.shown - 1]}" if trace.excerpt.shown > 1 else names[0]
        return say("page.part", language, ranks=trace.excerpt.ranks, count=trace.excerpt.shown, shown=shown)
    return "" if has_rows(trace) else say("page.large", language, count=trace.schedule.messages)


def has_rows(trace: Trace) -> bool:
    """Whether every transfer of a trace is sent, not its steps and link loads alone."""
    used = int(np.ptp(trace.route)) if len(trace.route) else 0
    return trace.schedule.transfers <= FULL and used < ROUTES


def unpack(payload: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and columns of a payload, as the browser sees them."""
    packed = zlib.decompress(base64.b64decode(payload["tl"]))
    length = int.from_bytes(packed[:4], "little")
    header = json.loads(packed[4 : 4 + length])
    base = 4 + length
    columns = {
        name: np.frombuffer(packed, dtype, count, base + offset) for name, dtype, offset, count in header["columns"]
    }
    return header, columns


def _join(header: dict[str, Any], columns: dict[str, Array]) -> bytes:
    listed, parts, offset = [], [], 0
    for name, column in columns.items():
        raw = np.ascontiguousarray(column).tobytes()
        listed.append([name, column.dtype.name, offset, int(column.size)])
        padding = -len(raw) % 8
        parts.append(raw + b"\0" * padding)
        offset += len(raw) + padding
    text = json.dumps({**header, "columns": listed}, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return len(text).to_bytes(4, "little") + text + b"".join(parts)


def tick(trace: Trace) -> float:
    """Seconds per tick: the run fits into 31 bits, and no tick is shorter than a femtosecond."""
    return max(trace.time / 2_000_000_000, 1e-15)


def _ticks(trace: Trace, seconds: Array) -> Array:
    """Whole ticks; what never happens in a run that stalled comes just after its end."""
    late = np.minimum(seconds, trace.ended + tick(trace))
    return np.rint((late - trace.began) / tick(trace)).astype(np.int64)


def place_devices(trace: Trace) -> list[int]:
    """The device of every rank and of every switch that adds or copies."""
    ranks = [trace.topology.ranks[r] for r in range(trace.schedule.n)]
    return [*ranks, *switch_devices(trace.topology, trace.schedule, ranks)]


def rank_numbers(trace: Trace) -> Sequence[int]:
    """The number of every rank, of a run that may show a part of its ranks."""
    return trace.excerpt.numbers if trace.excerpt else range(trace.schedule.n)


def place_names(trace: Trace, places: list[int], language: str) -> list[str]:
    """What a sentence calls every rank and every switch."""
    n = trace.schedule.n
    ranks = [say("caption.rank", language, ranks=r) for r in rank_numbers(trace)]
    if len(places) == n + 1:
        return [*ranks, say("caption.switch", language)]
    return [*ranks, *(say("caption.switches", language, name=trace.topology.devices[d].name) for d in places[n:])]


def whole(schedule: Schedule) -> int:
    """How many contributions make a block complete: all ranks' where something is added up, else its owner's."""
    adding = bool((schedule.op == REDUCE).any()) or bool(schedule.promise and schedule.promise.union)
    return schedule.n if adding else 1


def _meta(trace: Trace, *, full: bool) -> dict[str, Any]:
    schedule, topology = trace.schedule, trace.topology
    collective, _, algorithm = schedule.name.partition(".")
    return {
        "collective": collective,
        "algorithm": algorithm,
        "machine": topology.name,
        "ranks": schedule.n,
        "whole": whole(schedule),
        "places": schedule.places,
        "slots": schedule.slots,
        "steps": schedule.steps,
        "transfers": schedule.transfers,
        "size": trace.size,
        "time": trace.time,
        "tick": tick(trace),
        "gamma": topology.gamma,
        "overhead": topology.overhead,
        "verdict": trace.verdict.verdict,
        "full": full,
        "named": schedule.n <= NAMED,
        "bins": BINS,
        "share": trace.alone.unit_share if trace.alone else 0.0,
        **({"numbers": list(trace.excerpt.numbers)} if trace.excerpt else {}),
        "union": bool(schedule.promise and schedule.promise.union),
        "least": least(trace) if full and not trace.excerpt else 0.0,
    }


def _why(why: Breakdown) -> dict[str, Any]:
    """What the run's time is made of: parts in their order, in seconds that add up to it exactly."""
    return {"parts": [[part, why.parts[part]] for part in PARTS], "messages": why.messages, "bytes": why.bytes}


def _devices(trace: Trace, stage: Stage, language: str) -> dict[str, Any]:
    ranks = [-1] * len(trace.topology.devices)
    for r in range(trace.schedule.n):
        ranks[trace.topology.ranks[r]] = r
    return {
        "name": [d.name for d in trace.topology.devices],
        "label": device_names(trace.topology, rank_numbers(trace), language),
        "kind": [d.kind for d in trace.topology.devices],
        "numa": [d.numa for d in trace.topology.devices],
        "host": [d.host for d in trace.topology.devices],
        "rank": ranks,
        **_placed(stage, language),
    }


def _placed(stage: Stage, language: str) -> dict[str, Any]:
    """Where devices stand, and the boxes around them."""
    return {
        "x": [round(x, 3) for x in stage.x],
        "y": [round(y, 3) for y in stage.y],
        "boxes": [list(box) for box in box_names(stage.boxes, language)],
        "wide": {str(device): round(wide, 3) for device, wide in stage.bars.items()},
        "width": stage.width,
        "height": stage.height,
    }


def _lines(name: str, trace: Trace, stage: Stage) -> dict[str, Array]:
    """The points of all links."""
    return line_columns(name, between(stage.x, stage.y, *trace.topology.ends, stage.bow, stage.bars))


def _links(trace: Trace) -> dict[str, Any]:
    src, dst = trace.topology.ends
    return {
        "src": src.tolist(),
        "dst": dst.tolist(),
        "bandwidth": trace.topology.bandwidth.tolist(),
        "latency": trace.topology.latency.tolist(),
        "kind": [link.kind for link in trace.topology.links],
        "bytes": trace.link_bytes.tolist(),
        "spells": [[s.link, *_ticks(trace, np.array([s.begin, s.end])).tolist(), s.bandwidth] for s in spells(trace)],
    }


def _shape(shape: Shape, language: str) -> dict[str, Any]:
    """The algorithm's own shape: spots, who stands there, and the pairs of them that talk."""
    rounded = {"x": [round(x, 3) for x in shape.x], "y": [round(y, 3) for y in shape.y]}
    return {**shape._asdict(), **rounded, "boxes": [list(box) for box in box_names(shape.boxes, language)]}


def _steps(trace: Trace) -> dict[str, Any]:
    """When each step begins and when it and all before it have ended, in ticks; phases by their first step."""
    starts = trace.schedule.step_start[:-1]
    filled = np.diff(trace.schedule.step_start) > 0
    begin = np.zeros(len(starts), np.int64)
    end = np.zeros(len(starts), np.int64)
    if filled.any():
        begin[filled] = _ticks(trace, np.minimum.reduceat(trace.left, starts[filled]))
        end[filled] = _ticks(trace, np.maximum.reduceat(trace.end, starts[filled]))
    return {
        "begin": begin.tolist(),
        "end": np.maximum.accumulate(end).tolist(),
        "phases": [list(phase) for phase in trace.schedule.phases],
        "messages": np.diff(trace.schedule.step_start).tolist(),
    }


def _rows(trace: Trace, contents: Contents) -> dict[str, Array]:
    schedule = trace.schedule
    end, left = _ticks(trace, trace.end), _ticks(trace, trace.left)
    sizes, size = np.unique(trace.bytes, return_inverse=True)
    unknown = np.zeros(len(schedule.from_slot), np.uint8)
    columns = {
        "end": np.diff(end, prepend=0).astype(np.int32),
        "span": (end - left).astype(np.int32),
        "src": small(schedule.src),
        "dst": small(schedule.dst),
        "op": schedule.op,
        "step": small(schedule.step_of),
        "route": small(trace.route - trace.route.min(initial=0)),
        "size": small(size),
        "moves": small(np.diff(schedule.moves)),
        "from": small(schedule.from_slot),
        "to": small(schedule.to_slot),
        "block": (contents.block if len(contents.block) else unknown).astype(np.int32),
        "brings": small(contents.brings) if contents.followed else unknown,
        "leaves": small(contents.leaves) if contents.followed else unknown,
        "given": at_first(schedule).reshape(-1),
        "single": _single(contents, schedule.places),
        "sets": contents.sets.astype("<u8").view("<u4"),
        "sizes": sizes,
        "cause": np.where(trace.cause < 0, 0, np.arange(schedule.transfers) - trace.cause).astype(np.int32),
        "hit": small(trace.hits.transfer),
        "hit_by": small(trace.hits.fault),
        "hit_for": trace.hits.seconds.astype(np.float32),
    }
    return columns | _changes(trace)


def _single(contents: Contents, places: int) -> Array:
    """The entry of `sets` that is each rank alone; 1 where contributors are counted."""
    if not len(contents.sets):
        return np.ones(places, np.uint8)
    alone = np.uint64(1) << np.arange(places, dtype=np.uint64)
    return small(np.searchsorted(contents.sets, alone))


def _changes(trace: Trace) -> dict[str, Array]:
    """Rates of those flows only that did not keep one rate throughout."""
    history = trace.history
    if history is None:
        return {}
    often = np.bincount(history.transfer, minlength=trace.schedule.transfers)[history.transfer] > 1
    often |= ~np.isfinite(trace.end[history.transfer])  # what is stuck has no mean rate either
    order = np.argsort(history.transfer[often], kind="stable")
    return {
        "change": small(history.transfer[often][order]),
        "change_at": _ticks(trace, history.time[often][order]).astype(np.int32),
        "change_to": history.rate[often][order].astype(np.float32),
    }


def _block_names(schedule: Schedule) -> list[str]:
    """Names of blocks where they are not just their numbers."""
    if schedule.promise is None or block_name(schedule, 0) == "0":
        return []
    return [block_name(schedule, b) for b in range(schedule.promise.blocks)]


def _routes(trace: Trace) -> dict[str, Array]:
    """Every route as its links and the devices it passes, and seconds from leaving to the first byte."""
    offsets, links = trace.routes
    base = int(trace.route.min(initial=0))
    used = int(trace.route.max(initial=0)) + 1
    src, dst = trace.topology.ends
    first = links[offsets[base] : offsets[used]]
    starts = offsets[base : used + 1] - offsets[base]
    nodes, node_start = [], [0]
    for r in range(used - base):
        path = first[starts[r] : starts[r + 1]].tolist()
        at = int(src[path[0]]) if path else -1
        if len(path) > 1 and int(dst[path[0]]) not in (int(src[path[1]]), int(dst[path[1]])):
            at = int(dst[path[0]])  # a half-duplex link crossed against its direction
        walk = [at] if path else []
        for link in path:
            walk.append(int(dst[link]) if int(src[link]) == walk[-1] else int(src[link]))
        nodes += walk
        node_start.append(len(nodes))
    latency = np.zeros(used - base)
    begun = np.isfinite(trace.start)
    latency[trace.route[begun] - base] = trace.start[begun] - trace.left[begun]
    return {
        "route_start": starts.astype(np.uint32),
        "route_link": small(first),
        "node_start": np.array(node_start, np.uint32),
        "node": small(np.array(nodes, np.int64)),
        "latency": latency,
    }


def _load(trace: Trace) -> Array:
    """Average use of what every link could carry in each of BINS stretches of the run, in 255ths."""
    if trace.time <= 0:
        return np.zeros((len(trace.topology.links), BINS), np.uint8)
    edges = trace.began + np.linspace(0, trace.time, BINS + 1)
    return np.clip(np.ceil(utilisation(trace, edges) * 255 - 1e-9), 0, 255).astype(np.uint8)
