"""Requests as YAML: the words of a request with a line each, and texts from outside whole."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.request.model import Request
from ops.request.words import TEXTS, WORDS, unusual, value_of, wrong
from sim.base.yaml import YamlNode, parse_yaml, quote
from sim.errors import InputError

VERSION = "scenario-1"
LARGEST = 4_000_000
"""Characters of a request written down."""
PLACE = "shown"
"""What says where in the run a page stands: the word of a mapping, which changes nothing of the run."""
ALWAYS = ("algorithm", "machine", "size")


def is_scenario(text: str) -> bool:
    """Whether it is a request written by `to_yaml`, or by hand in its manner."""
    return any(line.startswith("ringside: scenario") for line in text.lstrip()[:2000].splitlines())


def to_yaml(request: Request, place: Mapping[str, str] | None = None) -> str:
    """The request, what is as usual left out; and in words where in its run a page stands."""
    written = dict(unusual(request))
    words = {word: str(getattr(request, word)) for word in ALWAYS} | written
    if request.capture:
        words.pop("machine")
    if request.schedule:
        words = {word: text for word, text in words.items() if word not in ("algorithm", "size")}
    if request.counts:
        words.pop("size", None)
    if request.python:
        words = {"python": request.python} | words
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


def from_yaml(text: str, name: str, *, execute: bool = False) -> Request:
    """The request that a text describes. Raises InputError naming the line and the mend.

    A Python file that it names is refused unless `execute`: running the request would execute it.
    """
    if len(text) > LARGEST:
        raise InputError("plan.too_long", name=name, most=LARGEST)
    root = parse_yaml(text, name)
    nodes = root.mapping("the scenario", ("ringside", "python", PLACE, *WORDS))
    if "ringside" not in nodes or nodes["ringside"].text("ringside") != VERSION:
        root.refuse("plan.version", version=VERSION)
    if "python" in nodes and not execute:
        nodes["python"].refuse("plan.runs_python")
    usual: dict[str, Any] = {"algorithm": ""} if "python" in nodes else {}
    values = {word: _value(word, node) for word, node in nodes.items() if word not in ("ringside", PLACE)}
    return replace(Request(), **(usual | values))


def request_in(node: YamlNode, what: str) -> Request:
    """The request that a part of another file describes in the words of a scenario. Raises InputError."""
    values: dict[str, Any] = {word: _value(word, value) for word, value in node.mapping(what, WORDS).items()}
    return replace(Request(), **values)


def place_in(text: str, name: str) -> dict[str, str]:
    """The words of where in its run a page stands, as the text of a scenario has them. Raises InputError."""
    node = parse_yaml(text, name).mapping("the scenario").get(PLACE)
    return {word: value.text(word) for word, value in node.mapping(PLACE).items()} if node else {}


def _value(word: str, node: YamlNode) -> str | int | bool:
    text = node.text(word)
    value = text if word == "python" else value_of(word, text)
    if value is None:
        node.refuse("at.correct", what=wrong(word, text[:20]))
    return value
