"""What charts on a page have in common: values that are sent as they are, text that can be read, colours by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

SMALLEST = 12
"""Pixels of the smallest letters."""
LONGEST_NAME = 300
"""Pixels of a name above a bar, which fit on a telephone."""
BAR, ROW = 14, 40
"""Pixels from edge to edge of a bar, and from one bar to the next with its name between them."""


def chart(values: Sequence[Mapping[str, Any]], *, height: int) -> alt.Chart:
    """A chart of rows with the same keys."""
    return alt.Chart(_data(values), height=height, config=_config())


def layered(values: Sequence[Mapping[str, Any]], *layers: alt.Chart, height: int) -> alt.LayerChart:
    """Charts of the same rows one on top of the other."""
    return alt.LayerChart(layer=layers, data=_data(values), height=height, config=_config())


def _data(values: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in values])


def _config() -> alt.Config:
    axis = alt.AxisConfig(labelFontSize=SMALLEST, titleFontSize=SMALLEST)
    legends = alt.LegendConfig(labelFontSize=SMALLEST, titleFontSize=SMALLEST)
    return alt.Config(axis=axis, legend=legends)


def keyed(field: str, colours: Mapping[str, str], legend: alt.Legend, title: str | None = None) -> alt.Color:
    """A colour for each name that the field may be."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", title=title, scale=scale, legend=legend)


def across(field: str, title: str | None, order: Sequence[Any], gaps: alt.Scale | None = None) -> alt.X:
    """Names side by side in this order."""
    return alt.X(f"{field}:O", title=title, sort=list(order), axis=alt.Axis(labelAngle=0), scale=gaps or alt.Scale())


def down(field: str, title: str | None, order: Sequence[Any], gaps: alt.Scale | None = None) -> alt.Y:
    """Names one below the other in this order."""
    return alt.Y(f"{field}:O", title=title, sort=list(order), scale=gaps or alt.Scale())


def above_bars(field: str, order: Sequence[Any]) -> alt.Y:
    """Long names in this order, each above its bar, which leaves bars all the width there is."""
    axis = alt.Axis(
        labelAlign="left", labelPadding=0, labelOffset=-ROW // 2 + 4, labelLimit=LONGEST_NAME, ticks=False, domain=False
    )
    return alt.Y(f"{field}:O", title=None, sort=list(order), axis=axis)
