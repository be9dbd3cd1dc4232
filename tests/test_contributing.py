"""Every recipe of CONTRIBUTING.md, put into a copy of the project as one file, does what the page says of it."""

import base64
import json
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROMPT = "$ .venv/bin/python "
COPIED = ("app.py", "cli.py", "pyproject.toml", "sim", "ops", "ui", "terminal", "assets", "docs", "tests")
DRIVER = """
import contextlib, io, json, runpy, shlex, sys, warnings
from pathlib import Path
from urllib.parse import parse_qsl

sys.path.insert(0, ".")
import cli

commands, address = json.loads(Path("asked.json").read_text())
answers, shown, errors = [], [], []
for command in commands:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        words = shlex.split(command)
        if words[0] == "cli.py":
            cli.main(words[1:])
        else:
            sys.argv = words[1:]
            with contextlib.suppress(SystemExit), warnings.catch_warnings(action="ignore"):
                runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    answers.append(printed.getvalue())
if address:
    from streamlit.testing.v1 import AppTest

    from ui.controls import folds

    made = folds.is_made
    folds.is_made = lambda *args, **needed: made(*args, **needed) or True  # nobody can open one here
    at = AppTest.from_file("app.py", default_timeout=120)
    for name, word in parse_qsl(address):
        at.query_params[name] = word
    at.run()
    errors = [error.value for error in [*at.exception, *at.error]]
    shown = [f'{getattr(element, "value", "")} {getattr(element, "proto", "")}' for element in [*at.main, *at.sidebar]]
Path("answers.json").write_text(json.dumps([answers, shown, errors]))
"""

