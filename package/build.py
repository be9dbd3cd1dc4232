"""Makes the package `ringside` out of a checkout: hatchling calls these hooks for `pip install .` and `pip wheel .`.

In a checkout the rooms are modules of their own, `sim` and `ops` among them; in the package they are `ringside.sim` and
`ringside.ops`. So every Python file is written anew with the names changed where the syntax tree has them.
"""

import ast
import re
import shutil
import symtable
import sys
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGE = "ringside"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CONTENTS = ("sim", "ops", "ui", "terminal", "assets", ".streamlit", "cli.py", "app.py")
"""What becomes part of the package, under the same name; what else belongs to it lies in `package/ringside`."""
IMPORTERS = {"import_module", "__import__", "find_spec", "run_module"}
"""Functions whose first argument names a module."""

NAMING = (ast.Import, ast.ImportFrom, ast.Constant, ast.Call)
"""Nodes that may hold the name of a module."""
Place = ast.expr | ast.stmt | ast.alias
Span = tuple[int, int]
"""Where a piece of a source begins and ends, in bytes."""


class Renaming:
    """Puts the modules of `sources` (Python files by path, as from the checkout's top) below a package.

    Changed are imports wherever they stand, and strings that are nothing but the dotted name of a module or of
    something in it. Docstrings, comments and other text stay. Lines keep their numbers.
    """

    def __init__(self, package: str, sources: Mapping[str, str]) -> None:
        self._package = package
        self._names = {_dotted(path): _names(source, path) for path, source in sources.items()}
        self._rooms = {module.partition(".")[0] for module in self._names}
        strings = rf"""["']({"|".join(self._rooms)})["'.]"""
        self._may_name = re.compile("|".join((strings, *IMPORTERS)))  # only then expressions are looked at, too

    def renamed(self, source: str, path: str) -> str:
        """A source as it stands in the package. Raises ValueError where a module's name is put together."""
        code = source.encode()
        starts = [0, *accumulate(len(line) for line in code.splitlines(keepends=True))]
        edits: dict[Span, str] = {}
        expressions = self._may_name.search(source) is not None
        named = (node for node in _nodes(ast.parse(source, path), expressions=expressions) if isinstance(node, NAMING))
        for node in named:
            for place, text in self._edits(node, path):
                begin = starts[place.lineno - 1] + place.col_offset
                end = starts[(place.end_lineno or place.lineno) - 1] + (place.end_col_offset or 0)
                if isinstance(place, ast.ImportFrom):
                    begin = end = begin + len(re.match(rb"from[\s\\]+", code[begin:])[0])  # type: ignore[index]
                edits[begin, end] = text
        for (begin, end), text in sorted(edits.items(), reverse=True):
            code = code[:begin] + text.encode() + code[end:]
        return code.decode()

    def _edits(self, node: ast.AST, path: str) -> Iterator[tuple[Place, str]]:
        """What a node is to be replaced with; of `from … import` only what goes before the module."""
        match node:
            case ast.Import():
                yield from ((alias, self._alias(alias)) for alias in node.names if self._is_ours(alias.name))
            case ast.ImportFrom(level=0, module=str(module)) if self._is_ours(module):
                yield node, f"{self._package}."
            case ast.Constant(value=str(text)) if self._names_a_module(text):
                yield node, repr(f"{self._package}.{text}")
            case ast.Call(args=[ast.Constant(value=str(text)) as first, *_]) if _imports(node) and self._is_ours(text):
                yield first, repr(f"{self._package}.{text}")
            case ast.Call(args=[first, *_]) if _imports(node) and self._is_ours(_beginning(first)):
                raise ValueError(f"{path}, line {node.lineno}: begin the module's name with __name__ or __package__")

    def _alias(self, alias: ast.alias) -> str:
        """One name of an `import`, which binds what it did before."""
        module = f"{self._package}.{alias.name}"
        if alias.asname:
            return f"{module} as {alias.asname}"
        room = alias.name.partition(".")[0]
        bound = f"{self._package}.{room} as {room}"
        return bound if alias.name == room else f"{module}, {bound}"

    def _is_ours(self, module: str) -> bool:
        return module.partition(".")[0] in self._rooms

    def _names_a_module(self, text: str) -> bool:
        """Whether a string is the dotted name of a module or of something in one; a single word is just a word."""
        module, dot, name = text.rpartition(".")
        return bool(dot) and (text in self._names or name in self._names.get(module, ()))


def _nodes(tree: ast.AST, *, expressions: bool) -> Iterator[ast.AST]:
    """Yield every node that has a place of its own in the source; of statements alone where that is enough.

    The text between the braces of an f-string has no place.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        without = ast.Constant if isinstance(node, ast.JoinedStr) else () if expressions else ast.expr
        waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, without))


def _imports(call: ast.Call) -> bool:
    function = call.func
    return (function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")) in IMPORTERS


def _beginning(text: ast.expr) -> str:
    """What a string that is put together begins with, as far as that is known."""
    while not isinstance(text, ast.Constant):
        if isinstance(text, ast.JoinedStr) and text.values:
            text = text.values[0]
        elif isinstance(text, ast.BinOp):
            text = text.left
        else:
            return ""
    return str(text.value)


def _dotted(path: str) -> str:
    return re.sub(r"(/__init__)?\.pyi?$", "", path).replace("/", ".")


def _names(source: str, path: str) -> set[str]:
    """What a module defines or imports at its top."""
    symbols = symtable.symtable(source, path, "exec").get_symbols()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}


def files(root: Path) -> dict[str, Path]:
    """The package's files by their path in it, without what programs leave behind in folders."""
    paths = {}
    for folder, names in ((root, CONTENTS), (root / "package" / PACKAGE, ("",))):
        for top in (folder / name for name in names):
            for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
                left_behind = any(part.startswith((".", "__pycache__")) for part in path.relative_to(top).parts)
                if path.is_file() and not left_behind:
                    paths[path.relative_to(folder).as_posix()] = path
    return paths


def write(root: Path, folder: Path) -> None:
    """Write the package into a folder."""
    paths = files(root)
    sources = {name: path.read_text(encoding="utf-8") for name, path in paths.items() if name.endswith((".py", ".pyi"))}
    rooms = {name: source for name, source in sources.items() if not name.startswith("__")}
    renaming = Renaming(PACKAGE, rooms)
    for name, path in paths.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in sources:
            target.write_text(renaming.renamed(sources[name], name), encoding="utf-8")
        else:
            shutil.copyfile(path, target)
    sys.path.insert(0, str(root))
    from package.scripts import write_scripts

    write_scripts(folder / "assets")


class Requirements(MetadataHookInterface):
    """Reads what the package needs from the one list of it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
        metadata["dependencies"] = [line for line in lines if line and not line.startswith("#")]


class Wheel(BuildHookInterface[Any]):
    """Fills the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds."""
        if version == "editable":
            raise SystemExit(
                f"{PACKAGE} cannot be installed editable, as its modules have other names in a checkout:"
                " run `python cli.py` there, or `pip install .` again after a change"
            )
        self._folder = TemporaryDirectory()
        package = Path(self._folder.name) / PACKAGE
        write(ROOT, package)
        tops = Path(self._folder.name) / "top_level.txt"
        tops.write_text(f"{PACKAGE}\n", encoding="utf-8")
        about = f"{PACKAGE}-{self.metadata.version}.dist-info"
        build_data["force_include"] |= {str(package): PACKAGE, str(tops): f"{about}/{tops.name}"}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Called by hatchling when the wheel is there."""
        self._folder.cleanup()
