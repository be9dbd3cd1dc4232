"""What can be imported, as a page; `python -m docs` writes it."""

import ast
import inspect
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACES = (
    *("ops/algorithms", "ops/formats", "ops/programs", "ops/workloads"),
    *("sim/faults/edits", "sim/formats", "sim/machines", "sim/faults/kinds"),
    *("sim/base", "sim/fabric", "ops/collectives", "ops/measured/formats"),
)
"""Folders of entries that registries find, and of machinery: only the face is imported by name."""

HEAD = """# What can be imported

Every public name of `sim` (the machine, schedules, time) and `ops` (what is run on it), with its signature and the
first paragraph of what it says of itself; the rest is in the code. Names that a package's face has are imported from
there. Algorithms are on [a page of their own](algorithms.md); other entries of lists are shown by `cli.py list`. This
page is made by `python -m docs`; a test says when it is stale.

Sizes are bytes, times seconds, bandwidths bytes per second. Where nothing else is said, input that cannot be used
raises `sim.errors.InputError` with one sentence.
"""


def page() -> str:
    """The whole page, in Markdown."""
    return HEAD + "".join(_section(path) for room in ("sim", "ops") for path in _modules(ROOT / room))


def _modules(room: Path) -> Iterator[Path]:
    """Source files whose names people import: a package's face first, then its modules."""
    for path in sorted(room.rglob("*.py"), key=lambda path: (path.parent.parts, path.name != "__init__.py", path.name)):
        inside = next((name for name in FACES if path.is_relative_to(ROOT / name)), None)
        if not path.name.startswith("__main__") and (inside is None or path == ROOT / inside / "__init__.py"):
            yield path


def _section(path: Path) -> str:
    module = ast.parse(path.read_text(encoding="utf-8"))
    entries = [line for node, below in zip_longest(module.body, module.body[1:]) for line in _entry(node, "", below)]
    face = _face(module) if path.name == "__init__.py" else ""
    if not (entries or face):
        return ""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    lines = [
        f"\n## {name}\n",
        _first_paragraph(module),
        *([f"\n{face}"] if face else []),
        *(["", *entries] if entries else []),
    ]
    return "\n".join(lines) + "\n"


def _face(module: ast.Module) -> str:
    """The names that a package has from its modules."""
    names = [
        alias.name
        for node in module.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("sim", "ops")
        for alias in node.names
    ]
    listed = [
        node for node in module.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return "Has " + ", ".join(f"`{name}`" for name in sorted(names, key=str.casefold)) + "." if names and listed else ""


def _entry(node: ast.stmt, indent: str, below: ast.stmt | None = None) -> Iterator[str]:
    """The lines of a public function, of a public class and what is public in it, or of a name that says what it is."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and not indent:
        name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and str(below.value.value)
        if said and not name.startswith("_"):
            yield f"- `{name}`: {_joined(said)}"
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
        marks = {ast.unparse(mark) for mark in node.decorator_list}
        if "overload" in marks:  # what it stands before says it all
            return
        if marks & {"property", "cached_property"}:
            yield f"{indent}- `{node.name}{_result(node)}`: {_first_paragraph(node)}"
        else:
            arguments = ast.unparse(_without_self(node.args) if indent else node.args)
            yield f"{indent}- `{node.name}({arguments}){_result(node)}`: {_first_paragraph(node)}"
    elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
        fields = [
            f"{field.target.id}: {ast.unparse(field.annotation)}"
            for field in node.body
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id[0] != "_"
        ]
        yield (
            f"{indent}- `class {node.name}"
            + (f"({', '.join(fields)})" if fields else "")
            + f"`: {_first_paragraph(node)}"
        )
        for inner in node.body:
            yield from _entry(inner, indent + "  ")


def _without_self(arguments: ast.arguments) -> ast.arguments:
    rest = [argument for argument in arguments.args if argument.arg not in ("self", "cls")]
    return ast.arguments(
        posonlyargs=arguments.posonlyargs,
        args=rest,
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=arguments.kw_defaults,
        kwarg=arguments.kwarg,
        defaults=arguments.defaults,
    )


def _result(node: ast.FunctionDef) -> str:
    return f" -> {ast.unparse(node.returns)}" if node.returns else ""


def _first_paragraph(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str:
    return _joined(ast.get_docstring(node) or "")


def _joined(text: str) -> str:
    """A docstring's first paragraph in one line."""
    return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())


if __name__ == "__main__":
    sys.stdout.write(page())
