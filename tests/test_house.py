"""How the house is built: imports without circles, functions and folders of a size to hold in mind, names used once."""

import ast
from collections import Counter
from collections.abc import Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("sim", "ops", "ui", "terminal")
FILES = [*(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))), ROOT / "app.py", ROOT / "cli.py"]
LINES, DOZEN = 60, 12
KERNELS = {"jit", "helper"}
"""Decorators of compiled functions: in them a call costs something, so they may be long."""
LISTS = {
    *(
        "docs",
        "docs/decisions",
        "docs/examples",
        "ops/algorithms",
        "ops/workloads",
        "sim/formats",
        "sim/machines",
        "sim/faults/kinds",
        "ops/collectives/promises",
        "ops/formats",
        "ops/measured/formats",
    ),
    *("terminal", "ui/lessons", "ui/pages"),
}
"""Folders that hold one file per entry of a list, or per page: as many as there are entries."""


def name_of(path: Path) -> str:
    """The module that a file is."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """A file's syntax tree, walked through once for all rules."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def imports(nodes: Iterable[ast.AST], modules: set[str]) -> set[str]:
    """The modules of the project that a source imports, anywhere in it, for types alone too."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names} & modules
            found |= inside
            if len(inside) < len(node.names):
                found.add(node.module)
    return found & modules


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """One circle of imports, or nothing."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def lines_of_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """What a function says of itself is no code: one that many call has a section for each parameter."""
    return node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node, clean=False) else 0


def long_functions(path: Path) -> set[str]:
    """Functions of more than sixty lines of code, compiled ones aside; nested ones count with what holds them, too."""
    return {
        f"{name_of(path)}:{node.name}"
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 - lines_of_docstring(node) > LINES
        and not KERNELS & {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
    }


def test_a_circle_is_seen():
    modules = {"a", "a.b", "c"}
    inside = ast.parse("from a import b\nif TYPE_CHECKING:\n    import c\n")
    assert imports(ast.walk(inside), modules) == {"a.b", "c"}
    assert imports(ast.walk(ast.parse("def f():\n    from a import name, b")), modules) == {"a", "a.b"}
    assert circle({"a": {"c"}, "c": set()}) == []
    assert set(circle({"a": {"c"}, "c": {"a"}})) == {"a", "c"}


def test_no_imports_go_round_in_a_circle():
    modules = {name_of(path): path for path in FILES}
    arrows = {name: imports(nodes_of(path), set(modules)) - {name} for name, path in modules.items()}
    assert circle(arrows) == []


def test_no_function_is_longer_than_a_screen():
    assert set().union(*map(long_functions, FILES)) == set()


def test_no_folder_holds_more_than_a_dozen_files_unless_it_is_a_list():
    folders = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for room in (*ROOMS, "assets", "docs")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != "__init__.py"
    )
    assert sum(folders.values()) > 200
    full = {folder for folder, count in folders.items() if count > DOZEN and folder not in LISTS}
    assert full == set()


def test_no_class_has_the_name_of_another():
    names = Counter(node.name for path in FILES for node in nodes_of(path) if isinstance(node, ast.ClassDef))
    assert sum(names.values()) > 100
    assert {name for name, count in names.items() if count > 1} == set()
