"""The table of `nvidia-smi topo -m` as text: found, straightened and checked, whatever it was pasted through.

Terminals underline the header, mail quotes, editors turn tabs into blanks, pages make Markdown of it. Only
tokens count here, never columns on the screen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.errors import InputError

P2P_WORDS = ("OK", "CNS", "GNS", "TNS", "NS", "DR", "U")
"""Cells of `nvidia-smi topo -p2p`."""

_ESCAPE = re.compile(r"(?:\x1b|␛|\\e|\\x1b|\\033)\[[0-?]*[ -/]*[@-~]|\[\d{1,2}(?:;\d{1,2})*m|[\u200b\ufeff\ufffd*`\\]")
_MARGIN = re.compile(r"^[\s>#]+")
_TITLES = (
    (re.compile(r"GPU\s*NUMA\s*ID"), " @gpu "),
    (re.compile(r"CPU\s*Affinity"), " @cpu "),
    (re.compile(r"NUMA\s*Affinity"), " @numa "),
)
_CLASS = r"(?:NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|X)"
_CELL = re.compile(rf"{_CLASS}|{'|'.join(P2P_WORDS)}")
_GLUED_CELLS = re.compile(rf"((?:{_CLASS})+)([\d,-]*)")
_AFFINITY = re.compile(r"N/A|-1|\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*,?")
_DEVICE = re.compile(r"(?=\D*\d)[A-Za-z][\w.\-]*")
_GLUED_NAME = re.compile(rf"(.+?)((?:{_CLASS})+)")
_GLUED_DEVICES = re.compile(r"(?:GPU\d+|NIC\d+|mlx\d+_(?:bond_)?\d+){2,}")
_ONE_DEVICE = re.compile(r"GPU\d+|NIC\d+|mlx\d+_(?:bond_)?\d+")
_TITLE_WORDS = {"CPU": ["@cpu"], "NUMA": ["@numa"], "Affinity": [], "GPU": [], "ID": []}
"""What a header that was wrapped inside a title leaves behind."""
_MOST_DEVICES = 512
"""More than any host has and than a table of 1 MiB can hold rows for."""
_RULE = re.compile(r"[-=+:─┼|│]+")


@dataclass(slots=True)
class PastedRow:
    """One line of the table: what stood before the name and after it."""

    line: int
    name: str
    before: list[str]
    after: list[str]
    cells: list[str] = field(default_factory=list)
    affinity: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PastedTable:
    """One header and the rows below it; `titles` are the affinity columns in order."""

    line: int
    columns: list[str]
    titles: list[str]
    shortened: bool
    """Somebody wrote `...` in the header."""
    rows: list[PastedRow] = field(default_factory=list)

    @property
    def gpus(self) -> list[str]:
        """The GPUs that have a column."""
        return [name for name in self.columns if is_gpu(name)]

    @property
    def told(self) -> bool:
        """Whether it is more than a line that happens to name GPUs."""
        return bool(self.words or self.titles)

    @property
    def words(self) -> set[str]:
        """Every cell there is."""
        return {cell for row in self.rows for cell in row.cells}


class Matrix(NamedTuple):
    """A checked table, GPUs first: every GPU pair has a class, `SOC` has become `SYS`, both directions agree."""

    names: list[str]
    cells: dict[tuple[str, str], str]
    cpu: dict[str, str]
    numa: dict[str, str]
    filled: list[str]
    """NICs whose own row was cut or absent."""


def is_gpu(name: str) -> bool:
    """Whether this is a GPU's name rather than a NIC's."""
    return re.fullmatch(r"GPU[0-9]+", name) is not None


def tables(text: str) -> list[PastedTable]:
    """Every table with GPUs in its header, in order; rows are taken apart but not checked."""
    found: list[PastedTable] = []
    latest = 0
    for number, tokens in _lines(text):
        table = found[-1] if found else None
        header = _header(tokens)
        if header and table and latest == number - 1 and _continues(table, header):
            _extend(table, header)
            latest = number
        elif any(map(is_gpu, header)) and (table is None or len(header) > 1 or header[0] not in table.columns):
            found.append(PastedTable(number, [], [], False))
            _extend(found[-1], header)
            latest = number
        elif table and (row := _row(number, tokens, table)):
            table.rows.append(row)
            latest = number
        elif table and table.rows and latest == number - 1 and tokens and all(map(_is_value, tokens)):
            table.rows[-1].after += tokens
            latest = number
    for table in found:
        for row in table.rows:
            _take_apart(row, table)
    return found


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and tokens of every line; affinity titles become `@cpu`, `@numa`, `@gpu`."""
    for number, line in enumerate(text.splitlines(), 1):
        line = _MARGIN.sub("", _ESCAPE.sub("", line)).replace("|", " ").replace("│", " ")
        for title, token in _TITLES:
            line = title.sub(token, line)
        line = re.sub(r"(?<=\d),\s+(?=\d)", ",", line.replace("N/A", " N/A ").replace("…", "..."))
        yield number, [token for token in line.split() if not _RULE.fullmatch(token)]


