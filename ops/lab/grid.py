"""A grid of runs: every algorithm on every machine at every size, and so on, from words or YAML."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

from ops.formats import schedule_text
from ops.lab.sources import MOST, Source, algorithms, all_used, combinations, functions, schedules
from ops.lab.steps import taken, training_steps
from ops.libraries.nccl.own.numbers import own_numbers
from ops.plan import Plan
from ops.plan.notation import entries, listed, parse_blocks, size_word
from ops.plan.training import WorkloadPlan
from ops.run.budget import expect_cells
from sim.base.yaml import YamlNode, parse_yaml
from sim.errors import InputError, Message
from sim.faults.kinds import FAULTS
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.parameters import bind, parse_assignments, parse_spec, written
from sim.topology.networks import NETWORKS
from sim.units import fmt_object, parse_size

OWN = "own"
"""The network that a machine has of its own."""
RENAMED = {"troubles": "faults"}
"""Axes by the names that files of old have."""


@dataclass(frozen=True)
class Grid:
    """A grid of runs. Each axis is a list of texts; an empty axis has a single point.

    Parameters
    ----------
    algorithms : list of str
        `allreduce.ring:key=value`, `allreduce` for all of a collective, patterns like `*.ring`, or what a library
        chooses, `nccl.allreduce`.
    machines : list of str
        Specs like `switch:ranks=8`, or names of `texts`.
    sizes : list of str
        Sizes, or ranges: `1KiB..1GiB` by powers of two, `1KiB..1GiB*4` by those of four.
    ranks : list of str
        Numbers of ranks; all that a machine has unless given.
    vary : mapping
        Values of parameters of machines and algorithms, for those with such a parameter.
    set : mapping
        Values of parameters for every algorithm that has them.
    faults : list of str
        Faults: a spec, several with `;` between, or `none`.
    seeds : list of str
        Seeds, for every fault with a seed.
    networks : list of str
        Networks between the hosts of every machine; `own` is the default of the machine.
    roots : list of str
        Roots, for collectives that have one.
    counts : list of str
        Size of each block, bytes, separated by commas; instead of sizes for collectives with blocks of unequal size.
    schedules : mapping
        Texts of schedule files by their names, beside algorithms or instead.
    workloads : list of str
        Training steps: specs like `fsdp:model=gpt2`, whose parameters `set` may give values too.
    python : list of str
        Functions `FILE.py:FUNCTION`, which are executed, so that no file of a grid may name them.
    texts : mapping
        Machines that were read from files, by name.
    calibrations : list of str
        Numbers measured on every machine, like `hop_4.2us,share_0.93`, or `none`.
    """

    algorithms: Sequence[str] = ()
    machines: Sequence[str] = ()
    sizes: Sequence[str] = ()
    ranks: Sequence[str] = ()
    vary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    set: Mapping[str, Sequence[str]] = field(default_factory=dict)
    faults: Sequence[str] = ()
    seeds: Sequence[str] = ()
    networks: Sequence[str] = ()
    roots: Sequence[str] = ()
    counts: Sequence[str] = ()
    schedules: Mapping[str, str] = field(default_factory=dict)
    workloads: Sequence[str] = ()
    python: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    calibrations: Sequence[str] = ()

    def __repr__(self) -> str:
        axes = ((axis.name, len(getattr(self, axis.name))) for axis in fields(self))
        return fmt_object("Grid", "of " + (", ".join(f"{count} {name}" for name, count in axes if count) or "nothing"))

    def steps(self) -> list[WorkloadPlan]:
        """Every training step once. Raises InputError for an axis that cannot be."""
        if not self.workloads:
            return []
        if self.faults or self.seeds:
            raise InputError("grid.workload_faults")
        if not (self.algorithms or self.schedules or self.python):
            used = taken(self.workloads, self.set)
            all_used(self.set, used, "vary.no_workload", self.workloads)
            if self.sizes:
                raise InputError("grid.workload_sizes")
        where = [
            replace(self.on(machine), network=network, calibration=calibration)
            for machine, network, calibration in product(self._machines(), self._networks(), self._calibrations())
        ]
        return list(training_steps(self.workloads, self.set, self._ranks(), where))

    def _ranks(self) -> list[int]:
        return [_whole(text, "ranks", 1) for text in self.ranks] or [0]

    def cells(self) -> list[Plan]:
        """Every run once, those that differ in size alone together. Raises InputError for an axis that cannot be."""
        of_steps = taken(self.workloads, self.set)
        of_runs = {key: values for key, values in self.set.items() if key not in of_steps}
        of_runs = of_runs if self.algorithms or not self.workloads else {}
        sources = [*algorithms(self.algorithms, of_runs), *schedules(self.schedules), *functions(self.python)]
        runs = sources or self.workloads
        for some, axis, example in ((runs, "algorithms", "allreduce.ring"), (self.machines, "machines", "dgx_a100")):
            if not some:
                raise InputError("grid.needs", axis=axis, example=example)
        machines, networks, disturbed = list(self._machines()), list(self._networks()), list(self._disturbed())
        calibrations = list(self._calibrations())
        ranks = self._ranks()
        carried = self._carried(sources)
        around = len(machines) * len(networks) * len(disturbed) * len(calibrations)
        count = around * sum(len(words) * (1 if each.brings_ranks else len(ranks)) for each, words in carried)
        if count > MOST:
            raise InputError("grid.too_large", count=count, most=MOST)
        expect_cells(count)
        cells: dict[Plan, None] = {}
        for machine, network, calibration, (source, loads) in product(machines, networks, calibrations, carried):
            on = self.on(machine)
            where: dict[str, Any] = {
                "machine": on.machine,
                "capture": on.capture,
                "capture_name": on.capture_name,
                "network": network,
                "calibration": calibration,
            }
            for n, (fault, seed) in product([0] if source.brings_ranks else ranks, disturbed):
                with_them: dict[str, Any] = {"ranks": n, "fault": fault, "seed": seed}
                cells |= dict.fromkeys(Plan(**source.words, **where, **with_them, **load) for load in loads)
        return list(cells)

    def _carried(self, sources: Sequence[Source]) -> list[tuple[Source, list[dict[str, Any]]]]:
        """Each source with what it carries, from which ranks: sizes or counts with roots, as words of a plan."""
        sizes, roots = sizes_of(self.sizes), [_whole(text, "roots", 0) for text in self.roots]
        for some, has, what in ((roots, "rooted", "root"), (self.counts, "vector", "counts")):
            if some and not any(getattr(source, has) for source in sources):
                raise InputError("grid.nothing_takes", what=what, names=[source.name for source in sources])
        for text in self.counts:
            parse_blocks(text, "counts")
        plain: list[dict[str, Any]] = [{"size": size_word(size)} for size in sizes]
        uneven: list[dict[str, Any]] = [{"size": "", "counts": text} for text in self.counts]
        carried = []
        for source in sources:
            loads = (uneven if source.vector and uneven else plain) if source.sized else [{"size": size_word(0)}]
            if not loads:
                raise InputError("grid.size", source=source.name)
            from_roots = roots if source.rooted and roots else [0]
            carried.append((source, [{"root": root, **load} for root in from_roots for load in loads]))
        return carried

    def on(self, machine: str) -> Plan:
        """A plan for one of the machines, whatever is to run there."""
        text = self.texts.get(machine, "")
        if text:
            return Plan("", machine="", capture=text, capture_name=machine, size="")
        return Plan("", machine, size="")

    def _machines(self) -> Iterator[str]:
        """Each as a spec, its parameters of `vary` in every combination."""
        used: set[str] = set()
        for text in self.machines:
            if text in self.texts:
                yield text
                continue
            name, arguments = parse_spec(text)
            parameters = MACHINES.parameters(name)
            many = {key: values for key, values in self.vary.items() if key in parameters and key not in arguments}
            used |= many.keys()
            for combination in combinations(many):
                settings = arguments | combination
                bind(MACHINES[name], settings, name)
                yield f"{name}:{written(settings)}" if settings else name
        all_used(self.vary, used, "vary.no_machine", self.machines)

    def _networks(self) -> Iterator[str]:
        """Each by its name in `Plan.network`."""
        for name in self.networks or [OWN]:
            if name not in (OWN, *NETWORKS):
                raise InputError("grid.network", name=name, own=OWN, networks=NETWORKS)
            yield "" if name == OWN else name

    def _calibrations(self) -> Iterator[str]:
        """Each as `Plan.calibration` has it."""
        for word in self.calibrations or ["none"]:
            yield "" if word.strip() == "none" else str(own_numbers(word))

    def _disturbed(self) -> Iterator[tuple[str, int]]:
        """Each fault with each seed it can use."""
        seeds = [_whole(text, "seeds", 0) for text in self.seeds]
        drawing = False
        for text in self.faults or ["none"]:
            specs = () if text.strip() == "none" else entries(text)
            parsed = [(spec, *parse_spec(spec)) for spec in specs]
            for _, name, arguments in parsed:
                bind(FAULTS[name].kind, arguments, name, skip=("topology",))
            free = [("seed" in FAULTS.parameters(name) and "seed" not in arguments) for _, name, arguments in parsed]
            drawing |= any(free)
            if not (seeds and any(free)):
                yield listed(specs), -1
                continue
            for seed in seeds:
                seeded = (_seeded(*of, seed) if draws else of[0] for of, draws in zip(parsed, free, strict=True))
                yield listed(seeded), seed
        if seeds and not drawing:
            raise InputError("grid.seeds")


def read_grid(
    text: str, name: str, open_file: Callable[[str], str], open_schedule: Callable[[str], str] = schedule_text
) -> Grid:
    """The grid that YAML describes: a key per axis, each a value or a list; `topologies` and `schedules` name files.

    `open_file` gives a topology file's text, `open_schedule` a schedule's. Raises InputError with the line of what
    cannot be used.
    """
    root = parse_yaml(text, name)
    axes = [axis.name for axis in fields(Grid) if axis.name not in ("texts", "python")]
    nodes = root.mapping("a grid", [*axes, *RENAMED, "topologies"])
    nodes = {RENAMED.get(name, name): node for name, node in nodes.items()}
    lists: dict[str, Any] = {key: _texts(node, key) for key, node in nodes.items() if key not in ("vary", "set")}
    maps: dict[str, Any] = {
        key: {inner: _texts(value, inner) for inner, value in nodes[key].mapping(key).items()}
        for key in ("vary", "set")
        if key in nodes
    }
    files = lists.pop("topologies", [])
    lists["machines"] = [*lists.get("machines", []), *files]
    written_down = {file: open_schedule(file) for file in lists.pop("schedules", [])}
    return Grid(**lists, **maps, schedules=written_down, texts={file: open_file(file) for file in files})


def machine_text(path: str) -> str:
    """A topology file's text, once it is known to be one. Raises InputError."""
    text = FORMATS.text(path)
    FORMATS.recognise(text, path)
    return text


