"""Plans as YAML: the words of a plan with a line each, and texts from outside whole."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.plan.model import Plan
from ops.plan.notation import RENAMED, renamed
from ops.plan.words import TEXTS, WORDS, unusual, value_of, wrong
from sim.base.yaml import YamlNode, parse_yaml, quote
from sim.errors import InputError

VERSION = "scenario-1"
LARGEST = 4_000_000
"""Characters of a plan written down."""
PLACE = "shown"
"""What says where in the run a page stands: the word of a mapping, which changes nothing of the run."""
ALWAYS = ("algorithm", "machine", "size")


def is_plan(text: str) -> bool:
    """Whether it is a plan written by `to_yaml`, or by hand in its manner."""
    return any(line.startswith("ringside: scenario") for line in text.lstrip()[:2000].splitlines())


def to_yaml(plan: Plan, place: Mapping[str, str] | None = None) -> str:
    """The plan, what is as usual left out; and in words where in its run a page stands."""
    written = dict(unusual(plan))
    words = {word: str(getattr(plan, word)) for word in ALWAYS} | written
    if plan.capture:
        words.pop("machine")
    if plan.schedule:
        words = {word: text for word, text in words.items() if word not in ("algorithm", "size")}
    if plan.counts:
        words.pop("size", None)
    if plan.python:
        words = {"python": plan.python} | words
    lines = [f"ringside: {VERSION}"]
    for word in ("python", *WORDS):
        text = words.get(word)
        if text:
            lines += line_of(word, text)
    if place:
        lines += [f"{PLACE}:", *(f"  {word}: {quote(text)}" for word, text in place.items())]
    return "\n".join(lines) + "\n"


def line_of(word: str, text: str) -> list[str]:
    r"""A word as a line of YAML; a text of many lines follows it whole.

    >>> line_of("machine", "dgx_a100"), line_of("layers", "conv 3x3 1ms 2ms\nfc 8x8 1ms 2ms")
    (['machine: dgx_a100'], ['layers: |2-', '  conv 3x3 1ms 2ms', '  fc 8x8 1ms 2ms'])
    """
    in_lines = "\n" in text and not text.endswith("\n")  # which a block of YAML would lose
    if (word in TEXTS or in_lines) and _plain(text):
        return [f"{word}: |2-", *(f"  {line}" for line in text.rstrip("\n").split("\n"))]
    return [f"{word}: {quote(text)}"]


def _plain(text: str) -> bool:
    """Whether a text can stand in a YAML block as it is."""
    return all(line.replace("\t", " ").isprintable() for line in text.split("\n"))


def from_yaml(text: str, name: str, *, execute: bool = False) -> Plan:
    """The plan that a text describes. Raises InputError naming the line and the fix.

    A Python file that it names is refused unless `execute`: running the plan would execute it.
    """
    if len(text) > LARGEST:
        raise InputError("plan.too_long", name=name, most=LARGEST)
    root = parse_yaml(text, name)
    nodes = renamed(root.mapping("the plan", ("ringside", "python", PLACE, *WORDS, *RENAMED)))
    if "ringside" not in nodes or nodes["ringside"].text("ringside") != VERSION:
        root.refuse("plan.version", version=VERSION)
    if "python" in nodes and not execute:
        nodes["python"].refuse("plan.runs_python")
    usual: dict[str, Any] = {"algorithm": ""} if "python" in nodes else {}
    values = {word: _value(word, node) for word, node in nodes.items() if word not in ("ringside", PLACE)}
    return replace(Plan(), **(usual | values))


def plan_in(node: YamlNode, what: str) -> Plan:
    """The plan that a part of another file describes. Raises InputError."""
    values: dict[str, Any] = {
        word: _value(word, value) for word, value in renamed(node.mapping(what, (*WORDS, *RENAMED))).items()
    }
    return replace(Plan(), **values)


def place_in(text: str, name: str) -> dict[str, str]:
    """The words of where in its run a page stands, as the text of a plan has them. Raises InputError."""
    node = parse_yaml(text, name).mapping("the plan").get(PLACE)
    return {word: value.text(word) for word, value in node.mapping(PLACE).items()} if node else {}


def _value(word: str, node: YamlNode) -> str | int | bool:
    text = node.text(word)
    value = text if word == "python" else value_of(word, text)
    if value is None:
        node.refuse("at.correct", what=wrong(word, text[:20]))
    return value
