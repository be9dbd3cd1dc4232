"""The package `ringside`: built from this checkout, installed elsewhere, used in an empty folder."""

import ast
import csv
import doctest
import json
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from sim.base.machine_code.notices import COMPILING
from tests.tables import each_row
from ui.player import scripts

ROOT = Path(__file__).resolve().parent.parent
MADE_BY = runpy.run_path(str(ROOT / "package" / "build.py"))
Renaming = MADE_BY["Renaming"]
OURS = {name.removesuffix(".py") for name in MADE_BY["CONTENTS"]}
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
BUILD = ("--quiet", "--no-deps", "--no-build-isolation")
"""Nothing is fetched: the build's tools and what the package needs are here already."""
SCHEDULE = """
from sim.schedule import copy

def star(n):
    import ops.collectives
    import sim.units as units, sim.schedule
    from sim import topology
    from sim.schedule import Step, reduce
    assert ops.collectives.COLLECTIVES and units.MiB and topology.Topology and sim.schedule.copy is copy
    assert isinstance(copy(0, 1, slot=0), Step)
    for r in range(1, n):
        yield reduce(r, 0, slot=0)
    for r in range(1, n):
        yield copy(0, r, slot=0)
"""
PROGRAM = """
import sys
from beside import size
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
if world.rank == 0:
    print(total, size, "sim" in sys.modules)
"""


