"""The terminal's front door: `python cli.py --help`.

Exit status 0 means done, 1 that the answer is no (a wrong schedule, a rank nothing reaches), 2 bad input,
which is told in one line. Heavy imports happen in the command that needs them.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from sim.errors import InputError, StalledError, UnreachableError

if TYPE_CHECKING:
    from ops.registry import Algorithm
    from sim.parameters import Parameter
    from sim.schedule import Schedule
    from sim.topology import Topology
    from sim.trace import Trace

DONE, NO, BAD_INPUT = 0, 1, 2
INTERRUPTED, PIPE_CLOSED = 130, 141
"""What shells call a program ended by SIGINT or SIGPIPE."""
Answer = tuple[int, dict[str, Any], str]
"""Exit status, the answer as data, the answer as text."""


class _Parser(argparse.ArgumentParser):
    """Tells a wrong flag the way every other bad input is told."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}: see `{self.prog} --help`")


def _parser() -> _Parser:
    parser = _Parser(prog="cli.py", description="See and time collective communication on a simulated GPU cluster.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser, required=True)

    def command(name: str, answer: Callable[[argparse.Namespace], Answer], summary: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        made.set_defaults(answer=answer)
        made.add_argument("--json", action="store_true", help="the answer as JSON")
        return made

    listing = command("list", _list, "What there is, from the registries.")
    listing.add_argument(
        "what", nargs="?", metavar="WHAT", help=f"one of {', '.join(_SECTIONS)}; all of them if left out"
    )

    run = command("run", _run, "Prove a collective and time it on a machine.")
    _add_algorithm(run)
    _add_machine(run)
    run.add_argument("--topology", metavar="FILE", help="instead of --machine: a capture in any known format")
    run.add_argument("--size", help="bytes as nccl-tests counts them, like 64MiB; a barrier has none")
    run.add_argument("--counts", help="block sizes of a v collective, like 1KiB,2KiB,0,8KiB; instead of --size")
    run.add_argument("--ranks", help="how many ranks take part; the whole machine if left out")
    run.add_argument("--lockstep", action="store_true", help="let every step wait for the whole step before")
    run.add_argument("--trace", metavar="FILE.json", help="also write everything that happened to a file")

    verify = command("verify", _verify, "Is every contribution there exactly once?")
    _add_algorithm(verify)
    verify.add_argument("--ranks", required=True, help="how many ranks take part")

    topology = command("topology", _topology, "The devices, links and classes of pairs of a machine.")
    topology.add_argument("file", nargs="?", metavar="FILE", help="a capture in any known format")
    _add_machine(topology)
    return parser


def _add_algorithm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("algorithm", metavar="COLLECTIVE.ALGORITHM", help="see `list algorithms`")
    parser.add_argument("--root", default="0", help="the rank a rooted collective starts from or ends at")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the algorithm")


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machine", metavar="SPEC", help="NAME[:key=value,…], see `list machines`")
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what a file does not say, see `list formats`",
    )


class _Entry(NamedTuple):
    """One line of a list."""

    name: str
    summary: str
    parameters: "dict[str, Parameter]"
    more: Mapping[str, Any] = {}


def _collectives() -> list[_Entry]:
    from ops.collectives import COLLECTIVES

    return [_Entry(name, known.summary, {}) for name, known in COLLECTIVES.items()]


def _algorithms() -> list[_Entry]:
    from ops import ALGORITHMS

    known = ALGORITHMS.values()
    return [_Entry(a.name, a.summary, a.params, {"aliases": a.aliases, "reference": a.reference}) for a in known]


def _machines() -> list[_Entry]:
    from sim.machines import MACHINES, machine_parameters, machine_summary

    return [_Entry(name, machine_summary(name), machine_parameters(name)) for name in MACHINES]


def _formats() -> list[_Entry]:
    from sim.formats import FORMATS

    return [_Entry(name, known.title, known.options) for name, known in FORMATS.items()]


_SECTIONS = {"collectives": _collectives, "algorithms": _algorithms, "machines": _machines, "formats": _formats}


def _list(given: argparse.Namespace) -> Answer:
    if given.what is not None and given.what not in _SECTIONS:
        raise InputError(f"there is no list of {given.what[:40]!r}: choose from {', '.join(_SECTIONS)}")
    sections = {what: _SECTIONS[what]() for what in ([given.what] if given.what else _SECTIONS)}
    found, texts = {}, []
    for what, entries in sections.items():
        width = max(len(entry.name) for entry in entries)
        lines = [] if given.what else [what]
        for name, summary, parameters, _ in entries:
            lines.append(f"{name:{width}}  {summary}")
            if given.what and parameters:
                lines.append(f"{'':{width}}  {','.join(map(_spelled, parameters.values()))}")
        texts.append("\n".join(lines))
        found[what] = [
            {"name": name, "summary": summary, "parameters": {key: p.default for key, p in parameters.items()}, **more}
            for name, summary, parameters, more in entries
        ]
    return DONE, found, "\n\n".join(texts)


def _spelled(parameter: "Parameter") -> str:
    """A parameter with its default, as a person would type it."""
    from sim.units import fmt_bandwidth, fmt_size, fmt_time

    formats = {"bandwidth": fmt_bandwidth, "time": fmt_time, "size": fmt_size}
    value = parameter.default
    if value is None:
        text = "…"
    elif parameter.kind in formats:
        text = formats[parameter.kind](value).replace(" ", "")
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{parameter.name}={text}"


def _run(given: argparse.Namespace) -> Answer:
    from ops import ALGORITHMS
    from sim import metrics
    from sim.engine import simulate
    from sim.verify import prove

    begun = time.perf_counter()
    entry = ALGORITHMS[given.algorithm]
    size, counts = _load(given, entry)
    machine = _machine(given)
    ranks = machine.n if given.ranks is None else _whole(given.ranks, "--ranks")
    if ranks > machine.n:
        raise InputError(f"{machine.name} holds {machine.n} ranks, not {ranks}: ask for {machine.n} or fewer")

    build_begun = time.perf_counter()
    schedule = _schedule(given, entry, ranks)
    proof_begun = time.perf_counter()
    proof = prove(schedule, blocks=counts is not None)
    proved = time.perf_counter()
    promise = schedule.promise
    assert promise is not None
    if counts is not None:
        size = _largest_buffer(counts, promise)
    trace = simulate(
        machine, schedule, size, blocks=counts, lockstep=given.lockstep, history=given.trace is not None, proof=proof
    )
    import numpy as np

    weights = np.array(counts) if counts is not None else np.full(promise.blocks, size * schedule.unit_share)
    bound = metrics.lower_bound(machine, promise, weights.astype(np.float64), np.array(machine.ranks[:ranks], np.int32))
    if given.trace is not None:
        _write(given.trace, trace.to_json())
    use = metrics.bottleneck(trace)
    busy = use and machine.links[use.link]
    found = {
        "collective": entry.collective.name,
        "algorithm": entry.name,
        "machine": machine.name,
        "ranks": ranks,
        "size_bytes": size,
        "time_s": trace.time,
        "algbw_Bps": metrics.algbw(trace),
        "busbw_Bps": metrics.busbw(trace, entry.collective.busbw(ranks)),
        "bound_s": bound,
        "transfers": schedule.messages,
        "steps": schedule.steps,
        "instants": trace.instants,
        "verified": trace.verdict.verdict == "ok",
        "bottleneck": use and busy and {"src": busy.src, "dst": busy.dst, "bytes": use.bytes, "share": use.share},
        "build_s": proof_begun - build_begun,
        "verify_s": proved - proof_begun,
        "sim_s": trace.real["sim_s"],
        "wall_s": time.perf_counter() - begun,
    }
    return DONE if found["verified"] else NO, found, _run_text(found, trace)


def _load(given: argparse.Namespace, entry: "Algorithm") -> tuple[int, list[int] | None]:
    """The size, or the block sizes, that a run is given."""
    from sim.units import parse_size

    if not entry.collective.sized:
        return 0, None
    if given.counts is None:
        if given.size is None:
            raise InputError(f"{entry.name} moves data, but no size is given: add --size 64MiB")
        return parse_size(given.size, "--size"), None
    if given.size is not None:
        raise InputError("--size and --counts are both given: keep --counts for unequal blocks, --size for equal ones")
    if not entry.collective.vector:
        raise InputError(f"{entry.name} has blocks of equal size: give --size, or choose a v collective for --counts")
    texts = given.counts.split(",")
    return 0, [0 if text.strip() == "0" else parse_size(text, f"--counts, block {i}:") for i, text in enumerate(texts)]


def _largest_buffer(counts: list[int], promise: Any) -> int:
    """What nccl-tests would call the size of unequal blocks: the bytes of the largest buffer of any rank.

    A wrong number of counts is the engine's to tell.
    """
    import numpy as np

    weights = np.array([*counts, 0]) if len(counts) == promise.blocks else np.zeros(promise.blocks + 1, int)
    return int(max(weights[buffer].sum(axis=1).max() for buffer in (promise.given, promise.owed)))


def _machine(given: argparse.Namespace) -> "Topology":
    from sim.formats import read_topology_file
    from sim.machines import build
    from sim.parameters import parse_assignments

    file = given.file if "file" in given else given.topology
    if (file is None) == (given.machine is None):
        raise InputError("a machine must be given once: add either --machine NAME or the file of a topology")
    if file is not None:
        return read_topology_file(file, **parse_assignments(given.assume, "--assume"))
    if given.assume:
        raise InputError("--assume fills in what a file does not say: give --machine NAME:key=value,… instead")
    return build(given.machine)


def _schedule(given: argparse.Namespace, entry: "Algorithm", ranks: int) -> "Schedule":
    from sim.parameters import parse_assignments

    settings = parse_assignments(given.set, f"{entry.name}, --set")
    return entry.schedule(ranks, root=_whole(given.root, "--root"), **settings)


def _whole(text: str, flag: str) -> int:
    from sim.parameters import Parameter

    value: int = Parameter(flag, "int", None).parse(text, "the command line")
    return value


def _run_text(found: dict[str, Any], trace: "Trace") -> str:
    from sim.units import fmt_bandwidth, fmt_size, fmt_time

    load = f", {fmt_size(found['size_bytes'])}" if found["size_bytes"] else ""
    rows = {"time": fmt_time(found["time_s"])}
    if load:
        rows["algbw"] = fmt_bandwidth(found["algbw_Bps"])
        rows["busbw"] = fmt_bandwidth(found["busbw_Bps"])
    ratio = f" (this took {found['time_s'] / found['bound_s']:.3g} times that)" if found["bound_s"] else ""
    rows["bound"] = f"{fmt_time(found['bound_s'])} at least, whatever the algorithm{ratio}"
    if found["bottleneck"]:
        busiest = found["bottleneck"]
        rows["bottleneck"] = f"{busiest['src']} -> {busiest['dst']}, busy {busiest['share']:.1%} of the time"
    rows["transfers"] = f"{found['transfers']:,} in {found['steps']:,} steps"
    rows["verified"] = "yes" if found["verified"] else f"NO: {trace.verdict.reason}"
    head = f"{found['algorithm']} on {found['machine']}: {found['ranks']} ranks{load}"
    notes = [f"note: {note}" for note in trace.topology.assumed]
    return "\n".join([head, *(f"  {name:11} {value}" for name, value in rows.items()), *notes])


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): give a path that can") from None


