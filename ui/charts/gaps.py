"""Where a rank of a training step computes nothing: exposed communication, and bubbles, as areas with names."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

from ops.training.step import COMM, COMPUTE, WAIT, Interval, TrainingStep, overlaps
from sim.units import fmt_time

LEAST = 1e-6
"""A gap of a smaller share of the step is rounding."""
NAMED = 2
"""So many of the collectives that a gap waits for are named."""
WIDE = 1000
SEEN = 1.0
"""Thousandths of the picture below which an area is no area."""
BUBBLE, EXPOSED = KINDS = "bubble", "exposed"
SHORT = "open"
"""What exposed time is called where there is little room."""

STYLE = """<style>
.tl-gap { position: absolute; top: 0; height: 13px; container-type: inline-size; box-sizing: border-box; }
.tl-gap { border: 1px dashed light-dark(#6b6b76, #a9a9b4); border-radius: 2px; }
.tl-gap[data-gap="exposed"] { border-color: #D55E00; }
.tl-gap > i { display: none; padding: 0 3px; font-size: 11px; line-height: 11px; font-style: normal; }
.tl-gap > i { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
@container (min-width: 48px) { .tl-gap > i { display: block; } }
</style>"""


class Gap(NamedTuple):
    """From `start` to `end`, in seconds, `rank` computes nothing; `names` are the collectives in the open there."""

    kind: str
    rank: int
    start: float
    end: float
    names: tuple[str, ...]

    @property
    def length(self) -> float:
        """Seconds."""
        return self.end - self.start


def gaps(step: TrainingStep, rank: int) -> list[Gap]:
    """All of a rank's time without compute, in order: exposed where it communicates or waits to, else a bubble."""
    idle = _between(step.intervals(rank, COMPUTE), step.time)
    spans = [s for s in step.spans_of(rank) if s.lane in (COMM, WAIT)]
    moving = [(a, b) for a, b in sorted((s.start, s.end) for s in spans)]
    joined = _between(_between(moving, step.time), step.time)
    bubbles = [Gap(BUBBLE, rank, a, b, ()) for a, b in overlaps(idle, _between(joined, step.time))]
    exposed = [
        Gap(EXPOSED, rank, a, b, tuple(dict.fromkeys(s.name for s in spans if s.start < b and a < s.end)))
        for a, b in overlaps(idle, joined)
    ]
    return sorted((g for g in [*bubbles, *exposed] if g.length > LEAST * step.time), key=lambda g: g.start)


def _between(intervals: list[Interval], time: float) -> list[Interval]:
    """What sorted intervals, which may overlap, leave free from 0 to `time`."""
    free, last = [], 0.0
    for start, end in intervals:
        if start > last:
            free.append((last, start))
        last = max(last, end)
    return [*free, (last, time)] if last < time else free


def described(gap: Gap, words: Mapping[str, str]) -> str:
    """A gap in words: what it is, which collectives are in the open there, from when to when."""
    names = ", ".join(gap.names[:NAMED]) + (" …" if len(gap.names) > NAMED else "")
    head = f"{words[gap.kind]} ({names})" if names else words[gap.kind]
    return f"{head}, {fmt_time(gap.start)} – {fmt_time(gap.end)}: {fmt_time(gap.length)}"


def areas(step: TrainingStep, rank: int, window: Interval, words: Mapping[str, str]) -> Iterator[str]:
    """A rank's gaps as frames where its compute would stand, each with its name where there is room."""
    start, end = window
    scale = WIDE / (end - start) if end > start else 0.0
    for gap in gaps(step, rank):
        left, right = max(0.0, (gap.start - start) * scale), min(float(WIDE), (gap.end - start) * scale)
        if right - left < SEEN:
            continue
        place = f"left:{left / 10:.2f}%;width:{(right - left) / 10:.2f}%"
        name = f"{words[SHORT if gap.kind == EXPOSED else BUBBLE]} {fmt_time(gap.length)}"
        yield (
            f'<span class="tl-gap" style="{place}" data-gap="{gap.kind}" title="{escape(described(gap, words))}">'
            f"<i>{escape(name)}</i></span>"
        )