class Installed:
    """An environment with the package in it, and an empty folder to work in."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder, self.wheel = folder / "empty", wheel
        self.folder.mkdir()
        venv.create(folder / "env", symlinks=True)
        self.python = folder / "env" / "bin" / "python"
        self.command = self.python.with_name("ringside")
        self.packages = Path(self.run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
        # what the package needs is taken from the environment of the tests
        outer = [path for path in sys.path if path.endswith("-packages")]
        (self.packages / "outer.pth").write_text("\n".join(outer), encoding="utf-8")
        pip(f"--python={self.python}", "install", *BUILD, wheel)

    def run(self, *command, status=0):
        """What a command prints, its errors first."""
        words = [str(word) for word in command]
        pipes = {"capture_output": True, "text": True}
        ended = subprocess.run(words, cwd=self.folder, env=_environment(), check=False, **pipes)
        assert ended.returncode == status, ended.stdout + ended.stderr
        return (ended.stderr + ended.stdout).strip()

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


def _environment():
    """That of the tests, but for a path to this checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def pip(*arguments, status=0):
    ended = subprocess.run([*PIP, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", *BUILD, "--wheel-dir", folder, ROOT)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def installed(tmp_path_factory, wheel):
    return Installed(tmp_path_factory.mktemp("installed"), wheel)


def test_the_browser_s_code_is_bundled_when_the_package_is_built(wheel):
    with zipfile.ZipFile(wheel) as packed:
        for part in scripts.PARTS:
            assert packed.read(f"ringside/assets/{scripts.BUILT}/{part}").decode() == scripts.bundled(part)
        (about,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        assert "tree-sitter" not in packed.read(about).decode()


@each_row(
    "source, renamed",
    [
        ("from sim.units import MiB", "from ringside.sim.units import MiB"),
        ("from  \\\n sim import units", "from  \\\n ringside.sim import units"),
        ("import sim", "import ringside.sim as sim"),
        ("import os, sim.units", "import os, ringside.sim.units, ringside.sim as sim"),
        ("import sim.units as u", "import ringside.sim.units as u"),
        ("é = 1; from cli import main", "é = 1; from ringside.cli import main"),
        ("if T:\n  def f():\n    import cli  # sim", "if T:\n  def f():\n    import ringside.cli as cli  # sim"),
        ("f('sim.units')", "f('ringside.sim.units')"),
        ("f('sim.units.MiB')", "f('ringside.sim.units.MiB')"),
        ("f'{g(\"sim.units\")}'", "f'{g('ringside.sim.units')}'") if sys.version_info >= (3, 12) else ("", ""),
        ("import_module('sim')", "import_module('ringside.sim')"),
        ("i.import_module(f'{__package__}.x')", None),
        ('"""See `sim.units`.\n\n>>> from sim.units import MiB\n"""', None),
        ("d['sim'], d['cli.py'], d['sim.nothing'], f'sim.units', 'sim.units '", None),
        ("from simpy import Event; from . import units; from .sim import x; import simple.sim", None),
    ],
)
def test_modules_are_renamed_where_the_syntax_has_them(source, renamed):
    tree = {"sim/__init__.py": "", "sim/units.py": "MiB = 1", "cli.py": "def main(): ..."}
    assert Renaming("ringside", tree).renamed(source, "x.py") == (source if renamed is None else renamed)


@pytest.mark.parametrize("name", ["f'sim.{x}'", "'sim.' + x", "f'sim.{x}' + y"])
def test_a_module_s_name_that_is_put_together_is_refused(name):
    with pytest.raises(ValueError, match=r"x\.py, line 2: begin the module's name with __name__"):
        Renaming("ringside", {"sim/__init__.py": ""}).renamed(f"\nimport_module({name})", "x.py")


def statements(node):
    """All statements below a node: no expression holds one, and expressions are most of a tree."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from statements(child)


@pytest.mark.slow
def test_the_wheel_has_one_name_and_no_import_of_another(wheel):
    with zipfile.ZipFile(wheel) as archive:
        about = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
        paths = [row[0] for row in csv.reader(archive.read(f"{about}/RECORD").decode().splitlines())]
        assert {path.split("/")[0] for path in paths} == {"ringside", about}
        assert archive.read(f"{about}/top_level.txt") == b"ringside\n"
        assert {"ringside/py.typed", "ringside/assets/text/zh.json", "ringside/.streamlit/config.toml"} <= {*paths}
        assert not [path for path in paths if "__pycache__" in path or path.startswith("ringside/tests")]
        sources = {path: archive.read(path).decode() for path in paths if path.endswith((".py", ".pyi"))}
    assert {path.removeprefix("ringside/") for path in sources} >= {
        path.relative_to(ROOT).as_posix() for top in OURS for path in (ROOT / top).rglob("*.py")
    }
    for path, source in sources.items():
        for node in statements(ast.parse(source)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            assert not {name.split(".")[0] for name in names} & OURS, path


@pytest.mark.long
def test_a_source_distribution_makes_the_same_wheel(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], cwd=ROOT, check=True)
    (archive,) = tmp_path.iterdir()
    pip("wheel", *BUILD, "--wheel-dir", tmp_path / "again", archive)
    (again,) = (tmp_path / "again").iterdir()
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {i.filename: i.CRC for i in one.infolist()} == {i.filename: i.CRC for i in other.infolist()}


TEXTS = {".py", ".md", ".ipynb", ".json", ".js", ".html", ".toml", ".txt", ".sh", ".yaml", ""}
BY_NAME = re.compile(r"install\b[^\n`&;|]*(?<![\w./-])ringside(?![\w/-])|(?<![\w/.-])ringside\[notebook", re.IGNORECASE)
"""What would have pip or npm fetch a package called ringside: that of the index is another project's."""


def test_a_line_that_fetches_a_package_of_that_name_is_seen():
    seen = (
        "pip install ringside",
        "pip install 'ringside[notebook]'",
        "uv pip install -U Ringside==1",
        "ringside[notebook]",
    )
    assert all(map(BY_NAME.search, seen))
    paths = ("pip install .", "pip install '.[notebook]'", "pip install '/path/to/ringside[notebook]'")
    assert not any(map(BY_NAME.search, (*paths, "pip install ringside-0.1.0.whl", "pip install ./ringside")))


def test_no_text_fetches_a_package_of_that_name():
    hidden = {path for path in ROOT.iterdir() if path.name in (".git", ".venv", "node_modules")}
    tops = [path for path in ROOT.iterdir() if path not in hidden]
    files = [file for top in tops for file in (top.rglob("*") if top.is_dir() else [top])]
    texts = [file for file in files if file.is_file() and file.suffix in TEXTS and file != Path(__file__)]
    assert len(texts) > 900
    said = {file: BY_NAME.findall(file.read_text(encoding="utf-8", errors="replace")) for file in texts}
    assert not {file: lines for file, lines in said.items() if lines}


@pytest.mark.long
def test_an_editable_installation_is_refused_in_a_sentence(installed):
    told = pip(f"--python={installed.python}", "install", *BUILD, "--editable", ROOT, status=1)
    assert "cannot be installed editable, as its modules have other names in a checkout: run `python cli.py`" in told
    assert "Traceback" not in told


@pytest.mark.slow
@pytest.mark.turns("words", "status")
@pytest.mark.parametrize(
    "words, status",
    [
        ("run allreduce.ring --machine dgx_a100 --size 64MiB", 0),
        ("list machines", 0),
        ("verify allgather.recursive_doubling --ranks 23", 2),
        ("run --no-such-flag", 2),
    ],
)
def test_the_command_says_what_the_checkout_says(installed, words, status):
    in_checkout = installed.run(sys.executable, ROOT / "cli.py", *words.split(), status=status)
    said = installed.run(installed.command, *words.split(), status=status)
    assert said == in_checkout.replace("cli.py", "ringside")
    assert installed.run(installed.python, "-m", "ringside", *words.split(), status=status) == said


@pytest.mark.long
def test_files_of_a_person_run_under_both_names(installed):
    words = ("run", "allreduce", "--schedule", installed.write("own.py", SCHEDULE), "--machine", "switch:ranks=8")
    said = installed.run(installed.command, *words, "--size", "64MiB")
    assert "verified    yes" in said
    assert said == installed.run(sys.executable, ROOT / "cli.py", *words, "--size", "64MiB")
    installed.write("beside.py", "from sim.units import MiB as size\n")
    words = ("mpi", installed.write("program.py", PROGRAM), "-n", "4")
    assert installed.run(installed.command, *words).endswith("\n6 1048576 False")
    assert installed.run(sys.executable, ROOT / "cli.py", *words).endswith("\n6 1048576 True")
    installed.write("program.py", "raise ValueError('no')")
    assert "ringside: rank 0 failed at program.py:1: ValueError: no" in installed.run(
        installed.command, *words, status=1
    )


@pytest.mark.long
def test_nothing_else_can_import_the_rooms(installed):
    said = installed.run(installed.python, "-c", "import ringside; ringside.ALGORITHMS; import sim", status=1)
    assert said.endswith("ModuleNotFoundError: No module named 'sim'")
    every = (
        "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
        "import importlib, pkgutil, sys, ringside\n"
        "from ringside.ui.workers import warm\n"
        "warm.load = lambda: None\n"  # one of them has all kernels compiled, and run
        "for module in pkgutil.walk_packages(ringside.__path__, 'ringside.'):\n"
        "    if '.pytorch.rank.' not in module.name and not module.name.endswith('.pytorch.backend'):\n"  # with PyTorch
        "        importlib.import_module(module.name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})\n"
    )
    loaded = set(installed.run(installed.python, "-W", "ignore", "-c", every).splitlines()[-1].split())
    assert "ringside" in loaded
    assert not loaded & OURS


@pytest.mark.long
def test_a_sweep_uses_processes(installed):
    words = ("sweep", "allreduce.ring", "allreduce.rabenseifner", "--machine", "dgx_a100", "--sizes", "1KiB,1MiB")
    said = installed.run(installed.command, *words, "--jobs", "2", "-o", "table.parquet", "--json")
    assert {"rows": 4, "failed": 0}.items() <= json.loads(said[said.index("{") :]).items()


KERNEL = """
import os, sys
os.environ.update(HOME=sys.argv[1], RINGSIDE_QUIET="")
for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
    os.environ.pop(name, None)
import numpy as np
from ringside.sim.base.compiled import compiled, is_on_disk
from ringside.sim.schedule import replay
before = is_on_disk(replay.successors)
pending, start, after = np.array([0, 1], np.int32), np.array([0, 0, 1, 0], np.int64), np.zeros(1, np.int32)
compiled(replay).successors(pending, np.zeros(1, np.int32), start, after)
print(before, is_on_disk(replay.successors), after)
"""


@pytest.mark.long
def test_kernels_of_a_package_that_is_read_only_are_kept_in_the_users_cache(installed, tmp_path):
    beside = installed.packages / "ringside" / "sim" / "schedule" / "__pycache__"
    shutil.rmtree(beside, ignore_errors=True)
    beside.write_text("root may write into a folder that is read-only, but not into this", encoding="utf-8")
    try:
        first, again = (installed.run(installed.python, "-c", KERNEL, tmp_path) for _ in range(2))
    finally:
        beside.unlink()
    assert first.splitlines() == [COMPILING, "False True [1]"]
    assert again == "True True [1]"
    assert list(tmp_path.glob(".cache/numba/schedule_*/replay.successors*.nbc"))


@pytest.mark.slow
def test_the_names_of_the_readme_and_the_tour_are_at_the_top(installed):
    pages = (ROOT / "README.md", ROOT / "docs" / "tour.md", ROOT / "docs" / "python.md")
    examples = doctest.DocTestParser().get_examples("\n".join(page.read_text(encoding="utf-8") for page in pages))
    imports = [node for example in examples for node in ast.parse(example.source).body]
    places = [(node.module, alias.name) for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert len(places) > 20
    look = (
        "import importlib, ringside, sys\n"
        "assert 'numpy' not in sys.modules\n"
        f"for module, name in {places!r}:\n"
        "    assert getattr(ringside, name) is getattr(importlib.import_module(f'ringside.{module}'), name), name\n"
        "    assert name in dir(ringside)\n"
        "assert all(hasattr(ringside, name) for name in dir(ringside))\n"
        "assert not hasattr(ringside, 'nothing')\n"
        "print(ringside.__version__, len(ringside.ALGORITHMS) > 100)\n"
    )
    version = installed.wheel.name.split("-")[1]
    assert installed.run(installed.python, "-c", look) == f"{version} True"


@pytest.mark.long
@pytest.mark.parametrize("layout", ["package", "checkout"])
def test_the_dashboard_is_served(installed, layout):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [installed.command] if layout == "package" else [sys.executable, ROOT / "cli.py"]
    command += ["dashboard", "--port", port, "--server.runOnSave", "false"]
    server = subprocess.Popen(
        [str(word) for word in command], cwd=installed.folder, env=_environment(), stdout=subprocess.DEVNULL
    )
    try:
        assert _answer(f"http://127.0.0.1:{port}/_stcore/health", server) == b"ok"
        assert b"<title>" in _answer(f"http://127.0.0.1:{port}/", server)
    finally:
        server.terminate()
        server.wait()


def _answer(address, server):
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return answer.read()
        except OSError:
            assert server.poll() is None
            time.sleep(0.1)
    return None


@pytest.mark.long
def test_the_pages_are_drawn(installed):
    draw = (
        "from pathlib import Path\n"
        "import ringside\n"
        "from ringside.ui.pages import PAGES\n"
        "from streamlit.testing.v1 import AppTest\n"
        "asked = {'lab': {'machines': 'switch:ranks=4', 'algorithms': 'ring', 'sizes': '1KiB'}}\n"
        "for name in PAGES:\n"
        "    page = AppTest.from_file(str(Path(ringside.__file__).with_name('app.py')), default_timeout=180)\n"
        "    for key, word in ({'page': name} | asked.get(name, {})).items():\n"
        "        page.query_params[key] = word\n"
        "    page.run()\n"
        "    assert not page.exception and not page.error, name\n"
        "    print(name, len(page.main))\n"
    )
    drawn = installed.run(installed.python, "-W", "ignore", "-c", draw)
    assert {"stage", "learn", "lab", "train"} <= {line.split()[0] for line in drawn.splitlines()}


@pytest.mark.parametrize("port, message", [("0", "ports go from 1 to 65535"), ("x", "is not a whole number")])
def test_a_wrong_port_is_told_in_a_sentence(capsys, port, message):
    import cli

    assert cli.main(["dashboard", "--port", port]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
