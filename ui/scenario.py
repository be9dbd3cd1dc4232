"""Scenes as YAML: the words of a scene with a line each, and texts from outside whole."""

from dataclasses import asdict, fields, replace

from sim.base.yaml import parse_yaml, quote
from sim.errors import InputError
from ui.exports import Shot, render
from ui.scenes import LARGEST_SCENE, Scene, carried_out

VERSION = "scenario-1"
ALWAYS = ("algorithm", "machine", "size")
LONG = ("capture", "schedule")
"""Words that are texts of many lines."""


def is_scenario(text: str) -> bool:
    """Whether it is a scene written by `to_yaml`, or by hand in its manner."""
    return any(line.startswith("ringside: scenario") for line in text.lstrip()[:2000].splitlines())


def to_yaml(scene: Scene) -> str:
    """The scene, what is as usual left out."""
    usual = asdict(Scene())
    lines = [f"ringside: {VERSION}"]
    for name, value in asdict(scene).items():
        hidden = (name == "machine" and scene.capture) or (name in ("algorithm", "size") and scene.schedule)
        if name in LONG and value and _plain(value):
            lines += [f"{name}: |2-", *(f"  {line}" for line in value.rstrip("\n").split("\n"))]
        elif (name in ALWAYS and not hidden) or (value != usual[name] and not hidden):
            lines.append(f"{name}: {quote(str(value))}")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> bool:
    """Whether a text can stand in a YAML block as it is."""
    return all(line.replace("\t", " ").isprintable() for line in text.split("\n"))


def from_yaml(text: str, name: str) -> Scene:
    """The scene that a text describes. Raises InputError naming the line and the mend."""
    if len(text) > LARGEST_SCENE:
        raise InputError(f"{name} is larger than {LARGEST_SCENE:,} characters: give a scenario that is smaller")
    kinds = {field.name: type(getattr(Scene(), field.name)) for field in fields(Scene)}
    root = parse_yaml(text, name)
    found = root.mapping("the scenario", ("ringside", *kinds))
    if "ringside" not in found or found["ringside"].text("ringside") != VERSION:
        root.refuse(f"this is no scenario that is known here: begin it with ringside: {VERSION}")
    words: dict[str, str | int] = {}
    for key, node in found.items():
        if key == "ringside":
            continue
        word = node.text(key)
        if kinds[key] is int and not (word.isdecimal() and len(word) < 8):
            node.refuse(f"{key} is {word[:20]!r}: write a whole number")
        words[key] = int(word) if kinds[key] is int else word
    return replace(Scene(), **words)  # type: ignore[arg-type]


def export(scene: Scene, ending: str, shot: Shot) -> bytes:
    """The scene's run as a file. Raises InputError."""
    return render(carried_out(scene).trace, ending, replace(shot, scenario=to_yaml(scene)))