PLAINLY = ("-p", "no:cacheprovider", "-o", "addopts=", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Pytest's own plugins are imported before it looks at them."""
SERVER = """
import functools, gc, json, os, runpy, sys

# what the project and its tests are written with, and nothing of the project
import altair, click, greenlet, hypothesis, joblib, matplotlib.figure, numba, numpy, pandas, pyarrow.parquet, pytest
import simpy, streamlit, xdist, yaml
from matplotlib.backends import backend_agg
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
manifest_scanner.scan_component_manifests()
gc.collect()
gc.freeze()
for line in sys.stdin:
    words = json.loads(line)
    child = os.fork()
    if child == 0:
        with open("printed", "w") as printed:
            os.dup2(printed.fileno(), 1), os.dup2(printed.fileno(), 2)
        status = 1
        try:
            sys.argv = words[1:]
            if words[0] == "-c":
                exec(words[1], {"__name__": "__main__"})
            else:
                runpy.run_module(words[1], run_name="__main__", alter_sys=True)
            status = 0
        except SystemExit as end:
            status = end.code or 0
        finally:
            if sys.exc_info()[0] not in (None, SystemExit):
                sys.excepthook(*sys.exc_info())
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(status if isinstance(status, int) else 1)
    _, ended = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(ended), flush=True)
"""


class Recipe(NamedTuple):
    """A section of the page: a file, a text for it to read, commands with what they print, an address."""

    title: str
    path: str
    source: str
    text: str
    commands: list[tuple[str, list[str]]]
    address: str

    @property
    def short(self) -> str:
        """The text with its last line cut short."""
        return self.text.rstrip().rpartition(" ")[0] + "\n"

    @property
    def questions(self) -> list[str]:
        """What a click in the player asks of it."""
        return re.findall(r'Offer\("\w+", "[^"]*", "([^"]*)"\)', self.source)

    @property
    def summary(self) -> str:
        """What a list says of it, after its name; of what has no list, what its button says."""
        if label := re.search(r'label: "(.*)"', self.source):
            return label[1]
        lists = ("cli.py list", "cli.py --help")
        lines = next((lines for command, lines in self.commands if command.startswith(lists)), [])
        if lines:
            return lines[0].partition(" ")[2]
        return plain(re.search(r'"""(.*?)"""', self.source.partition("@")[2], re.DOTALL)[1])


def recipes():
    """All sections that have a file."""
    for section in re.split(r"^## (?=An? )", PAGE, flags=re.MULTILINE)[1:]:
        fences = re.findall(r"^```(\w+)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        code = [body for kind, body in fences if kind not in ("console", "text")]
        paths = [re.match(r"(?:#|//) (\S+)\n", body) for body in code]
        assert len(code) == 1, f"a recipe is one file: {section[:40]}"
        assert paths[0], f"its first line is its path: {section[:40]}"
        sessions = "".join(body for kind, body in fences if kind == "console").split(PROMPT)[1:]
        commands = [(session.splitlines()[0], list(map(plain, session.splitlines()[1:]))) for session in sessions]
        address = re.search(r"^In the dashboard: `\?(\S+)`$", section, re.MULTILINE)
        yield Recipe(
            section.partition("\n")[0],
            paths[0][1],
            code[0].partition("\n")[2],
            next((body for kind, body in fences if kind == "text"), ""),
            commands,
            address[1] if address else "",
        )


def plain(line):
    """A line without the spaces that line columns up."""
    return " ".join(line.split())


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A copy of the project that recipes are put into and taken out of."""
    project = tmp_path_factory.mktemp("copy") / "ringside"
    project.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            # with what is compiled already, but for what another worker is writing just now
            shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("*.tmp.*", "*.pyc.*"))
        else:
            shutil.copy(ROOT / name, project / name)
    return project


@pytest.fixture
def project(untouched, request):
    """The copy with one recipe in it, and texts for it to read."""
    recipe = request.param
    added = untouched / recipe.path
    assert not added.exists(), f"{recipe.path} is a file of the project: the recipe needs a name of its own"
    assert added.parent.is_dir()
    added.write_text(recipe.source, encoding="utf-8")
    (untouched / "FILE").write_text(recipe.text, encoding="utf-8")
    (untouched / "SHORT").write_text(recipe.short, encoding="utf-8")
    yield untouched, recipe
    added.unlink()


@pytest.fixture(scope="module")
def python(untouched):
    """Runs `python ARGUMENTS` in the copy, and returns what it prints.

    Each is a process that has imported nothing of the project. What the project is written with takes seconds to
    import, so one process does that, and becomes two whenever something is to be run.
    """
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    with subprocess.Popen(command, cwd=untouched, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def run(*arguments):
            print(json.dumps(arguments), file=server.stdin, flush=True)
            status, printed = server.stdout.readline(), (untouched / "printed").read_text(encoding="utf-8")
            assert status == "0\n", printed[-4000:]
            return printed

        yield run
        server.stdin.close()


@pytest.fixture(scope="module")
def kept():
    """What processes have answered, by the recipe's title."""
    return {}


@pytest.fixture
def answers(project, kept, python):
    """What the terminal prints, and what the page shows and complains of: one process says it for all tests."""
    folder, recipe = project
    if recipe.title not in kept:
        commands = [command for command, _ in recipe.commands if not command.startswith("-m pytest")]
        packed = quote(base64.urlsafe_b64encode(zlib.compress(recipe.text.encode(), 9)).decode())
        (folder / "asked.json").write_text(json.dumps([commands, recipe.address.replace("FILE", packed)]))
        python("-c", DRIVER)
        printed, shown, errors = json.loads((folder / "answers.json").read_text())
        kept[recipe.title] = dict(zip(commands, printed, strict=True)), shown, errors
    return kept[recipe.title]


def contains(printed, lines):
    """Whether the lines are printed in this order, others in between."""
    rest = iter(map(plain, printed.splitlines()))
    return all(any(matches(other, line) for other in rest) for line in lines)


def matches(printed, line):
    """Whether a line is printed as the page has it, whose end may be left open."""
    return printed == line or (line.endswith("…") and printed.startswith(line[:-1]))


def each(chosen=lambda recipe: True, is_long=lambda recipe: False):
    """A parameter for every recipe, or some; what is long is left to `./check --long`."""
    marks = {True: [pytest.mark.long], False: []}
    cases = [pytest.param(it, id=it.title, marks=marks[is_long(it)]) for it in recipes() if chosen(it)]
    return pytest.mark.parametrize("project", cases, indirect=True)


def is_tested(recipe):
    return any(command.startswith("-m pytest") for command, _ in recipe.commands)


def draws_pages(recipe):
    """Whether the tests of its list draw whole pages, or run the player's modules."""
    return any(re.search(r"tests/(ui/test_page\.py|js)\b", command) for command, _ in recipe.commands)


def test_the_page_has_a_recipe_for_every_list():
    titles = {recipe.title for recipe in recipes()}
    assert {"An algorithm", "A collective", "A machine", "A server", "A fault", "A workload"} <= titles
    assert {"A topology format", "A schedule format", "A command of the terminal"} <= titles
    assert {"A player view", "A lesson", "A page", "A what-if", "A library", "An edit"} <= titles
    assert "An exercise" in titles
    assert all(recipe.commands and recipe.summary for recipe in recipes())
    assert [recipe.title for recipe in recipes() if recipe.questions] == ["A what-if"]


@pytest.mark.slow
@each()
def test_the_terminal_has_it(project, answers):
    _, recipe = project
    printed, _, _ = answers
    for command, lines in recipe.commands:
        if command in printed:
            assert lines, f"{command} says nothing of what it prints"
            assert contains(printed[command], lines), f"{command}\n{printed[command]}"


@pytest.mark.slow
@each(is_tested, is_long=draws_pages)
def test_the_tests_of_its_list_take_it(project, python):
    _, recipe = project
    for command, _ in recipe.commands:
        if command.startswith("-m pytest"):
            told = python(*command.split(), *PLAINLY)
            assert re.search(r"\d+ passed", told)


@pytest.mark.slow
@each(lambda recipe: recipe.address)
def test_the_dashboard_has_it(project, answers):
    _, recipe = project
    _, shown, errors = answers
    assert errors == []
    page = plain(" ".join(shown))
    assert recipe.summary in page
    for question in recipe.questions:
        assert question in page


@pytest.mark.slow
@each()
def test_it_is_as_the_project_writes_itself(project):
    folder, recipe = project
    if recipe.path.endswith(".js"):
        for tool, check in (("oxlint", "--deny-warnings"), ("oxfmt", "--check")):
            settings = str(ROOT / f".{tool}rc.json")
            command = [str(Path(sys.executable).parent / tool), "--config", settings, check, recipe.path]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        return
    for words in (["check"], ["format", "--check"]):
        command = [str(Path(sys.executable).parent / "ruff"), *words, "--config", str(ROOT / "pyproject.toml")]
        done = subprocess.run([*command, recipe.path], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
