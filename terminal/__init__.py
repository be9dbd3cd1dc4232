"""The terminal's commands, one file each, called what a person types (`-` for `_`): this folder is the only list.

A command is a function under `@command` with the name of its file, `_` behind both where Python has that word. It
takes what its options give and returns an Answer. A file is imported when its command is called, so it imports what it
needs at its top. What several commands share is in `terminal/shared`.
"""

import ast
import importlib
import json
import pkgutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, overload

import click

from sim.base.size import USUAL, allowing, number_of_devices
from sim.base.watch import limit_memory, watched

PROGRAM = "cli.py" if __name__ == "terminal" else __name__.partition(".")[0]
"""What messages call the program: as a package it has a command of its own."""
DONE, NO, BAD_INPUT = 0, 1, 2
"""Exit statuses: done; the answer is no (a wrong schedule, a rank nothing reaches); the input cannot be used."""
AS_JSON = "ringside.json"
"""Where the outermost context keeps whether the answer is to be JSON."""
LIMITS = "ringside.limits"
"""Where it keeps the limits that were given, as environment variables."""


class Answer(NamedTuple):
    """What a command has to say: the exit status, and the same thing as data and as text, which may be the data."""

    status: int
    data: dict[str, Any]
    text: str
    is_json: bool = False


_NOW = {
    "scenario": "plan",
    "trouble": "fault",
    "id": "algorithm-id",
    "again": "retry-failed",
    "against": "compare-to",
    "assume": "default",
    "trust": "allow-exec",
    **{f"most-{what}": f"max-{what}" for what in ("memory", "seconds", "jobs", "devices")},
}
RENAMED = {f"--{old}": f"--{new}" for old, new in _NOW.items()} | {"ladder": "exercises"}
"""New names of options and commands by their old names."""


class TerminalCommand(click.Command):
    """A command of the terminal. Every command also answers as JSON."""

    batch = False
    """Whether it makes many runs, or files, which nobody waits for: what a visitor's run may take is no limit then."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        from terminal.shared.limits import options  # which takes this package's own types

        largest = f"largest number of devices of a machine; {USUAL} if left out"
        devices = click.Option(["--max-devices"], metavar="N", callback=_max_devices, help=largest)
        self.params += [
            devices,
            *options(batch=self.batch),
            click.Option(["--json"], is_flag=True, help="the answer as JSON"),
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, and reject former names of options and options that are given twice.

        Raises click.UsageError for an option that takes one value and is given several times.
        """
        try:
            _check_each_once(ctx, self.make_parser(ctx).parse_args(list(args))[2])
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in RENAMED:
                raise
            now = RENAMED[error.option_name]
            raise click.UsageError(f"{error.option_name} is called {now} now: write {now}", ctx) from None
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function within its limits; what `--json` says is for whoever prints the answer."""
        from terminal.shared.limits import GIVEN, environment, watch

        is_json = ctx.find_root().meta[AS_JSON] = ctx.params.pop("json")
        limits = {name: ctx.params.pop(name) for name in GIVEN}
        ctx.find_root().meta[LIMITS] = environment(limits)
        by = watch(PROGRAM, limits, batch=self.batch)
        if ctx.find_root().obj:  # the process is the command's own
            limit_memory(by.memory)
        with watched(by), allowing(ctx.params.pop("max_devices")):
            answer: Answer = super().invoke(ctx)
        if is_json:
            return answer._replace(text=json.dumps(answer.data, indent=2, allow_nan=False), is_json=True)
        return answer


def _check_each_once(ctx: click.Context, parameters: Iterable[click.Parameter]) -> None:
    """Raise click.UsageError naming an option that takes one value and is among those given more than once."""
    counts = Counter(option.opts[0] for option in parameters if isinstance(option, click.Option) and _takes_one(option))
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise click.UsageError(f"{twice} is given {counts[twice]} times, and takes one value: keep one", ctx)


def _takes_one(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)


def _max_devices(_: click.Context, option: click.Parameter, word: str | None) -> int | None:
    return None if word is None else number_of_devices(word, option.opts[0])


class BatchCommand(TerminalCommand):
    """A command that makes many runs or large files."""

    batch = True


class LazyGroup(click.Group):
    """The commands, each imported when it is called: listing them reads no more than their sources."""

    @property  # type: ignore[override]
    def commands(self) -> Mapping[str, Any]:
        """The names of all commands, for lists and suggestions."""
        return dict.fromkeys(commands())

    @commands.setter
    def commands(self, _: Mapping[str, Any]) -> None:
        """Ignore what click sets for a group without commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, if there is one. Raises click.UsageError for a former name."""
        if cmd_name in RENAMED:
            raise click.UsageError(f"{cmd_name} is called {RENAMED[cmd_name]} now: write {RENAMED[cmd_name]}", ctx)
        if cmd_name not in commands():
            return None
        file = commands()[cmd_name]
        entry: click.Command = getattr(importlib.import_module(f"{__name__}.{file}"), file)
        return entry

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Every command with the first line of its docstring."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in commands()])


@overload
def command(function: Callable[..., Answer], /) -> TerminalCommand: ...


@overload
def command(
    *, passes_on: bool = False, kind: type[TerminalCommand] = TerminalCommand
) -> Callable[[Callable[..., Answer]], TerminalCommand]: ...


def command(
    function: Callable[..., Answer] | None = None,
    /,
    *,
    passes_on: bool = False,
    kind: type[TerminalCommand] = TerminalCommand,
) -> Any:
    """Make a function with click's options the command of its file; `passes_on` lets options through that it lacks.

    `kind` is its class, where it reads its line in a manner of its own.
    """
    settings = {"ignore_unknown_options": passes_on, "allow_extra_args": passes_on}

    def register(function: Callable[..., Answer]) -> TerminalCommand:
        name = function.__name__.rstrip("_").replace("_", "-")
        return click.command(name, cls=kind, context_settings=settings)(function)

    return register if function is None else register(function)


def commands() -> Mapping[str, str]:
    """The file of every command by its name."""
    files = (module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg)
    return {file.rstrip("_").replace("_", "-"): file for file in sorted(files)}


def summary(name: str) -> str:
    """The first line of a command's docstring, read without importing it."""
    spec = find_spec(f"{__name__}.{commands()[name]}")
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return (ast.get_docstring(functions[commands()[name]]) or "").split("\n")[0]


def answers_as_json() -> bool:
    """Whether the command that runs now was told to answer as JSON."""
    return bool(click.get_current_context().find_root().meta[AS_JSON])


def usage_message(error: click.UsageError) -> str:
    """Return click's sentence about a wrong command line, and where to look it up."""
    path = error.ctx.command_path if error.ctx else PROGRAM
    return f"{error.format_message()} See `{path} --help`"


def version() -> str:
    """Return this program's version: of the package, or what a checkout says of itself."""
    try:
        return metadata.version("ringside")
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"ringside {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, no_args_is_help=False, subcommand_metavar="COMMAND [ARGS]...")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="the version")
def ringside() -> None:
    """See and time collective communication on a simulated GPU cluster."""
