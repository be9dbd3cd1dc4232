"""The lab's answers as charts that a page can draw and be told of clicks on."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from ops.lab.cells import Row
from ops.lab.sensitivity import Loss, Swing
from ops.lab.winners import WinnerMap, named
from ops.plan.library_choice import library_of
from sim.units import fmt_size, fmt_time
from ui.charts.marks import BAR, ROW, SMALLEST, above_bars, across, chart, down, keyed, layered
from ui.layout.palette import BLOCKS as PALETTE
from ui.text import tell

CHANGED = {"bandwidth": "page.lab.bandwidth", "latency": "page.lab.latency"}
CELL = "cell"
"""What a click on the map selects."""
NOBODY = "#dddddd"
CLEAR = ((1.1, 1.0), (1.02, 0.65), (0.0, 0.35))
"""From which margin of the runner-up on a cell is how opaque: a tie is pale."""
NAME = "bandwidth('x') < 6 * length(datum.name) ? datum.initials : datum.name"
"""What a cell calls its winner: by its initials where the name has no room."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def colour(name: str, names: Sequence[str]) -> str:
    """An algorithm has one colour in all charts of a question."""
    return PALETTE[list(names).index(name) % len(PALETTE)]


def short(name: str) -> str:
    """An algorithm, or a library that chooses one, without its collective."""
    return library_of(name.partition(":")[0]) or name.partition(".")[2]


def winner_map(winners: WinnerMap) -> alt.LayerChart:
    """Sizes across, ranks up, a cell in its winner's colour with its margin; a click selects `ranks` and `bytes`."""
    cells = [_cell(winners, n, size) for n in winners.ranks for size in winners.sizes]
    colours = {short(name): colour(name, winners.names) for name in winners.winners}
    if any(not winners.winner(n, size) for n in winners.ranks for size in winners.sizes):
        colours[tell("page.lab.nobody")] = NOBODY
    gaps = alt.Scale(paddingInner=0.05, paddingOuter=0)
    placed = alt.Chart().encode(
        x=across("size", tell("page.lab.size"), [fmt_size(size) for size in winners.sizes], gaps),
        y=down("ranks", tell("page.lab.ranks"), list(reversed(winners.ranks)), gaps),
    )
    tiles = (
        placed.mark_rect(cursor="pointer", cornerRadius=3)
        .encode(
            color=keyed("winner", colours, _squares(), tell("page.lab.winner")),
            opacity=alt.Opacity("clear:Q", scale=None, legend=None),
            tooltip=[
                alt.Tooltip("winner:N", title=tell("page.lab.winner")),
                alt.Tooltip("time:N", title=tell("page.time")),
                alt.Tooltip("margin:N", title=tell("page.lab.margin")),
                alt.Tooltip("ranks:N", title=tell("page.lab.ranks")),
                alt.Tooltip("size:N", title=tell("page.lab.size")),
            ],
        )
        .add_params(alt.selection_point(name=CELL, fields=["ranks", "bytes"]))
    )
    look: dict[str, Any] = {"fontSize": SMALLEST - 1, "fontWeight": 600, "cursor": "pointer"}
    halo: dict[str, Any] = {"stroke": "white", "strokeWidth": 3, "strokeJoin": "round"}
    names = [
        placed.mark_text(text=alt.expr(NAME), dy=-8, limit=alt.expr("bandwidth('x')"), **ink, **look)
        for ink in (halo, {"fill": "black"})
    ]
    margins = [placed.mark_text(dy=7, **ink, **look).encode(text="wins:N") for ink in (halo, {"fill": "black"})]
    return layered(cells, tiles, *names, *margins, height=56 * len(winners.ranks) + 90)


def _wins(margin: float) -> str:
    """By how much the winner wins: how many times as long the next takes, as short as a cell on a phone."""
    if not math.isfinite(margin):
        return ""
    near, tie = CLEAR[0][0], CLEAR[1][0]
    return tell("page.lab.tie") if margin < tie else f"{margin:.2f}" if margin < near else f"{margin:.2g}"


