"""The table of `nvidia-smi topo -m` as text: found, straightened and checked, whatever it was pasted through.

Terminals underline the header, mail quotes, editors turn tabs into blanks, pages make Markdown of it. Only
tokens count here, never columns on the screen.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.errors import InputError, Message, first_few
from sim.formats.nvidia_smi.lines import ONE_DEVICE, word_lines

P2P_WORDS = ("OK", "CNS", "GNS", "TNS", "NS", "DR", "U")
"""Cells of `nvidia-smi topo -p2p`."""

_GPU = re.compile(r"GPU[0-9]+")
_CLASS = r"(?:NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|X)"
_CELL = re.compile(rf"{_CLASS}|{'|'.join(P2P_WORDS)}")
_GLUED_CELLS = re.compile(rf"((?:{_CLASS})+)([\d,-]*)")
_AFFINITY = re.compile(r"N/A|-1|\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*,?")
_DEVICE = re.compile(r"(?=\D*\d)[A-Za-z][\w.\-]*")
_GLUED_NAME = re.compile(rf"(.+?)((?:{_CLASS})+)")
_GLUED_DEVICES = re.compile(r"(?:GPU\d+|NIC\d+|mlx\d+_(?:bond_)?\d+){2,}")
_TITLE_WORDS = {"CPU": ["@cpu"], "NUMA": ["@numa"], "Affinity": [], "GPU": [], "ID": []}
"""What a header that was wrapped inside a title leaves behind."""
_MOST_BEFORE = 16
"""Words in front of a row, at most."""
_LONGEST = 256
"""A longer word is no name with cells glued to it."""
_MOST_DEVICES = 512
"""More than any host has and than a table of 1 MiB can hold rows for."""
_FRAGMENT = re.compile(r"[A-Za-z][A-Za-z_]{0,7}")
"""What is left of a title or name where a header is cut."""


@dataclass(slots=True)
class PastedRow:
    """One line of the table: what stood before the name and after it."""

    line: int
    name: str
    before: list[str]
    after: list[str]
    cells: list[str] = field(default_factory=list)
    affinity: list[str] = field(default_factory=list)
    unread: str = ""
    """The word behind its cells that is no affinity."""


@dataclass(slots=True)
class PastedTable:
    """One header and the rows below it; `titles` are the affinity columns in order."""

    line: int
    columns: list[str]
    titles: list[str]
    titles_first: bool
    """Whether affinities stand before the names."""
    shortened: bool
    """Somebody wrote `...` in the header."""
    full: bool = False
    """The header is as wide as lines can be."""
    cut: bool = False
    """The header ends where every line is cut that is as long."""
    lost: list[str] = field(default_factory=list)
    """What was cut off: columns and titles."""
    rows: list[PastedRow] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    """The names of all rows so far."""

    @property
    def gpus(self) -> list[str]:
        """The GPUs that have a column."""
        return [name for name in self.columns if is_gpu(name)]

    @property
    def is_table(self) -> bool:
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
    return _GPU.fullmatch(name) is not None


def tables(text: str) -> list[PastedTable]:
    """Every table with GPUs in its header, in order; rows are taken apart but not checked."""
    pasted: list[PastedTable] = []
    latest = 0
    for number, words, full in word_lines(text):
        table = pasted[-1] if pasted else None
        header, cut = _header(words, full=full)
        if header and table and latest == number - 1 and _continues(table, header):
            _extend(table, header, cut=cut)
            latest = number
        elif any(map(is_gpu, header)) and (table is None or len(header) > 1 or header[0] not in table.columns):
            pasted.append(PastedTable(number, [], [], header[0][0] == "@", False, full=full))
            _extend(pasted[-1], header, cut=cut)
            latest = number
        elif table and (row := _row(number, words, table)):
            table.rows.append(row)
            table.named.add(row.name)
            latest = number
        elif table and table.rows and latest == number - 1 and words and all(map(_is_value, words)):
            table.rows[-1].after += words
            latest = number
    for table in pasted:
        for row in table.rows:
            _take_apart(row, table)
        table.cut |= table.full and any(_is_beyond(row, table) for row in table.rows)
        if table.cut:
            _cut_to_whole_columns(table)
    return pasted


def _header(words: list[str], *, full: bool) -> tuple[list[str], bool]:
    """The names and titles of a line that holds nothing else but a prefix, and whether it ends inside one.

    `full` tells that the line is as wide as the widest, which is where all of them are cut if they are.
    """
    begin = next((i for i, word in enumerate(words) if _begins_header(word)), 0)
    begin = 0 if all(map(_is_title, words[:begin])) else begin
    names: list[str] = []
    for word in words[begin:]:
        glued = _GLUED_DEVICES.fullmatch(word)
        names += ONE_DEVICE.findall(word) if glued else _TITLE_WORDS.get(word, [word])
    cut = sum(map(is_gpu, names)) > 1 and _is_cut(words[-1], names, full=full)
    if cut:
        names = _whole_names(words, names)
    return (names if all(map(_is_title, names)) and len(names) <= _MOST_DEVICES else []), cut


def _is_cut(last: str, names: list[str], *, full: bool) -> bool:
    """Whether a header ends in half a title, or in a name that is there already, as GPU1 is where GPU10 is cut."""
    if not _is_title(names[-1]) and _FRAGMENT.fullmatch(last):
        return full or any(word.startswith(last) for word in (*_TITLE_WORDS, "NIC", "mlx"))
    return full and (last in ("CPU", "GPU", "NUMA") or (names[-1][0] != "@" and names[-1] in names[:-1]))


def _whole_names(words: list[str], names: list[str]) -> list[str]:
    """The names and titles of a header that are not cut off."""
    titles = _TITLE_WORDS.get(words[-1])
    names = names[:-1] if titles is None else names[: len(names) - len(titles)]
    return names[:-1] if titles is None and words[-2:-1] == ["NUMA"] and names[-1:] == ["@numa"] else names


def has_rows(text: str) -> bool:
    """Whether lines hold a GPU's name and cells, as rows do that have lost their header."""
    return any(
        is_gpu(word) and len(words) > at + 2 and all(map(_is_cell, words[at + 1 : at + 3]))
        for _, words, _ in word_lines(text)
        for at, word in enumerate(words[:_MOST_BEFORE])
    )


