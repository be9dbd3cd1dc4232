"""Every page with every word of a link: those that plans, questions, workloads and pages have."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, urlencode

from streamlit.testing.v1 import AppTest

from ops.plan.link import to_link
from ops.plan.plan_file import from_yaml, is_plan
from ops.plan.words import WORDS as PLAN_WORDS
from ops.workloads import WORKLOADS
from sim.errors import LONGEST, InputError, Message, StalledError
from tests.attack.files import ROOT, hostile, readers
from tests.attack.mutate import NUMBERS, WORDS, mutated
from tests.contract.inputs import files, links
from tests.once import look_for_components_once
from ui import text
from ui.pages import PAGES
from ui.pages.lab import Question
from ui.server import first

APP = str(ROOT / "app.py")
PATIENCE = 240
"""Seconds for a page, whose own work has a limit of the processor's; others at work may take most of that processor."""
SMALL = ("1024", "gb200", "8192")
"""What right links are left out for, as they take long."""


LINKS = (
    *("algorithm=allreduce.tree", "algorithm=x", "machine=dgx1v", "machine=switch:ranks=0", "machine=:::", "size=3"),
    *("t=nan", "t=1e9", "view=time", "view=none", "against=size=1|x=2", "against=algorithm=allreduce.linear"),
    *("capture=!!", "capture=example-none", "ranks=9999999", "ranks=1", "root=7", "schedule=example-none"),
    *("fault=dead_link:src=GPU0,dst=NVS0", "fault=lost_nic:nic=NIC0,reroute=yes", "fault=;;", "settings=a=1"),
    *("machine=dgx_a100:hosts=99999", "settings=segments=65536", "fault=straggler", "fault=straggler:rank=99"),
    *("algorithm=allreduce.nosuch", "machine=torus:dims=0x0", "machine=switch:bandwidth=nan", "ranks=²", "t=²"),
    *("root=-1", "against=ranks=²", "counts=1,x", "network=nosuch", "page=![x](http://x/x.png)", "size=[a](http://x)"),
    *("fault=background:streams=0", "algorithm=allreduce.recursive_knomial&settings=radix=0", "view=../../etc"),
    *("workload=none", "workload=fsdp", "lesson=none", "step=-1", "collective=none", "machines=none:1", "sizes=0..1"),
)
"""Words that somebody damaged."""
OURS = (str(Message("addition.remedy")), str(Message("worker.fault", what="|")).partition("|")[0])
"""What sentences about our own faults have in them, which no input may ever bring up."""
DRAWN = ("markdown", "heading", "title", "alert")


def link(draw: Random) -> dict[str, str]:
    """The words of a link: a right one's with some damaged, or any with anything."""
    words: dict[str, str] = {}
    if draw.random() < 0.6:
        words |= draw.choice(_right())
    for _ in range(draw.choice((0, 1, 1, 2, 4))):
        name = draw.choice(_names())
        values = _values(name)
        word = draw.choice(values) if values and draw.random() < 0.8 else draw.choice((*NUMBERS, *WORDS))
        words[name] = hostile(word, draw, values) if draw.random() < 0.6 else word
    if words and draw.random() < 0.2:
        name = draw.choice([*words])
        words[name] = mutated(words[name], draw)
    if draw.random() < 0.6:
        words["page"] = draw.choice([*PAGES])
    return {name: word.encode("utf-8", "replace").decode()[:20_000] for name, word in words.items()}


def run(words: dict[str, str]) -> None:
    """Open a page. Raises AssertionError where it ends in an error, is empty, or says too much."""
    query = urlencode(words, errors="replace")
    if first.is_early(query):
        with suppress(InputError, StalledError):  # which the page tells
            json.loads(first.picture(query, text.ENGLISH, "nobody"))
    look_for_components_once()
    at = AppTest.from_file(APP, default_timeout=PATIENCE)
    for name, word in words.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception, f"{at.exception[0].message[:400]} {' '.join(at.exception[0].stack_trace[-6:])[:1200]}"
    shown = [error.value.replace(text.APART, "") for error in at.error]
    errors = [re.sub(r"\\(_|[^\w\s])", r"\1", said) for said in shown]  # as they are read on the page
    faults = [error for error in errors if any(words in error for words in OURS)]
    assert not faults, f"a fault of ours: {faults[0]}"
    assert any(element.type in DRAWN for element in at.main), "an empty page"
    marked = next((text for text in texts(at) if re.search(r"(?<!\\)\]\(http:", text)), "")
    assert not marked, f"Markdown of a link's: {marked[:400]}"
    long = next((error for error in errors if len(error) > LONGEST), "")
    assert not long, f"{len(long)} characters: {long[:300]}"


def texts(at: AppTest) -> Iterator[str]:
    """Everything on a page that is read as Markdown: texts, labels, tooltips, figures."""
    for element in (*at.main, *at.sidebar):
        for field in ("body", "label", "help", "delta", "caption"):
            text = getattr(getattr(element, "proto", None), field, "")
            if isinstance(text, str) and element.type not in ("code", "html", "arrow_data_frame"):
                yield text


@cache
def _names() -> tuple[str, ...]:
    """Every word that a link may have."""
    asked = {word for file in (ROOT / "ui").rglob("*.py") for word in _queried(file)}
    parameters = {key for entry in WORKLOADS.values() for key in entry.params}
    return tuple(sorted({*PLAN_WORDS, *(field.name for field in fields(Question)), *asked, *parameters, "workload"}))


def _queried(file: Path) -> list[str]:
    source = file.read_text("utf-8")
    kept = re.findall(r"^KEPT = \((.*)\)$", source, re.MULTILINE)
    words = re.findall(r"query_params(?:\.get\(|\.pop\(|\[)\"(\w+)\"", source)
    return words + [word for line in kept for word in re.findall(r'"(\w+)"', line)]


@cache
def _right() -> tuple[dict[str, str], ...]:
    """Links that work."""
    kept = [dict(parse_qsl(link)) for link in links()]
    texts = {file.name: file.read_text("utf-8") for file in files("scenarios")}
    kept += [to_link(from_yaml(text, name)) for name, text in texts.items() if is_plan(text)]
    return tuple(words for words in kept if not any(word in str(words) for word in SMALL)) + tuple(
        dict(parse_qsl(words) or [words.partition("=")[::2]]) for words in LINKS
    )


@cache
def _values(name: str) -> tuple[str, ...]:
    """Values of a word in links that work, or of whatever is called so."""
    values = [words[name] for words in _right() if name in words]
    kinds = {"machine": "a machine's spec", "machines": "a machine's spec", "fault": "faults"}
    if name in kinds:
        values += next(reader.samples() for reader in readers() if reader.name == kinds[name])
    values += {"lang": text.languages(), "page": [*PAGES], "workload": [*WORKLOADS]}.get(name, [])
    return tuple(values)
