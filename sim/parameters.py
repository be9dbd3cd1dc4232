"""Parameters live in signatures: one place turns them into flags, widgets and `name:key=value` strings."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from urllib.parse import quote, unquote

from sim.base.numbers import real, whole
from sim.base.size import LARGEST as MOST_EVER
from sim.errors import InputError, Message
from sim.units import Unit, exact_bandwidth, exact_size, exact_time, parse_bandwidth, parse_size, parse_time


class Bounds(NamedTuple):
    """Smallest and largest value a parameter may take; in B/s, s or B where it is a bandwidth, a time or a size."""

    low: float
    high: float


class Choice(NamedTuple):
    """The words a parameter may be; where it is open they are the usual ones of more."""

    words: tuple[str, ...]
    is_open: bool = False


class Dims(NamedTuple):
    """A list of sizes written `4x4x2`."""

    example: str = "4x4"


class PointsAt(NamedTuple):
    """What of a machine a parameter names: a link by its "start" and its "end", a "rank", a "device" of these kinds."""

    what: Literal["start", "end", "rank", "device"]
    kinds: tuple[str, ...] = ()


Count = Annotated[int, Bounds(1, 1 << 16)]
"""A whole number of one or more."""
LEAST_BARE_RATE = 1e6
"""B/s: what a person types that is less and has no unit was meant in another one."""
Devices = Annotated[int, Bounds(1, MOST_EVER)]
"""How many of something a machine has; how many that may be is for `sim.base.size` to say."""


Function = TypeVar("Function", bound=Callable[..., Any])
LARGEST = 10**11
"""A whole number without bounds of its own is smaller."""
KINDS = ("int", "float", "str", "bool", "bandwidth", "time", "size", "dims")
"""What a parameter may be."""
EXACT: Mapping[str, Callable[[Any], str]] = {"bandwidth": exact_bandwidth, "time": exact_time, "size": exact_size}
"""How values with units are written."""
_SEPARATES = re.compile(r"%(?=[0-9A-Fa-f]{2})|[,;=|&]|(?<= )\+(?= )|^\s|\s$")
"""What of a value a reader of lists would take for the end of it, or for a quoted character."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One keyword argument: `kind` is one of `KINDS`."""

    name: str
    kind: str
    default: Any
    low: float = 0
    high: float = 0
    words: tuple[str, ...] = ()
    points_at: PointsAt | None = None
    is_open: bool = False
    """Whether it may be other words than those listed."""

    @property
    def typed(self) -> str:
        """The default as a person would type it, exact; empty where there is none.

        >>> Parameter("nic", "bandwidth", 25e9).typed, Parameter("p2p", "bool", True).typed
        ('25GBps', 'yes')
        """
        return "" if self.default is None else self._written(self.default)

    def _written(self, value: Any) -> str:
        match value:
            case bool():
                return "yes" if value else "no"
            case tuple():
                return "x".join(map(str, value))
        return EXACT.get(self.kind, str)(value)

    @property
    def flaw(self) -> Message | None:
        """What is wrong with its bounds or its default, which no one would notice before it is used; None if nothing.

        >>> Parameter("lanes", "int", "8").flaw, Parameter("lanes", "int", 8, 16, 2).flaw
        ("has the default '8', which is no int: give one", 'has the bounds 16..2: give the smaller one first')
        """
        if self.high < self.low:
            return Message("flaw.bounds", low=self._written(self.low), high=self._written(self.high))
        if self.default is None:
            return None
        kinds = {"int": int, "bool": bool, "str": str, "dims": tuple}.get(self.kind, (float, int))
        if not isinstance(self.default, kinds) or (isinstance(self.default, bool) and self.kind != "bool"):
            return Message("flaw.default", value=repr(self.default), kind=self.kind)
        try:
            self.check(self.default, Message("its default"))
        except InputError as error:
            return Message("flaw.refused", error=error)
        return None

    def parse(self, text: str, owner: str | Message) -> Any:
        """The value a person typed. Raises InputError naming owner, parameter and the mend."""
        what = Message("at.place", place=owner, what=self.name)
        match self.kind:
            case "bandwidth":
                return self.check(_rate(text, what), owner)
            case "time":
                return self.check(parse_time(text, what), owner)
            case "size":
                return self.check(parse_size(text, what), owner)
            case "int":
                return self.check(_whole(text, what), owner)
            case "dims":
                return tuple(_whole(part, what) for part in text.split("x"))
            case "bool":
                if text.lower() not in ("yes", "no", "true", "false", "1", "0"):
                    raise InputError("parameter.yes_no", what=what, text=text)
                return text.lower() in ("yes", "true", "1")
            case "float":
                return self.check(_finite(text, what), owner)
            case _:
                return self.check(text, owner)

    def check(self, value: Any, owner: str | Message) -> Any:
        """The value itself when it is within bounds; InputError otherwise."""
        if self.high and not self.low <= value <= self.high:
            said, low, high = map(self._written, (value, self.low, self.high))
            raise InputError("parameter.range", owner=owner, name=self.name, value=said, low=low, high=high)
        if self.words and not self.is_open and value not in self.words:
            raise InputError("parameter.choice", owner=owner, name=self.name, value=str(value), choices=self.words)
        return value