def _verify(given: argparse.Namespace) -> Answer:
    from ops import ALGORITHMS
    from sim.verify import verify

    entry = ALGORITHMS[given.algorithm]
    ranks = _whole(given.ranks, "--ranks")
    schedule = _schedule(given, entry, ranks)
    verdict = verify(schedule)
    found = {"verdict": verdict.verdict, "reason": verdict.reason}
    told = f": {verdict.reason}" if verdict.reason else f" for {ranks} ranks"
    return DONE if verdict.ok else NO, found, f"{entry.name} is {verdict.verdict}{told}"


def _topology(given: argparse.Namespace) -> Answer:
    from sim.paths import describe
    from sim.units import fmt_bandwidth, fmt_time

    machine = _machine(given)
    found = describe(machine)
    kinds: dict[tuple[str, float, float], int] = {}
    for link in machine.links:
        alike = (link.kind, link.bandwidth, link.latency)
        kinds[alike] = kinds.get(alike, 0) + 1
    lines = [
        f"{machine.name}: {found['gpus']} GPUs, {found['nics']} NICs, {found['numa_nodes']} NUMA nodes,"
        f" {len(machine.links)} links",
        *(f"  {n:4} x {kind} {fmt_bandwidth(rate)}, {fmt_time(wait)}" for (kind, rate, wait), n in kinds.items()),
        "",
        *_matrix(found["pairs"]),
        *(f"note: {note}" for note in machine.assumed),
    ]
    return DONE, found, "\n".join(lines)


