"""A launcher's line: a command's options, a script, and what the script finds in `sys.argv`."""

import re
from collections.abc import Mapping

import click

from sim.base.numbers import whole
from terminal import TerminalCommand

INTERPRETER = re.compile(r"(?:.*[/\\])?(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


class LaunchCommand(TerminalCommand):
    """A launcher's line: options, a script, and what the script finds in `sys.argv`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Behind the script, an option that this command lacks or has already is the script's, as all is behind --."""
        flags = {
            flag: option for option in self.get_params(ctx) if isinstance(option, click.Option) for flag in option.opts
        }
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            at += _words(flags, args[at])
        own, rest = args[:at], args[at:]
        behind = rest[:1] == ["--"]
        rest = _without_interpreter(rest[behind:], ctx)
        if behind:
            rest.insert(0, "--")
        elif rest:
            own, rest = _sorted(flags, own, rest[1:], rest[:1])
        return super().parse_args(ctx, own + rest)


Flags = Mapping[str, click.Option]


def _without_interpreter(words: list[str], ctx: click.Context) -> list[str]:
    """The line from the script on, where Python and its switches stand before it, as behind mpiexec."""
    if not words or not INTERPRETER.fullmatch(words[0]):
        return words
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        switch = rest.pop(0)
        if switch == "-m" and rest:
            module = rest.pop(0)
            if module != "mpi4py":
                ctx.fail(f"python -m {module}: a program is run from its file: give that instead")
        elif switch in ("-W", "-X") and rest:
            rest.pop(0)
        elif switch == "-c":
            ctx.fail("python -c: a program is run from its file: write it to one")
    return rest


def _sorted(flags: Flags, own: list[str], args: list[str], script: list[str]) -> tuple[list[str], list[str]]:
    """This command's own words, and the script with its arguments behind a --."""
    has = {_option(flags, word) for word in own}
    while args and args[0] != "--":
        option = _option(flags, args[0])
        if option is None or (option in has and not option.multiple):
            script.append(args.pop(0))
            continue
        has.add(option)
        count = _words(flags, args[0])
        if count > len(args):  # a value is missing, which click says best
            return [*script, *own, *args], []
        own, args = own + args[:count], args[count:]
    return own, ["--", *script, *args[1:]]


def _option(flags: Flags, word: str) -> click.Option | None:
    """The option that a word of the line names: --name, --name=value, -n or -n8."""
    name = word.partition("=")[0] if word.startswith("--") else word
    return flags.get(name) or (flags.get(word[:2]) if whole(word[2:]) is not None else None)


def _words(flags: Flags, word: str) -> int:
    """How many words of the line this one takes with its values."""
    option = _option(flags, word)
    return 1 if option is None or option.is_flag or word not in option.opts else 1 + option.nargs
