"""Answers as plain data that is small enough to store: long columns become their length and a digest of every bit."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

LONG = 16
"""Entries of a list that are stored one by one."""
MANY = 64
"""Keys of a mapping, and different names of a list, that are stored one by one."""
LONG_TEXT = 300
"""Characters of a text that are stored as they are."""
CLOCK = {"build_s", "verify_s", "sim_s", "wall_s"}
"""Keys of seconds that a real clock measured."""
PROSE = {
    *(
        "reason",
        "summary",
        "about",
        "assumed",
        "differs",
        "goal",
        "because",
        "use",
        "notes",
        "why_not",
        "title",
        "text_of",
    ),
}
"""Keys of sentences: that there is one is stored, its words are not."""
VERBATIM = {"text", "layers", "output", "reference", "source"}
"""Keys of texts that are data, however many words they have."""
THREE_WORDS = re.compile(r"[a-z]{2,},? [a-z]{2,},? [a-z]{2,}")
"""What no name has."""
SENTENCE = "(sentence)"
SECONDS = "(seconds of a real clock)"


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers, texts, lists and mappings."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, str | PurePath):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Sequence | set | frozenset):
        return [plain(entry) for entry in (sorted(value) if isinstance(value, set | frozenset) else value)]
    raise TypeError(f"{type(value).__name__} is no plain data")


def compact(value: Any, key: str = "") -> Any:
    """The same as `plain`, without words of sentences and seconds of real clocks, long columns as digests."""
    return _compact(plain(value), key)


def _compact(value: Any, key: str) -> Any:
    if key in CLOCK:
        return SECONDS
    if isinstance(value, dict) and len(value) > MANY:
        return f"({len(value)} keys) {digest([value])}"
    if isinstance(value, dict):
        return {name: _compact(entry, name) for name, entry in value.items()}
    if isinstance(value, list):
        return _list(value, key)
    if isinstance(value, str) and _is_prose(value, key):
        return SENTENCE
    if isinstance(value, str) and len(value) > LONG_TEXT:
        return f"({len(value)} characters) {digest([value])}"
    return value


def _is_prose(text: str, key: str) -> bool:
    return bool(text) and key not in VERBATIM and (key in PROSE or THREE_WORDS.search(text) is not None)


def _list(entries: list[Any], key: str) -> Any:
    if len(entries) <= LONG:
        return [_compact(entry, key) for entry in entries]
    if all(isinstance(entry, dict) for entry in entries):
        columns = [name for name in dict.fromkeys(name for entry in entries for name in entry) if name not in CLOCK]
        return {"(rows)": len(entries)} | {
            name: _list([entry.get(name) for entry in entries], name) for name in columns
        }
    if all(isinstance(entry, str) for entry in entries):
        if any(_is_prose(entry, key) for entry in entries):
            return f"({len(entries)} sentences)"
        names = list(dict.fromkeys(entries))
        if len(names) <= MANY:
            return {"(names)": names, "(order)": digest([names.index(entry) for entry in entries])}
    return f"({len(entries)} entries) {digest(entries)}"


def digest(entries: Sequence[Any]) -> str:
    """Sixteen hexadecimal digits that change with any bit of any entry; 1 and 1.0 are one number."""
    return hashlib.sha256("\n".join(map(_canonical, entries)).encode()).hexdigest()[:16]


def _canonical(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 and str(value) != "-0.0":
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"[{','.join(map(_canonical, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{_canonical(entry)}' for key, entry in sorted(value.items()))}}}"
    return json.dumps(value)
