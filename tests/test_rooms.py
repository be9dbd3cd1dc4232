"""How many rooms there are, and what none of them may hold again."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 15
"""Rooms of `sim`: folders and files that stand for themselves."""
GONE = ("FoldedOutcome", "FoldedTrace", "ApartTrace", "KindsTrace", "SymmetricTrace", "FoldedWork", "run_folded")
"""Outcomes of their own that strategies had before there was one `Run`."""


def test_sim_has_few_rooms():
    rooms = {path.name for path in (ROOT / "sim").iterdir() if path.name not in ("__init__.py", "__pycache__")}
    assert len(rooms) <= MOST, sorted(rooms)


def test_there_is_one_outcome():
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = re.compile("|".join(GONE))
    files = (ROOT / name for name in listed.splitlines())
    holding = [path for path in files if path.exists() and names.search(path.read_text(encoding="utf-8"))]
    assert holding == [Path(__file__)]
