"""`mpi`: a Python program on the simulated cluster."""

import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import click

from ops import ALGORITHMS
from ops.backends import Backend
from ops.communicators.selection import Forced
from ops.libraries import LIBRARIES
from ops.programs import ProgramRun, run_program
from ops.request import Request
from ops.request.notation import algorithm_spec
from sim.base.numbers import whole
from sim.errors import InputError
from sim.parameters import bind
from sim.units import fmt_bandwidth, fmt_size, fmt_time, parse_size
from sim.whole_file import write_whole
from terminal import DONE, NO, PROGRAM, Answer, TerminalCommand, answers_as_json, command
from terminal.shared.entries import EntryOption
from terminal.shared.files import TO_WRITE
from terminal.shared.options import MACHINE, asks
from terminal.shared.types import WHOLE, TypedWord

INTERPRETER = re.compile(r"(?:.*[/\\])?(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)
EAGER = TypedWord("size", lambda text, flag: parse_size(text, flag, least=0))


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


@command(kind=LaunchCommand)
@click.argument("script", metavar="SCRIPT.py")
@click.argument("args", nargs=-1, metavar="[ARG]...")
@click.option("-n", "-np", "--ranks", "ranks", type=WHOLE, required=True, metavar="N", help="how many ranks run it")
@asks(*MACHINE, machine=False)
@click.option(
    "--library",
    cls=EntryOption,
    of=lambda: LIBRARIES,
    metavar="NAME",
    help="whose rules choose algorithms; if left out Open MPI's for mpi4py, the backend's for torch",
)
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="COLLECTIVE.ALGORITHM[:key=value,…]",
    help="take this one whatever the rules say; may be repeated",
)
@click.option(
    "--eager",
    type=EAGER,
    default="64KiB",
    metavar="SIZE",
    help="longer messages wait for their receiver; 0 lets all of them wait",
)
@click.option(
    "--trace", type=TO_WRITE, metavar="FILE.json", help="also write the timeline of all calls, for ui.perfetto.dev"
)
@click.option(
    "--open",
    "opened",
    type=(TypedWord("call", lambda text, _: WHOLE.convert(text, None, None)), TO_WRITE),
    metavar="CALL FILE.json",
    help="also write everything that happened inside one collective, by its number in --json",
)
def mpi(
    request: Request,
    script: str,
    args: tuple[str, ...],
    ranks: int,
    library: str | None,
    algorithms: tuple[str, ...],
    eager: int,
    trace: str | None,
    opened: tuple[int, str] | None,
) -> Answer:
    """Run a Python MPI program on the simulated cluster, with no MPI installed.

    SCRIPT.py is a program for mpi4py, or for torch.distributed on numpy arrays. The ARGs are what it finds in sys.argv:
    behind the script, all that is no option of this command, or one that stands twice, and everything after --. The
    machine is switch:ranks=N if none is named.
    """
    if not (request.machine or request.capture):
        request = replace(request, machine=f"switch:ranks={max(2, ranks)}")
    out = sys.stdout

    def say(text: str) -> None:
        out.write(text)

    outcome = run_program(
        script, request.topology(), ranks, list(args), library=library, forced=dict(map(_forced, algorithms)),
        eager=eager, history=opened is not None, echo=None if answers_as_json() else say,
    )  # fmt: skip
    if trace is not None:
        write_whole(trace, outcome.to_perfetto())
    if opened is not None:
        write_whole(opened[1], _inside(outcome, opened[0]))
    if not answers_as_json():
        sys.stdout.flush()
        sys.stderr.write(_summary(outcome))
    return Answer(DONE if outcome.ok else NO, outcome.to_dict(), "")


def _forced(text: str) -> tuple[str, Forced]:
    name, settings = algorithm_spec(text)
    entry = ALGORITHMS[name]
    return entry.collective.name, (name, bind(entry.steps, settings, name, skip=("n", "root")))


def _inside(outcome: ProgramRun, number: int) -> str:
    if not 0 <= number < len(outcome.calls):
        raise InputError(f"--open {number}: the program made {len(outcome.calls)} calls, which count from 0")
    call = outcome.calls[number]
    if call.trace is None:
        what = "a message" if call.tag is not None else "not run to its end on two ranks or more"
        raise InputError(f"--open {number}: call {number}, {call.name} at {call.place}, is {what}: choose a collective")
    return call.trace.to_json()


def _left_out(cost: Backend) -> str:
    """What a library's processors would add to the links' time, as `ops.backends` has it with its sources."""
    parts = [f"{fmt_time(cost.launch)} a collective"]
    if cost.overhead:
        parts.append(f"{fmt_time(cost.overhead)} a message")
    if cost.gamma:
        parts.append(f"the time to add up at {fmt_bandwidth(1 / cost.gamma)}")
    listed = ", ".join(parts[:-1]) + " and " * bool(parts[1:]) + parts[-1]
    return f"  the links' time alone, without what {cost.library} itself takes in workloads: {listed}"


def _summary(outcome: ProgramRun) -> str:
    kinds: Counter[tuple[str, str]] = Counter()
    carried: Counter[tuple[str, str]] = Counter()
    for call in outcome.calls:
        kinds[call.name, call.algorithm] += 1
        carried[call.name, call.algorithm] += int(call.size)
    lines = [
        f"{outcome.ranks} ranks on {outcome.machine}: {fmt_time(outcome.time)} simulated, {len(outcome.calls)} calls"
    ]
    lines += [_left_out(cost) for cost in outcome.left_out()]
    for (name, algorithm), count in kinds.most_common(12):
        size = carried[name, algorithm]
        lines.append(f"  {count:6} x {name:18} {algorithm:32} {fmt_size(size) if size else ''}".rstrip())
    if len(kinds) > 12:
        lines.append(f"  and {len(kinds) - 12} more kinds: --json lists every call")
    if outcome.failure:
        lines.append(f"{PROGRAM}: {outcome.failure}")
    return "\n".join(lines) + "\n"
