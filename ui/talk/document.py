"""Talks as YAML: data that is checked and never run."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from ops.plan import Plan
from ops.plan.link import PLACE, from_link
from ops.plan.plan_file import line_of, plan_in, to_yaml
from sim.base.yaml import YamlNode, parse_yaml, quote
from sim.errors import InputError, Message
from sim.units import exact_time, parse_time
from ui.plan.beginning import LONGEST_WORD, instant_in
from ui.player.views import VIEWS
from ui.talk import (
    LONGEST_LINE,
    LONGEST_NOTES,
    LONGEST_TITLE,
    MOST_LINES,
    MOST_SCENES,
    MOST_STOPS,
    StageLine,
    Talk,
    TalkScene,
)
from ui.text import languages

VERSION = "talk-1"
LARGEST = 8_000_000
"""Characters of a talk written down."""
TALK = ("ringside", "title", "language", "scenes")
SCENE = ("title", "link", "scene", "shown", "words", "stops", "notes")


def is_talk(text: str) -> bool:
    """Whether it is a talk, written by `to_text` or by hand in its manner."""
    return any(line.startswith("ringside: talk") for line in text.lstrip()[:2000].splitlines())


def from_text(text: str, name: str) -> Talk:
    """The talk that a text describes; its scenes are not run. Raises InputError naming the line and the fix."""
    if len(text) > LARGEST:
        raise InputError("talk.too_large", name=name, most=LARGEST)
    root = parse_yaml(text, name)
    nodes = root.mapping("the talk", TALK)
    if "ringside" not in nodes or nodes["ringside"].text("ringside") != VERSION:
        root.refuse("talk.version", version=VERSION)
    if "scenes" not in nodes:
        root.refuse("talk.no_scenes")
    entries = nodes["scenes"].items("scenes")
    if not 1 <= len(entries) <= MOST_SCENES:
        nodes["scenes"].refuse("talk.scenes", count=len(entries), most_scenes=MOST_SCENES)
    language = _written(nodes, "language", 20) or "en"
    if language not in languages():
        nodes["language"].refuse("talk.language", language=language, choices=languages())
    return Talk(_title(nodes), tuple(_scene(node) for node in entries), language)


def _scene(node: YamlNode) -> TalkScene:
    nodes = node.mapping("a scene", SCENE)
    if ("link" in nodes) == ("scene" in nodes):
        node.refuse("talk.scene")
    if "link" in nodes:
        plan, place = _of_link(nodes["link"])
    else:
        plan, place = plan_in(nodes["scene"], "the scene"), {}
    if "shown" in nodes:
        shown = nodes["shown"].mapping("shown", PLACE)
        place = place | {word: value.text(word) for word, value in shown.items()}
        _check_place(nodes["shown"], place)
    return TalkScene(
        plan,
        _title(nodes),
        place,
        _lines(nodes["words"]) if "words" in nodes else (),
        _stops(nodes["stops"]) if "stops" in nodes else (),
        _written(nodes, "notes", LONGEST_NOTES),
        f"{node.name}, line {node.line}",
    )


def _written(nodes: Mapping[str, YamlNode], word: str, most: int) -> str:
    """The text of a key, which may be left out. Raises InputError for a longer one."""
    if word not in nodes:
        return ""
    node = nodes[word]
    return "" if node.value == "" else _within(node, word, most)


def _within(node: YamlNode, word: str, most: int) -> str:
    text = node.text(word)
    if len(text) > most:
        node.refuse("talk.long", word=word, count=len(text), most=most)
    return text


def _title(nodes: Mapping[str, YamlNode]) -> str:
    return " ".join(_written(nodes, "title", LONGEST_TITLE).split())


def _of_link(node: YamlNode) -> tuple[Plan, dict[str, str]]:
    """The plan of a link to the stage, and where in its runs the link leads."""
    text = node.text("link")
    words = dict(parse_qsl(urlsplit(text).query))
    if "?" not in text and text.strip():
        node.refuse("talk.link", text=text)
    if words.get("page", "stage") != "stage":
        node.refuse("talk.link_page", page=words["page"])
    if {"plan", "scene"} & words.keys():
        node.refuse("talk.link_visit")
    try:
        plan = from_link(words)
    except InputError as error:
        node.refuse(error)
    place = {word: words[word] for word in PLACE if word in words}
    _check_place(node, place)
    return plan, place


def _check_place(node: YamlNode, place: Mapping[str, str]) -> None:
    if place.get("view", VIEWS[0]) not in VIEWS:
        node.refuse("talk.view", view=place["view"], choices=VIEWS)
    if instant_in(place) is None:
        node.refuse("talk.time", time=place["t"])
    for word, text in place.items():
        if len(text) > LONGEST_WORD:
            node.refuse("talk.long", word=word, count=len(text), most=LONGEST_WORD)


def _lines(node: YamlNode) -> tuple[StageLine, ...]:
    """Words for the whole scene, or a list of words with the instants from which on they are shown."""
    if isinstance(node.value, str):
        text = _within(node, "words", LONGEST_LINE) if node.value else ""
        return (StageLine(text),) if text else ()
    entries = node.items("words")
    if len(entries) > MOST_LINES:
        node.refuse("talk.lines", count=len(entries), most_lines=MOST_LINES)
    lines = [_line(entry) for entry in entries]
    for line, before, entry in zip(lines[1:], lines, entries[1:], strict=False):
        if line.at <= before.at:
            entry.refuse("talk.words_order")
    return tuple(lines)


def _line(node: YamlNode) -> StageLine:
    nodes = node.mapping("words", ("at", "text"))
    if "text" not in nodes:
        node.refuse("talk.no_text")
    return StageLine(_within(nodes["text"], "text", LONGEST_LINE), _time(nodes["at"], "at") if "at" in nodes else 0.0)


def _stops(node: YamlNode) -> tuple[float, ...]:
    entries = node.items("stops") if not isinstance(node.value, str) else [node]
    if len(entries) > MOST_STOPS:
        node.refuse("talk.stops", count=len(entries), most_stops=MOST_STOPS)
    stops = tuple(_time(entry, "a stop") for entry in entries)
    for stop, before, entry in zip(stops[1:], stops, entries[1:], strict=False):
        if stop <= before:
            entry.refuse("talk.stops_order")
    return stops


def _time(node: YamlNode, what: str) -> float:
    text = node.text(what)
    try:
        return parse_time(text, Message(what))
    except InputError as error:
        node.refuse(error)


def to_text(talk: Talk) -> str:
    """The talk, to be read by `from_text`."""
    lines = [f"ringside: {VERSION}"]
    lines += line_of("title", talk.title) if talk.title else []
    lines += [f"language: {talk.language}"] if talk.language != "en" else []
    lines.append("scenes:")
    for scene in talk.scenes:
        first, *rest = _scene_lines(scene)
        lines += [f"  - {first}", *(f"    {line}" if line else "" for line in rest)]
    return "\n".join(lines) + "\n"


def file_name(talk: Talk) -> str:
    """What a file of the talk is called, without its ending."""
    return re.sub(r"[^\w]+", "-", talk.title.lower()).strip("-_")[:60] or "talk"


def _scene_lines(scene: TalkScene) -> list[str]:
    lines = line_of("title", scene.title) if scene.title else []
    lines += ["scene:", *(f"  {line}" for line in to_yaml(scene.plan).splitlines()[1:])]
    if scene.place:
        lines += ["shown:", *(f"  {word}: {quote(text)}" for word, text in scene.place.items())]
    if scene.lines:
        lines.append("words:")
        for line in scene.lines:
            lines += [f"  - at: {_instant(line.at)}", f"    text: {quote(line.text)}"]
    if scene.stops:
        lines.append(f"stops: [{', '.join(map(_instant, scene.stops))}]")
    return lines + (_notes(scene.notes) if scene.notes else [])


def _instant(t: float) -> str:
    """An instant in words that are read back as it."""
    return exact_time(t)


def _notes(text: str) -> list[str]:
    """Notes as a block, if they can stand in one as they are."""
    lines = text.split("\n")
    is_plain = text == text.strip("\n") and all(line.replace("\t", " ").isprintable() for line in lines)
    if not is_plain or len(lines) == 1:
        return [f"notes: {quote(text)}"]
    return ["notes: |2-", *(f"  {line}" for line in lines)]
