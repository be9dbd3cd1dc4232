"""The table from stored words to today's words, and the comparison of answers that passes through it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("words.json")

PROMISED = {
    "run": (
        *("collective", "algorithm", "machine", "ranks", "size_bytes", "time_s", "algbw_Bps", "busbw_Bps", "bound_s"),
        *("transfers", "steps", "instants", "verified", "bottleneck", "build_s", "verify_s", "sim_s", "wall_s"),
    ),
    "verify": ("verdict", "reason"),
    "topology": (
        *("devices", "name", "kind", "numa", "host", "gpus", "nics", "numa_nodes"),
        *("links", "src", "dst", "bandwidth_Bps", "latency_s", "pairs"),
    ),
    "validate": ("machine", "collective", "ranks", "size_bytes", "measured_s", "simulated_s", "error"),
}
"""Keys of JSON answers that programs of other people read: no table may rename them, at any depth."""
VERDICTS = ("ok", "wrong", "deadlock", "duplicate_connection", "malformed", "unchecked")
"""Values of `verdict` that are promised, too."""


@dataclass(frozen=True)
class WordTable:
    """Stored words and what replaces them.

    `keys` renames keys of answers and fields of plans, as `key` or, inside one parent only, as `parent/key`.
    `values` renames strings that are names. `options` renames options and arguments of command lines. `python` renames
    identifiers in notebooks and other sources. `texts` renames ids of interface texts. `new` lists keys that answers
    have now and had not when they were stored.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    python: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    new: tuple[str, ...] = ()

    def key(self, parent: str, key: str) -> str:
        """Today's word for a key inside a parent."""
        return self.keys.get(f"{parent}/{key}", self.keys.get(key, key))

    def line(self, words: list[str]) -> list[str]:
        """A command line with today's options; `--old=value` is renamed, too."""
        parts = [word.partition("=") if word.startswith("--") else (word, "", "") for word in words]
        return ["".join((self.options.get(head, head), equals, rest)) for head, equals, rest in parts]

    def source(self, code: str) -> str:
        """Python code with today's identifiers."""
        return re.sub(r"[^\W\d]\w*", lambda name: self.python.get(name[0], name[0]), code)


@cache
def table() -> WordTable:
    """The table of this checkout."""
    parts = json.loads(FILE.read_text(encoding="utf-8"))
    return WordTable(**parts | {"new": tuple(parts["new"])})


def differences(then: Any, now: Any, words: WordTable, path: str = "") -> Iterator[str]:
    """One line for every place where an answer of now is not the stored one."""
    parent = path.rpartition(".")[2].partition("[")[0]
    if isinstance(then, dict) and isinstance(now, dict):
        named = {words.key(parent, key): (key, value) for key, value in then.items()}
        for today, (key, value) in named.items():
            if today in now:
                yield from differences(value, now[today], words, f"{path}.{key}")
            else:
                yield f"{path}.{today} is missing; it was {_short(value)}"
        for key in now.keys() - named.keys() - {*words.new}:
            yield f"{path}.{key} is new: {_short(now[key])}"
    elif isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            yield f"{path} has {len(now)} entries; it had {len(then)}"
        for number, pair in enumerate(zip(then, now, strict=False)):
            yield from differences(*pair, words, f"{path}[{number}]")
    elif not _equal(then, now, words):
        yield f"{path} is {_short(now)}; it was {_short(then)}"


def _equal(then: Any, now: Any, words: WordTable) -> bool:
    if isinstance(then, str) and isinstance(now, str):
        return words.values.get(then, then) == now
    if {type(then), type(now)} == {int, float}:
        return float(then).hex() == float(now).hex()  # 1 and 1.0 are one number in JSON
    if type(then) is type(now) is float:
        return then.hex() == now.hex()
    return type(then) is type(now) and then == now


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."
