"""How a list stands in one line: `,` between parameters, `;` between entries, `|` between runs.

A character of a value that would separate is quoted (`sim.parameters.quoted`): a comma in a name is `%2C`.

Read as well, since links and tables of old have them: ` + ` between faults, and `&` between the words of a run.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote, unquote

from ops.registry import ALGORITHMS
from sim.base.numbers import whole
from sim.errors import InputError
from sim.parameters import parse_assignments, parse_spec, written
from sim.units import exact_size, parse_size

CHANGEABLE = (
    "algorithm",
    "machine",
    "capture",
    "rates",
    "size",
    "settings",
    "fault",
    "ranks",
    "root",
    "counts",
    "lockstep",
    "blocking",
    "network",
    "edits",
    "placement",
    "calibration",
)
"""Words in which a run may differ from the one it stands beside."""
RENAMED = {"trouble": "fault"}
"""Words by the names that links and files of old have."""
_ENDS = re.compile(rf"%(?=[0-9A-Fa-f]{{2}})|[|&]|;(?=(?:{'|'.join((*CHANGEABLE, *RENAMED))})=)")
"""What of a word's value would end the word."""
_WHOLE = ("ranks", "root")
MOST = 3
"""So many runs stand beside another; what a text has beyond them is left out."""
_NEXT_WORD = re.compile(rf"&|;(?=(?:{'|'.join((*CHANGEABLE, *RENAMED))})=)")
"""An entry of a list never begins like a word, so `;` may stand between words too."""

T = TypeVar("T")
Changes = dict[str, str]
"""What a run does otherwise than the one it stands beside, word by word."""


def assignments(text: str, owner: str) -> dict[str, str]:
    """Parameters by name. Raises InputError for one that is not `key=value`.

    >>> assignments("segments=4,radix=3", "broadcast.chain")
    {'segments': '4', 'radix': '3'}
    """
    return parse_assignments(text.split(",") if text else [], owner)


def by_name(algorithm: str, settings: str = "") -> tuple[str, str]:
    """An algorithm that is called by a library's number: its own name, and the parameters the library runs it with.

    Parameters that are chosen come before the library's. Raises InputError for a number there is none of.

    >>> by_name("broadcast.openmpi:2", "segments=4"), by_name("broadcast.chain")
    (('broadcast.chain', 'chains=4,segments=4'), ('broadcast.chain', ''))
    """
    if ":" not in algorithm:
        return algorithm, settings
    entry = ALGORITHMS[algorithm]
    return entry.name, written({**entry.preset, **assignments(settings, entry.name)})


def algorithm_spec(text: str) -> tuple[str, dict[str, str]]:
    """An algorithm with parameters behind a colon, or behind a library's number, as its name and its parameters.

    Raises InputError for a number there is none of, and for a parameter that is not `key=value`.

    >>> algorithm_spec("broadcast.chain:segments=4"), algorithm_spec("broadcast.openmpi:2,segments=4")
    (('broadcast.chain', {'segments': '4'}), ('broadcast.chain', {'chains': '4', 'segments': '4'}))
    """
    head, _, rest = text.partition(":")
    number, _, more = rest.partition(",")
    if not number or "=" in number or "." not in head or head in ALGORITHMS:
        return parse_spec(text)
    name, settings = by_name(f"{head}:{number}", more)
    return name, assignments(settings, name)


def entries(text: str) -> tuple[str, ...]:
    """The entries of a list, like the faults of a run or the machines of a question.

    >>> entries("jitter:mean=1us; straggler:rank=1,late=2us") == entries("jitter:mean=1us + straggler:rank=1,late=2us")
    True
    """
    return tuple(part.strip() for part in re.split(r";| \+ ", text) if part.strip())


def listed(several: Iterable[str]) -> str:
    """Entries as one text.

    >>> listed(["jitter", "straggler:rank=1,late=2us"])
    'jitter;straggler:rank=1,late=2us'
    """
    return ";".join(several)


def renamed(words: Mapping[str, T]) -> dict[str, T]:
    """Words by today's names.

    >>> renamed({"trouble": "jitter", "size": "1MiB"})
    {'fault': 'jitter', 'size': '1MiB'}
    """
    return {RENAMED.get(word, word): value for word, value in words.items()}


def differences(text: str) -> list[Changes]:
    """What each of several runs does otherwise. Raises InputError for a word that none can differ in.

    >>> differences("algorithm=allreduce.linear|machine=dgx1v;size=1MiB|fault=")
    [{'algorithm': 'allreduce.linear'}, {'machine': 'dgx1v', 'size': '1MiB'}, {'fault': ''}]
    """
    runs = [run for run in text.split("|") if run][:MOST]
    return [dict(_change(word) for word in _NEXT_WORD.split(run)) for run in runs]


def _change(text: str) -> tuple[str, str]:
    name, equals, quoted = text.partition("=")
    word, value = RENAMED.get(name, name), unquote(quoted)
    if word not in CHANGEABLE or not equals or (word in _WHOLE and whole(value) not in range(10**6)):
        raise InputError("link.against", text=text, choices=CHANGEABLE)
    return word, value


def is_whole(run: Changes) -> bool:
    """Whether a run says all that it is, so that it stays what it is when the one it stands beside changes."""
    return {"algorithm", "size"} <= run.keys() and bool(run.keys() & {"machine", "capture"})


def kept(against: str) -> str:
    """Of several runs those that say all that they are.

    >>> kept("size=1MiB|algorithm=allreduce.ring;machine=dgx1v;size=1MiB")
    'algorithm=allreduce.ring;machine=dgx1v;size=1MiB'
    """
    return beside([run for run in differences(against) if is_whole(run)])


def beside(runs: Sequence[Changes]) -> str:
    """What several runs do otherwise as one text, each run once.

    >>> beside([{"machine": "dgx1v", "size": "1MiB"}, {"fault": ""}, {"fault": ""}])
    'machine=dgx1v;size=1MiB|fault='
    """
    return "|".join(dict.fromkeys(_joined(run) for run in runs))


def _joined(run: Changes) -> str:
    """What a run does otherwise, as `differences` reads it."""
    return ";".join(f"{word}={_ENDS.sub(lambda end: quote(end[0]), value)}" for word, value in run.items())


def size_word(size: int) -> str:
    """Bytes as a person would type them, without loss; nothing for none.

    >>> size_word(64 << 20), size_word(12345), size_word(0)
    ('64MiB', '12345', '')
    """
    return exact_size(size) if size else ""


def parse_blocks(text: str, owner: str) -> list[int]:
    """The bytes of blocks, with commas between; 0 is one of them. Raises InputError naming the block.

    >>> parse_blocks("1KiB, 0, 0B, 3", "counts")
    [1024, 0, 0, 3]
    """
    parts = [part.strip() for part in text.split(",")]
    return [parse_size(part, f"{owner}, block {i}:", least=0) for i, part in enumerate(parts)]
