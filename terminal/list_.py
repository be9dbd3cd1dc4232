"""`list`: what there is."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import click

from ops.collectives import COLLECTIVES
from ops.collectives.table import row_of
from ops.formats import SCHEDULE_FORMATS
from ops.libraries import LIBRARIES
from ops.registry import ALGORITHMS
from ops.workloads import WORKLOADS
from sim.errors import InputError
from sim.faults.edits import EDITS
from sim.faults.kinds import FAULTS
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.parameters import Parameter, written
from sim.registry import Registry
from sim.topology.networks import NETWORKS
from sim.units import fmt_bandwidth, fmt_time
from terminal import DONE, Answer, command
from terminal.shared.types import EntryOption

NONE = "…"
"""Stands for a value that has to be given, or that a function chooses."""


class _Entry(NamedTuple):
    """One line of a list."""

    name: str
    summary: str
    parameters: dict[str, Parameter]
    more: Mapping[str, Any] = {}


def _collectives() -> list[_Entry]:
    return [_Entry(name, entry.summary, {}, row_of(entry)._asdict()) for name, entry in COLLECTIVES.items()]


def _algorithms() -> list[_Entry]:
    algorithms = ALGORITHMS.values()
    return [_Entry(a.name, a.summary, a.params, {"aliases": a.aliases, "reference": a.reference}) for a in algorithms]


def _functions(registry: Registry[Any]) -> list[_Entry]:
    """What is called with the parameters that a person gives."""
    return [_Entry(name, registry.summary(name), registry.parameters(name)) for name in registry]


def _machines() -> list[_Entry]:
    return [entry._replace(more={"aliases": list(MACHINES.aliases(entry.name))}) for entry in _functions(MACHINES)]


def _formats() -> list[_Entry]:
    return [
        _Entry(name, entry.title, entry.options, {"of": kind, "written": entry.write is not None})
        for kind, formats in (("machine", FORMATS), ("schedule", SCHEDULE_FORMATS))
        for name, entry in formats.items()
    ]


def _workloads() -> list[_Entry]:
    return [_Entry(name, entry.summary, entry.params) for name, entry in WORKLOADS.items()]


def _libraries() -> list[_Entry]:
    return [_Entry(name, entry.summary, {}) for name, entry in LIBRARIES.items()]


def _networks() -> list[_Entry]:
    return [
        _Entry(
            name,
            f"{network.about} {fmt_bandwidth(network.bandwidth)}, {fmt_time(network.latency)} to the switch.",
            {},
            {"bandwidth_Bps": network.bandwidth, "latency_s": network.latency, "source": network.source},
        )
        for name, network in NETWORKS.items()
    ]


SECTIONS: dict[str, Callable[[], list[_Entry]]] = {
    "collectives": _collectives,
    "algorithms": _algorithms,
    "machines": _machines,
    "faults": partial(_functions, FAULTS),
    "formats": _formats,
    "workloads": _workloads,
    "libraries": _libraries,
    "networks": _networks,
    "edits": partial(_functions, EDITS),
}
"""Every registry a person may ask for."""


@command
@click.argument("what", required=False, metavar="[WHAT]")
@click.option(
    "--library", cls=EntryOption, of=ALGORITHMS.libraries, metavar="NAME",
    help="only algorithms of this library, under its names",
)  # fmt: skip
def list_(what: str | None, library: str | None) -> Answer:
    """List collectives, algorithms, machines, faults, formats, workloads, or all.

    Also libraries that choose algorithms, networks between hosts, and edits of machines.
    """
    if library is not None:
        if what not in (None, "algorithms"):
            raise InputError("list.library", what=what)
        return _of_library(library)
    if what == "troubles":
        raise InputError("list.renamed", old="troubles", new="faults")
    if what is not None and what not in SECTIONS:
        raise InputError("list.unknown", what=what, choices=SECTIONS)
    sections = {name: SECTIONS[name]() for name in ([what] if what else SECTIONS)}
    data = {name: [_as_data(entry) for entry in entries] for name, entries in sections.items()}
    blocks = [
        [*([] if what else [name]), *_lines(rows, with_parameters=what is not None)] for name, rows in sections.items()
    ]
    text = "\n\n".join("\n".join(lines) for lines in blocks)
    return _counted(data, text) if what == "algorithms" else Answer(DONE, data, text)


def _counted(data: dict[str, Any], text: str) -> Answer:
    """How many algorithms there are, forms of one for unequal blocks not counted twice."""
    distinct = len(ALGORITHMS.distinct())
    forms = f"{distinct} algorithms, {len(ALGORITHMS) - distinct} of them with a form for blocks of unequal size"
    return Answer(DONE, {**data, "distinct": distinct}, f"{text}\n\n{forms}")


def _lines(entries: list[_Entry], *, with_parameters: bool) -> Iterator[str]:
    width = max(len(entry.name) for entry in entries)
    for name, summary, parameters, more in entries:
        yield f"{name:{width}}  {summary}"
        if with_parameters and parameters:
            typed = (f"{p.name}={NONE if p.default is None else p.typed}" for p in parameters.values())
            yield f"{'':{width}}  {','.join(typed)}"
        if with_parameters and "reference" not in more and more.get("aliases"):
            yield f"{'':{width}}  also {', '.join(more['aliases'])}"


def _as_data(entry: _Entry) -> dict[str, Any]:
    parameters = {key: parameter.default for key, parameter in entry.parameters.items()}
    return {"name": entry.name, "summary": entry.summary, "parameters": parameters, **entry.more}


def _of_library(library: str) -> Answer:
    """A library's algorithms by collective, in the order of its own numbers."""
    rows = [(a.collective.name, i, a) for a, ids in ALGORITHMS.by_library(library) for i in ids]
    rows.sort(key=lambda row: (row[0], not row[1].isdecimal(), int(row[1]) if row[1].isdecimal() else 0, row[1]))
    presets = [a.as_run_by(library, i).preset for _, i, a in rows]
    specs = [
        f"{a.name}:{written(preset)}" if preset else a.name for (_, _, a), preset in zip(rows, presets, strict=True)
    ]
    widths = [max(map(len, column)) for column in ([r[0] for r in rows], [r[1] for r in rows], specs)]
    lines = [
        f"{c:{widths[0]}}  {i:>{widths[1]}}  {spec:{widths[2]}}  {a.summary}"
        for (c, i, a), spec in zip(rows, specs, strict=True)
    ]
    data = [
        {"collective": c, "id": i, "name": a.name, "parameters": dict(preset), "summary": a.summary}
        for (c, i, a), preset in zip(rows, presets, strict=True)
    ]
    return Answer(DONE, {"library": library, "algorithms": data}, "\n".join(lines))
