"""`./start` in a folder of its own, with Pythons that say another version and packages that nobody fetches."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FAKE = """#!/bin/sh
# a Python of version {version}
echo "{version} $*" >>"$LOG"
case "$1 $2" in
"-c "*)
    exec {real} -c 'import sys; sys.version_info = ({major}, {minor}, 0, "final", 0); exec(sys.argv[1])' "$2" ;;
"-m venv")
    rm -rf .venv
    mkdir -p .venv/bin
    cp "$0" .venv/bin/python
    echo "version = {version}.0" >.venv/pyvenv.cfg ;;
"cli.py run")
    exit "${{RUN_STATUS:-0}}" ;;
esac
"""


class Checkout:
    """A folder with `./start`, and a folder of Pythons that is all of the path but the system's tools."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.log = folder / "checkout", folder / "bin", folder / "log"
        (self.folder / ".ci").mkdir(parents=True)
        self.path.mkdir()
        for name in ("start", ".ci/venv.sh", "requirements.txt", "requirements-build.txt"):
            shutil.copy(ROOT / name, self.folder / name)
        for tool in ("sh", "cat", "sed", "sha256sum", "cut", "rm", "mkdir", "cp", "touch", "dirname", "id"):
            (self.path / tool).symlink_to(shutil.which(tool))

    def python(self, name: str, version: str, place: Path | None = None) -> None:
        major, minor = version.split(".")
        file = (place or self.path) / name
        file.write_text(FAKE.format(version=version, major=major, minor=minor, real=sys.executable), encoding="utf-8")
        file.chmod(0o755)

    def start(self, **environment: str) -> tuple[int, str, list[str]]:
        """Status, what went to standard error, and the lines of Pythons that were called."""
        self.log.unlink(missing_ok=True)
        said = subprocess.run(
            ["./start"],
            cwd=self.folder,
            env={"PATH": str(self.path), "LOG": str(self.log), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        calls = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return said.returncode, said.stderr, [line for line in calls if " -c " not in line]


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def made(calls: list[str]) -> list[str]:
    """Versions of the Pythons that made an environment."""
    return [line.split()[0] for line in calls if " -m venv " in line]


def test_a_first_start_makes_an_environment_and_a_second_only_serves(checkout):
    checkout.python("python3", "3.12")
    status, err, calls = checkout.start()
    assert (status, err, made(calls)) == (0, "", ["3.12"])
    assert sum("cli.py run" in line for line in calls) == 4
    assert checkout.start() == (0, "", ["3.12 cli.py dashboard"])


def test_a_first_run_that_fails_ends_the_set_up_and_is_tried_again(checkout):
    checkout.python("python3", "3.12")
    for _ in range(2):
        status, err, calls = checkout.start(RUN_STATUS="2")
        assert status == 1
        assert err.startswith("./start: the first run failed, its message is above: remove .venv and run this again")
        assert calls[-1].startswith("3.12 cli.py run")
    assert checkout.start()[2][-1] == "3.12 cli.py dashboard"


@pytest.mark.parametrize("stamped", [False, True])
def test_an_environment_of_a_python_that_is_too_old_is_made_again(checkout, stamped):
    checkout.python("python3", "3.12")
    if stamped:
        checkout.start()
    (checkout.folder / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    checkout.python("python", "3.9", checkout.folder / ".venv" / "bin")
    (checkout.folder / ".venv" / "pyvenv.cfg").write_text("version = 3.9.2\n", encoding="utf-8")
    status, err, calls = checkout.start()
    assert (status, err, made(calls)) == (0, "", ["3.12"])
    assert calls[-1] == "3.12 cli.py dashboard"


def test_an_environment_whose_python_was_replaced_is_made_again(checkout):
    checkout.python("python3", "3.12")
    checkout.start()
    checkout.python("python", "3.13", checkout.folder / ".venv" / "bin")
    checkout.python("python3", "3.13")
    status, err, calls = checkout.start()
    assert (status, err, made(calls)) == (0, "", ["3.13"])
    assert calls[-1] == "3.13 cli.py dashboard"


def test_other_requirements_are_put_into_the_environment_there_is(checkout):
    checkout.python("python3", "3.12")
    checkout.start()
    with (checkout.folder / "requirements.txt").open("a", encoding="utf-8") as file:
        file.write("more\n")
    status, err, calls = checkout.start()
    assert (status, err, made(calls)) == (0, "", [])
    assert any("-m pip install" in line for line in calls)


def test_the_first_python_that_is_new_enough_is_taken(checkout):
    checkout.python("python3", "3.9")
    checkout.python("python3.11", "3.11")
    checkout.python("python3.14", "3.14")
    assert made(checkout.start()[2]) == ["3.14"]


def test_without_a_python_that_is_new_enough_one_sentence_says_so(checkout):
    checkout.python("python3", "3.10")
    status, err, calls = checkout.start()
    assert (status, err) == (1, "./start: Python 3.11 or newer is missing: install it and run this again\n")
    assert calls == []
    assert not (checkout.folder / ".venv").exists()