def _header(tokens: list[str]) -> list[str]:
    """The names and titles of a line that holds nothing else."""
    names: list[str] = []
    for token in tokens:
        glued = _GLUED_DEVICES.fullmatch(token)
        names += _ONE_DEVICE.findall(token) if glued else _TITLE_WORDS.get(token, [token])
    usual = (
        name[0] == "@" or name == "..." or (_DEVICE.fullmatch(name) and not _CELL.fullmatch(name)) for name in names
    )
    return names if all(usual) and len(names) <= _MOST_DEVICES else []


def _continues(table: PastedTable, header: list[str]) -> bool:
    """Whether this is the rest of a header that a terminal wrapped."""
    return not table.rows and len(table.columns) < _MOST_DEVICES and not set(header) & set(table.columns)


def _extend(table: PastedTable, names: list[str]) -> None:
    table.columns += [name for name in names if name[0] not in "@."]
    table.titles += [name for name in names if name[0] == "@"]
    table.shortened |= "..." in names


def _row(number: int, tokens: list[str], table: PastedTable) -> PastedRow | None:
    """The row a line holds, or nothing when it is none."""
    at = next((i for i, token in enumerate(tokens) if not _AFFINITY.fullmatch(token)), len(tokens))
    if at == len(tokens):
        return None
    name, after = tokens[at], tokens[at + 1 :]
    if name not in table.columns:
        glued = _GLUED_NAME.fullmatch(name)
        if glued and glued[1] in table.columns:
            name, after = glued[1], [glued[2], *after]
    if not _DEVICE.fullmatch(name) or _CELL.fullmatch(name):
        return None
    told = bool(after) and bool(_GLUED_CELLS.fullmatch(after[0]) or _CELL.fullmatch(after[0]))
    if not told and (name not in table.columns or any(row.name == name for row in table.rows)):
        return None
    return PastedRow(number, name, tokens[:at], after)


def _is_value(token: str) -> bool:
    return any(pattern.fullmatch(token) for pattern in (_CELL, _GLUED_CELLS, _AFFINITY)) or token == "..."


def _take_apart(row: PastedRow, table: PastedTable) -> None:
    """Cells first, then affinities; glued cells are told apart, what is neither ends the row."""
    row.affinity = list(row.before)
    for token in row.after:
        glued = _GLUED_CELLS.fullmatch(token)
        if token == "...":
            continue
        if row.affinity[len(row.before) :] or not (glued or _CELL.fullmatch(token)):
            if not _AFFINITY.fullmatch(token):
                break
            row.affinity.append(token)
        elif glued:
            row.cells += re.findall(_CLASS, glued[1])
            row.affinity += [glued[2]] if glued[2] else []
        else:
            row.cells.append(token)


