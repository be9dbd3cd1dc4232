"""Curves of what-ifs: time against a quantity, a line for each run, and a mark where the winner changes."""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from ops.whatif.curve import Curves, Quantity
from sim.units import fmt_time
from ui.charts.marks import keyed, layered
from ui.layout.palette import BLOCKS as PALETTE
from ui.text import tell

HEIGHT = 340
MOST_LABELS = 8


def curves(drawn: Curves, names: Sequence[str], title: str, quantity: Quantity, at: float) -> alt.LayerChart:
    """Time against a quantity, both logarithmic; a line marks the value of the slider, dashed ones a new winner."""
    points: list[dict[str, Any]] = [
        {"name": name, "x": x, "y": time, "at": quantity.text(x), "time": fmt_time(time)}
        for name, run in zip(names, drawn.times, strict=True)
        for x, time in zip(drawn.values, run, strict=True)
        if time is not None and math.isfinite(time)
    ]
    colours = {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(names)}
    ends = drawn.values[0], drawn.values[-1]
    across = alt.X(
        "x:Q",
        title=title,
        scale=alt.Scale(type="log", nice=False, domain=list(ends)),
        axis=_axis(drawn.values[:: -(-len(drawn.values) // MOST_LABELS)], quantity.text),
    )
    legend = alt.Legend(orient="top", title=None, labelLimit=320, columns=1, symbolType="stroke")
    times = _round_times([point["y"] for point in points])
    down = alt.Y(
        "y:Q",
        title=tell("page.time"),
        scale=alt.Scale(type="log", nice=False, domain=[times[0], times[-1]]),
        axis=_axis(times, fmt_time),
    )
    lines = (
        alt.Chart()
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=across,
            y=down,
            color=keyed("name", colours, legend),
            tooltip=[
                alt.Tooltip("name:N", title=tell("whatif.run")),
                alt.Tooltip("at:N", title=title),
                alt.Tooltip("time:N", title=tell("page.time")),
            ],
        )
    )
    rules = [
        _rule([at], [1, 0]),
        *([_rule([change.value for change in drawn.changes], [4, 4])] if drawn.changes else []),
    ]
    return layered(points, lines, *rules, height=HEIGHT)


def _axis(values: Sequence[float], text: Callable[[float], str]) -> alt.Axis:
    """Return an axis with these values, in words."""
    words = [f"abs(datum.value / {value!r} - 1) < 1e-6 ? {json.dumps(text(value))} : " for value in values]
    return alt.Axis(values=list(values), labelExpr=f"{''.join(words)}''", labelAngle=0)


def _round_times(times: Sequence[float]) -> list[float]:
    """Return round times that enclose others, s: powers of ten, and where these are few 2 and 5 times as much.

    >>> _round_times([3e-6, 4e-4]), _round_times([3e-6, 7e-6])
    ([1e-06, 1e-05, 0.0001, 0.001], [2e-06, 5e-06, 1e-05])
    """
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    steps = (1, 2, 5) if high - low < 3 else (1,)
    every = [float(f"{step}e{power}") for power in range(low, high + 1) for step in steps]
    first = max(value for value in every if value <= min(times) * (1 + 1e-9))
    last = min(value for value in every if value >= max(times) * (1 - 1e-9))
    return [value for value in every if first <= value <= last]


def _rule(values: Sequence[float], dash: Sequence[int]) -> alt.Chart:
    rows = alt.InlineData(values=[{"x": value} for value in values])
    rule: alt.Chart = alt.Chart(rows).mark_rule(color="#888888", strokeDash=list(dash)).encode(x="x:Q")
    return rule
