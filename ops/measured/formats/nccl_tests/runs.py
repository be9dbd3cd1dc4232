"""Which part of a text is about which of its tables: what one run's command or log says is not said of the next."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from ops.measured.formats.nccl_tests.printed import PrintedTable

MOST_EXPORTED = 256
"""Lines that export something, of which a table has those that were the last before its run."""
_EXPORT = re.compile(r"\s{0,40}(?:[$>#]\s{1,9})?(?:export|setenv|ENV)\s")


def sections(text: str, tables: Sequence[PrintedTable]) -> list[str]:
    """The text of each table: from the end of the run before to its run's last row, with what was exported before.

    Tables of one run share theirs. All of the text for each where rows of several tables alternate.
    """
    ends = [max(row.last or row.line for row in table.rows) for table in tables]
    if len(tables) < 2 or any(table.rows[0].line <= end for table, end in zip(tables[1:], ends, strict=False)):
        return [text] * len(tables)
    lines = text.splitlines()
    starts = [0]
    for before, table in zip(ends, tables[1:], strict=False):
        starts.append(starts[-1] if table.same_run else before)
    ends[-1] = len(lines)
    run_ends = dict(zip(starts, ends, strict=True))  # the last of each
    exported = [at for at, line in enumerate(lines) if _EXPORT.match(line)]
    texts = {
        start: "\n".join([*(lines[at] for at in _last_before(start, exported)), *lines[start:end]])
        for start, end in run_ends.items()
    }
    return [texts[start] for start in starts]


def _last_before(start: int, exported: Sequence[int]) -> Sequence[int]:
    """The last lines before a line that export something."""
    end = bisect_left(exported, start)
    return exported[max(0, end - MOST_EXPORTED) : end]
