"""`workload`: a training step, or another program whose collectives meet compute."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, NO, Answer, argument, command
from terminal.arguments import MACHINE, RANKS, machine, write

if TYPE_CHECKING:
    from ops.workloads.step import Step

WIDTH = 72
"""Columns of the drawn timeline."""
ROWS = 8
"""Ranks drawn at most."""
MARKS = {"compute": "#", "comm": "=", "wait": "."}


@command(
    argument("name", metavar="NAME", help="NAME[:key=value,…], see `list workloads`"),
    *MACHINE,
    argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format"),
    RANKS,
    argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the workload"),
    argument("--layers", metavar="FILE", help="a model as a table: name, shapes, forward and backward time per line"),
    argument("--trace", metavar="FILE.json", help="also write the timeline for ui.perfetto.dev"),
)
def workload(given: argparse.Namespace) -> Answer:
    """A training step: compute, communication, overlap, memory."""
    from ops.workloads import WORKLOADS
    from sim.parameters import parse_assignments, parse_spec

    name, settings = parse_spec(given.name)
    entry = WORKLOADS[name]
    more = parse_assignments(given.set, f"{name}, --set")
    if given.ranks is not None:
        more["ranks"] = given.ranks
    if given.layers is not None:
        more["layers"] = _read(given.layers)
    for key in settings.keys() & more.keys():
        raise InputError(f"{name}: {key} is given twice: keep one")
    step = entry.run(machine(given, given.topology), settings | more)
    if given.trace is not None:
        write(given.trace, step.to_perfetto())
    return Answer(DONE if step.verified else NO, step.to_dict(), _text(step))


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"{path} cannot be read ({why}): give a table of layers") from None


def _text(step: "Step") -> str:
    from sim.units import fmt_bandwidth, fmt_size, fmt_time

    links = step.topology.links
    busiest = int(step.link_bytes.argmax()) if len(links) and step.link_bytes.any() else None
    told = [
        f"{step.workload} on {step.topology.name}: {step.ranks} ranks, {fmt_time(step.time)} a step",
        f"  exposed communication  {fmt_time(step.exposed_s)} ({step.exposed_s / step.time:.1%})"
        if step.time
        else "  no time passes",
        f"  peak memory per rank   {fmt_size(max(step.peaks, default=0))}"
        + "".join(f", {kind} {fmt_size(amount)}" for kind, amount in step.memory_at_peak(_fullest(step)).items()),
    ]
    if busiest is not None:
        link, amount = links[busiest], float(step.link_bytes[busiest])
        rate = f", {fmt_bandwidth(amount / step.time)} on average" if step.time else ""
        told.append(f"  busiest link           {link.src} -> {link.dst}, {fmt_size(amount)}{rate}")
    wide = max((len(_words(key)) for key in step.facts), default=0)
    told += [f"  {_words(key):{max(wide, 22)}} {_value(key, value)}" for key, value in step.facts.items()]
    return "\n".join([*told, *_drawn(step)])


def _fullest(step: "Step") -> int:
    return max(range(step.ranks), key=lambda rank: step.peaks[rank])


def _words(key: str) -> str:
    for unit in ("_s", "_bytes", "_share"):
        key = key.removesuffix(unit)
    return key.replace("_", " ")


def _value(key: str, value: Any) -> str:
    """A fact as a person reads it."""
    from sim.units import fmt_size, fmt_time

    if isinstance(value, list):
        texts = [_value(key, one) for one in value]
        return ", ".join(texts) if len(texts) <= 12 else f"{', '.join(texts[:12])} and {len(texts) - 12} more"
    if isinstance(value, dict):
        return " ".join(f"{_words(inner)} {_value(inner, one)}" for inner, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    if key.endswith("_s"):
        return fmt_time(value)
    if key.endswith("_bytes"):
        return fmt_size(value)
    if key.endswith("_share"):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _drawn(step: "Step") -> list[str]:
    """The timeline in letters: two lines a rank."""
    if not step.time or not step.spans:
        return []
    lines = ["", f"  # compute, = communication, . waiting for others; a column is {_column(step)}"]
    for rank in range(min(step.ranks, ROWS)):
        for lanes in (("compute",), ("wait", "comm")):
            row = [" "] * WIDTH
            for span in step.spans:
                if span.rank == rank and span.lane in lanes:
                    first = min(WIDTH - 1, int(span.start / step.time * WIDTH))
                    last = max(first + 1, min(WIDTH, round(span.end / step.time * WIDTH)))
                    row[first:last] = MARKS[span.lane] * (last - first)
            label = f"rank {rank}" if lanes == ("compute",) else ""
            lines.append(f"  {label:>9} |{''.join(row)}|")
    if step.ranks > ROWS:
        lines.append(f"  and {step.ranks - ROWS} more ranks: --json and --trace have them all")
    return lines


def _column(step: "Step") -> str:
    from sim.units import fmt_time

    return fmt_time(step.time / WIDTH)
