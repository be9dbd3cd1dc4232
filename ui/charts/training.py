"""A step of a workload as pictures: a Gantt chart of compute and communication, memory over time, blocks in a buffer.

Pictures are HTML with places in percent, which stretches to any width while words keep their size: what
`st.html` lets through holds no SVG.
"""

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any

import numpy as np

from ops.training.facts import shown
from ops.training.facts import words as words_of
from ops.training.step import COMM, COMPUTE, HOST, WAIT, Interval, StepCollective, TrainingStep, overlaps
from sim.units import fmt_share, fmt_size, fmt_time
from ui.charts import gaps
from ui.text import catalogue, say

COLORS = {
    "compute": "#0072B2",
    "backward": "#56B4E9",
    "hidden": "#009E73",
    "exposed": "#D55E00",
    "wait": "#999999",
    "host": "#CC79A7",
}
"""Okabe and Ito's colours, which people with every kind of colour vision tell apart."""
KINDS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
ROUNDING = 1e-9
"""Share of a sum below which a difference is none."""
WIDE = 1000
FINEST = 0.4
"""Pieces nearer than so many thousandths of the picture are drawn as one."""
MOMENTS = 400
"""Moments at which memory is drawn."""
TICKS = 5
PRESSED = 4
"""Thousandths a collective must be wide to be chosen by a click."""
EDGED = 5
"""Thousandths a bar must be wide to show where it ends when the next one follows at once."""
LABELLED = 40
"""Thousandths a block must be wide to have its rank's number under it."""
DRAWN = ("receive_buffer",)
"""Facts that a picture shows better than a figure."""
TEXTS = {
    "compute": "train.lane.compute",
    "backward": "train.lane.backward",
    "hidden": "train.lane.hidden",
    "exposed": "train.lane.exposed",
    "wait": "train.lane.wait",
    "host": "train.lane.host",
    "rank": "train.rank",
    "memory": "train.memory",
    "timeline": "train.timeline",
    "buffer": "train.buffer",
    gaps.BUBBLE: "train.gap.bubble",
    gaps.SHORT: "train.gap.exposed",
}
"""The words in the pictures, by the names they have there."""

STYLE = """<style>
.tl { font-size: 13px; line-height: 1.3; scroll-margin-top: 56px; }
.tl-row { display: grid; grid-template-columns: 62px minmax(0, 1fr); gap: 8px; align-items: center; margin: 3px 0; }
.tl-row > span { text-align: right; opacity: 0.8; font-variant-numeric: tabular-nums; }
.tl-lanes { position: relative; background: rgba(128, 128, 128, 0.10); border-radius: 3px; overflow: hidden; }
.tl-lanes > b { position: absolute; min-width: 1px; }
.tl-lanes > .tl-edge { box-shadow: inset -1px 0 0 rgba(255, 255, 255, 0.55); }
.tl-call { position: absolute; top: 14px; height: 15px; cursor: pointer; container-type: inline-size; }
.tl-call > i { display: none; padding: 0 3px; font-size: 11px; line-height: 15px; font-style: normal; color: #000; }
.tl-call > i { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
@container (min-width: 54px) { .tl-call > i { display: block; } }
.tl-call:is(:hover, [data-chosen]) { outline: 2px solid light-dark(#000, #fff); }
.tl-call { outline-offset: -2px; }
.tl-hand { position: absolute; top: 0; bottom: 0; width: 2px; background: light-dark(#000, #fff); }
.tl-axis { display: flex; justify-content: space-between; opacity: 0.75; font-variant-numeric: tabular-nums; }
.tl-key { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 2px 0 8px; }
.tl-key i { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 6px; }
.tl-head { margin: 12px 0 2px; font-weight: 600; }
</style>"""


def texts_of(step: TrainingStep, language: str) -> dict[str, str]:
    """The words in a step's pictures in a language."""
    translated = catalogue(language)
    kinds = {change.kind for change in step.changes}
    names = {kind: translated.get(f"train.kind.{kind.replace(' ', '_')}", kind) for kind in kinds}
    return {key: translated[name] for key, name in TEXTS.items()} | names


