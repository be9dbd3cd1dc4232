"""An algorithm in a Python file of a person's own. The file is executed, so its name comes from the command line."""

import inspect
import os
import runpy
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from ops.collectives import COLLECTIVES, Collective
from ops.registry import ALGORITHMS, Algorithm, algorithm
from sim.base.files.user_files import user_builtins
from sim.base.watch import check_transfers
from sim.errors import InputError, Message
from sim.schedule import Step

_PASSED_ON = (KeyboardInterrupt, MemoryError, InputError)
"""What a person's own lines may raise as it is."""
MOST_PIECES = 1 << 16
"""Of a block; each is a place of its own at every rank."""


def python_file(text: str) -> tuple[str, str] | None:
    """File and function of `file.py` or `file.py:function`; None for any other file."""
    file, _, function = text.rpartition(":")
    if text.endswith(".py"):
        return text, ""
    return (file, function) if file.endswith(".py") else None


def algorithm_of_file(text: str, collective: str | None) -> Algorithm:
    """The algorithm that `file.py:function` is, or `file.py` alone if it is the only one there.

    A function without `@algorithm` carries out `collective`. Without `pieces=`, its slots are taken for the
    collective's blocks, cut as fine as the highest slot it names asks for. Raises InputError naming the line.
    """
    path, function = python_file(text) or (text, "")
    with ALGORITHMS.aside() as registered:
        names = _executed(path)
        made = [value for value in names.values() if inspect.isgeneratorfunction(value) and _lives_in(value, path)]
        entries = {entry.steps: entry for entry in registered.values()}
        steps = _chosen(path, function, names, [value for value in made if not entries or value in entries])
        entry = entries.get(steps)
        if entry is None:
            if collective is None:
                raise InputError("python.which", path=path, function=steps.__name__)
            algorithm(_collective(collective))(steps)
            entry = next(reversed(registered.values()))
        elif collective is not None:
            raise InputError(
                "python.other",
                path=path,
                function=steps.__name__,
                collective=entry.collective.name,
                collective2=collective,
            )
    _check_annotations(entry, path)
    entry = replace(entry, steps=_with_lines(steps, path))
    return replace(entry, pieces=_counted(entry.pieces, path) if entry.pieces else _fitting(entry))


def _executed(path: str) -> dict[str, Any]:
    if not os.path.isfile(path):  # unlike pathlib it has an answer for a name that is too long
        raise InputError("python.no_file", path=path)
    try:
        return runpy.run_path(path, {"__builtins__": user_builtins()})
    except SyntaxError as error:
        raise InputError("python.syntax", path=path, line=error.lineno or 1, error=error.msg) from None
    except _PASSED_ON:
        raise
    except BaseException as error:  # noqa: BLE001  a file may raise anything, SystemExit included
        raise _as_input_error(error, path) from None


def _lives_in(value: Any, path: str) -> bool:
    return bool(inspect.unwrap(value).__code__.co_filename == path)


def _chosen(path: str, function: str, names: dict[str, Any], made: list[Any]) -> Callable[..., Any]:
    choices = [f"{path}:{steps.__name__}" for steps in made]
    mend = Message("choose.from", names=choices) if choices else Message("python.define")
    if function:
        steps = names.get(function)
        if not inspect.isgeneratorfunction(steps):
            raise InputError("python.no_function", path=path, function=function, remedy=mend)
        return steps
    if len(made) != 1:
        raise InputError("python.count" if made else "python.none", path=path, count=len(made), remedy=mend)
    only: Callable[..., Any] = made[0]
    return only


def _collective(name: str) -> Collective:
    if name not in COLLECTIVES:
        raise InputError("collective.unknown", collective=name, choices=COLLECTIVES)
    return COLLECTIVES[name]


def _with_lines(steps: Callable[..., Any], path: str) -> Callable[..., Any]:
    """The same generator, whose mistakes are told with their line."""

    @wraps(steps)
    def with_lines(*args: Any, **kwargs: Any) -> Iterator[Any]:
        ended = object()
        try:
            items = steps(*args, **kwargs)
        except TypeError as error:
            raise _as_input_error(error, path) from None
        while (item := _told_with_line(lambda: next(items, ended), path)) is not ended:
            together = item if isinstance(item, list | tuple) and not isinstance(item, Step) else (item,)
            strange = [part for part in together if not isinstance(part, Step | str)]
            if strange:
                raise InputError("python.step", path=path, function=steps.__name__, value=str(strange[0]))
            yield item

    return with_lines


def _told_with_line(call: Callable[[], Any], path: str) -> Any:
    """What a person's own lines answer; whatever they raise is told with its line."""
    try:
        return call()
    except _PASSED_ON:
        raise
    except BaseException as error:  # noqa: BLE001  SystemExit and GeneratorExit included
        raise _as_input_error(error, path) from None


def _check_annotations(entry: Algorithm, path: str) -> None:
    """Raise InputError for one that means nothing where the file says it."""
    try:
        entry.params  # noqa: B018  reads them
    except Exception as error:  # noqa: BLE001  an annotation may be any expression
        raise InputError("python.annotation", path=path, function=entry.steps.__name__, error=error) from None


def _counted(pieces: Callable[..., int], path: str) -> Callable[..., int]:
    """The same number of pieces, where it is one."""

    def counted(n: int, **values: Any) -> int:
        count = _told_with_line(lambda: pieces(n, **values), path)
        if not isinstance(count, int | np.integer) or not 1 <= count <= MOST_PIECES:
            raise InputError("python.pieces", path=path, count=str(count), n=n, most=MOST_PIECES)
        return int(count)

    return counted


def _as_input_error(error: BaseException, path: str) -> InputError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f"{path}, line {lines[-1]}" if lines else path
    return InputError("python.raised", where=where, kind=type(error).__name__, error=error)


def _fitting(entry: Algorithm) -> Callable[..., int]:
    """As many pieces as make every slot the steps name a place of the collective's blocks."""

    @lru_cache(maxsize=64)  # asked for several times by whoever unrolls it once, and all steps are gone through
    def pieces(n: int, **values: Any) -> int:
        rooted = {"root": 0} if entry.collective.rooted else {}
        highest = 0
        for count, item in enumerate(entry.steps(n, **rooted, **values)):
            check_transfers(entry.name, 0, count)
            for step in [item] if isinstance(item, Step) else [x for x in item if isinstance(x, Step)]:
                highest = max(highest, int(step.slot.max(initial=0)), int(step.to.max(initial=0)))
        laid_out: int = entry.collective.promise(n, 1, 0).given.shape[1]
        return highest // laid_out + 1

    return pieces
