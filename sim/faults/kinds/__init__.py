"""Faults, or what goes wrong, one file per family; `@fault` puts a kind on the only list.

A kind is a function from a machine and keyword parameters to a Perturbation: what it changes before anything runs,
what it adds to transfers, and the process it is in the SimPy world. `straggler:rank=3,late=1ms` calls
`straggler(topology, rank=3, late=1e-3)`. Several can be combined.

Its parameters say where it may be (`LinkStart`, `LinkEnd`, `RankNumber`, `NicName`, `Endpoint` of `sim.faults`),
the decorator with which values it is worth a first look, and what a click on such a place offers to ask.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, get_args, overload

from sim.errors import InputError, Message
from sim.faults import Perturbation
from sim.faults.places import first_values
from sim.parameters import Parameter, PointsAt, bind, parameters, parse_assignments, parse_spec, required, written
from sim.registry import AdditionError, Registry, returned
from sim.topology import Topology
from sim.topology.devices import DeviceKind

MOST = 64
"""Faults at once."""
PLACES = {"start": "src", "end": "dst", "rank": "rank", "device": "device"}
"""What is filled in for a parameter that points at a place."""
EXAMPLES = {
    "src": "GPU0",
    "dst": "GPU1",
    "rank": "0",
    "device": "GPU0",
    "kind": "all",
    "now": "1us",
    "time": "1us",
    "bandwidth": "8GBps",
    "times": "2",
    "latency": "1us",
    "late": "1us",
    "slower": "2",
}
"""All that can be filled in: places, a link's kind, the instant shown, the run's time, and what a slider stands at."""
BRACES = re.compile(r"{(\w+)(?:\*[\d.]+)?}")

Kind = Callable[..., Perturbation]


class Offer(NamedTuple):
    """A question that a click on a place asks.

    `arguments` are those beside the place, like `share=0.5,start={now}`, left out where the instant has not come;
    `{time*0.25}` is a quarter of the run's time; `{bandwidth}`, `{times}`, `{latency}`, `{late}` and `{slower}` are
    dragged to. `text` asks in English, instead of the fault's own summary; other languages have a text
    `offer.FAULT.KEY`.
    """

    key: str
    arguments: str
    text: str = ""


class Drag(NamedTuple):
    """A question that is asked by dragging one place onto another: kinds of either, and the words with both in braces.

    `on` and `to` are "rank", or kinds of devices.
    """

    on: tuple[str, ...]
    to: tuple[str, ...]
    spec: str


@dataclass(frozen=True)
class FaultKind:
    """A kind of fault, or of edit, with the arguments it is first looked at with and what a click may ask."""

    kind: Callable[..., Any]
    first: str = ""
    offers: tuple[Offer, ...] = ()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.kind.__name__

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What it takes besides the machine."""
        return parameters(self.kind, skip=("topology",))

    def first_look(self, topology: Topology) -> str:
        """This fault where it is worth a look, as `name:key=value,…`."""
        parameters, values = self.parameters, _assigned(self.first, self.name)
        needed = (parameters[name] for name in required(self.kind) if name not in values)
        values |= first_values(needed, topology)
        return _spec(self.name, [written({name: values[name] for name in parameters if name in values})])

    def spec(self, offer: Offer) -> str:
        """What an offer asks, as `name:key=value,…` with the names of `EXAMPLES` in braces."""
        said = _assigned(offer.arguments, self.name)
        points = {n: p.points_at for n, p in self.parameters.items() if p.points_at and n not in said}
        several = sum(point.what == "device" for point in points.values()) > 1
        places = {n: PLACES[point.what] for n, point in points.items() if not (several and point.what == "device")}
        return _spec(self.name, [*(f"{n}={{{place}}}" for n, place in places.items()), offer.arguments])

    def targets(self, offer: Offer) -> tuple[str, ...]:
        """What has to be chosen for an offer: a "link", a "rank", a device of one of these kinds, or "machine"."""
        braces = set(BRACES.findall(self.spec(offer)))
        if braces & {"src", "dst", "kind"}:
            return ("link",)
        if "device" in braces:
            kinds = (p.points_at.kinds for p in self.parameters.values() if p.points_at)
            return tuple(dict.fromkeys(chain.from_iterable(kinds))) or get_args(DeviceKind)
        return ("rank" if "rank" in braces else "machine",)

    @property
    def drag(self) -> Drag | None:
        """How it is asked with two places, where they are all it has to know: ranks both, or devices both."""
        points = [(name, self.parameters[name].points_at) for name in required(self.kind)]
        if len(points) != 2:
            return None
        (a, on), (b, to) = points
        if on is None or to is None or on.what != to.what or on.what not in ("rank", "device"):
            return None
        return Drag(_kinds(on), _kinds(to), f"{self.name}:{a}={{from}},{b}={{to}}")

    def check(self) -> None:
        """Raise InputError for first arguments and offers that it could not be called with."""
        bind(self.kind, _assigned(self.first, self.name), self.name, skip=("topology",))
        for offer in self.offers:
            spec = self.spec(offer)
            braces = set(BRACES.findall(spec))
            if unknown := braces - EXAMPLES.keys():
                raise InputError("fault.placeholder", place=min(unknown), choices=EXAMPLES)
            if sum(bool(braces & place) for place in ({"src", "dst"}, {"rank", "device"})) > 1:
                raise InputError("fault.asks_twice", spec=spec)
            arguments_of(self.kind, BRACES.sub(lambda match: EXAMPLES[match[1]], spec))