def _rate(text: str, what: Message) -> float:
    rate = parse_bandwidth(text, what)
    if rate < LEAST_BARE_RATE and text.strip()[-1] in "0123456789.":
        raise InputError("parameter.no_unit", what=what, text=text, rate=rate)
    return rate


def _whole(text: str, what: Message) -> int:
    value = whole(text)
    if value is None or abs(value) >= LARGEST:
        raise InputError("parameter.whole", what=what, text=text)
    return value


def _finite(text: str, what: Message) -> float:
    value = real(text)
    if value is None:
        raise InputError("parameter.number", what=what, text=text)
    return value


def summary(function: Callable[..., Any]) -> str:
    """The first line of a function's docstring."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


def about(function: Callable[..., Any]) -> str:
    """The rest of a function's docstring."""
    return (inspect.getdoc(function) or "").partition("\n")[2].strip()


def parameters(function: Callable[..., Any], skip: tuple[str, ...] = ()) -> dict[str, Parameter]:
    """The keyword arguments of a function, with kind, default and bounds from their annotations."""
    return dict(_parameters(function, skip))


def described(function: Callable[..., Any]) -> inspect.Signature:
    """The arguments of a function, every annotation an object.

    A decorator that changes what a function takes attaches the description as `__signature__`, which `functools.wraps`
    hands on. Annotations that are assigned get lost in the next wrapper from Python 3.14 on.
    """
    attached = getattr(function, "__signature__", None)
    if isinstance(attached, inspect.Signature):
        return attached
    inner = inspect.unwrap(function, stop=lambda wrapper: hasattr(wrapper, "__signature__"))
    if inner is not function:
        return described(inner)
    hints = get_type_hints(function, include_extras=True)
    plain = inspect.signature(function)
    arguments = [it.replace(annotation=hints.get(it.name, it.annotation)) for it in plain.parameters.values()]
    return plain.replace(parameters=arguments)


@lru_cache(maxsize=1024)
def _parameters(function: Callable[..., Any], skip: tuple[str, ...]) -> Mapping[str, Parameter]:
    """The same, read once: every machine that is built and every schedule that is written asks for them."""
    entries = {}
    for name, argument in described(function).parameters.items():
        if name in skip or argument.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        hint = _without_none(str if argument.annotation is argument.empty else argument.annotation)
        extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        base = get_args(hint)[0] if extras else hint
        kind = next((e.name for e in extras if isinstance(e, Unit)), getattr(base, "__name__", "str"))
        if any(isinstance(e, Dims) for e in extras):
            kind = "dims"
        bounds = next((e for e in extras if isinstance(e, Bounds)), Bounds(0, 0))
        choice = next((e for e in extras if isinstance(e, Choice)), Choice(()))
        words = choice.words
        if get_origin(base) is Literal:
            kind, words = "str", get_args(base)
        default = None if argument.default is inspect.Parameter.empty else argument.default
        points_at = next((e for e in extras if isinstance(e, PointsAt)), None)
        entries[name] = Parameter(name, kind, default, bounds.low, bounds.high, words, points_at, choice.is_open)
    return entries


