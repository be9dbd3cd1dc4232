"""How much work a reader does, counted and not timed: lines of Python, and letters that patterns and JSON are given."""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

PACKAGES = ("sim", "ops", "ui")
ANCHORED = ("match", "fullmatch")
_WITHOUT: dict[int, tuple[Any, int]] = {}
"""Tuples and dicts of modules that had no pattern in them, each with its length then."""


class Work:
    """Steps so far, and every pattern that was used with whether it was tried at one place only."""

    def __init__(self) -> None:
        self.steps = 0
        self.patterns: set[tuple[re.Pattern[str], bool]] = set()
        self.by_place: Counter[str] = Counter()

    def add(self, steps: int, what: str = "lines") -> None:
        self.steps += steps
        self.by_place[what] += steps


@contextmanager
def counted(*, lines: bool = True) -> Iterator[Work]:
    """Count the work of whatever our own modules do in this block; `lines` of Python are counted too unless told."""
    work, changed = Work(), []
    stand_ins: dict[int, Any] = {id(re): _Re(work), id(json): _Json(work)}
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and module.__name__.partition(".")[0] in PACKAGES:
            for name, value in list(vars(module).items()):
                other = stand_ins.get(id(value)) or _looked_through(value, work)
                if other is not value:
                    changed.append((module, name, value))
                    setattr(module, name, other)
    before = sys.gettrace()
    try:
        if lines:
            sys.settrace(_tracing(work))
        yield work
    finally:
        sys.settrace(before)
        for module, name, value in changed:
            setattr(module, name, value)


def _tracing(work: Work) -> Callable[..., Any]:
    def trace(frame: Any, event: str, _: object) -> Any:
        if event == "line":
            work.add(1)
        return trace

    return trace


def _looked_through(value: Any, work: Work) -> Any:
    """Return what `_with_counted` does; a value without patterns is looked through again when it has grown."""
    if type(value) not in (tuple, dict):
        return _with_counted(value, work)
    known, length = _WITHOUT.get(id(value), (None, 0))
    if known is value and length == len(value):
        return value
    other = _with_counted(value, work)
    if other is value:
        _WITHOUT[id(value)] = value, len(value)
    return other


def _with_counted(value: Any, work: Work) -> Any:
    """Return a value with its patterns exchanged for counted ones; the value itself where it has none."""
    if isinstance(value, re.Pattern):
        return _Pattern(value, work)
    if type(value) is tuple:
        others = tuple(_with_counted(one, work) for one in value)
        return others if any(a is not b for a, b in zip(others, value, strict=True)) else value
    if type(value) is dict and len(value) < 1000:
        by_key = {key: _with_counted(one, work) for key, one in value.items()}
        return by_key if any(by_key[key] is not one for key, one in value.items()) else value
    return value


@cache
def _widest(pattern: re.Pattern[str]) -> int:
    """Return how many letters a pattern takes at most."""
    return int(parser.parse(pattern.pattern, pattern.flags).getwidth()[1])


class _Pattern:
    """A pattern that counts the letters it is given."""

    def __init__(self, pattern: re.Pattern[str], work: Work) -> None:
        self._pattern, self._work = pattern, work

    def __getattr__(self, name: str) -> Any:
        its = getattr(self._pattern, name)
        if not callable(its):
            return its

        def call(*args: Any, **options: Any) -> Any:
            self._work.patterns.add((self._pattern, name in ANCHORED))
            text = args[1] if name in ("sub", "subn") else args[0]
            begin = args[1] if len(args) > 1 and name not in ("sub", "subn", "split") else 0
            result = its(*args, **options)
            seen = max(0, len(text) - begin)
            if name in ANCHORED:
                seen = result.end() - begin if result else min(seen, _widest(self._pattern))
            elif name == "search" and result:
                seen = result.end() - begin
            self._work.add(seen, self._pattern.pattern[:60])
            return result

        return call


class _Re:
    """The module `re` whose patterns count."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:
        its = getattr(re, name)
        if name == "compile":
            return lambda *args, **options: _Pattern(re.compile(*args, **options), self._work)
        if name not in ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"):
            return its

        def call(pattern: Any, *args: Any, flags: int = 0, **options: Any) -> Any:
            usual = {"sub": 3, "subn": 3, "split": 2}.get(name, 1)
            if len(args) > usual:
                *args, flags = args  # type: ignore[assignment]
            return getattr(_Pattern(re.compile(pattern, flags), self._work), name)(*args, **options)

        return call


class _Json:
    """The module `json` whose decoders count the letters they get through."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:
        return getattr(json, name)

    def loads(self, text: str, **options: Any) -> Any:
        return self._count(text, 0, lambda: json.loads(text, **options), lambda _: len(text))

    def JSONDecoder(self) -> Any:  # noqa: N802
        outer = self

        class Decoder(json.JSONDecoder):
            def raw_decode(self, text: str, at: int = 0) -> Any:
                return outer._count(text, at, lambda: json.JSONDecoder().raw_decode(text, at), lambda it: it[1])

        return Decoder()

    def _count(self, text: str, at: int, decode: Callable[[], Any], end: Callable[[Any], int]) -> Any:
        last = len(text)
        try:
            result = decode()
            last = end(result)
        except json.JSONDecodeError as error:
            last = error.pos
            raise
        finally:
            self._work.add(max(0, last - at) + 1, "json")
        return result
