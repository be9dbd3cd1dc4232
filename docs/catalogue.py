"""The list of algorithms as a page; `python -m docs` writes it."""

import sys
from collections.abc import Iterator

import numpy as np

from ops.collectives import COLLECTIVES, table
from ops.registry import ALGORITHMS, Algorithm, Cost
from sim.registry import one_sentence
from sim.schedule import Schedule
from sim.units import fmt_bandwidth, fmt_size, fmt_time

EXAMPLES = (8, 2, 4, 6, 9)
"""Numbers of ranks to show figures for; the first that an algorithm takes."""

HEAD = """# Algorithms

{algorithms} algorithms for {collectives} collectives, {forms} of them with a form for blocks of unequal size, from the
list that the terminal and the dashboard use too; `list algorithms` counts them. This page is made by `python -m docs`;
a test fails when it is stale. Numbers are for 8 ranks unless stated otherwise, and for default parameters. *Steps*
counts the steps of the schedule. *Sends* and *receives* are the messages and the share of the size m of the busiest
rank. *Time* is the expected time on an ideal switch; tests compare it with the simulated time. α is the latency of one
message, β the time per byte of a link, γ the time per byte added; with ≤ it is an upper bound. For unequal blocks the
time is that of equal ones. m counts as in nccl-tests.
"""


TABLE = """What ranks have before and after, read off the promises that every run is held to; m is the unit block, the
whole buffer or one rank's. *Ranks* are those that give and those that get.
"""
WORDS = {
    "result": "who holds the result",
    "use": "what training uses it for",
    "root": "the root",
    "all": "every rank",
    "each": "every rank its own",
}


def page() -> str:
    """The whole page, in Markdown."""
    served = [name for name in COLLECTIVES if any(a.collective.name == name for a in ALGORITHMS.values())]
    distinct = len(ALGORITHMS.distinct())
    parts = [HEAD.format(algorithms=distinct, forms=len(ALGORITHMS) - distinct, collectives=len(served))]
    parts.append(f"## The collectives\n\n{TABLE}\n{table.markdown(_word, lambda _, use: use)}\n")
    for name in served:
        parts.append(f"## {name}\n\n{COLLECTIVES[name].summary}\n")
        parts += [entry(a) for a in ALGORITHMS.values() if a.collective.name == name]
    return "\n".join(parts)


def _word(key: str) -> str:
    return WORDS.get(key, key)


def entry(algorithm: Algorithm) -> str:
    """What the page says of one algorithm."""
    lines = [f"### {algorithm.name}\n", f"{algorithm.summary}\n"]
    lines += [f"- {name}: {text}" for name, text in _rows(algorithm) if text]
    return "\n".join(lines) + "\n"


def _rows(algorithm: Algorithm) -> Iterator[tuple[str, str]]:
    n = next(n for n in EXAMPLES if not algorithm.refuse(n, **algorithm.defaults))
    schedule = algorithm.schedule(n)
    of = "" if n == EXAMPLES[0] else f" for {n} ranks"
    yield f"steps{of}", str(schedule.steps)
    yield "busiest rank", _busiest(schedule)
    yield "time", _time(algorithm, n)
    yield "ranks", _limits(algorithm)
    yield "parameters", ", ".join(f"`{p.name}={_shown(p.kind, p.default)}`" for p in algorithm.params.values())
    yield "known as", ", ".join(f"{library} {number}" for library, number in algorithm.known_as.items())
    yield "from", algorithm.reference


def _busiest(schedule: Schedule) -> str:
    """Messages and bytes out of and into the ranks that have most of them."""
    away = schedule.src != schedule.dst
    weight = np.diff(schedule.moves) * schedule.unit_share
    parts = []
    for verb, ends in (("sends", schedule.src), ("receives", schedule.dst)):
        counted = away & (ends < schedule.n)
        messages = np.bincount(ends[counted], minlength=1).max()
        share = np.bincount(ends[counted], weight[counted], 1).max()
        parts.append(f"{verb} {messages} messages" + (f", {_number(share)} m" if share else ""))
    return "; ".join(parts).replace(" 1 messages", " 1 message")


def _time(algorithm: Algorithm, n: int) -> str:
    if algorithm.cost is None:
        return "no cost claimed"
    terms = zip(Cost(*algorithm.cost(n, **algorithm.defaults)), ("α", "βm", "γm"), strict=True)
    return ("" if algorithm.exact else "≤ ") + " + ".join(f"{_number(value)} {what}" for value, what in terms if value)


def _number(value: float) -> str:
    return f"{value:.4g}"


def _limits(algorithm: Algorithm) -> str:
    """Why some numbers of ranks up to 33 cannot be done, the numbers themselves left out."""
    reasons = [algorithm.refuse(n, **algorithm.defaults) for n in range(2, 34)]
    limits = sorted({str(reason).partition(", ")[0] for reason in reasons if reason})
    return "; ".join(limits) or "any number"


def _shown(kind: str, value: object) -> str:
    match kind, value:
        case "bandwidth", float():
            return fmt_bandwidth(value)
        case "time", float():
            return fmt_time(value)
        case "size", int():
            return fmt_size(value)
    return str(value)


if __name__ == "__main__":
    with one_sentence():
        sys.stdout.write(page())
