"""A grid of runs: every algorithm on every machine at every size, and so on, from words or YAML."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from ops.budget import expect_cells
from ops.registry import ALGORITHMS, Algorithm
from ops.request import Request
from ops.request.notation import algorithm_spec, entries, listed, size_word, written
from sim.base.yaml import YamlNode, parse_yaml
from sim.errors import InputError
from sim.formats import FORMATS
from sim.machines import MACHINES
from sim.parameters import bind, parse_assignments, parse_spec
from sim.topology.networks import NETWORKS
from sim.trouble import TROUBLES
from sim.units import parse_size

MOST = 20_000_000
"""Cells of one grid; about what two weeks of sixteen cores can run."""
OWN = "own"
"""The network that a machine has of its own."""
_SKIP = ("n", "root")


@dataclass(frozen=True)
class Grid:
    """The axes, each a list of texts as a person writes them; an empty one has a single point.

    `algorithms` are `allreduce.ring:key=value`, `allreduce` for all of a collective, or patterns like
    `*.ring`. `machines` are specs, or names of `texts`, the machines that were read from files. `vary` and
    `set` are values of parameters of machines and algorithms, used where one has such a parameter. `sizes`
    may hold ranges `1KiB..1GiB` by powers of two, or `1KiB..1GiB*4` by those of four. `networks` join the hosts of
    every machine; `own` is the one that it has. A trouble is a spec, several with `;` between, or `none`; a seed goes
    to every trouble that takes one.
    """

    algorithms: Sequence[str] = ()
    machines: Sequence[str] = ()
    sizes: Sequence[str] = ()
    ranks: Sequence[str] = ()
    vary: Mapping[str, Sequence[str]] = field(default_factory=dict)
    set: Mapping[str, Sequence[str]] = field(default_factory=dict)
    troubles: Sequence[str] = ()
    seeds: Sequence[str] = ()
    networks: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def cells(self) -> list[Request]:
        """Every run once, those that differ in size alone together. Raises InputError for an axis that cannot be."""
        for axis, example in (("algorithms", "allreduce.ring"), ("machines", "dgx_a100")):
            if not getattr(self, axis):
                raise InputError(f"a sweep needs {axis}: name one or more, like {example}")
        algorithms = list(self._algorithms())
        machines, sizes = list(self._machines()), _sizes(self.sizes)
        ranks = [_whole(text, "ranks", 1) for text in self.ranks] or [0]
        disturbed, networks = list(self._disturbed()), list(self._networks())
        axes: list[Sequence[object]] = [algorithms, machines, sizes or [0], ranks, disturbed, networks]
        count = math.prod(len(axis) for axis in axes)
        if count > MOST:
            raise InputError(f"a grid of {count:,} cells is larger than {MOST:,}: make its axes shorter")
        expect_cells(count)
        words = {size: size_word(size) for size in (0, *sizes)}
        cells: dict[Request, None] = {}
        runs = product(machines, networks, algorithms, ranks, disturbed)
        for machine, network, (entry, settings), n, (trouble, seed) in runs:
            sized, on = entry.collective.sized, self.on(machine)
            if sized and not sizes:
                raise InputError(f"{entry.name} moves data, but no size is given: add sizes, like 64MiB")
            for size in sizes if sized else [0]:
                cell = Request(
                    entry.name,
                    on.machine,
                    on.capture,
                    capture_name=on.capture_name,
                    network=network,
                    settings=settings,
                    ranks=n,
                    size=words[size],
                    trouble=trouble,
                    seed=seed,
                )
                cells[cell] = None
        return list(cells)

    def on(self, machine: str) -> Request:
        """A request for one of the machines, whatever is to run there."""
        text = self.texts.get(machine, "")
        if text:
            return Request("", machine="", capture=text, capture_name=machine, size="")
        return Request("", machine, size="")

    def _algorithms(self) -> Iterator[tuple[Algorithm, str]]:
        """Each with its parameters as a text, those of `set` in every combination."""
        used: set[str] = set()
        for text in self.algorithms:
            name, arguments = algorithm_spec(text)
            entries = _named(name)
            for entry in entries:
                many = {key: values for key, values in self.set.items() if key in entry.params and key not in arguments}
                used |= many.keys()
                for combination in _combinations(many):
                    settings = arguments | combination
                    bind(entry.steps, settings, entry.name, skip=_SKIP)
                    yield entry, written(settings)
        _all_used(self.set, used, "no algorithm of this grid has a parameter", ", ".join(self.algorithms))

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
            for combination in _combinations(many):
                settings = arguments | combination
                bind(MACHINES[name], settings, name)
                yield f"{name}:{written(settings)}" if settings else name
        _all_used(self.vary, used, "no machine of this grid has a parameter", ", ".join(self.machines))

    def _networks(self) -> Iterator[str]:
        """Each by its name in `Request.network`."""
        for name in self.networks or [OWN]:
            if name not in (OWN, *NETWORKS):
                raise InputError(f"no network is called {name[:40]!r}: choose from {OWN}, {', '.join(NETWORKS)}")
            yield "" if name == OWN else name

    def _disturbed(self) -> Iterator[tuple[str, int]]:
        """Each trouble with each seed it can use."""
        seeds = [_whole(text, "seeds", 0) for text in self.seeds]
        drawing = False
        for text in self.troubles or ["none"]:
            specs = () if text.strip() == "none" else entries(text)
            parsed = [(spec, *parse_spec(spec)) for spec in specs]
            for _, name, arguments in parsed:
                bind(TROUBLES[name].kind, arguments, name, skip=("topology",))
            free = [("seed" in TROUBLES.parameters(name) and "seed" not in arguments) for _, name, arguments in parsed]
            drawing |= any(free)
            if not (seeds and any(free)):
                yield listed(specs), -1
                continue
            for seed in seeds:
                seeded = (_seeded(*of, seed) if draws else of[0] for of, draws in zip(parsed, free, strict=True))
                yield listed(seeded), seed
        if seeds and not drawing:
            raise InputError("seeds are given, but no trouble of this grid draws anything: add one like jitter")


def read_grid(text: str, name: str, open_file: Callable[[str], str]) -> Grid:
    """The grid that YAML describes: a key per axis, each a value or a list; `topologies` name files.

    `open_file` gives a topology file's text. Raises InputError with the line of what cannot be used.
    """
    root = parse_yaml(text, name)
    axes = [axis.name for axis in fields(Grid) if axis.name != "texts"]
    nodes = root.mapping("a grid", [*axes, "topologies"])
    lists: dict[str, Any] = {key: _texts(node, key) for key, node in nodes.items() if key not in ("vary", "set")}
    maps: dict[str, Any] = {
        key: {inner: _texts(value, inner) for inner, value in nodes[key].mapping(key).items()}
        for key in ("vary", "set")
        if key in nodes
    }
    files = lists.pop("topologies", [])
    lists["machines"] = [*lists.get("machines", []), *files]
    return Grid(**lists, **maps, texts={file: open_file(file) for file in files})


def machine_text(path: str) -> str:
    """A topology file's text, once it is known to be one. Raises InputError."""
    text = FORMATS.text(path)
    FORMATS.recognise(text, path)
    return text