def label(key: str, language: str) -> str:
    """A fact's name."""
    text_id = f"train.fact.{key}"
    return say(text_id, language) if text_id in catalogue(language) else words_of(key)


def value(key: str, fact: Any, language: str) -> str:
    """A fact as a person reads it."""
    return shown(key, fact, lambda count: say("train.more", language, count=count))


def sentence(step: TrainingStep, language: str) -> str:
    """How much of what is communicated hides behind compute, of the rank where least does."""
    rank = max(step.stands_for, key=step.exposed)
    moving = step.busy(rank, COMM) + step.busy(rank, WAIT)
    hidden = max(0.0, moving - step.exposed_s)
    hidden = hidden if hidden > ROUNDING * moving else 0.0
    times = {"moving": fmt_time(moving), "hidden": fmt_time(hidden), "exposed": fmt_time(step.exposed_s)}
    share = step.exposed_s / step.time if step.time else 0.0
    return say("train.hidden.share", language, rank=rank, share=fmt_share(share, 1), **times)


def timeline(
    step: TrainingStep,
    ranks: Sequence[int],
    window: Interval,
    words: Mapping[str, str],
    calls: Mapping[int, StepCollective] = MappingProxyType({}),
    chosen: int | None = None,
) -> str:
    """Compute above communication for every rank, and the memory of the one among them that needs most, below.

    `window` is in seconds. `words` are the texts for the keys of `COLORS`, for `timeline`, with places to fill in
    for `rank` and `memory`, and for kinds of memory where they differ from their names. `calls` are collectives that
    can be pressed, by number, of which `chosen` is.
    """
    areas = {
        rank: "".join(_call(k, call, window, chosen) for k, call in calls.items() if step.player(rank) in call.ranks)
        for rank in ranks
    }
    parts = [
        STYLE,
        gaps.STYLE,
        f'<div class="tl" data-ringside="timeline" role="img" aria-label="{escape(words["timeline"])}">',
        *_chart(step, ranks, window, words, areas),
        *_memory(step, max(ranks, key=lambda rank: step.peaks[rank]), window, words),
        "</div>",
    ]
    return "".join(parts)


def beside(title: str, step: TrainingStep, ranks: Sequence[int], window: Interval, words: Mapping[str, str]) -> str:
    """Another step on the same clock, under its title."""
    label = escape(f"{words['timeline']}: {title}")
    head = f'<div class="tl" data-ringside="beside" role="img" aria-label="{label}">'
    parts = [head, f'<div class="tl-head">{escape(title)}</div>', *_chart(step, ranks, window, words), "</div>"]
    return "".join([STYLE, gaps.STYLE, *parts])


def _chart(
    step: TrainingStep,
    ranks: Sequence[int],
    window: Interval,
    words: Mapping[str, str],
    areas: Mapping[int, str] = MappingProxyType({}),
) -> list[str]:
    """A key to colours, a row for every rank, and the axis."""
    rows = [
        _row(
            words["rank"].format(rank=rank),
            _lanes(step, rank, window, "".join(gaps.areas(step, rank, window, words)) + areas.get(rank, "")),
        )
        for rank in ranks
    ]
    drawn = [kind for kind in COLORS if any(f'data-lane="{kind}"' in row for row in rows)]
    axis = _row("", f'<div class="tl-axis">{_ticks(window)}</div>')
    return [_legend({words[kind]: COLORS[kind] for kind in drawn}), *rows, axis]


def _row(label: str, content: str) -> str:
    return f'<div class="tl-row"><span>{escape(label)}</span><div>{content}</div></div>'


def _legend(colors: Mapping[str, str]) -> str:
    keys = "".join(f'<span><i style="background:{color}"></i>{escape(word)}</span>' for word, color in colors.items())
    return f'<div class="tl-key">{keys}</div>'