def _begins_header(word: str) -> bool:
    return is_gpu(word) or word[0] == "@" or _GLUED_DEVICES.fullmatch(word) is not None or word in _TITLE_WORDS


def _is_title(name: str) -> bool:
    """Whether a word may stand in a header."""
    return name[0] == "@" or name == "..." or bool(_DEVICE.fullmatch(name) and not _CELL.fullmatch(name))


def _is_beyond(row: PastedRow, table: PastedTable) -> bool:
    """Whether a row has what the header has no column for."""
    return len(row.cells) > len(table.columns) or not (is_gpu(row.name) or row.name in table.columns)


def _cut_to_whole_columns(table: PastedTable) -> None:
    """Leave out what lies beyond the place where all lines are cut, if that is not among the GPUs."""
    whole = min((len(row.cells) for row in table.rows if is_gpu(row.name)), default=0)
    gpus = max((i + 1 for i, name in enumerate(table.columns) if is_gpu(name)), default=0)
    kept = max(min(whole, len(table.columns)), gpus)
    table.lost = table.columns[kept:]
    table.columns = table.columns[:kept]
    for row in table.rows:
        row.cells = row.cells[:kept]
    others = [row.name for row in table.rows if row.name not in table.columns and not is_gpu(row.name)]
    table.lost += [name for name in dict.fromkeys(others) if name not in table.lost]
    table.rows = [row for row in table.rows if row.name not in others]


def _continues(table: PastedTable, header: list[str]) -> bool:
    """Whether this is the rest of a header that a terminal wrapped."""
    return not table.rows and len(table.columns) < _MOST_DEVICES and not set(header) & set(table.columns)


def _extend(table: PastedTable, names: list[str], *, cut: bool) -> None:
    table.columns += [name for name in names if name[0] not in "@."]
    table.titles += [name for name in names if name[0] == "@"]
    table.shortened |= "..." in names
    table.cut = cut


def _row(number: int, words: list[str], table: PastedTable) -> PastedRow | None:
    """The row a line holds, or nothing when it is none: a name and cells after it, whatever stands before."""
    for at, word in enumerate(words[:_MOST_BEFORE]):
        name, after = word, words[at + 1 :]
        glued = _GLUED_NAME.fullmatch(name) if name not in table.columns and len(name) <= _LONGEST else None
        if glued and glued[1] in table.columns:
            name, after = glued[1], [glued[2], *after]
        if not _DEVICE.fullmatch(name) or _CELL.fullmatch(name):
            continue
        cells = next((i for i, cell in enumerate(after) if not _is_cell(cell)), len(after))
        prefix = at > 0 and not table.titles_first
        if cells >= (len(table.gpus) if prefix else 1) or (
            at == 0 and name in table.columns and name not in table.named
        ):
            return PastedRow(number, name, _affinities(words[:at], table), after)
    return None


