"""`list`: what there is."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.errors import InputError
from terminal import DONE, Answer, argument, command

if TYPE_CHECKING:
    from sim.parameters import Parameter


class _Entry(NamedTuple):
    """One line of a list."""

    name: str
    summary: str
    parameters: "dict[str, Parameter]"
    more: Mapping[str, Any] = {}


def _collectives() -> list[_Entry]:
    from ops.collectives import COLLECTIVES

    return [_Entry(name, known.summary, {}) for name, known in COLLECTIVES.items()]


def _algorithms() -> list[_Entry]:
    from ops import ALGORITHMS

    known = ALGORITHMS.values()
    return [_Entry(a.name, a.summary, a.params, {"aliases": a.aliases, "reference": a.reference}) for a in known]


def _machines() -> list[_Entry]:
    from sim.machines import MACHINES

    return [_Entry(name, MACHINES.summary(name), MACHINES.parameters(name)) for name in MACHINES]


def _troubles() -> list[_Entry]:
    from sim.trouble import TROUBLES

    return [_Entry(name, TROUBLES.summary(name), TROUBLES.parameters(name)) for name in TROUBLES]


def _formats() -> list[_Entry]:
    from ops.formats import SCHEDULE_FORMATS
    from sim.formats import FORMATS

    return [
        *(
            _Entry(name, known.title, known.options, {"of": "machine", "written": known.write is not None})
            for name, known in FORMATS.items()
        ),
        *(
            _Entry(name, known.title, known.options, {"of": "schedule", "written": known.write is not None})
            for name, known in SCHEDULE_FORMATS.items()
        ),
    ]


def _workloads() -> list[_Entry]:
    from ops.workloads import WORKLOADS

    return [_Entry(name, known.summary, known.params) for name, known in WORKLOADS.items()]


SECTIONS = {
    "collectives": _collectives,
    "algorithms": _algorithms,
    "machines": _machines,
    "troubles": _troubles,
    "formats": _formats,
    "workloads": _workloads,
}
"""Every registry a person may ask for."""


@command(
    argument("what", nargs="?", metavar="WHAT", help=f"one of {', '.join(SECTIONS)}; all of them if left out"),
    argument("--library", help="of algorithms: only what openmpi, mpich, nccl … has, under its own names"),
)
def list_(given: argparse.Namespace) -> Answer:
    """What there is, from the registries."""
    if given.library is not None:
        if given.what not in (None, "algorithms"):
            raise InputError(f"--library chooses among algorithms, not {given.what[:40]}: leave one of them out")
        return _of_library(given.library)
    if given.what is not None and given.what not in SECTIONS:
        raise InputError(f"there is no list of {given.what[:40]!r}: choose from {', '.join(SECTIONS)}")
    sections = {what: SECTIONS[what]() for what in ([given.what] if given.what else SECTIONS)}
    found, texts = {}, []
    for what, entries in sections.items():
        width = max(len(entry.name) for entry in entries)
        lines = [] if given.what else [what]
        for name, summary, parameters, _ in entries:
            lines.append(f"{name:{width}}  {summary}")
            if given.what and parameters:
                lines.append(f"{'':{width}}  {','.join(map(_spelled, parameters.values()))}")
        texts.append("\n".join(lines))
        found[what] = [
            {"name": name, "summary": summary, "parameters": {key: p.default for key, p in parameters.items()}, **more}
            for name, summary, parameters, more in entries
        ]
    return Answer(DONE, found, "\n\n".join(texts))


def _of_library(library: str) -> Answer:
    """A library's algorithms by collective, in the order of its own numbers."""
    from ops import ALGORITHMS

    rows = [(a.collective.name, i, a) for a, ids in ALGORITHMS.by_library(library) for i in ids]
    rows.sort(key=lambda row: (row[0], not row[1].isdecimal(), int(row[1]) if row[1].isdecimal() else 0, row[1]))
    widths = [
        max(len(text) for text in column) for column in zip(*((r[0], r[1], r[2].name) for r in rows), strict=True)
    ]
    lines = [f"{c:{widths[0]}}  {i:>{widths[1]}}  {a.name:{widths[2]}}  {a.summary}" for c, i, a in rows]
    found = [{"collective": c, "id": i, "name": a.name, "summary": a.summary} for c, i, a in rows]
    return Answer(DONE, {"library": library, "algorithms": found}, "\n".join(lines))


def _spelled(parameter: "Parameter") -> str:
    """A parameter with its default, as a person would type it."""
    from sim.units import fmt_bandwidth, fmt_size, fmt_time

    formats = {"bandwidth": fmt_bandwidth, "time": fmt_time, "size": fmt_size}
    value = parameter.default
    if value is None:
        text = "…"
    elif parameter.kind in formats:
        text = formats[parameter.kind](value).replace(" ", "")
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{parameter.name}={text}"
