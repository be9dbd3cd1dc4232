"""What a grid runs: algorithms, what a library chooses, and schedules from files; each with what else it depends on."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from ops.collectives import COLLECTIVES
from ops.libraries import LIBRARIES
from ops.plan import Plan
from ops.plan.library_choice import collective_of, collectives_of, library_of, options_of
from ops.plan.notation import algorithm_spec
from ops.plan.python_file import algorithm_of_file
from ops.registry import ALGORITHMS, Algorithm
from sim.errors import InputError
from sim.parameters import Parameter, bind, written

MOST = 20_000_000
"""Cells of one grid; about what two weeks of sixteen cores can run."""
_SKIP = ("n", "root")


@dataclass(frozen=True)
class Source:
    """One point of the axis of what runs: the words of its plan, and which other axes it has.

    `brings_ranks` is whether it is for one number of ranks, as schedules are that somebody wrote down.
    """

    name: str
    words: Mapping[str, Any]
    sized: bool
    rooted: bool
    vector: bool
    brings_ranks: bool = False


def algorithms(names: Sequence[str], values: Mapping[str, Sequence[str]]) -> Iterator[Source]:
    """Each with its parameters as a text, those of `values` in every combination. Raises InputError."""
    used: set[str] = set()
    for text in names:
        name, arguments = algorithm_spec(text)
        for full_name, parameters in _named(name):
            many = {key: some for key, some in values.items() if key in parameters and key not in arguments}
            used |= many.keys()
            collective = COLLECTIVES[collective_of(full_name)]
            for combination in combinations(many):
                settings = arguments | combination
                _check(full_name, parameters, settings)
                words = {"algorithm": full_name, "settings": written(settings)}
                yield Source(full_name, words, collective.sized, collective.rooted, collective.vector)
    all_used(values, used, "vary.no_algorithm", names)


def schedules(texts: Mapping[str, str]) -> Iterator[Source]:
    """Each of some files by its name. Raises InputError for one that cannot be read, or is a run that was kept."""
    for name, text in texts.items():
        plan = Plan("", schedule=text, schedule_name=name)
        if plan.is_kept:
            raise InputError("grid.kept_run", name=name)
        sized = plan.work().sized
        yield Source(name, {"algorithm": "", "schedule": text, "schedule_name": name}, sized, False, False, True)


def functions(names: Sequence[str]) -> Iterator[Source]:
    """Algorithms in Python files of a person's own, each `FILE.py:FUNCTION`, which are executed. Raises InputError."""
    for name in names:
        collective = algorithm_of_file(name, None).collective
        words = {"algorithm": "", "python": name, "schedule_name": name}
        yield Source(name, words, collective.sized, collective.rooted, collective.vector)


def combinations(many: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Every choice of one value for each key. Raises InputError for more than any grid has."""
    if math.prod(map(len, many.values())) > MOST:
        raise InputError("vary.too_many", names=many, most=MOST)
    for values in product(*many.values()):
        yield dict(zip(many, values, strict=True))


def all_used(keys: Iterable[str], used: set[str], why: str, names: Iterable[str]) -> None:
    """Raise InputError for a key that nothing has; `why` is the id of the message."""
    for key in keys:
        if key not in used:
            raise InputError(why, key=key, names=names)


def _named(name: str) -> Iterator[tuple[str, Mapping[str, Parameter]]]:
    """One algorithm, all of a collective, all that a pattern fits, or a library's choices; with their parameters."""
    if library := library_of(name):
        yield name, options_of(library)
        return
    if chosen := _chosen(name):
        yield from chosen
        return
    for entry in _registered(name):
        yield entry.name, entry.params


def _chosen(name: str) -> list[tuple[str, Mapping[str, Parameter]]]:
    """What a library would run for all its collectives, or for those that a pattern fits; nothing for other names."""
    library, _, pattern = name.partition(".")
    if library not in LIBRARIES:
        return []
    served = collectives_of(library)
    fitting = [collective for collective in served if fnmatchcase(collective, pattern or "*")]
    if not fitting:
        raise InputError("library.no_pattern", library=library, pattern=pattern, choices=served)
    return [(f"{library}.{collective}", options_of(library)) for collective in fitting]


def _registered(name: str) -> list[Algorithm]:
    if "*" in name or "?" in name or "." not in name:
        pattern = name if "." in name else f"{name}.*"
        matches = [entry for full_name, entry in ALGORITHMS.items() if fnmatchcase(full_name, pattern)]
        if matches:
            return matches
    return [ALGORITHMS[name]]


def _check(name: str, parameters: Mapping[str, Parameter], settings: Mapping[str, str]) -> None:
    """Raise InputError for settings that what is called so does not take."""
    if not library_of(name):
        bind(ALGORITHMS[name].steps, settings, name, skip=_SKIP)
        return
    for key, word in settings.items():
        if key not in parameters:
            raise InputError("parameter.unknown_choose", owner=name, name=key, choices=parameters)
        if library_of(name) != "nccl":
            parameters[key].parse(word, name)
