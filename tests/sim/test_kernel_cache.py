"""Machine code on disk: every kernel is compiled once, whoever asks, whatever was killed and whatever is damaged."""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from ops.lab.sent import PREFIX
from sim.base.machine_code.notices import COMPILING, KEPT_NOWHERE, QUIET, WAITING

KERNELS = """
from sim.base.compiled import jit


@jit
def first(x):
    return x + 1


@jit
def second(x):
    return 2 * x
"""
ASK = """
import os, signal, sys
import kernels
from sim.base import compiled
from sim.base.machine_code import cache as kernel_cache

log, killed = sys.argv[1:]


def begin(cache):
    with open(log, "a") as file:
        file.write(cache._py_func.__name__ + "\\n")
    begun(cache)
    if cache._py_func.__name__ == killed:
        os.kill(os.getpid(), signal.SIGKILL)


begun, kernel_cache.KernelCache.begin = kernel_cache.KernelCache.begin, begin
sys.stdin.readline()
twins = compiled.compiled(kernels)
print(twins.first(3), twins.second(4))
"""


class Folder:
    """A module of two kernels, and processes that call both."""

    def __init__(self, path, home):
        self.path, self.log, self.cache = path, path / "log", path / "__pycache__"
        (path / "kernels.py").write_text(KERNELS, encoding="utf-8")
        found = os.pathsep.join((str(path), os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])))
        self.environment = {**os.environ, "PYTHONPATH": found, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
        for name in (QUIET, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
            self.environment.pop(name, None)

    @contextmanager
    def started(self, killed=""):
        """A process that waits for a line before it asks for the kernels."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        words = [sys.executable, "-c", ASK, str(self.log), killed]
        with subprocess.Popen(words, text=True, cwd=self.path, env=self.environment, **pipes) as process:
            yield process

    def ask(self, killed=""):
        """Status, answer and what went to standard error of one process."""
        with self.started(killed) as process:
            out, err = process.communicate("go\n", timeout=300)
        return process.returncode, out, err

    def is_on_disk(self):
        """What a process says that has not imported numba."""
        look = (
            "import sys, kernels; from sim.base import compiled as c; print(c.is_on_disk(kernels.first), *sys.modules)"
        )
        words = [sys.executable, "-c", look]
        out = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True).stdout.split()
        assert "numba" not in out
        return out[0] == "True"

    def compiled(self):
        """How often each kernel was compiled."""
        return Counter(self.log.read_text(encoding="utf-8").split()) if self.log.exists() else {}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "home").mkdir()
    return Folder(tmp_path, tmp_path / "home")


@pytest.mark.slow
def test_processes_that_start_together_compile_every_kernel_once(folder):
    with folder.started() as one, folder.started() as two, folder.started() as three:
        together = (one, two, three)
        for process in together:
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=300) for process in together]
    assert [out for out, _ in answers] == ["4 8\n"] * 3
    assert folder.compiled() == {"first": 1, "second": 1}
    lines = [line for _, err in answers for line in err.splitlines()]
    assert COMPILING in lines
    assert {*lines} <= {COMPILING, WAITING}
    assert all(len({*err.splitlines()}) == err.count("\n") for _, err in answers)
    assert folder.ask() == (0, "4 8\n", "")
    assert folder.compiled() == {"first": 1, "second": 1}


@pytest.mark.slow
def test_a_killed_process_leaves_the_kernels_that_were_finished(folder):
    assert not folder.is_on_disk()
    assert folder.ask(killed="second")[0] < 0
    assert folder.is_on_disk()
    assert folder.compiled() == {"first": 1, "second": 1}
    assert folder.ask() == (0, "4 8\n", f"{COMPILING}\n")
    assert folder.compiled() == {"first": 1, "second": 2}


DAMAGE = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "rubbish": lambda data: b"\x07rubbish" * (len(data) // 8),
    "one byte": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
}


@pytest.mark.slow
@pytest.mark.turns("how", "ending")
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_made_again(folder, how, ending):
    folder.ask()
    for file in folder.cache.glob(f"kernels.first*.{ending}"):
        file.write_bytes(DAMAGE[how](file.read_bytes()))
    assert folder.ask() == (0, "4 8\n", f"{COMPILING}\n")
    assert folder.compiled() == {"first": 2, "second": 1}
    assert folder.ask() == (0, "4 8\n", "")
    assert folder.compiled() == {"first": 2, "second": 1}


@pytest.mark.slow
def test_where_the_package_is_read_only_the_users_cache_keeps_kernels(folder):
    folder.cache.write_text("no folder", encoding="utf-8")
    for err in (f"{COMPILING}\n", ""):
        assert folder.is_on_disk() == (not err)
        assert folder.ask() == (0, "4 8\n", err)
    assert folder.compiled() == {"first": 1, "second": 1}


@pytest.mark.slow
def test_where_nothing_can_be_written_kernels_are_compiled_by_every_process(folder):
    folder.cache.write_text("no folder", encoding="utf-8")
    folder.environment["HOME"] = str(folder.path / "kernels.py")
    assert folder.ask() == (0, "4 8\n", f"{KEPT_NOWHERE}\n")


def test_where_numba_is_told_to_compile_nothing_kernels_are_interpreted(folder):
    folder.environment["NUMBA_DISABLE_JIT"] = "1"
    assert folder.ask() == (0, "4 8\n", "")
    assert folder.compiled() == {}


@pytest.mark.slow
def test_copies_that_workers_of_a_cluster_were_sent_share_machine_code(tmp_path):
    (tmp_path / "home").mkdir()
    for _ in range(2):
        path = Path(tempfile.mkdtemp(dir=tmp_path)) / f"{PREFIX}0123456789abcdef"
        path.mkdir()
        copy = Folder(path, tmp_path / "home")
        copy.log = tmp_path / "log"
        assert copy.ask()[:2] == (0, "4 8\n")
        assert copy.compiled() == {"first": 1, "second": 1}
