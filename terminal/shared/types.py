"""Types of options: what a person types becomes a value, or one sentence that names the flag and the mend."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import click

from sim.errors import InputError
from sim.parameters import Parameter, parse_assignments, quoted
from sim.units import parse_size, parse_time


class TypedWord(click.ParamType[Any]):
    """A text that `parse(text, flag)` turns into a value. Its InputError is told as it stands."""

    def __init__(self, name: str, parse: Callable[[str, str], Any]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """Called by click."""
        return self._parse(value, param.opts[0] if param else self.name) if isinstance(value, str) else value


class EntryOption(click.Option):
    """An option for the name of an entry of a list; its help ends with the names there are.

    What loads a list is loaded when its names are asked for.
    """

    def __init__(self, *args: Any, of: Callable[[], Iterable[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._of = of

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Called by click. Only here is the list loaded."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]}: {', '.join(self._of())}")


def _number(kind: str) -> Callable[[str, str], Any]:
    return lambda text, flag: Parameter(flag, kind, None).parse(text, "the command line")


def _ranks(text: str, flag: str) -> int:
    ranks: int = _number("int")(text, flag)
    if ranks == 0:
        raise InputError("option.no_ranks", flag=flag)
    return ranks


def _language(text: str, flag: str) -> str:
    from ui.text import languages  # only commands that draw need it

    if text not in languages():
        raise InputError("option.language", option=flag, language=text, choices=languages())
    return text


def _blocks(text: str, flag: str) -> list[int]:
    from ops.plan.notation import parse_blocks  # what every command loads has to be small

    return parse_blocks(text, flag)


_LIST = re.compile(r"[,;](?![^,;=]{1,64}=)")
"""What separates values of one parameter, as in NCCL_IB_HCA, and not parameters."""


def _assignment(text: str, flag: str) -> str:
    ((key, value),) = parse_assignments([text], flag).items()
    return f"{key}={quoted(value)}" if _LIST.search(value) else f"{key}={value}"


WHOLE = TypedWord("whole number", _number("int"))
RANKS = TypedWord("ranks", _ranks)
NUMBER = TypedWord("number", _number("float"))
SIZE = TypedWord("size", parse_size)
TIME = TypedWord("time", parse_time)
BLOCKS = TypedWord("sizes", _blocks)
ASSIGNMENT = TypedWord("key=value", _assignment)
LANGUAGE = TypedWord("language", _language)
"""Of what is written for people."""
