"""What `import ringside` offers, as a page; `python -m docs` writes it."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_args

from sim.units import Unit

STUB = Path(__file__).resolve().parent.parent / "package" / "ringside" / "__init__.pyi"
HEAD = """# What can be imported

The names of the package `ringside`, from which `from ringside import run` has them. In a checkout each comes from the
module beside it. Everything else in `sim` and `ops` may change from one version to the next. This page is made by
`python -m docs`; a test says when it is stale.

Sizes are bytes, times seconds, bandwidths bytes per second. Input that cannot be used raises `InputError`, which is a
ValueError, with one sentence; a value of the wrong kind raises a subclass that is a TypeError too.
"""
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
ENTRY = re.compile(r"^(\S.*)$", re.MULTILINE)


class PublicName(NamedTuple):
    """A name of the package: the module it comes from and what it is."""

    name: str
    module: str
    value: Any


def names() -> list[PublicName]:
    """Return all names of the package, in alphabetical order without regard to case."""
    stub = ast.parse(STUB.read_text(encoding="utf-8"))
    pairs = [
        (alias.name, node.module or "")
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    found = []
    for name, module in sorted(pairs, key=lambda pair: pair[0].casefold()):
        place = import_module(module)
        value = getattr(place, name) if hasattr(place, name) else import_module(f"{module}.{name}")
        found.append(PublicName(name, module, value))
    return found


def page() -> str:
    """Return the whole page, in Markdown."""
    every = names()
    functions = [one for one in every if inspect.isfunction(one.value)]
    classes = [one for one in every if inspect.isclass(one.value)]
    rest = [one for one in every if one not in functions and one not in classes]
    parts = [HEAD, "## Functions\n", *map(_function, functions), "## Classes\n", *map(_class, classes)]
    return "\n".join([*parts, "## Lists, units and kinds\n", *map(_value, rest)]) + "\n"


def _function(one: PublicName) -> str:
    return f"### {one.name}\n\n`{one.name}{_signature(one.value)}`, from `{one.module}`\n\n{_text(one.value)}\n"


def _class(one: PublicName) -> str:
    members = "".join(_members(one.value))
    return f"### {one.name}\n\nFrom `{one.module}`.\n\n{_text(one.value)}\n" + (f"\n{members}" if members else "")


def _members(kind: type) -> Iterator[str]:
    """A line for every public property and method that a class defines itself, in its own order."""
    for name, member in vars(kind).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        called = (
            name if function is not member and not isinstance(member, classmethod) else f"{name}{_signature(function)}"
        )
        yield f"- `{called}`: {_summary(function)}\n"


def _value(one: PublicName) -> str:
    if isinstance(one.value, ModuleType):
        words = f"the module `{one.module}.{one.name}`. {_summary(one.value)}"
    elif units := [part for part in get_args(one.value) if isinstance(part, Unit)]:
        words = f"annotation of a parameter that is a {units[0].name}, typed like `{units[0].example}`"
    elif isinstance(one.value, int | float):
        words = f"`{one.value:g}`" if isinstance(one.value, float) else f"`{one.value}`"
    else:
        words = f"list of entries by name, from `{one.module}`. " + _summary(type(one.value))
    return f"- `{one.name}`: {words}"


def _signature(function: Any) -> str:
    """A function's parameters and result as they are written."""
    node = ast.parse(_dedented(function)).body[0]
    assert isinstance(node, ast.FunctionDef)
    node.args.args = [argument for argument in node.args.args if argument.arg not in ("self", "cls")]
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(node.args)}){result}".replace('"', "").replace("'str", "str")


def _dedented(function: Any) -> str:
    source = inspect.getsource(function)
    indent = len(source) - len(source.lstrip())
    return "\n".join(line[indent:] for line in source.splitlines())


def _summary(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def _text(thing: Any) -> str:
    """A docstring in numpydoc's sections as Markdown."""
    first, *rest = SECTION.split(inspect.getdoc(thing) or "")
    parts = [first.strip()]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        if title == "Examples":
            parts.append(f"**{title}**\n\n```python\n{body.strip()}\n```")
        else:
            parts.append(f"**{title}**\n\n" + "\n".join(_entries(body)))
    return "\n\n".join(parts)


def _entries(body: str) -> Iterator[str]:
    """What a section lists: a line for each entry, with its description."""
    _, *parts = ENTRY.split(body.strip("\n"))
    for head, text in zip(parts[::2], parts[1::2], strict=True):
        yield f"- `{head}`: {' '.join(text.split())}" if text.strip() else f"- {head}"


if __name__ == "__main__":
    sys.stdout.write(page())
