"""Every reader there is, with samples of what it reads: formats by their lists, specs by theirs, the rest by name."""

import ast
import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from ops.formats import SCHEDULE_FORMATS, check_schedule, write_schedule
from ops.lab.grid import read_grid
from ops.lab.journal import Journal, read_table
from ops.measured.files import place, read_tables
from ops.measured.formats import MEASUREMENTS
from ops.measured.machine import UntoldError
from ops.plan import plan_file, training
from ops.registry import ALGORITHMS
from ops.training.layers import parse_layers
from ops.workloads import WORKLOADS
from sim.base.formats import Formats
from sim.errors import InputError
from sim.faults.edits import EDITS, edited
from sim.faults.kinds import FAULTS, faults
from sim.formats import FORMATS, read_topology, write_topology
from sim.machines import MACHINES, build
from sim.parameters import Parameter, bind
from sim.schedule.verify import prove
from sim.topology import Topology
from sim.topology.path_classes import describe
from sim.trace import from_json
from sim.trace.metrics import critical_path
from tests.attack.mutate import NUMBERS, WORDS, mutated
from tests.contract.inputs import OLD

ROOT = Path(__file__).resolve().parents[2]
LARGEST_SAMPLE = 40_000
SAMPLES = 8
"""Of a format, at most."""
LARGEST_MACHINE = 64
"""Ranks of a machine whose pairs are all looked at."""


class Reader(NamedTuple):
    """A way in: texts it reads, and what it does with one."""

    name: str
    samples: Callable[[], tuple[str, ...]]
    use: Callable[[str], Any]
    is_text: bool = True
    """Is it read as text? A letter is a byte otherwise."""


def readers() -> Iterator[Reader]:
    """All of them."""
    for formats, use in ((FORMATS, use_topology), (SCHEDULE_FORMATS, check), (MEASUREMENTS, use_tables)):
        for name in formats:
            yield Reader(f"{formats.expected.file}: {name}", cache(partial(samples_of, formats, name)), use)
    for name, (samples, use) in NAMED.items():
        yield Reader(name, cache(samples), use)
    for name, (file, use) in BINARY.items():
        yield Reader(name, cache(partial(_letters, file)), use, is_text=False)


def use_topology(text: str) -> None:
    """Read a machine and ask for its pairs."""
    topology = read_topology(text, "it")
    look_at(topology)


def look_at(topology: Topology) -> None:
    """Routes and classes of a machine."""
    if topology.n > LARGEST_MACHINE or len(topology.devices) > 4 * LARGEST_MACHINE:
        topology.routes([topology.ranks[0]], [topology.ranks[-1]])
    else:
        describe(topology)


def check(text: str) -> None:
    """Read a schedule and prove it."""
    check_schedule(text, "it")


def use_tables(text: str) -> None:
    """Read measurements and look for their machine."""
    for table in read_tables(text, "it")[:3]:
        try:
            place(table, "" if table.ranks else "dgx1v")
        except UntoldError:
            place(table, "mi300x")


def use_trace(text: str) -> None:
    """Read a run that was kept, prove it, and ask what views ask."""
    trace = from_json(text)
    prove(trace.schedule, blocks=True)
    assert len(critical_path(trace)) <= max(trace.schedule.transfers, 1)
    assert np.isfinite(trace.link_bytes).all()


def use_plan(text: str) -> None:
    """Read a plan, and what it asks for where that is small."""
    plan = plan_file.from_yaml(text, "it")
    written = plan_file.to_yaml(plan)
    assert plan_file.to_yaml(plan_file.from_yaml(written, "it")) == written
    plan.others()


def use_grid(text: str) -> None:
    """Read the axes of a sweep."""

    def no_file(path: str) -> str:
        raise InputError(f"{path} is no file here: give another")

    read_grid(text, "it", no_file)


def use_faults(text: str) -> None:
    """Read what goes wrong on a machine."""
    machine = _machine()
    for spec in text.split(";"):
        faults([spec], machine)


