"""The lab's answers as Vega-Lite charts, which a page can draw and be told of clicks on."""

import math
from collections.abc import Sequence
from typing import Any

from ops.lab.cells import Row
from ops.lab.sensitivity import Loss, Swing
from ops.lab.winners import WinnerMap, named
from sim.units import fmt_size
from ui.files.figures import PALETTE
from ui.text import tell
from ui.units import fmt_time

Spec = dict[str, Any]
CHANGED = {"bandwidth": "page.lab.bandwidth", "latency": "page.lab.latency"}
CELL = "cell"
"""What a click on the map selects."""


GAPS: Spec = {"scale": {"paddingInner": 0.05, "paddingOuter": 0}}
LEGEND: Spec = {"orient": "top", "columns": 2, "labelLimit": 260, "symbolSize": 160, "symbolType": "square"}


def colour(name: str, names: Sequence[str]) -> str:
    """An algorithm has one colour in all charts of a question."""
    return PALETTE[list(names).index(name) % len(PALETTE)]


def short(name: str) -> str:
    """An algorithm without its collective."""
    return name.partition(".")[2]


def winner_map(found: WinnerMap) -> Spec:
    """Sizes across, ranks up, a cell in its winner's colour; a click selects `ranks` and `bytes`."""
    values = []
    for n in found.ranks:
        for size in found.sizes:
            winner, margin = found.winner(n, size), found.margin(n, size)
            times = found.time[found.ranks.index(n), found.sizes.index(size)]
            values.append(
                {
                    "ranks": n,
                    "bytes": size,
                    "size": fmt_size(size),
                    "winner": short(winner) if winner else tell("page.lab.nobody"),
                    "time": fmt_time(float(times.min())) if winner else "–",
                    "margin": f"{margin:.3g}" if math.isfinite(margin) else "–",
                }
            )
    names = [short(name) for name in found.winners]
    colours = [colour(name, found.names) for name in found.winners]
    if any(not found.winner(n, size) for n in found.ranks for size in found.sizes):
        names, colours = [*names, tell("page.lab.nobody")], [*colours, "#dddddd"]
    tips = {"winner": "page.lab.winner", "time": "page.time", "margin": "page.lab.margin", "ranks": "page.lab.ranks"}
    return _chart(
        values,
        {"type": "rect", "cursor": "pointer", "cornerRadius": 3},
        x=_ordinal("size", tell("page.lab.size"), [fmt_size(size) for size in found.sizes]) | GAPS,
        y=_ordinal("ranks", tell("page.lab.ranks"), list(reversed(found.ranks))) | GAPS,
        color={
            "field": "winner",
            "type": "nominal",
            "scale": {"domain": names, "range": colours},
            "legend": {"title": tell("page.lab.winner"), **LEGEND},
        },
        tooltip=[{"field": field, "title": tell(key)} for field, key in tips.items()],
    ) | {
        "height": 44 * len(found.ranks) + 90,
        "params": [{"name": CELL, "select": {"type": "point", "fields": ["ranks", "bytes"]}}],
    }


def curves(rows: Sequence[Row], names: Sequence[str]) -> Spec:
    """Bus bandwidth against size, a line per algorithm, coloured by its place among `names`."""
    values = [
        {"name": short(named(row)), "size": fmt_size(row["size_bytes"]), "busbw": row["busbw_Bps"] / 1e9}
        for row in rows
        if row.get("reason") is None
    ]
    sizes = [fmt_size(size) for size in sorted({row["size_bytes"] for row in rows})]
    drawn = [name for name in names if any(value["name"] == short(name) for value in values)]
    return _chart(
        values,
        {"type": "line", "point": True, "strokeWidth": 2},
        x=_ordinal("size", tell("page.lab.size"), sizes),
        y={"field": "busbw", "type": "quantitative", "title": f"{tell('page.busbw')} (GB/s)"},
        color={
            "field": "name",
            "type": "nominal",
            "scale": {
                "domain": [short(name) for name in drawn],
                "range": [colour(name, names) for name in drawn],
            },
            "legend": {"title": None, **LEGEND},
        },
        tooltip=[{"field": "name"}, {"field": "size"}, {"field": "busbw", "format": ".4g"}],
    ) | {"height": 380}


def tornado(plain: float, swings: Sequence[Swing], most: int = 16) -> Spec:
    """Bars from the run's own time (us) to what it becomes."""
    shown = swings[:most]
    values = [
        {
            "name": f"{swing.name} · {tell(CHANGED[swing.what])}",
            "what": tell(f"page.lab.{what}"),
            "plain": plain * 1e6,
            "time": time * 1e6,
            "told": fmt_time(time),
        }
        for swing in shown
        for what, time in (("slower", swing.slower), ("faster", swing.faster))
    ]
    return _chart(
        values,
        {"type": "bar", "height": 14},
        y=_ordinal("name", None, list(dict.fromkeys(value["name"] for value in values))),
        x={"field": "plain", "type": "quantitative", "title": f"{tell('page.time')} (us)", "scale": {"zero": False}},
        x2={"field": "time"},
        color={
            "field": "what",
            "type": "nominal",
            "scale": {"domain": [tell("page.lab.slower"), tell("page.lab.faster")], "range": [PALETTE[5], PALETTE[0]]},
            "legend": {"title": None, "orient": "top"},
        },
        tooltip=[{"field": "name"}, {"field": "what"}, {"field": "told", "title": tell("page.time")}],
    ) | {"height": 26 * len(shown) + 80}


def losses(plain: float, found: Sequence[Loss], most: int = 32) -> Spec:
    """How many times as long a run takes without each cable."""
    shown = [loss for loss in found if loss.time is not None][:most]
    values = [{"name": loss.name, "times": (loss.time or 0.0) / plain} for loss in shown]
    return _chart(
        values,
        {"type": "bar", "height": 14, "color": PALETTE[0]},
        y=_ordinal("name", None, [loss.name for loss in shown]),
        x={"field": "times", "type": "quantitative", "title": tell("page.lab.times")},
        tooltip=[{"field": "name"}, {"field": "times", "format": ".4g"}],
    ) | {"height": 22 * len(shown) + 60}


def _ordinal(field: str, title: str | None, order: Sequence[Any]) -> Spec:
    axis = {"labelLimit": 420, "labelAngle": 0}
    return {"field": field, "type": "ordinal", "sort": list(order), "title": title, "axis": axis}


def _chart(values: Sequence[Spec], mark: Spec, **encoding: Any) -> Spec:
    return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding}