def _texts(node: YamlNode, what: str) -> list[str]:
    if isinstance(node.value, str):
        return [node.text(what)]
    return [item.text(what) for item in node.items(what)]


def _named(name: str) -> list[Algorithm]:
    """One algorithm, all of a collective, or all that a pattern fits."""
    if "*" in name or "?" in name or "." not in name:
        pattern = name if "." in name else f"{name}.*"
        matches = [entry for full_name, entry in ALGORITHMS.items() if fnmatchcase(full_name, pattern)]
        if matches:
            return matches
    return [ALGORITHMS[name]]


def _combinations(many: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    if math.prod(map(len, many.values())) > MOST:
        raise InputError(f"the combinations of {', '.join(many)[:80]} are more than {MOST:,}: give fewer values")
    for values in product(*many.values()):
        yield dict(zip(many, values, strict=True))


def _seeded(spec: str, name: str, arguments: Mapping[str, str], seed: int) -> str:
    return f"{name}:{written({**arguments, 'seed': str(seed)})}"


def _all_used(keys: Iterable[str], used: set[str], what: str, where: str) -> None:
    for key in keys:
        if key not in used:
            raise InputError(f"{what} {key[:40]!r} to vary: {where[:80]}")


def _whole(text: str, what: str, low: int) -> int:
    from sim.parameters import Parameter

    return int(Parameter(what, "int", None, low=low, high=(1 << 31) - 1).parse(text, "the grid"))


def _sizes(texts: Sequence[str]) -> list[int]:
    """Bytes from sizes and ranges of them.

    >>> _sizes(["1KiB..8KiB", "1MB"])
    [1024, 2048, 4096, 8192, 1000000]
    """
    sizes: list[int] = []
    for text in texts:
        low, dots, rest = text.partition("..")
        if not dots:
            sizes.append(parse_size(text, "sizes:"))
            continue
        high, star, factor = rest.partition("*")
        times = _whole(factor, f"sizes: {text[:40]}: the factor", 2) if star else 2
        size, last = parse_size(low, "sizes:"), parse_size(high, "sizes:")
        if last < size:
            raise InputError(f"sizes: {text[:40]} goes down: write the smaller size first")
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