def _ticks(window: Interval) -> str:
    start, end = window
    return "".join(f"<span>{fmt_time(start + (end - start) * k / (TICKS - 1))}</span>" for k in range(TICKS))


def _lanes(step: TrainingStep, rank: int, window: Interval, more: str = "") -> str:
    """One rank's bars: compute; communication under it, green where compute covers it; its thread where it has one."""
    spans = {
        lane: [(s.start, s.end, s.name) for s in step.spans_of(rank) if s.lane == lane]
        for lane in (COMPUTE, COMM, WAIT, HOST)
    }
    compute = step.intervals(rank, COMPUTE)
    hidden = [(start, end, name) for a, b, name in spans[COMM] for start, end in overlaps([(a, b)], compute)]
    bars = [
        *_bars("compute", [span for span in spans[COMPUTE] if "backward" not in span[2]], window, 0, 13),
        *_bars("backward", [span for span in spans[COMPUTE] if "backward" in span[2]], window, 0, 13),
        *_bars("wait", spans[WAIT], window, 15, 13),
        *_bars("exposed", spans[COMM], window, 15, 13),
        *_bars("hidden", hidden, window, 15, 13),
        *_bars("host", spans[HOST], window, 30, 6),
    ]
    height = 36 if spans[HOST] else 28
    return f'<div class="tl-lanes" style="height:{height}px" data-rank="{rank}">{"".join(bars)}{more}</div>'


def _bars(kind: str, spans: list[tuple[float, float, str]], window: Interval, y: int, height: int) -> list[str]:
    """Spans as rectangles, those too near to tell apart joined."""
    start, end = window
    scale = WIDE / (end - start) if end > start else 0.0
    bars: list[tuple[float, float, list[str]]] = []
    for a, b, name in sorted(spans):
        if b <= start or a >= end:
            continue
        left, right = max(0.0, (a - start) * scale), min(float(WIDE), (b - start) * scale)
        near = bars and left - bars[-1][1] < FINEST and (right - left < 1 or bars[-1][1] - bars[-1][0] < 1)
        if near:
            bars[-1] = (bars[-1][0], max(right, bars[-1][1]), [*bars[-1][2][:3], name])
        else:
            bars.append((left, right, [f"{name}, {fmt_time(a)} – {fmt_time(b)}"]))
    return [_bar(kind, COLORS[kind], left, right - left, y, height, "; ".join(names)) for left, right, names in bars]


def _bar(lane: str, color: str, left: float, width: float, y: int, height: int, title: str) -> str:
    """A rectangle at thousandths of the width and pixels of the height."""
    place = f"left:{left / 10:.2f}%;width:{width / 10:.2f}%;top:{y}px;height:{height}px;background:{color}"
    edge = ' class="tl-edge"' if width > EDGED else ""
    return f'<b style="{place}" data-lane="{lane}" title="{escape(title)}"{edge}></b>'


def _call(number: int, call: StepCollective, window: Interval, chosen: int | None) -> str:
    """A collective as a place to press, with its name where there is room; empty where it is out of sight or thin."""
    start, end = window
    scale = WIDE / (end - start) if end > start else 0.0
    left, right = max(0.0, (call.start - start) * scale), min(float(WIDE), (call.end - start) * scale)
    if right - left < PRESSED:
        return ""
    title = escape(f"{call.name}, {call.algorithm}, {fmt_size(round(call.size))}")
    place = f'style="left:{left / 10:.2f}%;width:{(right - left) / 10:.2f}%" data-call="{number}" tabindex="0"'
    state = ' data-chosen=""' if number == chosen else ""
    return f'<span class="tl-call" {place}{state} title="{title}"><i>{escape(call.name)}</i></span>'


