"""How far off models are, as charts: every run with its rows, and one run row by row."""

from collections.abc import Sequence
from statistics import median
from typing import Any, Literal

import altair as alt

from ops.libraries.nccl.layers import LARGE
from ops.measured.accuracy import OURS, MeasuredRun
from ops.measured.rivals import RIVALS
from sim.units import fmt_share, fmt_size, fmt_time
from ui.charts.marks import ROW, SMALLEST, above_bars
from ui.charts.measured import BYTES
from ui.text import tell

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Ours and the other models, apart for colour-blind eyes too (Okabe and Ito)."""
SHAPES = ("circle", "diamond", "square", "triangle-up")
MODELS = (OURS, *RIVALS)
NAMES = {
    OURS: "page.measured.model.ours",
    "NCCL's tuner": "page.measured.model.tuner",
    "α-β ring": "page.measured.model.ring",
    "autoparallel": "page.measured.model.autoparallel",
}
"""What models are called on the page; another one by its own name."""
LEAST, MOST = 0.25, 4.0
"""Simulated over measured at both ends of the axis; what is farther off stands there."""
TIMES = "format(datum.value, '.2~f') + ' ×'"


def overview(runs: Sequence[MeasuredRun]) -> alt.LayerChart:
    """Every run a line, in their order: our own rows as points over the band, other models' medians beside them."""
    order = [run.name for run in runs]
    scale = alt.Scale(type="log", domain=[LEAST, MOST], clamp=True)
    x = alt.X("ratio:Q", title=tell("page.measured.ratio"), scale=scale, axis=_axis("top"))
    y = above_bars("run", order)
    bands = alt.Chart(_data(_bands(runs))).mark_bar(color=COLOURS[0], opacity=0.18, size=14)
    points = alt.Chart(_data(point for run in runs for point in _points(run)))
    one = alt.Chart(_data([{"ratio": 1.0}])).mark_rule(color="#888").encode(x="ratio:Q")
    layers = alt.layer(
        one,
        bands.encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y),
        points.mark_point(filled=True).encode(
            x=x, y=y, color=_colour(), shape=_shape(), size=alt.Size("size:Q", scale=None), opacity=alt.value(0.75),
            tooltip=[
                alt.Tooltip("run:N", title=" "), alt.Tooltip("model:N", title=tell("page.measured.model")),
                alt.Tooltip("text:N", title=tell("page.measured.size")),
                alt.Tooltip("error:N", title=tell("page.measured.error")),
            ],
        ),
        data=alt.InlineData(values=[]),
        height=ROW * len(runs),
    )  # fmt: skip
    return _plain(layers)


def one_run(run: MeasuredRun) -> alt.LayerChart:
    """Simulated over measured by size: every model, every row, and the band around 1."""
    x = alt.X(
        "bytes:Q", title=tell("page.measured.size"), scale=alt.Scale(type="log", base=2),
        axis=alt.Axis(labelExpr=BYTES, labelOverlap=True, tickCount=8),
    )  # fmt: skip
    scale = alt.Scale(type="log", domain=[LEAST, MOST], clamp=True)
    y = alt.Y("ratio:Q", title=tell("page.measured.ratio"), scale=scale, axis=_axis("left"))
    ends = [
        {"bytes": size, "low": 1 / (1 + band), "high": 1 + band}
        for size in run.sizes
        if (band := run.expected[size >= LARGE]) is not None
    ]
    area = alt.Chart(_data(ends)).mark_area(color=COLOURS[0], opacity=0.18, interpolate="step")
    rows = [row for number, model in enumerate(run.models) for row in _rows(run, model, number)]
    return _plain(
        alt.layer(
            area.encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q"),
            alt.Chart(_data(rows)).mark_line(point=alt.OverlayMarkDef(filled=True)).encode(
                x=x, y=y, color=_colour(), shape=_shape(),
                tooltip=[
                    alt.Tooltip("model:N", title=tell("page.measured.model")),
                    alt.Tooltip("text:N", title=tell("page.measured.size")),
                    alt.Tooltip("time:N", title=tell("page.time")),
                    alt.Tooltip("error:N", title=tell("page.measured.error")),
                ],
            ),
            data=alt.InlineData(values=[]),
            height=320,
        )
    )  # fmt: skip


def label(model: str) -> str:
    """What a model is called on the page."""
    return tell(NAMES[model]) if model in NAMES else model


def _points(run: MeasuredRun) -> list[dict[str, Any]]:
    """Our rows one by one, and every other model's median of both halves."""
    points = [row | {"size": 30} for row in _rows(run, OURS, 0)]
    for model in run.models:
        for large in (False, True):
            errors = run.errors(model, large)
            if model == OURS or not errors:
                continue
            half = tell("page.measured.half.large" if large else "page.measured.half.small", size=fmt_size(LARGE))
            points.append(_point(run, model, median(errors)) | {"text": half, "size": 60})
    return points


def _rows(run: MeasuredRun, model: str, number: int) -> list[dict[str, Any]]:
    rows = zip(run.sizes, run.measured, run.models[model], strict=True)
    return [
        _point(run, model, seconds / measured - 1)
        | {"bytes": size, "text": fmt_size(size), "time": fmt_time(seconds), "number": number}
        for size, measured, seconds in rows
        if seconds is not None
    ]


def _point(run: MeasuredRun, model: str, error: float) -> dict[str, Any]:
    ratio = float(f"{1 + error:.4g}")
    return {"run": run.name, "model": label(model), "ratio": ratio, "error": fmt_share(error, 1, sign=True)}


def _bands(runs: Sequence[MeasuredRun]) -> list[dict[str, Any]]:
    """From where to where four of five rows are said to lie: the wider of both halves'."""
    wide = [(run.name, max((band for band in run.expected if band is not None), default=0.0)) for run in runs]
    return [{"run": name, "low": 1 / (1 + band), "high": 1 + band} for name, band in wide if band]


def _axis(orient: Literal["top", "left"]) -> alt.Axis:
    return alt.Axis(values=[0.25, 0.5, 0.8, 1, 1.25, 2, 4], labelExpr=TIMES, orient=orient)


def _colour() -> alt.Color:
    names = [label(model) for model in MODELS]
    legend = alt.Legend(orient="top", columns=2)
    return alt.Color("model:N", title=None, scale=alt.Scale(domain=names, range=list(COLOURS)), legend=legend)


def _shape() -> alt.Shape:
    return alt.Shape("model:N", scale=alt.Scale(domain=[label(model) for model in MODELS], range=list(SHAPES)))


def _data(rows: Any) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def _plain(layers: Any) -> alt.LayerChart:
    chart: alt.LayerChart = layers.configure_axis(labelFontSize=SMALLEST, titleFontSize=SMALLEST).configure_legend(
        labelFontSize=SMALLEST, titleFontSize=SMALLEST
    )
    return chart
