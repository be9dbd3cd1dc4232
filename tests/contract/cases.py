"""The cases of the contract by section: what each is called, and how its answer is found."""

import ast
import io
import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.contract import adapter
from tests.contract.inputs import OLD, command_lines, files, links
from tests.contract.words import table
from tests.programs.running import HERE, PROGRAMS, really

Answers = Mapping[str, Callable[[], Any]]


def _sweep() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        for path in files("sweep"):
            shutil.copy(path, folder)
        return adapter.resume_table(Path(folder))


def _notebook(path: Path) -> list[Any]:
    """What the code cells of a notebook print and show, with today's names of what they import."""
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    with adapter.package_name():
        for cell in cells:
            out = io.StringIO()
            with redirect_stdout(out):
                value = _executed(table().source("".join(cell["source"])), names)
            printed = [word for line in out.getvalue().splitlines() for word in line.split() if _is_number(word)]
            shown.append({"shown": adapter.shown_of(value), "printed": printed})
    return shown


def _executed(source: str, names: dict[str, Any]) -> Any:
    """Run a cell's code; returns the value of its last line, which a notebook would show."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), names)
        return None
    tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def _is_number(word: str) -> bool:
    return "." in word and word.replace(".", "", 1).isdigit()


def _player(words: str) -> dict[str, Any]:
    return adapter.decoded(adapter.player_payload(adapter.linked(words)))


PLAYED = (
    "algorithm=allreduce.ring&machine=dual_socket_pcie&size=16MiB",
    "algorithm=alltoall.linear&machine=dgx1v&size=8MiB&trouble=straggler:rank%3D2,late%3D100us",
    "algorithm=allreduce.nvls&machine=dgx_h100&size=1MiB",
    "algorithm=scan.recursive_doubling&machine=mesh:ranks%3D5&size=5MB",
)
"""Links whose runs are stored as the player's page holds them."""


def _of_files(kind: str, ask: Callable[[Path], Any]) -> Answers:
    return {path.name: partial(ask, path) for path in files(kind)}


@cache
def sections() -> Mapping[str, Answers]:
    """Every section's cases: a function by the name of the case."""
    return {
        "commands": {line: partial(adapter.command, line) for line in command_lines()},
        "links": {link: partial(adapter.open_link, link) for link in links()},
        "scenarios": _of_files("scenarios", adapter.open_plan),
        "talks": _of_files("talks", adapter.open_talk),
        "traces": _of_files("traces", adapter.open_trace),
        "tables": {
            "resumed": _sweep,
            "winners.parquet": partial(adapter.table_rows, OLD / "sweep" / "winners.parquet"),
        },
        "notebooks": _of_files("notebooks", _notebook),
        "player": {words: partial(_player, words) for words in PLAYED},
        "mpi": {name: partial(really, HERE / name, 4) for name in PROGRAMS},
        "package": {"use.py": partial(adapter.package, OLD / "use.py")},
    }


def is_long(section: str, case: str) -> bool:
    """Whether only `./check --long` tries a case."""
    return section == "mpi" or (section == "commands" and case not in command_lines(long=False))