def _cell(winners: WinnerMap, n: int, size: int) -> dict[str, Any]:
    winner, margin = winners.winner(n, size), winners.margin(n, size)
    times = winners.time[winners.ranks.index(n), winners.sizes.index(size)]
    return {
        "ranks": n,
        "bytes": size,
        "size": fmt_size(size),
        "winner": short(winner) if winner else tell("page.lab.nobody"),
        "name": short(winner).replace("_", " "),
        "initials": "".join(word[:1] for word in short(winner).split("_")).upper(),
        "time": fmt_time(float(times.min())) if winner else "–",
        "margin": f"{margin:.3g}" if math.isfinite(margin) else "–",
        "wins": _wins(margin),
        "clear": next((opacity for least, opacity in CLEAR if not margin < least), 1.0),
    }


def curves(rows: Sequence[Row], names: Sequence[str]) -> alt.Chart:
    """Bus bandwidth against size, a line per algorithm, coloured by its place among `names`."""
    points = [
        {"name": short(named(row)), "size": fmt_size(row["size_bytes"]), "busbw": row["busbw_Bps"] / 1e9}
        for row in rows
        if row.get("reason") is None and row["busbw_Bps"] > 0
    ]
    sizes = [fmt_size(size) for size in sorted({row["size_bytes"] for row in rows})]
    drawn = {point["name"] for point in points}
    colours = {short(name): colour(name, names) for name in names if short(name) in drawn}
    busbw = f"{tell('page.busbw')} (GB/s)"
    picture: alt.Chart = (
        chart(points, height=380)
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=across("size", tell("page.lab.size"), sizes),
            y=alt.Y("busbw:Q", title=busbw, scale=alt.Scale(type="log")),
            color=keyed("name", colours, _squares()),
            tooltip=[
                alt.Tooltip("name:N", title=tell("page.algorithm")),
                alt.Tooltip("size:N", title=tell("page.lab.size")),
                alt.Tooltip("busbw:Q", title=busbw, format=".4g"),
            ],
        )
    )
    return picture


def tornado(plain: float, swings: Sequence[Swing], most: int = 16) -> alt.Chart:
    """Bars from the run's own time (s) to what it becomes."""
    shown = swings[:most]
    second, unit = next((each for each in UNITS if plain >= each[0]), UNITS[-1])
    bars = [
        {
            "name": f"{swing.name} · {tell(CHANGED[swing.what])}",
            "what": tell(f"page.lab.{what}"),
            "plain": plain / second,
            "time": time / second,
            "text": fmt_time(time),
        }
        for swing in shown
        for what, time in (("slower", swing.slower), ("faster", swing.faster))
    ]
    colours = {tell("page.lab.slower"): PALETTE[3], tell("page.lab.faster"): PALETTE[0]}
    picture: alt.Chart = (
        chart(bars, height=ROW * len(shown) + 110)
        .mark_bar(height=BAR)
        .encode(
            y=above_bars("name", list(dict.fromkeys(bar["name"] for bar in bars))),
            x=alt.X("plain:Q", title=f"{tell('page.time')} ({unit})", scale=alt.Scale(zero=False)),
            x2="time:Q",
            color=keyed("what", colours, alt.Legend(orient="top")),
            tooltip=[
                alt.Tooltip("name:N", title=tell("page.lab.link")),
                alt.Tooltip("what:N", title=tell("page.lab.change")),
                alt.Tooltip("text:N", title=tell("page.time")),
            ],
        )
    )
    return picture


def losses(plain: float, lost: Sequence[Loss], most: int = 32) -> alt.Chart:
    """How many times as long a run takes without each cable."""
    shown = [loss for loss in lost if loss.time is not None][:most]
    bars = [{"name": loss.name, "times": (loss.time or 0.0) / plain} for loss in shown]
    picture: alt.Chart = (
        chart(bars, height=ROW * len(shown) + 90)
        .mark_bar(height=BAR, color=PALETTE[0])
        .encode(
            y=above_bars("name", [loss.name for loss in shown]),
            x=alt.X("times:Q", title=tell("page.lab.times")),
            tooltip=[
                alt.Tooltip("name:N", title=tell("page.lab.cable")),
                alt.Tooltip("times:Q", title=tell("page.lab.times"), format=".4g"),
            ],
        )
    )
    return picture


def _squares() -> alt.Legend:
    """A key to colours of algorithms, whose names are long."""
    return alt.Legend(orient="top", columns=2, labelLimit=260, symbolSize=160, symbolType="square")