def use_edits(text: str) -> None:
    """Change a machine, and look at what it has become."""
    machine = _machine()
    for spec in text.split(";"):
        look_at(edited(machine, [spec]))


def use_workload(text: str) -> None:
    """Read a workload's parameters."""
    plan = training.WorkloadPlan.of(text, plan_file.Plan())
    bind(plan.entry.function, dict(plan.settings), plan.workload, skip=("topology",))


@cache
def _machine() -> Topology:
    return build("nodes:nodes=2,gpus=4")


def specs_of(parameters_of: Mapping[str, Mapping[str, Parameter]]) -> tuple[str, ...]:
    """A spec for each entry, with every parameter it has."""
    specs = []
    for name, parameters in parameters_of.items():
        words = {key: _example(parameter) for key, parameter in parameters.items()}
        specs.append(f"{name}:{','.join(f'{key}={word}' for key, word in words.items())}" if words else name)
    return tuple(specs)


def _example(parameter: Parameter) -> str:
    from ui.controls.parameter import human

    if parameter.default is None:
        return {"bandwidth": "25GBps", "time": "1us", "size": "1MiB", "str": "GPU0"}.get(parameter.kind, "1")
    return human(parameter, parameter.default).replace(" ", "").replace("µ", "u").replace("/s", "ps")


@cache
def _texts() -> dict[str, str]:
    """Every small text among the tests' data, the pages' examples, and what tests have written down."""
    folders = (ROOT / "tests" / "data", OLD, ROOT / "assets" / "captures")
    files = [file for folder in folders for file in sorted(folder.rglob("*"))]
    small = [file for file in files if file.is_file() and file.stat().st_size <= LARGEST_SAMPLE]
    texts = {file.relative_to(ROOT).as_posix(): file.read_text("utf-8", "replace") for file in small}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count("\n") > 2:
                texts[f"{file.name}:{node.lineno}"] = node.value
    return texts


