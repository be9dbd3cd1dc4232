"""Options that several commands take, each defined once, and the plan they make together.

`@asks(MACHINE, SIZE, …)` gives a command these options, and its function their values as one `plan`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from ops import answers
from ops.collectives import COLLECTIVES
from ops.formats import recognise, schedule_text
from ops.libraries import LIBRARIES
from ops.libraries.nccl.own.numbers import own_numbers
from ops.libraries.nccl.own.saved import EXPECTED, word_in
from ops.plan import Plan, PreparedRun
from ops.plan.notation import MOST, assignments, beside, by_name, listed, size_word
from ops.plan.plan_file import from_yaml
from ops.plan.python_file import python_file
from ops.registry import ALGORITHMS
from ops.run import FEW, Run, Work
from ops.run.values import SMALL
from sim.base.files import textfile
from sim.base.files.textfile import Expected, is_standard_input, read_text
from sim.errors import InputError, StalledError
from sim.formats import FORMATS
from sim.placement import in_one_line
from sim.topology.pair_rates import beside as with_pairs
from sim.trace import Trace
from terminal import Answer
from terminal.shared import types

Words = Mapping[str, Any]
"""What the options of a plan hold, by name; None or empty where one is not given."""
Options = tuple[Callable[[Any], Any], ...]

TOPOLOGY = click.option("--topology", metavar="FILE", help="instead of --machine: a capture in any known format")
ASSUME = click.option(
    "--default", "assume", multiple=True, type=types.ASSIGNMENT, metavar="KEY=VALUE", help="values missing from a file"
)
PAIRS = click.option(
    "--pairs",
    metavar="FILE",
    help="output of p2pBandwidthLatencyTest or nvbandwidth, for rates missing from a capture",
)
PLACEMENT = click.option(
    "--placement",
    metavar="WHERE|FILE",
    help="GPU of each rank: per_host=4, 0-3,8-11, 0:0-3,1:4-7, or a rank file or host file",
)
CALIBRATION = click.option(
    "--calibration",
    metavar="FILE|NUMBERS",
    help="numbers measured on the machine: a file of `calibrate -o`, or hop_4.2us,share_0.93",
)
MACHINE_ALONE: Options = (
    click.option("--machine", metavar="SPEC", help="NAME[:key=value,…], see `list machines`"),
    click.option("--edit", multiple=True, metavar="SPEC", help="KIND:key=value,…, see `list edits`; may be repeated"),
    ASSUME,
    PAIRS,
    PLACEMENT,
    CALIBRATION,
)
NETWORK: Options = (
    click.option("--network", metavar="NAME", help="network between hosts instead of the default, see `list networks`"),
)
NETWORKS: Options = (
    click.option(
        "--network", multiple=True, metavar="NAME", help="network between hosts, see `list networks`; may be repeated"
    ),
)
"""Several of them side by side."""
MACHINE: Options = (*MACHINE_ALONE, TOPOLOGY, *NETWORK)
SCHEDULE: Options = (
    click.option("--schedule", metavar="FILE", help="instead: a schedule in a known format, or file.py:function"),
    click.option(
        "--library",
        metavar="NAME",
        help="with a collective: run this library's choice, or the one of --algorithm-id",
    ),
    click.option(
        "--algorithm-id", "id", metavar="ID", help="a library's own number or name, see `list algorithms --library`"
    ),
    click.option(
        "--root",
        type=types.WHOLE,
        metavar="RANK",
        help="the rank a rooted collective starts from or ends at; 0 if left out",
    ),
    click.option(
        "--set",
        multiple=True,
        type=types.ASSIGNMENT,
        metavar="KEY=VALUE",
        help="a parameter of the algorithm or format",
    ),
)
ALGORITHM: Options = (click.argument("algorithm", required=False, metavar="[COLLECTIVE.ALGORITHM]"), *SCHEDULE)
"""See `list algorithms`; nccl.COLLECTIVE is what NCCL would run."""
SIZE: Options = (
    click.option("--size", type=types.SIZE, metavar="SIZE", help="bytes as nccl-tests counts them, like 64MiB"),
)
RANKS: Options = (
    click.option(
        "--ranks", type=types.RANKS, metavar="N", help="how many ranks take part; the whole machine if left out"
    ),
)
FAULT: Options = (
    click.option("--fault", "fault", multiple=True, metavar="SPEC", help="KIND:key=value,…, see `list faults`"),
)
ONE: Options = (*ALGORITHM, *MACHINE, *SIZE, *RANKS)
"""An algorithm on a machine."""
RUN: Options = (
    *ALGORITHM,
    click.option(
        "--plan", metavar="FILE", help="a plan file instead of all other options, as `render -o x.yaml` writes it"
    ),
    click.option("--allow-exec", "trust", is_flag=True, help="execute the Python file that a plan names"),
    *MACHINE,
    *SIZE,
    click.option(
        "--counts",
        type=types.BLOCKS,
        metavar="SIZE,…",
        help="block sizes of a v collective, like 1KiB,2KiB,0,8KiB; instead of --size",
    ),
    click.option(
        "--displs",
        type=types.BLOCKS,
        metavar="SIZE,…",
        help="places of these blocks in a buffer: displacements of MPI",
    ),
    *RANKS,
    *FAULT,
    click.option("--lockstep", is_flag=True, help="start each step when the step before has ended on all ranks"),
    click.option("--blocking", is_flag=True, help="let each rank finish a step, sends included, before its next"),
)
"""What one run is made of."""
VALUES: Options = (
    click.option("--show-values", "show_values", is_flag=True, help="show the numbers that blocks hold, step by step"),
    click.option(
        "--vector",
        metavar="NUMBER,…",
        help="these numbers instead of small ones: those of rank 0 first, repeated where too few",
    ),
    click.option(
        "--op", metavar="OP", help="how real numbers are combined: sum, mean, max, min or prod; sum if left out"
    ),
)
"""Numbers in the blocks."""
ENDINGS = (".txt", ".rf", ".hosts", ".rankfile", ".csv", ".log")
"""File endings: a word that ends so is the name of a file, even if the file does not exist."""
BESIDE_PLAN = ("plan", "trust", "lockstep", "blocking")
"""Of these, what may be given with a plan, which stands for all others."""


def asks(*options: Callable[[Any], Any], machine: bool = True) -> Callable[[Callable[..., Answer]], Any]:
    """Give a command these options, and its function their values as `plan`; `machine` says whether it needs one."""
    return gathers("plan", partial(read, machine=machine), *options)


def gathers(
    argument: str, make: Callable[[Words], Any], *options: Callable[[Any], Any]
) -> Callable[[Callable[..., Answer]], Any]:
    """Give a command these options, and its function what `make` makes of their values as one argument."""
    names = names_of(options)

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        @wraps(function)
        def with_whole(**values: Any) -> Answer:
            words = {name: values.pop(name) for name in names}
            return function(**{argument: make(words)}, **values)

        return takes(*options)(with_whole)

    return decorate


def takes(*options: Callable[[Any], Any]) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Give a command these options, and its function their values by name."""

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        for option in reversed(options):
            option(function)
        return function

    return decorate


