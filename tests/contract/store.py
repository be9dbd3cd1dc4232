"""The stored answers: a file of JSON for each section, a line for each case."""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from tests.contract.inputs import DATA

Answers = Mapping[str, Any]


def stored(section: str) -> Answers:
    """The answers of a section, by case; none where nothing is stored."""
    path = DATA / f"{section}.json"
    return _parsed(path.read_text(encoding="utf-8")) if path.exists() else {}


def tracked(section: str) -> Answers:
    """The answers of a section as the last commit has them."""
    show = ["git", "show", f"HEAD:./{section}.json"]
    ended = subprocess.run(show, cwd=DATA, capture_output=True, text=True, encoding="utf-8", check=False)
    return _parsed(ended.stdout) if ended.returncode == 0 else {}


def store(section: str, answers: Answers) -> None:
    """Write the answers of a section."""
    lines = [
        f"{json.dumps(case, ensure_ascii=False)}: {json.dumps(answer, ensure_ascii=False)}"
        for case, answer in answers.items()
    ]
    (DATA / f"{section}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _parsed(text: str) -> Answers:
    answers: Answers = json.loads(text)
    return answers