def _memory(step: TrainingStep, rank: int, window: Interval, words: Mapping[str, str]) -> list[str]:
    """What a rank's memory held, by kind, one area above the other."""
    changes = step.changes_of(rank)
    peak = step.peaks[rank]
    if not changes or peak <= 0:
        return []
    kinds = list(dict.fromkeys(h.kind for h in changes))
    moments = np.linspace(*window, MOMENTS)
    times = np.array([h.time for h in changes])
    base, areas = np.zeros(MOMENTS), []
    for k, kind in enumerate(kinds):
        steps = np.cumsum([h.bytes if h.kind == kind else 0.0 for h in changes])
        at = np.searchsorted(times, moments, side="right") - 1
        top = base + np.where(at >= 0, steps[at], 0.0)
        areas.append(_area(base / peak, top / peak, KINDS[k % len(KINDS)], words.get(kind, kind)))
        base = top
    picture = f'<div class="tl-lanes" style="height:90px" data-memory="{rank}">{"".join(areas)}</div>'
    return [
        f'<div class="tl-head">{escape(words["memory"].format(rank=rank, peak=fmt_size(peak)))}</div>',
        _legend({words.get(kind, kind): KINDS[k % len(KINDS)] for k, kind in enumerate(kinds)}),
        _row(fmt_size(peak), picture),
    ]


def _area(low: np.ndarray, high: np.ndarray, color: str, kind: str) -> str:
    across = np.linspace(0, 100, len(low))
    up = [f"{x:.2f}% {100 - 96 * y:.2f}%" for x, y in zip(across, high, strict=True)]
    down = [f"{x:.2f}% {100 - 96 * y:.2f}%" for x, y in zip(across[::-1], low[::-1], strict=True)]
    shape = f"clip-path:polygon({','.join([*up, *down])})"
    return f'<b style="left:0;top:0;width:100%;height:100%;background:{color};{shape}" title="{escape(kind)}"></b>'


def columns(rows: Sequence[Mapping[str, Any]], along: str, up: Sequence[str], words: Mapping[str, str]) -> str:
    """A table's figures as lengths, the largest as long as there is room; what is None is left out."""
    most = max((row[key] for row in rows for key in up if row[key] is not None), default=0) or 1
    parts = [STYLE, '<div class="tl" data-ringside="columns">']
    if len(up) > 1:
        parts.append(_legend({words[key]: KINDS[k] for k, key in enumerate(up)}))
    for row in rows:
        figures = [(k, key) for k, key in enumerate(up) if row[key] is not None]
        bars = [
            _bar(key, KINDS[k], 0, WIDE * row[key] / most, 13 * place, 11, shown(key, row[key]))
            for place, (k, key) in enumerate(figures)
        ]
        height = 13 * len(figures) - 2
        parts.append(
            _row(shown(along, row[along]), f'<div class="tl-lanes" style="height:{height}px">{"".join(bars)}</div>')
        )
    return "".join([*parts, "</div>"])


def buffer(blocks: Sequence[Mapping[str, Any]], words: Mapping[str, str]) -> str:
    """Blocks of unequal size where they stand in a receive buffer, in their true widths."""
    whole = max((row["displacement_bytes"] + row["count_bytes"] for row in blocks), default=0)
    if not whole:
        return ""
    bars, labels = [], []
    for row in blocks:
        left, width = (WIDE * row[key] / whole for key in ("displacement_bytes", "count_bytes"))
        title = f"{words['rank'].format(rank=row['rank'])}: {fmt_size(row['count_bytes'])}"
        bars.append(_bar("block", KINDS[row["rank"] % len(KINDS)], left, width, 0, 30, title))
        if width > LABELLED:
            labels.append(f'<span style="position:absolute;left:{left / 10 + width / 20:.2f}%">{row["rank"]}</span>')
    return (
        f'{STYLE}<div class="tl" data-ringside="buffer"><div class="tl-head">{escape(words["buffer"])}</div>'
        f'<div class="tl-lanes" style="height:30px">{"".join(bars)}</div>'
        f'<div style="position:relative;height:20px">{"".join(labels)}</div></div>'
    )
