"""The rooms of `ui`: what a person does stands above what it is drawn with, and imports point down."""

import ast
from pathlib import Path

from tests.test_house import nodes_of

ROOT = Path(__file__).parents[2]
LEVELS = (
    {"base"},
    {"layout"},
    {"player"},
    {"drawing"},
    {"drawings", "charts"},
    {"export"},
    {"lessons"},
    {"plan"},
    {"learning", "story"},
    {"talk"},
    {"workers", "files", "notebook"},
    {"simulate"},
    {"navigation"},
    {"controls"},
    {"train", "build", "draw", "share", "explore"},
    {"learn", "whatif"},
    {"frame"},
    {"server"},
    {"pages"},
)
"""Rooms, lowest first; rooms of one level know nothing of each other."""
BASE = {"address", "state", "text", "visit", "lessons.__init__", "pages.__init__"}
"""What every room may import: single modules, and lists whose entries are files of a room."""
MODULES = {".".join(path.relative_to(ROOT / "ui").with_suffix("").parts): path for path in (ROOT / "ui").rglob("*.py")}
MOST = 13
"""Files of a room; a room that is a list has as many as there are entries."""


def room_of(module):
    return "base" if module in BASE else module.partition(".")[0]


def imported_by(module):
    """Modules of `ui` that a module imports, wherever the import stands."""
    for node in nodes_of(MODULES[module]):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [str(node.module)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            part = name.removeprefix("ui.")
            if name.startswith("ui.") and (part in MODULES or f"{part}.__init__" in MODULES):
                yield part if part in MODULES else f"{part}.__init__"


def test_every_room_has_a_level():
    assert {room_of(module) for module in MODULES} == set().union(*LEVELS) | {"__init__"}


def test_imports_of_ui_go_one_way():
    level = {room: height for height, rooms in enumerate(LEVELS) for room in rooms}
    arrows = [
        (module, other)
        for module in MODULES
        for other in imported_by(module)
        if (here := room_of(module)) != (there := room_of(other)) and level[there] >= level[here]
    ]
    assert sorted(set(arrows)) == []
    assert len({(room_of(m), room_of(o)) for m in MODULES for o in imported_by(m)}) > 50


def test_no_room_of_ui_has_too_many_files():
    counts = {room: sum(room_of(module) == room for module in MODULES) for room in set().union(*LEVELS)}
    assert {room: count for room, count in counts.items() if count > MOST} == {"lessons": counts["lessons"]}
