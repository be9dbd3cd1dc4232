"""The kernel compiled ahead of time is that of the sources; `--long` compiles it again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from package import ahead, webassembly

ROOT = Path(__file__).resolve().parent.parent
DESCRIPTION = json.loads((ahead.FOLDER / "kernel.json").read_text())


def test_the_artefact_is_made_of_these_sources():
    assert DESCRIPTION["sources"] == ahead.fingerprint(), "run `python -m package.ahead`"


def test_the_artefact_is_made_by_the_pinned_compiler():
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    assert f"numba=={DESCRIPTION['numba']}" in lines


def test_the_description_is_that_of_the_sources():
    assert json.loads(json.dumps(ahead.describe(DESCRIPTION["numba"]))) == DESCRIPTION


def test_comments_and_docstrings_do_not_count():
    source = 'def f(x):\n    """Double."""\n    return x * 2\n'
    words = "".join(ahead.words_of(source))
    assert words == "deff(x):returnx*2"
    assert "".join(ahead.words_of('"""All."""\n\n\n# A function.\ndef f(x):\n    return x * 2  # twice\n')) == words
    assert "".join(ahead.words_of(source.replace("2", "3"))) != words


def test_numbers_are_written_as_webassembly_has_them():
    for value in (0, 63, 64, 127, 128, 300, 1 << 20):
        written = webassembly._number(value)
        assert webassembly.Cursor(written).number() == value
    assert (webassembly._signed(63), webassembly._signed(64)) == (b"\x3f", b"\xc0\x00")


@pytest.mark.long
def test_the_same_bytes_are_made_again(tmp_path):
    for name in ahead.NAMES:
        (tmp_path / name).write_bytes((ahead.FOLDER / name).read_bytes())
    command = [sys.executable, "-m", "package.ahead", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "identical\n"
