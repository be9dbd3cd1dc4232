"""The report of a machine as one page that needs no network and no script; a browser prints it as PDF."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from pathlib import Path

from ops.answers.names import called
from ops.diagnosis import Diagnosis, ring_of
from ops.expected import ExpectedRow
from ops.plan import Plan
from ops.report import MachineReport, SavingChange
from ops.run.part import shown
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from ui.drawing import thumbnail
from ui.export.paper import paper
from ui.layout.palette import BLOCKS
from ui.text import say

MOST_DRAWN = 64
"""Ranks of a ring that is drawn."""
HOP = 1.0
"""Seconds that a hop takes in the best ring on the page."""
SLOWEST = 8.0
"""Seconds that a hop takes at most."""
RADIUS = 100


def page(report: MachineReport, plan: Plan, language: str = "en") -> bytes:
    """A file for any browser, in a language. Raises InputError and StalledError."""
    title = say("report.title", language, name=Path(report.diagnosis.machine).name)
    return paper(title, "\n".join(body(report, plan, language)), language)


def body(report: MachineReport, plan: Plan, language: str) -> Iterator[str]:
    """What the page says, in HTML."""
    speak = partial(say, language=language)
    name = Path(report.diagnosis.machine).name
    line = escape(facts(report, language))
    yield f"<header><b>Ringside</b> · {escape(speak('report.title', name=name))}<br>{line}</header>"
    yield f"<h1>{escape(headline(report, language))}</h1><p>{escape(reach(report, language))}</p>"
    machine = thumbnail.of_run(shown(ring_of(plan).run()), "machine", name, language=language)
    yield from _section(
        "two",
        (speak("report.machine"), f'<div class="machine">{machine}</div>'),
        (speak("report.ring"), _rings(report.diagnosis, language)),
    )
    others: dict[str, list[ExpectedRow]] = {}
    for row in report.rows:
        others.setdefault(row.collective, []).append(row)
    main = others.pop(report.largest.collective)
    band_is = speak("report.expected.what" if report.largest.band is not None else "report.expected.none")
    yield from _section(
        "wide",
        (speak("report.changes"), "".join(_changes(report, language))),
        (
            speak("report.expected"),
            f'<p class="dim">{escape(band_is)}</p><h3>{main[0].collective}</h3>{_expected(main, language)}',
        ),
    )
    yield from _section("two", *((name, _expected(rows, language)) for name, rows in others.items()))
    yield from _section(
        "two",
        (speak("report.read"), f"<p>{escape(pairs(report, language))}</p>{_diagnosis(report, language)}"),
        (speak("report.assumed"), _assumed(report.assumed, language)),
    )


def _section(columns: str, *parts: tuple[str, str]) -> Iterator[str]:
    """Titles and what stands below them, side by side where there is room."""
    yield f'<section class="{columns}">'
    yield from (f"<div><h2>{escape(title)}</h2>{inside}</div>" for title, inside in parts)
    yield "</section>"


def facts(report: MachineReport, language: str) -> str:
    """What was read, in numbers."""
    read = report.topology
    said = say("report.facts", language, gpus=read["gpus"], nics=read["nics"], domains=read["numa_nodes"])
    return said if report.hosts == 1 else say("report.hosts", language, count=report.hosts, facts=said)


def pairs(report: MachineReport, language: str) -> str:
    """What was read, and how many pairs of GPUs are of each class."""
    counts = ", ".join(f"{count} {word}" for word, count in report.classes.items())
    return say("report.pairs", language, facts=facts(report, language), pairs=counts)


def headline(report: MachineReport, language: str) -> str:
    """The sentence about the order of ranks."""
    judged = report.diagnosis
    if not judged.edit:
        return say("report.order.best", language, time=fmt_time(judged.time))
    cost = fmt_time(judged.time - judged.best_time)
    return say("report.order.costs", language, cost=cost, time=fmt_time(judged.time))


def reach(report: MachineReport, language: str) -> str:
    """The sentence about what NCCL should reach."""
    row = report.largest
    words = {"size": fmt_size(row.size), "rate": band(row, language) or fmt_bandwidth(row.busbw), "link": row.link}
    said = say("report.reach", language, **words)
    space = "" if language == "zh" else " "
    return f"{say('report.order.note', language)}{space}{said}" if report.diagnosis.edit else said


def band(row: ExpectedRow, language: str) -> str:
    """Return the band of a row, or an empty text."""
    least, most = row.least_busbw, row.most_busbw
    if least is None or most is None:
        return ""
    return say("report.between", language, least=fmt_bandwidth(least), most=fmt_bandwidth(most))


def change_words(change: SavingChange, language: str) -> str:
    """What a change is, in words."""
    name = called(change.name) if change.kind == "algorithm" else change.name
    name = say(f"report.class.{name}", language) if change.kind == "class" else name
    return say(f"report.change.{change.kind}", language, name=name)


def _changes(report: MachineReport, language: str) -> Iterator[str]:
    if not report.changes:
        yield f"<p>{escape(say('report.changes.none', language))}</p>"
        return
    yield f'<p class="dim">{escape(say("report.changes.what", language))}</p><ol>'
    for change in report.changes:
        saves = say("report.saves", language, time=fmt_time(change.saves))
        share = 100 * change.after / change.before
        after = f" ({say('report.change.after', language)})" if change.after_order else ""
        yield f'<li><span class="saves">{escape(saves)}</span><b>{escape(change_words(change, language))}</b>'
        yield f'<div class="bar"><i style="width:{share:.1f}%"></i></div>'
        yield f"<small>{fmt_time(change.before)} → {fmt_time(change.after)}{escape(after)}"
        yield (f"<br><code>--edit {escape(change.edit)}</code>" if change.edit else "") + "</small></li>"
    yield "</ol>"


def _expected(rows: Sequence[ExpectedRow], language: str) -> str:
    heads = [say(f"report.column.{key}", language) for key in ("size", "time", "busbw", "band", "link", "choice")]
    lines = [
        [
            fmt_size(row.size),
            fmt_time(row.time),
            fmt_bandwidth(row.busbw),
            band(row, language) or "–",
            row.link,
            f"{row.algorithm}, {row.protocol}",
        ]
        for row in rows
    ]
    return _table(heads, lines)


def _diagnosis(report: MachineReport, language: str) -> str:
    judged, speak = report.diagnosis, partial(say, language=language)
    parts = []
    if judged.cables:
        heads = ["", speak("report.column.half"), speak("report.column.double")]
        lines = [[cable.name, fmt_time(cable.slower), fmt_time(cable.faster)] for cable in judged.cables]
        parts.append(f"<h3>{escape(speak('report.links'))}</h3>{_table(heads, lines)}")
    if judged.ranks:
        heads = [speak(f"report.column.{key}") for key in ("gpu", "rate", "narrow", "next")]
        lines = [
            [
                rank.name,
                fmt_bandwidth(rank.rate),
                f"{rank.narrow}, {fmt_bandwidth(rank.slowest)}",
                f"{rank.next}: {rank.over}, {fmt_bandwidth(rank.pace)}",
            ]
            for rank in judged.ranks
        ]
        parts.append(f"<h3>{escape(speak('report.gpus'))}</h3>{_table(heads, lines)}")
    return "".join(parts)


def _assumed(lines: Sequence[str], language: str) -> str:
    if not lines:
        return f"<p>{escape(say('report.assumed.none', language))}</p>"
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th scope=col>{escape(text)}</th>" for text in heads)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<div class=table tabindex=0><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _rings(judged: Diagnosis, language: str) -> str:
    if judged.n > MOST_DRAWN:
        return f"<p>{escape(say('report.ring.large', language))}</p>"
    numa = [rank.numa for rank in judged.ranks]
    usual = tuple(range(judged.n))
    rings = [("now" if judged.edit else "best", usual, judged.time)]
    rings += [("best", judged.order, judged.best_time)] if judged.edit else []
    figures = []
    for key, order, time in rings:
        label = f"{say(f'report.ring.{key}', language)}: {' '.join(map(str, order))}"
        hop = min(SLOWEST, HOP * time / judged.best_time)
        figures.append(f"<figure>{_ring(order, numa, fmt_time(time), hop)}<figcaption>{label}</figcaption></figure>")
    return f'<div class="rings">{"".join(figures)}</div>'


def _ring(order: Sequence[int], numa: Sequence[int], time: str, hop: float) -> str:
    """A ring whose blocks go on by one hop in so many seconds; ranks of every other NUMA node are filled."""
    n = len(order)
    side, size = min(20.0, 300 / n), min(19.0, 280 / n)

    def at(place: float) -> tuple[float, float]:
        angle = 2 * math.pi * place / n - math.pi / 2
        return RADIUS * math.cos(angle), RADIUS * math.sin(angle)

    blocks = "".join(
        f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}" rx="4"'
        f' class="b{k % len(BLOCKS)}"/>'
        for k in range(n)
        for x, y in [at(k + 0.5)]
    )
    ranks = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="var(--{fill})" stroke="var(--ink)"/>'
        f'<text x="{x:.1f}" y="{y + size / 4:.1f}" font-size="{0.8 * size:.1f}" text-anchor="middle"'
        f' fill="var(--{ink})">{rank}</text>'
        for k, rank in enumerate(order)
        for x, y in [at(k)]
        for fill, ink in [("ink", "bg") if numa[rank] % 2 == 1 else ("surface", "ink")]
    )
    turn = f'<g class="turn" style="--hop:{360 / n:.3f}deg;animation-duration:{hop:.2f}s">{blocks}</g>'
    return (
        f'<svg viewBox="-125 -125 250 250" role="img"><title>{time}</title><circle r="{RADIUS}" fill="none"'
        f' stroke="var(--load)" stroke-width="4"/>{turn}{ranks}<text y="8" font-size="24" font-weight="600"'
        f' text-anchor="middle" fill="var(--ink)">{time}</text></svg>'
    )
