"""The kinds of trouble as a page; `python -m docs` writes it."""

import sys
from collections.abc import Iterator

from sim.parameters import Parameter
from sim.trouble import TROUBLES, Trouble
from sim.units import exact_bandwidth, exact_size, exact_time

HEAD = """# What if

What can go wrong in a run, from the list that the terminal and the dashboard use too: `--trouble NAME:key=value,…`, and
*What if* in the sidebar. A click in the player's pictures asks some of it; what is in braces is filled in with what was
clicked, the instant that is shown, and the run's time. This page is made by `python -m docs`; a test says when it is
stale.
"""
UNITS = {"bandwidth": exact_bandwidth, "time": exact_time, "size": exact_size}


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join([HEAD, *("\n".join(_lines(name, kind)) + "\n" for name, kind in TROUBLES.items())])


def _lines(name: str, kind: Trouble) -> Iterator[str]:
    yield f"## {name}\n"
    yield " ".join([TROUBLES.summary(name), *TROUBLES.about(name).split()]) + "\n"
    yield f"- arguments: {', '.join(map(_shown, kind.parameters.values())) or 'none'}"
    for offer in kind.offers:
        yield f"- {_places(kind.targets(offer))}: {offer.text or TROUBLES.summary(name)} `{kind.spec(offer)}`"


def _places(names: tuple[str, ...]) -> str:
    return "always" if "machine" in names else f"on a {' or '.join(names)}"


def _shown(parameter: Parameter) -> str:
    """An argument with its default, where it has one."""
    value = parameter.default
    if value is None:
        return f"`{parameter.name}`"
    if isinstance(value, bool):
        return f"`{parameter.name}={'yes' if value else 'no'}`"
    return f"`{parameter.name}={UNITS[parameter.kind](value) if parameter.kind in UNITS else value}`"


if __name__ == "__main__":
    sys.stdout.write(page())
