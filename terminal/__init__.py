"""The terminal's commands, one file each; `@command` puts a function on the only list.

A command is a function from the parsed arguments to an Answer. Its name is the word a person types, the first
line of its docstring the help. Heavy imports happen inside the command that needs them.
"""

import argparse
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

PROGRAM = "cli.py" if __name__ == "terminal" else __name__.partition(".")[0]
"""What messages call the program: as a package it has a command of its own."""
DONE, NO, BAD_INPUT = 0, 1, 2
"""Exit statuses: done; the answer is no (a wrong schedule, a rank nothing reaches); the input cannot be used."""


class Answer(NamedTuple):
    """What a command has to say: the exit status, and the same thing as data and as text."""

    status: int
    found: dict[str, Any]
    text: str


class Argument(NamedTuple):
    """What `argparse.ArgumentParser.add_argument` is called with."""

    names: tuple[str, ...]
    options: dict[str, Any]


Run = Callable[[argparse.Namespace], Answer]


class Command(NamedTuple):
    """A word a person types, and what it does."""

    name: str
    run: Run
    arguments: tuple[Argument, ...]

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.run) or "").split("\n")[0]


_FOUND: dict[str, Command] = {}


@cache
def commands() -> dict[str, Command]:
    """Every command by name; the modules of this package are imported at the first look."""
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return _FOUND


def argument(*names: str, **options: Any) -> Argument:
    """An argument of a command, given as to argparse."""
    return Argument(names, options)


def command(*arguments: Argument) -> Callable[[Run], Run]:
    """Register a function under its own name, `_` at the end left out and `-` for `_`; returned unchanged."""

    def register(run: Run) -> Run:
        name = run.__name__.rstrip("_").replace("_", "-")
        if name in _FOUND:
            raise ValueError(f"two commands are called {name}")
        _FOUND[name] = Command(name, run, arguments)
        return run

    return register