def _texts(node: YamlNode, what: str) -> list[str]:
    if isinstance(node.value, str):
        return [node.text(what)]
    return [item.text(what) for item in node.items(what)]


def _seeded(spec: str, name: str, arguments: Mapping[str, str], seed: int) -> str:
    return f"{name}:{written({**arguments, 'seed': str(seed)})}"


def _whole(text: str, what: str | Message, low: int) -> int:
    from sim.parameters import Parameter

    return int(Parameter(str(what), "int", None, low=low, high=(1 << 31) - 1).parse(text, Message("the grid")))


def sizes_of(texts: Sequence[str]) -> list[int]:
    """Bytes from sizes and ranges of them.

    >>> sizes_of(["1KiB..8KiB", "1MB"])
    [1024, 2048, 4096, 8192, 1000000]
    """
    sizes: list[int] = []
    for text in texts:
        low, dots, rest = text.partition("..")
        if not dots:
            sizes.append(parse_size(text, "sizes:"))
            continue
        high, star, factor = rest.partition("*")
        times = _whole(factor, Message("grid.factor", text=text), 2) if star else 2
        size, last = parse_size(low, "sizes:"), parse_size(high, "sizes:")
        if last < size:
            raise InputError("grid.sizes", text=text)
        while size <= last:
            sizes.append(size)
            size *= times
    return list(dict.fromkeys(sizes))


def lists(pairs: Sequence[str], owner: str) -> dict[str, list[str]]:
    """`key=value,value` as typed behind a flag. Raises InputError.

    >>> lists(["bandwidth=25GBps,50GBps"], "--vary")
    {'bandwidth': ['25GBps', '50GBps']}
    """
    return {key: split(values) for key, values in parse_assignments(list(pairs), owner).items()}


def split(text: str) -> list[str]:
    """The parts of a text with commas between; none of an empty one."""
    return [part.strip() for part in text.split(",") if part.strip()]