def names_of(options: Iterable[Callable[[Any], Any]]) -> list[str]:
    """What the values of these options are called."""

    def nothing() -> None:
        pass

    for option in options:
        option(nothing)
    return [param.name for param in nothing.__click_params__]  # type: ignore[attr-defined]


def read(words: Words, *, machine: bool = True) -> Plan:
    """The plan that options make. Raises InputError for what does not go together."""
    also = {name: words[name] for name in ("lockstep", "blocking", "dtype", "op") if words.get(name)}
    if words.get("show_values") or words.get("vector") is not None:
        vector = words.get("vector")
        also["values"] = SMALL if vector is None else vector or ","
    if words.get("plan") is not None:
        return replace(_plan(words), **also)
    return Plan(**(_machine(words, needed=machine) | _schedule(words) | _load(words) | also))


def _plan(words: Words) -> Plan:
    instead = [name for name in names_of(RUN) if name not in BESIDE_PLAN]
    beside = [name for name in instead if words.get(name) not in (None, ())]
    if beside:
        raise InputError("option.all_in_file", options=beside)
    return from_yaml(schedule_text(words["plan"]), words["plan"], execute=bool(words.get("trust")))


def _machine(words: Words, *, needed: bool) -> dict[str, str]:
    spec, file, rates = words.get("machine"), words.get("topology"), words.get("assume") or ()
    edits = {
        "edits": listed(words.get("edit") or ()),
        "placement": placement_word(words.get("placement") or ""),
        "calibration": calibration_word(words.get("calibration")),
    }
    network, others = _networks(words.get("network") or ())
    if network and needed and spec is None and file is None:
        spec = f"switch:ranks={words.get('ranks') or 8}"
    if (spec is not None and file is not None) or (needed and spec is None and file is None):
        raise InputError("option.machine_once")
    if file is not None:
        text = FORMATS.text(file)
        FORMATS.recognise(text, file)
        if words.get("pairs") is not None:
            text = with_pairs(text, FORMATS.text(words["pairs"]), words["pairs"])
        capture = {"machine": "", "capture": text, "capture_name": file, "rates": ",".join(rates)}
        return capture | edits | {"network": network, "against": others}
    if words.get("pairs") is not None:
        raise InputError("option.pairs")
    if spec and is_file(spec):
        raise InputError("option.is_file", spec=spec)
    if rates:
        raise InputError("option.default")
    return edits | {"machine": spec or "", "network": network, "against": others}


def placement_word(where: str) -> str:
    """A placement in one line: as it is, or what the file of this name says. Raises InputError."""
    if is_file(where) or Path(where).suffix in ENDINGS:
        return in_one_line(read_text(Path(where), Expected(file="a rank file")), where)
    return where