def required(function: Callable[..., Any]) -> list[str]:
    """Names of a function's keyword arguments that have no default."""
    arguments = inspect.signature(function).parameters.values()
    return [a.name for a in arguments if a.kind is a.KEYWORD_ONLY and a.default is a.empty]


def spread(mapping: str, more: Mapping[str, tuple[Any, Any]]) -> Callable[[Function], Function]:
    """Put parameters of their own in the place of one that is a mapping of them; `more` has annotations and defaults.

    They come last where the function's description does not have the mapping.

    >>> @spread("sides", {"a": (int, 2), "b": (int, 3)})
    ... def area(*, sides):
    ...     return sides["a"] * sides["b"]
    >>> area(b=5), list(parameters(area))
    (10, ['a', 'b'])
    """

    def put(function: Function) -> Function:
        own = [*described(function).parameters.values()]
        at = next((i for i, argument in enumerate(own) if argument.name == mapping), len(own))
        kind = own[at].kind if at < len(own) else inspect.Parameter.KEYWORD_ONLY
        own[at : at + 1] = [
            inspect.Parameter(key, kind, default=usual, annotation=hint) for key, (hint, usual) in more.items()
        ]

        @wraps(function)
        def call(*values: Any, **named: Any) -> Any:
            packed = {key: named.pop(key, usual) for key, (_, usual) in more.items()}
            return function(*values, **{mapping: packed}, **named)

        setattr(call, "__signature__", inspect.Signature(own))  # noqa: B010  mypy knows of no such attribute
        return cast("Function", call)

    return put


def _without_none(hint: Any) -> Any:
    """`Bandwidth | None` is a bandwidth that a function chooses itself when it is not given."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if get_origin(hint) in (Union, UnionType) and len(kinds) == 1 else hint


def bind(
    function: Callable[..., Any], arguments: Mapping[str, Any], owner: str, skip: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Check `arguments` (texts are parsed) against the function's parameters. Raises InputError."""
    accepted = parameters(function, skip)
    values = {}
    for name, value in arguments.items():
        if name not in accepted:
            if not accepted:
                raise InputError("parameter.none", owner=owner, name=name)
            raise InputError("parameter.unknown", owner=owner, name=name, choices=accepted)
        parameter = accepted[name]
        values[name] = parameter.parse(value, owner) if isinstance(value, str) else parameter.check(value, owner)
    return values


def quoted(value: str) -> str:
    """Write a value as it stands in lists: what would separate it is written as in links, a comma as `%2C`.

    >>> quoted("GPU0,1"), quoted("0000:17:00.0"), quoted("50%"), quoted("%2C")
    ('GPU0%2C1', '0000:17:00.0', '50%', '%252C')
    """
    return _SEPARATES.sub(lambda match: quote(match[0], safe=""), value)


def written(values: Mapping[str, object]) -> str:
    """Write parameters as one text, `key=value,…`; `pairs` reads them.

    >>> written({"segments": 4, "src": "GPU0,1"})
    'segments=4,src=GPU0%2C1'
    """
    return ",".join(f"{key}={quoted(str(value))}" for key, value in values.items())


def pairs(text: str) -> dict[str, str]:
    """Read `key=value,…` without what is no such pair: a form shows what it can of a link.

    >>> pairs("src=GPU0%2C1,both,share=0.5")
    {'src': 'GPU0,1', 'share': '0.5'}
    """
    read = (pair.split("=", 1) for pair in text.split(",") if "=" in pair)
    return {key: unquote(value) for key, value in read}


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """`name:key=value,key=value` taken apart.

    >>> parse_spec("switch:ranks=8,bandwidth=25GBps")
    ('switch', {'ranks': '8', 'bandwidth': '25GBps'})
    """
    name, _, rest = text.partition(":")
    name = name.strip()
    return name, parse_assignments(rest.split(",") if rest else [], name)


def parse_assignments(pairs: list[str], owner: str) -> dict[str, str]:
    """`["key=value", …]` as a dict, values as they were before `quoted`.

    Raises InputError for one without `=` or given twice.
    """
    assignments: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or not value:
            raise InputError("parameter.pair", owner=owner, pair=pair)
        if key in assignments:
            raise InputError("parameter.twice", owner=owner, name=key)
        assignments[key] = unquote(value)
    return assignments
