"""The only list of algorithms. Adding one is one decorated generator in `ops/algorithms/`."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ops.collectives import COLLECTIVES, Collective
from sim.errors import InputError, Message, expect_kind, nearest_first
from sim.parameters import Parameter, bind, parameters, summary
from sim.registry import AdditionError, Registry, shown
from sim.schedule import Schedule, Steps, in_rank_order, unroll
from sim.symmetry.folded import FoldedSchedule, folded
from sim.symmetry.renamings import Symmetry
from sim.units import fmt_object


class Cost(NamedTuple):
    """The claimed time on an ideal switch: `alphas * α + betas * size * β + gammas * size * γ`."""

    alphas: float
    betas: float
    gammas: float = 0.0


Refusal = Callable[..., Message | str | None]
"""(n, **params) to None, or to the reason why this number of ranks cannot be done."""


def power_of_two(n: int, **_: Any) -> Message | None:
    """For algorithms whose peers are r xor 2^k."""
    return None if n & (n - 1) == 0 else Message("ranks.power_of_two", n=n)


def even(n: int, **_: Any) -> Message | None:
    """For algorithms that pair ranks."""
    return None if n % 2 == 0 else Message("ranks.even", n=n)


@dataclass(frozen=True)
class Algorithm:
    """A named way to keep a collective's promise.

    `steps(n, [root=…,] **params)` yields the steps; `pieces(n, **params)` is how many slots a unit block is
    cut into, one where it is None; `refuse(n, **params)` tells why an n cannot be done; `cost(n, **params)` is
    the claim that the tests hold against simulated time; `ids` are the library names and numbers it goes by,
    several as "2, 3"; `presets` are the parameters that a library runs it with under one of them, like
    `{"openmpi:2": {"chains": 4}}`, where they are not the defaults.
    """

    name: str
    collective: Collective
    steps: Callable[..., Steps]
    pieces: Callable[..., int] | None
    refuse: Refusal
    cost: Callable[..., Cost] | None
    exact: bool = True
    """Is `cost` met exactly, or only within the bound its docstring states?"""
    switches: Callable[..., tuple[str, ...]] = lambda n, **_: ()
    """`switches(n, **params)`: the kinds of the switches that play ranks n, n + 1 …, in algorithms that use some."""
    ordered: bool = False
    """Do ranks block: is a step done before the rank begins the next? Otherwise what is ready starts."""
    ids: Mapping[str, str] = field(default_factory=dict)
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    preset: Mapping[str, Any] = field(default_factory=dict)
    """Of an algorithm that was looked up by a library's number: what stands for the defaults."""
    reference: str = ""
    symmetry: Callable[..., Symmetry | None] | None = None
    """`symmetry(n, **params)`: the renamings under which all ranks do what rank 0 does; None where there are none."""

    def __repr__(self) -> str:
        return fmt_object("Algorithm", f"{self.name}: {self.summary}")

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return summary(self.steps)

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        """What else finds it: `allgatherv.kucg:4` is the allgatherv that library kucg numbers 4."""
        return tuple(f"{self.collective.name}.{library}:{i}" for library, i in _each(self.ids))

    @cached_property
    def source(self) -> str:
        """The generator's own source: with bodies this short it is the best explanation."""
        return inspect.getsource(self.steps)

    @cached_property
    def params(self) -> dict[str, Parameter]:
        """The keyword parameters a person may set."""
        declared = parameters(self.steps, skip=("n", "root"))
        return {name: replace(p, default=self.preset.get(name, p.default)) for name, p in declared.items()}

    @property
    def defaults(self) -> dict[str, Any]:
        """Every parameter's value where none is given."""
        return {name: p.default for name, p in self.params.items()}

    @property
    def takes_hosts(self) -> bool:
        """Whether its parameter `group` is 0 where none is given: a host's ranks, as the machine has them."""
        return "group" in self.params and self.params["group"].default == 0

    @cached_property
    def known_as(self) -> dict[str, str]:
        """By library, its numbers or names for it, with the parameters it runs it with where they differ."""
        return {
            library: ", ".join(self._called(library, i) for i in ids.split(", ")) for library, ids in self.ids.items()
        }

    def _called(self, library: str, number: str) -> str:
        preset = self.presets.get(f"{library}:{number}", {})
        return f"{number} ({', '.join(f'{key}={value}' for key, value in preset.items())})" if preset else number

    def as_run_by(self, library: str, number: str) -> "Algorithm":
        """The algorithm with the parameters that a library runs it with under this number for defaults."""
        preset = self.presets.get(f"{library}:{number}")
        return replace(self, preset=preset) if preset else self

    def schedule(self, n: int, *, root: int = 0, **arguments: Any) -> Schedule:
        """Unroll for n ranks. Raises InputError for an n, root or parameter it cannot do."""
        values = self.settle(n, root=root, **arguments)
        promise = self.collective.promise(n, self.cut(n, values), root)
        rooted = {"root": root} if self.collective.rooted else {}
        share = self.unit_share(n, values)
        steps, switches = self.steps(n, **rooted, **values), self.switches(n, **values)
        promise = promise.with_switches(len(switches)) if switches else promise
        schedule = unroll(steps, name=self.name, n=n, promise=promise, unit_share=share, root=root, switches=switches)
        return in_rank_order(schedule) if self.ordered else schedule

    def folded(self, n: int, **arguments: Any) -> FoldedSchedule | None:
        """Rank 0's part of it and the renamings that make all of it, unless none are stated. Raises InputError."""
        values = self.settle(n, **arguments)
        symmetry = self.symmetry(n, **values) if self.symmetry else None
        if symmetry is None:
            return None
        return folded(
            symmetry,
            lambda: self.steps(n, **values),
            lambda: self.collective.promise(n, self.cut(n, values), 0),
            name=self.name,
            unit_share=self.unit_share(n, values),
            ordered=self.ordered,
        )

    def unit_share(self, n: int, values: Mapping[str, Any]) -> float:
        """One slot's part of the size a person gives, with all parameters there are; 0 where no size is needed."""
        return 1 / (self.collective.units(n) * self.cut(n, values)) if self.collective.sized else 0.0

    def cut(self, n: int, values: Mapping[str, Any]) -> int:
        """How many slots a unit block is cut into, with all parameters there are."""
        pieces = self.pieces(n, **values) if self.pieces else 1
        if not isinstance(pieces, int | np.integer) or pieces < 1:
            raise AdditionError("addition.pieces", place=_place(self.steps), pieces=pieces, n=n)
        return int(pieces)

    def settle(self, n: int, *, root: int = 0, **arguments: Any) -> dict[str, Any]:
        """All parameters with their defaults, checked. Raises InputError."""
        if n < 2:
            raise InputError("ranks.at_least_two", name=self.name, n=n)
        if not 0 <= root < n:
            raise InputError("root.unknown", name=self.name, root=root, last=n - 1)
        values = self.defaults | bind(self.steps, arguments, self.name, skip=("n", "root"))
        reason = self.refuse(n, **values)
        if reason:
            raise InputError("ranks.reason", name=self.name, reason=reason)
        return values


