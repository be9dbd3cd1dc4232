"""A table of measurements beside what is simulated, as a chart."""

from collections.abc import Sequence

import altair as alt

from ops.measured.comparison import Compared
from sim.units import fmt_size, fmt_time
from ui.charts.marks import chart, keyed
from ui.text import tell

COLOURS = ("#d55e00", "#0072b2")
"""Measured and simulated, apart for colour-blind eyes too (Okabe and Ito)."""
BYTES = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' GiB' : datum.value >= 1048576 ? datum.value / 1048576 + "
    "' MiB' : datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'"
)
"""A size in the words of all others; the axis is marked at powers of two."""


def times(rows: Sequence[Compared]) -> alt.Chart:
    """Time over size, both on logarithmic scales."""
    names = tell("page.measured.measured"), tell("page.measured.simulated")
    points = [
        {"size": row.size, "time": time, "which": which, "bytes": fmt_size(row.size), "text": fmt_time(time)}
        | {"way": row.way}
        for row in rows
        for which, time in zip(names, (row.measured, row.simulated), strict=True)
    ]
    marked = alt.Axis(labelExpr=BYTES, labelOverlap=True, tickCount=8)
    picture: alt.Chart = (
        chart(points, height=360)
        .mark_line(point=True)
        .encode(
            x=alt.X("size:Q", title=tell("page.measured.size"), scale=alt.Scale(type="log", base=2), axis=marked),
            y=alt.Y(
                "time:Q", title=tell("page.measured.time"), scale=alt.Scale(type="log"), axis=alt.Axis(format="~s")
            ),
            color=keyed("which", dict(zip(names, COLOURS, strict=True)), alt.Legend(orient="top")),
            tooltip=[
                alt.Tooltip("which:N", title=" "),
                alt.Tooltip("bytes:N", title=tell("page.measured.size")),
                alt.Tooltip("text:N", title=tell("page.time")),
                alt.Tooltip("way:N", title=tell("page.measured.way")),
            ],
        )
    )
    return picture
