"""What the contract asks: command lines, links, and files that somebody may have kept."""

from pathlib import Path

DATA = Path(__file__).with_name("data")
OLD = DATA / "old"
"""Files that somebody may have kept: plans, talks, machines, schedules, runs, tables, notebooks."""
LONG = "long: "
"""What a command line begins with that only `./check --long` tries."""


def command_lines(*, long: bool = True) -> list[str]:
    """The command lines whose answers are stored."""
    lines = (DATA / "commands.txt").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(LONG) for line in lines if long or not line.startswith(LONG)]


def links() -> list[str]:
    """The query strings of links to the dashboard."""
    return (DATA / "links.txt").read_text(encoding="utf-8").splitlines()


def files(kind: str) -> list[Path]:
    """The files of a kind that somebody may have kept."""
    return sorted(path for path in (OLD / kind).iterdir() if path.is_file())
