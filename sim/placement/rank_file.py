"""Files that say which rank runs where: rank files, host files and lists of hosts of MPI launchers, logs with devices.

| line | whose |
|---|---|
| `rank 3=node1 slot=4` | Open MPI's rank file, a slot being a GPU of that host (`mpirun --rankfile`) |
| `node1 slots=4`, `node1:4`, `node1` | host files of Open MPI and MPICH, Slurm's lists: its next so many GPUs |
| `3 node1 4`, `3,node1,4` | rank, host and GPU in columns |
| `#  Rank  3 … on node1 device  4 [0x..]` | what nccl-tests prints |

A list of GPUs, as `sim.placement` has it in one line, may stand in many. Hosts are numbered as they appear, unless all
of them are called by numbers: `H1`, `+n1`, `1`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sim.base.numbers import whole
from sim.errors import InputError

_RANK = re.compile(
    r"rank\s{1,9}(\d{1,9})\s{0,9}=\s{0,9}([^\s=]{1,255})(?:\s{1,9}slots?\s{0,9}=\s{0,9}(\S{1,99}))?", re.IGNORECASE
)
_LOG = re.compile(
    r"#?\s{0,9}Rank\s{1,9}(\d{1,9})\s.{0,200}?\bon\s{1,40}(\S{1,255})\s{1,9}device\s{1,9}(\d{1,9})\b.{0,200}",
    re.IGNORECASE,
)
_COLUMNS = re.compile(r"(\d{1,9})[\s,;]{1,9}([^\s,;]{1,255})[\s,;]{1,9}(\d{1,9})")
_HOST = re.compile(r"([^\s:=#,]{1,255})(?:\s{0,9}:\s{0,9}(\d{1,9}))?((?:\s{1,9}\w{1,20}\s{0,9}=\s{0,9}\S{1,99}){0,9})")
_SLOTS = re.compile(r"\bslots\s{0,9}=\s{0,9}(\d{1,9})")
_HEAD = re.compile(r"rank[\s,;]{1,9}(?:host|node)\w{0,9}[\s,;]{1,9}(?:gpu|device|slot|local)\w{0,9}", re.IGNORECASE)
_WORD = re.compile(
    r"(?:(?:\*|\d{1,9}(?:-\d{1,9})?):)?(?:\*|\d{1,9}(?:-\d{1,9})?)|(?:per_host|hosts|order)=\w{1,20}"
    r"|\S{0,255}GPU\d{1,9}(?:-\d{1,9})?"
)
_NUMBERED = re.compile(r"(?:h|\+n)?(\d{1,9})", re.IGNORECASE)
_BEGINS = re.compile(r"\s{0,99}#?\s{0,99}rank\s|[^\n]{0,255}\sslots\s{0,9}=", re.IGNORECASE)
MOST = 1 << 20
"""Ranks of a file."""


class Spot(NamedTuple):
    """Where a rank runs: its line, the host as the file calls it, and the GPU on it, None for the next that is free."""

    line: int
    rank: int | None
    host: str
    gpu: int | None


def is_rank_file(text: str) -> bool:
    r"""Whether a text is a rank file rather than a list in one line.

    >>> is_rank_file("rank 0=node1 slot=2"), is_rank_file("0:0-3,1:4-7"), is_rank_file("a\nb")
    (True, False, True)
    """
    return not _listed(text) and ("\n" in text.strip() or _BEGINS.match(text) is not None)


def in_one_line(text: str, name: str) -> str:
    r"""A rank file as `sim.placement` has it in one line. Raises InputError.

    >>> in_one_line("node7 slots=4\nnode3 slots=2\nnode7", "file")
    '0:0-3,1:0-1,0:4'
    """
    if words := _listed(text):
        return ",".join(words)
    runs: list[list[int]] = []
    for host, gpu in spots(text, name):
        if runs and runs[-1][0] == host and runs[-1][2] == gpu - 1:
            runs[-1][2] = gpu
        else:
            runs.append([host, gpu, gpu])
    return ",".join(f"{host}:{first}" if first == last else f"{host}:{first}-{last}" for host, first, last in runs)


def _listed(text: str) -> list[str]:
    """The words of a list of GPUs, which may stand in many lines with comments; nothing for any other text."""
    lines = [plain for line in text.splitlines() if (plain := line.partition("#")[0].strip())]
    words = " ".join(lines).replace(",", " ").split()
    columns = len(lines) > 1 and all(map(_COLUMNS.fullmatch, lines))
    return words if all(map(_WORD.fullmatch, words)) and not columns else []


def spots(text: str, name: str) -> list[tuple[int, int]]:
    r"""Host and GPU of every rank, both counted from 0. Raises InputError naming the line.

    >>> spots("rank 1=b slot=3\nrank 0=a slot=0", "file"), spots("n1 slots=2\nn2", "file")
    ([(1, 0), (0, 3)], [(0, 0), (0, 1), (1, 0)])
    """
    every = [spot for at, line in enumerate(text.splitlines(), 1) for spot in _of_line(line, at, name)]
    if not every:
        raise InputError("rank_file.no_rank", file=name)
    if len(every) > MOST:
        raise InputError("rank_file.too_many", file=name, count=len(every), most=MOST)
    numbers = _numbers(spot.host for spot in every)
    every = _by_rank(every, name)
    free: Counter[str] = Counter()
    places = []
    for spot in every:
        places.append((numbers[spot.host], free[spot.host] if spot.gpu is None else spot.gpu))
        free[spot.host] += 1
    return places


def _of_line(line: str, at: int, name: str) -> Iterator[Spot]:
    plain = line.strip().lstrip("\ufeff")
    if match := _LOG.fullmatch(plain):
        yield Spot(at, int(match[1]), match[2], int(match[3]))
        return
    plain = plain.partition("#")[0].strip()
    if not plain or _HEAD.fullmatch(plain):
        return
    if match := _RANK.fullmatch(plain):
        yield Spot(at, int(match[1]), match[2], _slot(match[3], at, name))
    elif match := _COLUMNS.fullmatch(plain):
        yield Spot(at, int(match[1]), match[2], int(match[3]))
    elif (match := _HOST.fullmatch(plain)) and not plain.lower().startswith("rank "):
        slots = _SLOTS.search(match[3])
        count = int(match[2] or (slots[1] if slots else 1))
        if not 1 <= count <= MOST:
            raise InputError("rank_file.slots", file=name, line=at, count=count, most=MOST)
        yield from (Spot(at, None, match[1], None) for _ in range(count))
    else:
        raise InputError("rank_file.line", file=name, line=at, text=plain)


def _slot(word: str | None, at: int, name: str) -> int | None:
    if word is None:
        return None
    slot = whole(word)
    if slot is None or slot < 0:
        raise InputError("rank_file.cores", file=name, line=at, slot=word)
    return slot


def _by_rank(every: Sequence[Spot], name: str) -> list[Spot]:
    """In the order of ranks, each of which must be there once; as they stand where lines name none."""
    numbered = [spot for spot in every if spot.rank is not None]
    if not numbered:
        return list(every)
    if len(numbered) < len(every):
        other = next(spot for spot in every if spot.rank is None)
        host = other.host[:40]
        raise InputError("rank_file.host", file=name, line=other.line, host=host)
    ordered = sorted(numbered, key=lambda spot: (spot.rank, spot.line))
    for rank, spot in enumerate(ordered):
        if spot.rank != rank:
            why = "rank_file.rank_twice" if spot.rank == rank - 1 else "rank_file.rank_missing"
            raise InputError(why, file=name, line=spot.line, rank=min(spot.rank or 0, rank))
    return ordered


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """Every host's number."""
    distinct = list(dict.fromkeys(names))
    matches = [match for host in distinct if (match := _NUMBERED.fullmatch(host))]
    if len(matches) == len(distinct):
        return {match[0]: int(match[1]) for match in matches}
    return {host: number for number, host in enumerate(distinct)}