def samples_of(formats: Formats[Any], name: str) -> tuple[str, ...]:
    """What is known to be of a format: files, those of many kinds first, and what its writer makes."""
    own = [text for text in (AMD, BY_GPUS, RCCL, *_texts().values()) if formats[name].matches(text)]
    some = [own[i * len(own) // SAMPLES] for i in range(SAMPLES)] if len(own) > SAMPLES else own
    return (*some, *_written(formats, name))


def _written(formats: Formats[Any], name: str) -> Iterator[str]:
    if formats[name].write is None:
        return
    if formats is FORMATS:
        for spec in ("dgx1v", "nodes:nodes=2,gpus=2"):
            with contextlib.suppress(InputError):
                yield write_topology(build(spec), name)
    elif formats is SCHEDULE_FORMATS:
        for algorithm in ("allreduce.ring", "alltoall.linear", "allgather.ring"):
            for size in ({}, {"size": 3000}):
                with contextlib.suppress(InputError):
                    yield write_schedule(ALGORITHMS[algorithm].schedule(3), name, **size)


def _kept(pattern: str) -> Callable[[], tuple[str, ...]]:
    return lambda: tuple(
        text for file, text in _texts().items() if file.startswith(f"{OLD.relative_to(ROOT).as_posix()}/{pattern}")
    )


AMD = """LINK TYPE TABLE:
             0000:05:00.0 0000:26:00.0
0000:05:00.0 SELF         XGMI
0000:26:00.0 XGMI         SELF

WEIGHT TABLE:
             0000:05:00.0 0000:26:00.0
0000:05:00.0 0            15
0000:26:00.0 15           0

NUMA BW TABLE:
             0000:05:00.0 0000:26:00.0
0000:05:00.0 N/A          50000-100000
0000:26:00.0 50000-100000 N/A
"""
RCCL = """[
{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1, "size":1048576,
 "type":"float", "redop":"sum", "inPlace":0, "time":53.500000, "algBw":19.599551, "busBw":34.299215, "wrong":"0"},
{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1, "size":1048576,
 "type":"float", "redop":"sum", "inPlace":1, "time":54.000000, "algBw":19.418074, "busBw":33.981629, "wrong":"0"}
]
"""
BY_GPUS = (
    "system,nccl,collective,gpus,size_bytes,time_us\ndgx_h100,2.20.5,allreduce,8,1024,18.1\n"
    "dgx_h100,2.20.5,allreduce,8,1048576,40.5\ndgx_h100,2.20.5,allreduce,4,1024,12.0\n"
)
LAYERS = ("fc1 1024x256+1024 1ms 2ms 4MiB\nfc2 2x4 1ms 2ms\n", "conv 3x3x64 1us 2us 0; fc 8 1ms 2ms # last\n")
GRID = (
    "algorithms: [allreduce.ring, allreduce.*]\nmachines: ['switch:ranks=4', nodes]\nsizes: [1KiB..1MiB*4]\n"
    "ranks: [2, 4]\nvary: {bandwidth: [1GBps, 25GBps]}\nset: {segments: [1, 2]}\n"
    "faults: [none, jitter]\nseeds: [1]\n",
)
TRAINING = (
    "ringside: training-1\nworkload: ddp\nmachine: dgx1v\nsettings:\n  bucket: 25MiB\n",
    "ringside: training-1\nworkload: fsdp\nmachine: nodes:nodes=2,gpus=2\n",
)
PAIR = (
    "ringside: scenario-1\nalgorithm: allreduce.ring\nmachine: switch:ranks=4\nsize: 1MiB\nagainst: size=1|ranks=2\n",
)

NAMED: dict[str, tuple[Callable[[], tuple[str, ...]], Callable[[str], Any]]] = {
    "a plan": (lambda: (*_kept("scenarios/")(), *PAIR), use_plan),
    "a training plan": (lambda: TRAINING, lambda text: training.from_yaml(text, "it")),
    "a grid": (lambda: GRID, use_grid),
    "a kept run": (_kept("traces/"), use_trace),
    "layers": (lambda: (*_kept("layers")(), *LAYERS), parse_layers),
    "a machine's spec": (
        lambda: specs_of({name: MACHINES.parameters(name) for name in MACHINES}),
        lambda text: look_at(build(text)),
    ),
    "faults": (lambda: specs_of({name: FAULTS.parameters(name) for name in FAULTS}), use_faults),
    "edits": (lambda: specs_of({name: EDITS.parameters(name) for name in EDITS}), use_edits),
    "a workload's spec": (lambda: specs_of({name: entry.params for name, entry in WORKLOADS.items()}), use_workload),
}


def _letters(file: str) -> tuple[str, ...]:
    return ((OLD / "sweep" / file).read_bytes().decode("latin-1"),)


def use_table(letters: str) -> None:
    """Read the table of a sweep."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        path.write_bytes(letters.encode("latin-1", "replace"))
        read_table(path)


def use_journal(letters: str) -> None:
    """Go on where a sweep stopped, and end it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        path.with_name("t.parquet.journal").write_bytes(letters.encode("latin-1", "replace"))
        journal = Journal(path)
        try:
            journal.close([*journal.done], {})
        finally:
            journal.leave()


BINARY = {"a sweep's table": ("t.parquet", use_table), "a sweep's journal": ("t.parquet.journal", use_journal)}


def hostile(text: str, draw: Random, others: tuple[str, ...]) -> str:
    """A sample, damaged; of a spec one value is often exchanged as a whole."""
    if "=" in text and "\n" not in text and draw.random() < 0.7:
        head, _, rest = text.partition(":")
        pairs = rest.split(",")
        chosen = draw.sample(pairs, min(len(pairs), draw.randint(1, 3)))
        values = (f"{pair.partition('=')[0]}={draw.choice((*NUMBERS, *WORDS))}" for pair in chosen)
        return f"{head}:{','.join(values)}"
    return mutated(text, draw, others)
