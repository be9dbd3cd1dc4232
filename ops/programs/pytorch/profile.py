"""How long PyTorch's operations took on a GPU, from what `torch.profiler` has recorded of one.

Sources: torch/autograd/profiler_util.py of PyTorch for tables, libkineto/src/output_json.cpp of Kineto for traces.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sim.base.files.textfile import Expected, read_text
from sim.errors import InputError, Message
from sim.units import MiB, parse_time

Times = dict[str, dict[str, float]]
"""Seconds by an operation's name and its tensors' shapes; "" for the mean of all."""
KERNELS = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
LAUNCHES = ("cuda_runtime", "cuda_driver", "runtime")
OPERATIONS = ("cpu_op", "user_annotation", "operator")
"""Kinds of events of a trace, as releases of Kineto write them."""
EXPECTED = Expected(
    "a profile", "record fewer steps", lambda: Message("a trace or a table of torch.profiler"), largest=256 * MiB
)
US = 1e-6
_COLUMN = re.compile(r"-{2,}")


class Profile(NamedTuple):
    """How long work takes: what was recorded of each operation on a GPU; `times` in seconds."""

    times: Times

    def __str__(self) -> str:
        return f"compute by a profile of {len(self.times)} operations"

    def to_json(self) -> str:
        """Return seconds by operation and shapes, as processes of a script read them."""
        return json.dumps({"operations": self.times})


def read_profile(path: str) -> Profile:
    """Return what a file says: a trace, or a table of averages as text. Raises InputError."""
    text = read_text(path, EXPECTED)
    if text.lstrip()[:1] in ("{", "["):
        return Profile(_averages(_of_trace(_parsed(text, path), path), path))
    return Profile(_averages(_of_table(text, path), path))


def _parsed(text: str, path: str) -> list[Mapping[str, Any]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("profile.no_json", path=path, why=error) from None
    events = whole.get("traceEvents") if isinstance(whole, Mapping) else whole
    if not isinstance(events, list):
        raise InputError("profile.no_events", path=path)
    return [event for event in events if isinstance(event, Mapping) and event.get("ph") == "X"]


class Recorded(NamedTuple):
    """An operation called `calls` times with tensors of these shapes, and their seconds in all."""

    name: str
    shapes: str
    seconds: float
    calls: int


def _of_trace(events: list[Mapping[str, Any]], path: str) -> Iterator[Recorded]:
    """Add every kernel's time to the operations in which it was launched."""
    kernels: dict[Any, float] = defaultdict(float)
    threads: dict[tuple[str, str], list[tuple[float, float, Mapping[str, Any]]]] = defaultdict(list)
    for number, event in enumerate(events):
        kind = str(event.get("cat", "")).lower()
        if kind not in (*KERNELS, *LAUNCHES, *OPERATIONS):
            continue
        start, length = (_microseconds(event, key, number, path) for key in ("ts", "dur"))
        if kind in KERNELS:
            kernels[_argument(event, "correlation")] += length
        else:
            threads[str(event.get("pid")), str(event.get("tid"))].append((start, -length, event))
    if not kernels:
        raise InputError("profile.no_kernels", path=path)
    for entries in threads.values():
        yield from _of_thread(sorted(entries, key=lambda entry: entry[:2]), kernels)


def _of_thread(
    entries: list[tuple[float, float, Mapping[str, Any]]], kernels: Mapping[Any, float]
) -> Iterator[Recorded]:
    """Add up the kernels that a thread's operations launched; entries have start and negative length, in order."""
    under_way: list[tuple[float, list[float]]] = []
    done: list[tuple[Mapping[str, Any], list[list[int]], list[float]]] = []
    for start, negative, event in entries:
        while under_way and under_way[-1][0] <= start:
            under_way.pop()
        if str(event["cat"]).lower() in LAUNCHES:
            for _, spent in under_way:
                spent[0] += kernels.get(_argument(event, "correlation"), 0.0)
        else:
            under_way.append((start - negative, [0.0]))
            shapes = _shapes(_argument(event, "Input Dims") or [])
            done.append((event, shapes, under_way[-1][1]))
    for event, shapes, spent in done:
        yield Recorded(str(event.get("name", "")), str(shapes), spent[0] * US, 1)


def _argument(event: Mapping[str, Any], name: str) -> Any:
    arguments = event.get("args")
    value = arguments.get(name) if isinstance(arguments, Mapping) else None
    return value if isinstance(value, (int, str, list)) else None


def _microseconds(event: Mapping[str, Any], key: str, number: int, path: str) -> float:
    try:
        value = float(event[key])
    except (KeyError, TypeError, ValueError):
        value = -1.0
    if not 0 <= value < 1e18:
        raise InputError("profile.no_time", path=path, number=number, key=key)
    return value


def _shapes(dims: Any) -> list[list[int]]:
    """Return the shapes of tensors, without numbers and in order; lists of tensors one after the other.

    >>> _shapes([[4, 3], [], [[2], [2, 2]]])
    [[4, 3], [2], [2, 2]]
    """
    if not isinstance(dims, list) or not dims:
        return []
    if all(isinstance(size, int) for size in dims):
        return [dims]
    return [shape for part in dims for shape in _shapes(part)]


def _of_table(text: str, path: str) -> Iterator[Recorded]:
    """Read what `key_averages().table()` prints: lines of dashes say where columns are."""
    lines = text.splitlines()
    rules = [i for i, line in enumerate(lines) if line.strip() and set(line.strip()) <= {"-", " "} and "--" in line]
    if len(rules) < 2:
        raise InputError("profile.neither", path=path)
    columns = [match.span() for match in _COLUMN.finditer(lines[rules[0]])]
    head = _cells(lines[rules[0] + 1], columns)
    total = next((name for name in ("CUDA total", "Device total") if name in head), None)
    if total is None or "# of Calls" not in head:
        raise InputError("profile.columns", path=path)
    for number, line in enumerate(lines[rules[1] + 1 : rules[2] if len(rules) > 2 else None], rules[1] + 2):
        row = dict(zip(head, _cells(line, columns), strict=True))
        where = f"{path}, line {number}"
        if not row["# of Calls"].isdigit() or int(row["# of Calls"]) < 1:
            raise InputError("profile.calls", where=where, calls=row["# of Calls"])
        try:
            shapes = str(_shapes(json.loads(row.get("Input Shapes") or "[]")))
        except ValueError:
            shapes = ""  # too long for the table
        yield Recorded(row["Name"], shapes, parse_time(row[total], where), int(row["# of Calls"]))


def _cells(line: str, columns: list[tuple[int, int]]) -> list[str]:
    ends = [start for start, _ in columns[1:]] + [None]
    return [line[start:end].strip() for (start, _), end in zip(columns, ends, strict=True)]


def _averages(rows: Iterable[Recorded], path: str) -> Times:
    """Return mean seconds by name and shapes."""
    sums: dict[str, dict[str, tuple[float, int]]] = defaultdict(lambda: defaultdict(lambda: (0.0, 0)))
    for row in rows:
        if not row.name.startswith(("aten::", "Optimizer.step")):
            continue
        for key in {row.shapes, ""}:
            seconds, count = sums[row.name][key]
            sums[row.name][key] = seconds + row.seconds, count + row.calls
    if not sums:
        raise InputError("profile.no_operations", path=path)
    return {name: {key: s / n for key, (s, n) in by.items()} for name, by in sums.items()}