def _matrix(pairs: dict[str, dict[str, str]]) -> list[str]:
    """The classes of pairs as `nvidia-smi topo -m` prints them."""
    names = list(pairs)
    width = max((len(text) for row in pairs.values() for text in (*row, *row.values())), default=0) + 1
    left = max((len(name) for name in names), default=0)
    rows = [f"{'':{left}}" + "".join(f" {name:>{width}}" for name in names)]
    for a in names:
        cells = ("X" if a == b else pairs[a].get(b, "") for b in names)
        rows.append(f"{a:{left}}" + "".join(f" {cell:>{width}}" for cell in cells))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        given = _parser().parse_args(argv)
        answer: Answer = given.answer(given)
        status, found, text = answer
        print(json.dumps(found, indent=2, allow_nan=False) if given.json else text)
        sys.stdout.flush()
    except SystemExit as helped:  # --help has been printed
        return int(helped.code or 0)
    except InputError as error:
        _tell(str(error))
        return NO if isinstance(error, UnreachableError) else BAD_INPUT
    except StalledError as error:
        _tell(str(error))
        return NO
    except MemoryError:
        _tell("this run does not fit into memory: use fewer ranks, or an algorithm with fewer transfers")
        return BAD_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered has no reader
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _tell(message: str) -> None:
    line = "".join(c if c.isprintable() else " " for c in message)
    print(f"cli.py: {' '.join(line.split())}", file=sys.stderr)


def _stay_within_memory() -> None:
    """Let a run that is too large end with a message, not by freezing the computer."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_DATA, (whole, hard))


if __name__ == "__main__":
    _stay_within_memory()
    sys.exit(main())
