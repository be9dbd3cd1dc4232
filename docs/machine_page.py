"""The machines as a page; `python -m docs` writes it."""

import sys
from collections.abc import Iterator

from sim.machines import MACHINES

HEAD = """# Machines

Every machine of `--machine NAME:key=value,…`, from the same list as the terminal and the dashboard, with its sources.
Letters and hyphens of a name do not matter, and a number of GPUs may stand before it: `DGX-H100`, `8xH100`,
`2x4xA100` for two hosts with four each. This page is made by `python -m docs`; a test says when it is stale.
"""


def page() -> str:
    """The whole page, in Markdown."""
    return "\n".join([HEAD, *("\n".join(_lines(name)) + "\n" for name in MACHINES)])


def _lines(name: str) -> Iterator[str]:
    yield f"## {name}\n"
    yield " ".join([MACHINES.summary(name), *MACHINES.about(name).split()]) + "\n"
    typed = ", ".join(f"`{it.name}={it.typed}`" for it in MACHINES.parameters(name).values())
    yield f"- parameters: {typed}"
    if aliases := MACHINES.aliases(name):
        yield f"- also called: {', '.join(aliases)}"


if __name__ == "__main__":
    sys.stdout.write(page())
