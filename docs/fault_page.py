"""The kinds of fault and of edits as a page; `python -m docs` writes it."""

import sys
from collections.abc import Iterator

from sim.faults.edits import EDITS
from sim.faults.kinds import FAULTS, FaultKind, FaultRegistry
from sim.parameters import Parameter

HEAD = """# What if

The faults of a run, from the same list as the terminal and the dashboard: `--fault NAME:key=value,…`, and
*What if* in the settings. A click in the player offers some of them. Braces are filled in with the clicked link or
device, the current instant, and the run's time. A comma in a device's name is written `%2C`; `;`, `=`, `|` and
`&` have codes of their own, as in links. This page is made by `python -m docs`; a test says when it is stale.
"""
EDITING = """# Another machine

Changes to a machine before a run: `--edit NAME:key=value,…`, and *Change the machine* in the settings.
Several edits are made one after the other; `topology` lists the changes.
"""


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join([HEAD, *_entries(FAULTS), EDITING, *_entries(EDITS)])


def _entries(kinds: FaultRegistry) -> Iterator[str]:
    return ("\n".join(_lines(kinds, name, kind)) + "\n" for name, kind in kinds.items())


def _lines(kinds: FaultRegistry, name: str, kind: FaultKind) -> Iterator[str]:
    yield f"## {name}\n"
    yield " ".join([kinds.summary(name), *kinds.about(name).split()]) + "\n"
    yield f"- arguments: {', '.join(map(_shown, kind.parameters.values())) or 'none'}"
    for offer in kind.offers:
        yield f"- {_places(kind.targets(offer))}: {offer.text or kinds.summary(name)} `{kind.spec(offer)}`"


def _places(names: tuple[str, ...]) -> str:
    return "always" if "machine" in names else f"on a {' or '.join(names)}"


def _shown(parameter: Parameter) -> str:
    """An argument with its default, where it has one."""
    return f"`{parameter.name}`" if parameter.default is None else f"`{parameter.name}={parameter.typed}`"


if __name__ == "__main__":
    sys.stdout.write(page())
