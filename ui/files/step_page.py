"""A training step as one page that needs no network: its timelines, its figures and what was called."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

from ops.answers.training import answer_step
from ops.training.facts import is_table
from ops.training.step import TrainingStep
from sim.units import fmt_share, fmt_size, fmt_time
from ui.charts import training
from ui.drawing.fonts import faces
from ui.player.scripts import ASSETS
from ui.player.titles import machine_title
from ui.text import say, speaking, worded

ROWS = 16
"""Ranks that are drawn."""
MOST = 200
"""Rows of a table."""


def page(step: TrainingStep, language: str = "en") -> bytes:
    """A file for any browser, in a language. It holds no script: what it shows stays as it is."""
    text = (ASSETS / "site" / "step.html").read_text(encoding="utf-8")
    with speaking(language):
        title = f"{say(f'train.name.{step.workload}', language)} · {machine_title(step.topology.name)}"
        sentence, *others = map(worded, answer_step(step))
    parts = {
        "language": "zh-Hans" if language == "zh" else language,
        "title": escape(title),
        "fonts": faces(),
        "answer": f"<p class=answer>{escape(sentence)}</p>\n<p>{escape(' '.join(others))}</p>",
        "body": "\n".join(_parts(step, language)),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text.encode()


def _parts(step: TrainingStep, language: str) -> Iterator[str]:
    speak = partial(say, language=language)

    def labelled(fact: tuple[str, Any]) -> tuple[str, str]:
        return training.label(fact[0], language), training.value(*fact, language)

    share = f" ({fmt_share(step.exposed_s / step.time, 1)})" if step.time else ""
    figures = {
        speak("train.time"): fmt_time(step.time),
        speak("train.exposed"): fmt_time(step.exposed_s) + share,
        speak("train.peak"): fmt_size(max(step.peaks, default=0.0)),
    }
    yield "<dl>" + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in figures.items()) + "</dl>"
    if not step.verified:
        yield f"<p role=alert>{escape(speak('train.wrong'))}</p>"
    if not step.time or not step.spans:
        yield f"<p>{escape(speak('train.nothing'))}</p>"
    else:
        yield f"<p>{escape(training.sentence(step, language))}</p>"
        yield from _drawn(step, language)
    plain = {key: value for key, value in step.facts.items() if not is_table(value) and key not in training.DRAWN}
    head = speak("train.figure"), speak("train.value")
    rows = [dict(zip(head, labelled(fact), strict=True)) for fact in plain.items()]
    yield from _table(speak("train.figures"), rows, language)
    tables = {training.label(key, language): rows for key, rows in step.facts.items() if is_table(rows)}
    tables |= {speak("train.collectives", machine=step.topology.name): step.collectives}
    for name, rows in tables.items():
        yield from _table(f"{name[:1].upper()}{name[1:]}", [dict(map(labelled, row.items())) for row in rows], language)


def _drawn(step: TrainingStep, language: str) -> Iterator[str]:
    """The timelines on one clock, and the blocks of a buffer where there is one."""
    words = training.texts_of(step, language)
    ranks = range(min(step.ranks, ROWS))
    clock = 0.0, max([step.time, *(other.time for other in step.beside.values())])
    yield training.timeline(step, ranks, clock, words)
    for name, other in step.beside.items():
        title = say("train.beside", language, name=say(f"train.beside.{name}", language), time=fmt_time(other.time))
        yield training.beside(title, other, range(min(other.ranks, ROWS)), clock, words)
    if "blocks" in step.facts:
        yield training.buffer(step.facts["blocks"], words)


def _table(title: str, rows: Sequence[Mapping[str, str]], language: str) -> Iterator[str]:
    if not rows:
        return
    yield f"<h2>{escape(title)}</h2><div class=table tabindex=0><table><thead><tr>"
    yield "".join(f"<th scope=col>{escape(key)}</th>" for key in rows[0]) + "</tr></thead><tbody>"
    for row in rows[:MOST]:
        yield "<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row.values()) + "</tr>"
    yield "</tbody></table></div>"
    if len(rows) > MOST:
        yield f"<p>{escape(say('train.more', language, count=len(rows) - MOST).strip())}</p>"
