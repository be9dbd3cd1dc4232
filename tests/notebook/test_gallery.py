"""Every notebook of the gallery runs from its first cell to its last, and shows something."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture
def ringside(monkeypatch):
    """The checkout under the name that the package has when it is installed."""
    monkeypatch.syspath_prepend(str(ROOT / "package"))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "ringside"]:
        del sys.modules[name]


def execute(source, names, where):
    """A cell's code; returns the value of its last line, which a notebook would show."""
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)
    return eval(compile(ast.Expression(last.value), where, "eval"), names) if last else None


def test_there_are_ten():
    assert len(NOTEBOOKS) == 10
    told = (ROOT / "docs" / "notebooks" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in NOTEBOOKS if f"({path.name})" not in told] == []


def test_notebooks_find_the_checkout_where_it_is_not_installed(tmp_path):
    (line,) = re.findall(r"^    (PYTHONPATH=.*)$", (NOTEBOOKS[0].parent / "README.md").read_text(), re.MULTILINE)
    kernel = f'#!/bin/sh\ncd "$2" && exec "{sys.executable}" -c "import ringside.notebook"\n'  # where kernels start
    (tmp_path / "jupyter").write_text(kernel)
    (tmp_path / "jupyter").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", line], cwd=ROOT, env={**os.environ, "PATH": path}, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_is_about(path, ringside):
    from ui.notebook.widgets import Shown

    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert notebook["cells"][0]["source"][0].startswith("# ")
    names = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    values = [execute("".join(cell["source"]), names, f"{path.name}, {cell['id']}") for cell in cells]
    assert any(isinstance(value, Shown) for value in values)
    assert all(
        value is not None or "print" in "".join(cell["source"])
        for cell, value in zip(cells[1:], values[1:], strict=True)
    )
