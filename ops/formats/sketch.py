"""Sketches: schedules that were drawn by hand, as the dashboard saves them."""

import re

from ops.collectives import COLLECTIVES
from ops.formats import reader
from ops.sketch import VERSION, Sketch, check_columns, collectives, column_of
from sim.base.numbers import whole
from sim.base.pasted import bare_lines
from sim.base.yaml import YamlNode, parse_yaml
from sim.errors import InputError
from sim.schedule import Schedule

KEYS = ("ringside", "collective", "ranks", "pieces", "root", "columns")
USUAL = {"ranks": None, "pieces": 1, "root": 0}


def _looks_like_one(text: str) -> bool:
    return re.search(r"^ringside: *sketch", bare_lines(text).lstrip()[:2000], re.MULTILINE) is not None


@reader("sketch", "a sketch (text)", matches=_looks_like_one)
def read(text: str, *, name: str) -> Schedule:
    """What was drawn, column by column, each rank in the order of its columns. Raises InputError naming the line."""
    return read_sketch(text, name).schedule(f"{name}"[:80])


def read_sketch(text: str, name: str) -> Sketch:
    """The sketch itself. Raises InputError naming the line."""
    root = parse_yaml(text, name)
    nodes = root.mapping("a sketch", KEYS)
    if nodes["ringside"].text("ringside") != VERSION:
        nodes["ringside"].refuse("sketch.version", version=VERSION)
    for key in ("collective", "ranks", "columns"):
        if key not in nodes:
            root.refuse("sketch.missing", key=key)
    collective = nodes["collective"].text("collective")
    if collective not in collectives():
        why = "sketch.not_drawn" if collective in COLLECTIVES else "sketch.unknown"
        nodes["collective"].refuse(why, collective=collective, choices=collectives())
    numbers = {key: _number(nodes, key) for key in USUAL}
    sketch = Sketch(collective, numbers["ranks"], numbers["pieces"], numbers["root"])
    try:
        check_columns(sketch, ())
    except InputError as error:
        root.refuse(error)
    columns = []
    for k, node in enumerate(nodes["columns"].items("columns"), 1):
        try:
            columns.append(column_of(node.text("a column"), k))
            check_columns(sketch, (columns[-1],))
        except InputError as error:
            if str(error).startswith(name):
                raise
            node.refuse(error)
    return sketch.with_columns(tuple(columns))


def _number(nodes: dict[str, YamlNode], key: str) -> int:
    if key not in nodes:
        return USUAL[key] or 0
    text = nodes[key].text(key)
    number = whole(text)
    if number is None:
        nodes[key].refuse("sketch.whole", key=key, text=text)
    return number