def _affinities(before: list[str], table: PastedTable) -> list[str]:
    """What stands before a name, where the titles of affinities do: as many words as titles, the last ones."""
    if not table.titles_first:
        return []
    values = [word for word in before if _AFFINITY.fullmatch(word)]
    return values[-len(table.titles) :]


def _is_cell(word: str) -> bool:
    return bool(_CELL.fullmatch(word) or _GLUED_CELLS.fullmatch(word))


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
                row.unread = token
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
    _leave_room(table, [rows[gpu] for gpu in table.gpus])
    cells: dict[tuple[str, str], str] = {}
    filled = [nic for nic in table.columns if nic not in rows]
    for row in rows.values():
        if not is_gpu(row.name) and len(row.cells) < len(table.columns):
            filled.append(row.name)
        for column, cell in zip(table.columns, row.cells, strict=False):
            if cell in P2P_WORDS:
                raise InputError("nvidia_smi.p2p", file=name, line=row.line, row=row.name, cell=cell)
            if (cell == "X") != (column == row.name):
                raise InputError("nvidia_smi.moved", file=name, line=row.line, row=row.name, cell=cell, column=column)
            cells[row.name, column] = "SYS" if cell == "SOC" else cell
    for (a, b), cell in cells.items():
        back = cells.get((b, a), cell)
        if back != cell:
            raise InputError("nvidia_smi.disagree", name=name, a=a, b=b, cell=cell, back=back)
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
        raise InputError("table.column_twice", file=name, line=table.line, column=min(twice))
    rows: dict[str, PastedRow] = {}
    for row in table.rows:
        if row.name in rows:
            raise InputError("table.row_twice", file=name, line=row.line, row=row.name)
        if row.name not in table.columns:
            if table.shortened and not is_gpu(row.name):
                continue
            raise InputError("nvidia_smi.header", file=name, line=row.line, row=row.name)
        if len(row.cells) > len(table.columns):
            raise InputError(
                "nvidia_smi.cells",
                file=name,
                line=row.line,
                row=row.name,
                cells=len(row.cells),
                columns=len(table.columns),
            )
        rows[row.name] = row
    lost = [gpu for gpu in table.gpus if gpu not in rows]
    cut = [gpu for gpu in table.gpus if gpu in rows and len(rows[gpu].cells) < len(table.columns)]
    if lost or cut:
        parts = [Message("nvidia_smi.rows_missing", rows=first_few(lost, 16))] if lost else []
        if cut:
            first = rows[cut[0]]
            others = Message("nvidia_smi.short_too", rows=first_few(cut[1:], 16)) if cut[1:] else ""
            ends = {"row": first.name, "line": first.line, "cells": len(first.cells), "columns": len(table.columns)}
            parts.append(Message("nvidia_smi.row_ends", others=others, **ends))
        raise InputError("nvidia_smi.cut", name=name, parts=parts)
    return rows


def _leave_room(table: PastedTable, rows: list[PastedRow]) -> None:
    """Leave the first affinity empty in rows whose words are those of the others' last ones: no CPU is near there.

    Words do not tell where a row has none; that a range is no number, and `N/A` neither, does.
    """
    whole = [] if table.titles_first else [row.affinity for row in rows if len(row.affinity) == len(table.titles)]
    first, last = ({_form(words[at]) for words in whole if words} for at in (0, -1))
    for row in rows:
        words = row.affinity
        if 0 < len(words) < len(table.titles) and _form(words[0]) not in first and _form(words[-1]) in last:
            row.affinity = ["N/A"] * (len(table.titles) - len(words)) + words


def _form(word: str) -> str:
    """What an affinity looks like: a number, several, or N/A."""
    return "number" if word.isdecimal() else "N/A" if word == "N/A" else "several"


def _column(table: PastedTable, rows: dict[str, PastedRow], title: str) -> dict[str, str]:
    """What the GPUs' rows say under an affinity title; `N/A` says nothing."""
    if title not in table.titles:
        return {}
    at = table.titles.index(title)
    cells = {gpu: rows[gpu].affinity[at] for gpu in table.gpus if len(rows[gpu].affinity) > at}
    return {gpu: value.rstrip(",") for gpu, value in cells.items() if value not in ("N/A", "-1")}
