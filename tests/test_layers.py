"""Imports point one way: sim <- ops <- ui <- app.py, terminal <- cli.py; heavy packages stay in their one place."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from tests.test_house import nodes_of

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"sim": 0, "ops": 1, "ui": 2, "app": 3, "terminal": 3, "cli": 4}
FILES = [p for room in ROOMS for p in (*sorted((ROOT / room).rglob("*.py")), ROOT / f"{room}.py") if p.is_file()]
HEAVY = {
    "simpy": {"sim/engine/__init__.py"},
    "numba": {"sim/base/compiled.py", "sim/base/machine_code/cache.py"},
    "yaml": {"sim/base/yaml.py"},
}
"""The only files that may import these."""
RANK = ROOT / "ops/programs/pytorch/rank"
"""Modules that the processes of a script load under another name, so that they import each other relatively."""
PICTURES = {"streamlit", "matplotlib", "PIL", "plotly", "altair"}


def imported(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The top-level packages that a source imports, anywhere in it."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.add((node.module or "").split(".")[0])
    return frozenset(found)


@cache
def imported_by(path: Path) -> frozenset[str]:
    """The top-level packages that a file imports."""
    nodes = nodes_of(path)
    if path.is_relative_to(RANK):
        return imported(node for node in nodes if not (isinstance(node, ast.ImportFrom) and node.level))
    return imported(nodes)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_imports_are_seen_wherever_they_stand():
    source = "import a.b, c\ndef f():\n    from d.e import x\nif TYPE:\n    import g as h\n"
    assert imported(ast.walk(ast.parse(source))) == {"a", "c", "d", "g"}


def test_every_room_is_looked_at():
    assert {room_of(path) for path in FILES} == set(ROOMS)
    assert ROOT / "sim" / "engine" / "__init__.py" in FILES


def test_imports_point_one_way():
    wrong = {}
    for path in FILES:
        rooms = imported_by(path) & set(ROOMS)
        wrong[name_of(path)] = rooms & {"app", "cli", *(r for r in rooms if ROOMS[r] > ROOMS[room_of(path)])}
    assert {name: rooms for name, rooms in wrong.items() if rooms} == {}


@pytest.mark.parametrize("package", HEAVY)
def test_one_file_alone_imports_a_heavy_package(package):
    users = {name_of(path) for path in FILES if package in imported_by(path)}
    assert users == HEAVY[package]


def test_the_simulator_draws_nothing():
    looked_at = [path for path in FILES if room_of(path) in ("sim", "ops", "terminal", "cli")]
    drawing = {name_of(path): imported_by(path) & PICTURES for path in looked_at}
    assert {name: packages for name, packages in drawing.items() if packages} == {}