class FaultRegistry(Registry[FaultKind]):
    """A list of kinds; an entry without an example or a click is rejected."""

    def _check(self, name: str, entry: FaultKind) -> None:
        super()._check(name, entry)
        try:
            entry.check()
        except InputError as error:
            raise AdditionError(
                "addition.problem", file=self._file(entry), what=Message(self._what), name=name, error=error
            ) from error


FAULTS = FaultRegistry(__name__, "fault", function=lambda entry: entry.kind, leading=("topology",))


@overload
def fault(kind: Kind) -> Kind: ...


@overload
def fault(*, first: str = "", offers: Iterable[Offer] = ()) -> Callable[[Kind], Kind]: ...


def fault(kind: Kind | None = None, *, first: str = "", offers: Iterable[Offer] = ()) -> Any:
    """Register a kind of fault under its function's name; returned unchanged.

    `first` are arguments it is worth a look with, like `share=0.1`; `offers` what a click on a link, rank or device
    may ask.
    """
    if kind is None:
        return partial(fault, first=first, offers=offers)
    FAULTS.add(kind.__name__, FaultKind(kind, first, tuple(offers)))
    return kind


def faults(specs: Iterable[str | Perturbation], topology: Topology) -> tuple[Perturbation, ...]:
    """What `name:key=value,…` describe, on this machine; what is made already stays. Raises InputError.

    >>> from sim.machines import build
    >>> [t.late for t in faults(["straggler:rank=3,late=1ms"], build("switch:ranks=4"))]
    [{3: 0.001}]
    """
    perturbations = []
    for spec in specs:
        if isinstance(spec, Perturbation):
            perturbations.append(spec)
            continue
        kind = FAULTS[parse_spec(spec)[0]].kind
        made = returned(kind, kind(topology, **arguments_of(kind, spec)), Perturbation)
        perturbations.append(replace(made, name=spec.strip()))
    if len(perturbations) > MOST:
        raise InputError("fault.too_many", count=len(perturbations), most=MOST)
    return tuple(perturbations)


def arguments_of(kind: Callable[..., Any], spec: str) -> dict[str, Any]:
    """What a kind is called with. Raises InputError for arguments that it does not take, and where one is missing."""
    name, texts = parse_spec(spec)
    values = bind(kind, texts, name, skip=("topology",))
    for key in required(kind):
        if key not in values:
            raise InputError("fault.needs", name=name, key=key)
    return values


def _kinds(point: PointsAt) -> tuple[str, ...]:
    return ("rank",) if point.what == "rank" else point.kinds or get_args(DeviceKind)


def _assigned(arguments: str, name: str) -> dict[str, str]:
    return parse_assignments(arguments.split(",") if arguments else [], name)


def _spec(name: str, arguments: Iterable[str]) -> str:
    return f"{name}:{','.join(filter(None, arguments))}".rstrip(":")