def check(table: PastedTable, name: str) -> Matrix:
    """The table as a matrix. Raises InputError naming line, row and mend where cells lack or disagree."""
    rows = _rows(table, name)
    cells: dict[tuple[str, str], str] = {}
    filled = [nic for nic in table.columns if nic not in rows]
    for row in rows.values():
        if not is_gpu(row.name) and len(row.cells) < len(table.columns):
            filled.append(row.name)
        for column, cell in zip(table.columns, row.cells, strict=False):
            if cell in P2P_WORDS:
                raise InputError(
                    f"{name}, line {row.line}: row {row.name} says {cell}, a word of `nvidia-smi topo -p2p`: paste"
                    " `nvidia-smi topo -m`"
                )
            if (cell == "X") != (column == row.name):
                raise InputError(
                    f"{name}, line {row.line}: row {row.name} has {cell} in column {column}, but X belongs where a"
                    " device meets itself and nowhere else: paste the table again, its columns have moved"
                )
            cells[row.name, column] = "SYS" if cell == "SOC" else cell
    for (a, b), cell in cells.items():
        back = cells.get((b, a), cell)
        if back != cell:
            raise InputError(
                f"{name}: row {a}, column {b} says {cell} but row {b}, column {a} says {back}: paste the table again,"
                " both ways must agree"
            )
    cells |= {(b, a): cell for (a, b), cell in cells.items()}
    return Matrix(
        sorted(table.columns, key=lambda column: not is_gpu(column)),
        {pair: cell for pair, cell in cells.items() if cell != "X"},
        _column(table, rows, "@cpu"),
        _column(table, rows, "@numa"),
        filled,
    )


def _rows(table: PastedTable, name: str) -> dict[str, PastedRow]:
    """Rows by name: every GPU's is there and complete."""
    twice = {column for column in table.columns if table.columns.count(column) > 1}
    if twice:
        raise InputError(f"{name}, line {table.line}: column {min(twice)} is there twice: paste one table")
    rows: dict[str, PastedRow] = {}
    for row in table.rows:
        if row.name in rows:
            raise InputError(f"{name}, line {row.line}: row {row.name} is there twice: paste one table")
        if row.name not in table.columns:
            if table.shortened and not is_gpu(row.name):
                continue
            raise InputError(
                f"{name}, line {row.line}: row {row.name} has no column of that name, the header is cut: paste all"
            )
        if len(row.cells) > len(table.columns):
            raise InputError(
                f"{name}, line {row.line}: row {row.name} has {len(row.cells)} cells, the header has"
                f" {len(table.columns)} columns: paste the table again"
            )
        rows[row.name] = row
    lost = [gpu for gpu in table.gpus if gpu not in rows]
    cut = [gpu for gpu in table.gpus if gpu in rows and len(rows[gpu].cells) < len(table.columns)]
    if lost or cut:
        parts = [f"the rows of {_some(lost)} are missing"] if lost else []
        if cut:
            first = rows[cut[0]]
            parts.append(
                f"row {first.name} (line {first.line}) ends after {len(first.cells)} of {len(table.columns)} cells"
                + (f", others are short too ({_some(cut[1:])})" if cut[1:] else "")
            )
        raise InputError(f"{name} is cut: {'; '.join(parts)}: paste the whole output of `nvidia-smi topo -m`")
    return rows


def _some(names: list[str]) -> str:
    """Names in a sentence, the first sixteen of many."""
    return ", ".join(names[:16]) + (f" and {len(names) - 16} more" if len(names) > 16 else "")


def _column(table: PastedTable, rows: dict[str, PastedRow], title: str) -> dict[str, str]:
    """What the GPUs' rows say under an affinity title; `N/A` says nothing."""
    if title not in table.titles:
        return {}
    at = table.titles.index(title)
    told = {gpu: rows[gpu].affinity[at] for gpu in table.gpus if len(rows[gpu].affinity) > at}
    return {gpu: value.rstrip(",") for gpu, value in told.items() if value not in ("N/A", "-1")}