def calibration_word(where: str | None) -> str:
    """Numbers as one word: as they are, or what the file of this name says; nothing for None. Raises InputError."""
    if where is None:
        return ""
    if is_file(where) or Path(where).suffix == ".json":
        return word_in(read_text(where, EXPECTED), where)
    return str(own_numbers(where))


def is_file(word: str) -> bool:
    """Whether a word is the name of a file, or standard input."""
    return is_standard_input(word) or textfile.is_file(word)


def _networks(names: str | tuple[str, ...]) -> tuple[str, str]:
    """The first network, and runs that differ in it alone, as `against` has them. Raises InputError."""
    several = [names] if isinstance(names, str) else names
    if len(set(several)) < len(several):
        raise InputError("option.network_twice")
    if len(several) > MOST + 1:
        raise InputError("option.networks", count=len(several), most=MOST + 1)
    return next(iter(several), ""), beside([{"network": name} for name in several[1:]])


def _schedule(words: Words) -> dict[str, str]:
    name, file = words.get("algorithm"), words.get("schedule")
    chosen = ",".join(words.get("set") or ())
    settings = {"settings": chosen}
    if file is None:
        algorithm, chosen = by_name(_algorithm(name, words.get("library"), words.get("id")), chosen)
        algorithm, chosen = _preferred(algorithm, chosen)
        return {"algorithm": algorithm, "settings": chosen}
    if words.get("library") is not None or words.get("id") is not None:
        raise InputError("option.schedule_brings")
    if python_file(file):
        return settings | {"algorithm": name or "", "python": file}
    text = schedule_text(file)
    recognise(text, file)
    if name is not None:
        raise InputError("option.file_says", file=file, option=name)
    if words.get("root") is not None:
        raise InputError("option.file_root", file=file)
    return settings | {"algorithm": "", "schedule": text, "schedule_name": file}


def _algorithm(name: str | None, library: str | None, number: str | None) -> str:
    """The algorithm, by its own name or a library's number; nothing where none is given."""
    if library in LIBRARIES and number is None and name:
        COLLECTIVES[name.partition(".")[0]]  # told by its own name where there is none
        return f"{library}.{name}"
    if (library is None) != (number is None):
        raise InputError("option.library_both")
    if library is not None and number is not None:
        ALGORITHMS.known_as(name or "", library, number)
        return f"{name}.{library}:{number}"
    return ALGORITHMS[""].name if name == "" else name or ""


def _preferred(algorithm: str, settings: str) -> tuple[str, str]:
    """`gloo.allreduce.ring` is Gloo's allreduce with algorithm=ring."""
    library, _, rest = algorithm.partition(".")
    collective, dot, word = rest.partition(".")
    if not (dot and library in LIBRARIES):
        return algorithm, settings
    if "algorithm" in assignments(settings, algorithm):
        raise InputError("option.algorithm_twice", collective=collective, word=word)
    return f"{library}.{collective}", ",".join(filter(None, (f"algorithm={word}", settings)))


def _load(words: Words) -> dict[str, Any]:
    size, counts, displs = words.get("size"), words.get("counts"), words.get("displs")
    if size is not None and counts is not None:
        raise InputError("option.size_or_counts")
    return {
        "size": size_word(size or 0),
        "counts": ",".join(map(str, counts or ())),
        "displs": ",".join(map(str, displs or ())),
        "ranks": words.get("ranks") or 0,
        "root": words.get("root") or 0,
        "fault": listed(words.get("fault") or ()),
    }


def prepare(plan: Plan) -> PreparedRun:
    """The plan, built and proved. Raises InputError for what is given though it is not needed too."""
    prepared = plan.prepare()
    refuse_needless(plan, prepared.work)
    return prepared


def refuse_needless(plan: Plan, work: Work) -> None:
    """Raise InputError for a size, a rank count or a root that what runs brings itself, or cannot have."""
    if work.made is not None and work.made.fixed_bytes is not None and (plan.size or plan.counts):
        raise InputError("option.own_sizes", work=work.name)
    if plan.schedule and plan.ranks and plan.ranks != work.n:
        raise InputError("option.own_ranks", schedule=plan.schedule_name, n=work.n, ranks=plan.ranks)
    if not 0 <= plan.root < work.n:
        raise InputError("root.unknown", name=work.name, root=plan.root, last=work.n - 1)


def ended(plan: Plan, *, history: bool = False, written: float = FEW) -> Run | Trace:
    """The run that is asked for, or where it never ends the trace until nothing moves. Raises InputError."""
    run = partial(carried_out, history=history, written=written)
    try:
        return run(plan)
    except (InputError, StalledError):  # once more: up to where it stops, if that is what is wrong
        return answers.carried_out(plan, run)


def carried_out(plan: Plan, *, history: bool = False, written: float = FEW) -> Run:
    """The run that is asked for; one that was kept is as it was. Raises InputError and StalledError."""
    return plan.run() if plan.is_kept else prepare(plan).run(history=history, written=written)