def _each(ids: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for library, known_as in ids.items():
        for number in known_as.split(", "):
            yield library, number


def _plain(library: str, number: str) -> str:
    """A number as the registry has it: UCG writes 4 as `I:4`, as in UCG_PLANC_UCX_ALLGATHERV_ATTR.

    >>> _plain("kucg", "I:4"), _plain("kucg", "4"), _plain("openmpi", "I:4")
    ('4', '4', 'I:4')
    """
    return number[2:] if library == "kucg" and number[:2].casefold() == "i:" else number


def _spellings(collective: str, number: str) -> list[tuple[str, str]]:
    """MPI_Reduce_scatter_block is reduce_scatter here; where a library numbers it apart, ids say `block 3`."""
    if collective != "reduce_scatter_block":
        return [(collective, number)]
    return [("reduce_scatter", f"block {number}"), ("reduce_scatter", number)]


class _Algorithms(Registry[Algorithm]):
    """Library ids find algorithms too."""

    def __init__(self) -> None:
        super().__init__("ops.algorithms", "algorithm", function=lambda entry: entry.steps, leading=("n",))
        self._aside: dict[str, Algorithm] | None = None

    def _fill(self) -> None:
        len(COLLECTIVES)  # a collective's file may hold its first algorithm
        super()._fill()

    def _complete(self) -> None:
        """Where blocks may differ in size, the claim for equal ones is that of the collective with equal blocks."""
        for name, entry in self._entries.items():
            twin = self._entries.get(name.replace("v.", ".", 1)) if entry.collective.vector else None
            if twin is not None and entry.cost is None:
                self._entries[name] = replace(entry, cost=twin.cost, exact=twin.exact, symmetry=twin.symmetry)

    def add(self, name: str, entry: Algorithm) -> None:
        if self._aside is None:
            super().add(name, entry)
        else:
            self._aside[name] = entry

    @contextmanager
    def aside(self) -> Iterator[dict[str, Algorithm]]:
        """Collect what is registered meanwhile instead of listing it: files of a person's own reuse names."""
        self._all()
        self._aside = {}
        try:
            yield self._aside
        finally:
            self._aside = None

    def __getitem__(self, name: str) -> Algorithm:
        algorithms = self._all()
        expect_kind(name, str, "the name of an algorithm", "give a text like 'allreduce.ring'")
        if name in algorithms:
            return algorithms[name]
        collective, _, alias = name.casefold().partition(".")
        library, colon, number = alias.partition(":")
        number = _plain(library, number)
        for spelled, word in _spellings(collective, number) if colon else ():
            for entry in algorithms.values():
                for other, i in _each(entry.ids) if entry.collective.name == spelled else ():
                    if (library, word) == (other.casefold(), i.casefold()):
                        return entry.as_run_by(other, i)
        if colon and any(library in entry.ids for entry in algorithms.values()):
            return self.known_as(collective, library, number)
        collective, _, _ = name.partition(".")
        names = [other for other in algorithms if other.split(".")[0] == collective]
        if not names:
            alone = sorted(other for other in algorithms if other.partition(".")[2] == name)
            if alone:
                raise InputError("algorithm.which", name=name, choices=alone)
            raise InputError("collective.unknown", collective=collective, choices=COLLECTIVES)
        raise InputError("algorithm.unknown", name=name, choices=nearest_first(name, names))

    def distinct(self) -> list[Algorithm]:
        """Those that are no other's form for blocks of unequal size."""
        twins = {name for name, a in self.items() if a.collective.vector and name.replace("v.", ".", 1) in self}
        return [a for name, a in self.items() if name not in twins]

    def known_as(self, collective: str, library: str, number: str) -> Algorithm:
        """What a library runs under its own number or name, and with which parameters.

        Raises InputError naming those it has.
        """
        numbered, number = self.by_library(library), _plain(library, number)
        spelled = _spellings(collective, number.casefold())
        numbers = [(entry, i) for entry, ids in numbered for i in ids if entry.collective.name == spelled[0][0]]
        named = {i.casefold(): entry.as_run_by(library, i) for entry, i in numbers}
        algorithm = next((named[word] for _, word in spelled if word in named), None)
        if algorithm is None:
            able = sorted({entry.collective.name for entry, _ in numbered})
            apart = [(entry, i.removeprefix("block ")) for entry, i in numbers if i.startswith("block ")]
            own = apart if collective == "reduce_scatter_block" and apart else numbers
            own.sort(key=lambda row: (len(row[1]), row[1]))
            choices = [f"{i} ({entry.name})" for entry, i in own]
            mend = (
                Message("choose.from", names=choices)
                if numbers
                else Message("library.for", library=library, names=able)
            )
            raise InputError("library.no_algorithm", library=library, collective=collective, number=number, remedy=mend)
        return algorithm

    def libraries(self) -> list[str]:
        """Libraries whose numbers or names for algorithms are known here."""
        return sorted({name for a in self.values() for name in a.ids})

    def by_library(self, library: str) -> list[tuple[Algorithm, list[str]]]:
        """A library's algorithms with its own numbers or names for them. Raises InputError for one unknown."""
        entries = [(a, a.ids[library].split(", ")) for a in self.values() if library in a.ids]
        if not entries:
            raise InputError("library.unknown", library=library, choices=self.libraries())
        return entries


ALGORITHMS = _Algorithms()


def algorithm(
    *collectives: Collective,
    name: str = "",
    cost: Callable[..., Cost | tuple[float, ...]] | None = None,
    pieces: Callable[..., int] | None = None,
    only: Refusal = lambda n, **_: None,
    exact: bool = True,
    ordered: bool = False,
    switches: Callable[..., tuple[str, ...]] = lambda n, **_: (),
    ids: Mapping[str, str] | None = None,
    v: Mapping[str, str] | None = None,
    presets: Mapping[str, Mapping[str, Any]] | None = None,
    reference: str = "",
    symmetry: Callable[..., Symmetry | None] | None = None,
) -> Callable[[Callable[..., Steps]], Callable[..., Steps]]:
    """Register a generator of steps as `collective.name` for each collective it serves.

    Parameters
    ----------
    *collectives : Collective
        Collectives of the algorithm, from `ops.collectives`.
    name : str
        Name after the collective; the name of the function unless given.
    cost : callable
        `cost(n, **params)`: the expected numbers of α, β and γ; tests compare them with the simulator.
    pieces : callable
        `pieces(n, **params)`: number of slots per block; one unless given.
    only : callable
        `only(n, **params)`: the reason why n ranks are not supported, or None.
    exact : bool
        Whether `cost` is exact; otherwise it is an upper bound.
    ordered : bool
        Whether a rank finishes a step before its next.
    switches : callable
        `switches(n, **params)`: kinds of the switches with rank numbers n, n + 1 ….
    ids : mapping
        Its names in libraries, like `{"openmpi": "4", "nccl": "Ring"}`.
    v : mapping
        Its names in libraries for blocks of unequal size; it serves no such collective unless given.
    presets : mapping
        Its parameters in libraries, like `{"openmpi:2": {"chains": 4}}`.
    reference : str
        Its source.
    symmetry : callable
        `symmetry(n, **params)`: the renamings that map rank 0 to every rank; then `every_rank(n)` is enough.

    Returns
    -------
    callable
        A decorator, which returns the function unchanged.

    Raises
    ------
    AdditionError
        If a collective is invalid, the name is taken, or the function has no docstring.
    """
    functions = {"cost": cost, "pieces": pieces, "only": only, "switches": switches, "symmetry": symmetry}
    if len(collectives) == 1 and inspect.isfunction(collectives[0]):  # `@algorithm` without brackets
        _check_collectives(collectives[0], collectives)

    def register(steps: Callable[..., Steps]) -> Callable[..., Steps]:
        _check_collectives(steps, collectives)
        _check_functions(steps, functions)
        claim = None if cost is None else (lambda n, **params: Cost(*cost(n, **params)))
        add = partial(_add, name, steps, pieces=pieces, refuse=only, ordered=ordered, switches=switches)
        claims = {"cost": claim, "exact": exact, "symmetry": symmetry}
        for collective in collectives:
            add(collective, **claims, ids=ids or {}, presets=presets or {}, reference=reference)
            if v is not None:
                add(COLLECTIVES[f"{collective.name}v"], cost=None, ids=v)
        return steps

    return register


def _add(name: str, steps: Callable[..., Steps], collective: Collective, **more: Any) -> None:
    title = f"{collective.name}.{name or steps.__name__}"
    ALGORITHMS.add(title, Algorithm(title, collective, steps, **more))


def _check_collectives(steps: Callable[..., Steps], collectives: tuple[object, ...]) -> None:
    """Raise AdditionError where something else stands for the collectives that an algorithm serves, or nothing."""
    strange = [what for what in collectives if not isinstance(what, Collective)]
    if strange or not collectives:
        said = repr(strange[0]) if strange and strange[0] is not steps else Message("none")
        raise AdditionError("addition.collective", place=_place(steps), value=said)


def _check_functions(steps: Callable[..., Steps], functions: Mapping[str, object]) -> None:
    """Raise AdditionError for what is no function, and for one that does not take all of the algorithm's parameters."""
    for word, what in functions.items():
        if what is None:
            continue
        if not callable(what):
            raise AdditionError("addition.no_function", place=_place(steps), word=word, value=repr(what))
        code = getattr(what, "__code__", None)
        if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
            continue
        taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        missing = [name for name in parameters(steps, skip=("n", "root")) if name not in taken]
        if missing:
            raise AdditionError(
                "addition.parameter", place=_place(steps), word=word, parameter=missing[0], names=missing
            )


def _place(steps: Callable[..., Steps]) -> Message:
    file = shown(inspect.unwrap(steps).__code__.co_filename)
    return Message("addition.place", file=file, what=Message("algorithm"), name=steps.__name__)
