"""Sentences that readers refuse with, read off their sources: what languages shall have words for."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
READERS = (
    "sim/base/formats.py",
    "sim/base/files/textfile.py",
    "sim/base/xml.py",
    "sim/base/yaml.py",
    "sim/faults/edits",
    "sim/formats",
    "sim/engine/__init__.py",
    "sim/engine/job.py",
    "sim/errors.py",
    "sim/parameters.py",
    "sim/faults/helpers.py",
    "sim/placement/words.py",
    "sim/registry.py",
    "sim/base/size.py",
    "sim/engine/stall.py",
    "sim/topology/model.py",
    "sim/topology/networks.py",
    "sim/topology/pair_rates.py",
    "sim/topology/routing/__init__.py",
    "sim/faults/kinds",
    "sim/units.py",
    "ops/algorithms",
    "ops/formats",
    "ops/measured/files.py",
    "ops/measured/formats",
    "ops/patterns.py",
    "ops/registry.py",
    "ops/plan/link.py",
    "ops/plan/notation.py",
    "ops/plan/packing.py",
    "ops/plan/plan_file.py",
    "ops/plan/words.py",
    "ui/learning/predictions.py",
    "ui/pages/build.py",
    "ui/pages/lab.py",
    "ui/plan/beginning.py",
    "ui/talk",
)
"""Where what people bring is read, and what they name is looked up."""
TELLING = ("InputError", "UnreachableError", "refuse")
"""What is called with the sentence of a refusal."""
SAYING = ("Sentence", "str | None")
"""What a function returns whose strings are an error's, or say why a number of ranks cannot be done."""
NOT_READ = ("writer.py", "layout.py", "tasks.py")
"""Files among these that write: nothing that is brought is refused there."""
PREFIX = "refusal."


def refusals() -> dict[str, str]:
    """All refusals of readers, as their sources have them, and what these say may be given, by the id of their text."""
    from ops.formats import SCHEDULE_FORMATS
    from ops.measured.formats import MEASUREMENTS
    from sim.formats import FORMATS

    titles = [entry.title for formats in (FORMATS, SCHEDULE_FORMATS, MEASUREMENTS) for entry in formats.values()]
    return {PREFIX + sentence: sentence for sentence in [*titles, *_all_refused()] if re.search("[a-z]{2}", sentence)}


@cache
def _all_refused() -> tuple[str, ...]:
    """The sentences of all sources, which are read once: they are nearly a megabyte."""
    return tuple(words for path in _sources() for words in _refused(ast.parse(path.read_text(encoding="utf-8"))))


def _sources() -> Iterator[Path]:
    for name in READERS:
        path = ROOT / name
        yield from (
            each for each in sorted(path.rglob("*.py") if path.is_dir() else [path]) if each.name not in NOT_READ
        )


def _refused(tree: ast.AST) -> Iterator[str]:
    """The sentences that are given to what raises an InputError."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = str(getattr(node.func, "id", getattr(node.func, "attr", "")))
            if name.lstrip("_") in TELLING:
                yield from (words for argument in node.args for words in _worded(argument))
        if isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns) in SAYING:
            yield from (words for line in node.body for words in _said(line) if words != ast.get_docstring(node, False))


def _said(node: ast.AST) -> Iterator[str]:
    """Every string below a place; of one with places to fill in, not its pieces."""
    if isinstance(node, ast.JoinedStr | ast.Constant):
        yield from _worded(node)
    else:
        yield from (words for part in ast.iter_child_nodes(node) for words in _said(part))


def _worded(node: ast.expr) -> list[str]:
    """What an expression may say, with braces for what it fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)]  # type: ignore[misc]
    if isinstance(node, ast.IfExp):
        return [*_worded(node.body), *_worded(node.orelse)]
    if isinstance(node, ast.BinOp):
        return [one + other for one in _worded(node.left) for other in _worded(node.right)]
    return []
