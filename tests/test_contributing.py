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
COPIED = ("app.py", "cli.py", "pyproject.toml", "sim", "ops", "ui", "terminal", "assets", "docs", "package", "tests")
SERVER = """
import contextlib, functools, gc, importlib, io, json, os, pkgutil, runpy, shlex, sys, warnings
from pathlib import Path
from urllib.parse import parse_qsl

import pytest, xdist
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
manifest_scanner.scan_component_manifests()
sys.path.insert(0, ".")
import cli, docs, ops, sim, terminal, ui
from ui.controls import folds
from ui.player.component import player_file

for room in (sim, ops, ui, terminal, docs) if "every module" in sys.argv else ():
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        if "pytorch.rank" not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)
gc.collect()
gc.freeze()
PLAINLY = ["-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-q"]
# pytest's own plugins are imported before it looks at them
PLAINLY += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


def answers(module, commands, address):
    importlib.invalidate_caches()
    if module:
        importlib.import_module(module)  # into a list that may be made already
    printed, shown, errors = [], [], []
    for command in commands:
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            words = shlex.split(command)
            if words[0] == "cli.py":
                cli.main(words[1:])
            elif words[1] == "pytest":
                pytest.main([*words[2:], *PLAINLY])
            else:
                sys.argv = words[1:]
                with contextlib.suppress(SystemExit), warnings.catch_warnings(action="ignore"):
                    runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        printed.append(text.getvalue())
    if address:
        made = folds.is_made
        folds.is_made = lambda *args, **needed: made(*args, **needed) or True  # nobody can open one here
        at = AppTest.from_file(str(Path("app.py").resolve()), default_timeout=180)
        for name, word in parse_qsl(address):
            at.query_params[name] = word
        at.run()
        errors = [error.value for error in [*at.exception, *at.error]]
        elements = [*at.main, *at.sidebar]
        shown = [f'{getattr(element, "value", "")} {getattr(element, "proto", "")}' for element in elements]
        code = player_file()
        if not module and any(code.name in words for words in shown):  # what is JavaScript comes with the player
            shown.append(code.text.decode())
    return printed, shown, errors


for line in sys.stdin:
    if not (child := os.fork()):
        with open("printed", "w") as printed:
            os.dup2(printed.fileno(), 1), os.dup2(printed.fileno(), 2)
        try:
            Path("answers.json").write_text(json.dumps(answers(*json.loads(line))))
        except BaseException:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(0)
    os.waitpid(child, 0)
    print(flush=True)
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
def respondent(untouched):
    """What commands print, and what the page of an address shows and complains of, in the copy.

    Whoever answers has every module imported, and becomes two for every recipe. What a player shows is read once, so
    that a recipe for it has a process of its own.
    """
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    pipes = {"cwd": untouched, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    def ask(recipe, server):
        packed = quote(base64.urlsafe_b64encode(zlib.compress(recipe.text.encode(), 9)).decode())
        commands = [command for command, _ in recipe.commands]
        module = recipe.path.removesuffix(".py").replace("/", ".") if recipe.path.endswith(".py") else ""
        (untouched / "answers.json").unlink(missing_ok=True)
        words = [module, commands, recipe.address.replace("FILE", packed)]
        print(json.dumps(words), file=server.stdin, flush=True)
        server.stdout.readline()
        assert (untouched / "answers.json").exists(), (untouched / "printed").read_text()[-4000:]
        printed, shown, errors = json.loads((untouched / "answers.json").read_text())
        return dict(zip(commands, printed, strict=True)), shown, errors

    def ask_another(recipe):
        with subprocess.Popen(command, **pipes) as server:
            reply = ask(recipe, server)
            server.stdin.close()
        return reply

    with subprocess.Popen([*command, "every module"], **pipes) as server:
        yield lambda recipe: ask(recipe, server) if recipe.path.endswith(".py") else ask_another(recipe)
        server.stdin.close()


@pytest.fixture
def answers(project, respondent):
    """What the terminal prints, and what the page shows and complains of: one process says it for all tests."""
    return respondent(project[1])


def contains(printed, lines):
    """Whether the lines are printed in this order, others in between."""
    rest = iter(map(plain, printed.splitlines()))
    return all(any(matches(other, line) for other in rest) for line in lines)


def matches(printed, line):
    """Whether a line is printed as the page has it, whose end may be left open."""
    return printed == line or (line.endswith("…") and printed.startswith(line[:-1]))


TURNS = 3
"""Recipes that are tried a day."""
EVERY = pytest.mark.parametrize(
    "project, turn",
    [pytest.param(it, k % TURNS, id=it.title) for k, it in enumerate(recipes())],
    indirect=["project"],
)


def test_the_page_has_a_recipe_for_every_list():
    titles = {recipe.title for recipe in recipes()}
    assert {"An algorithm", "A collective", "A machine", "A server", "A fault", "A workload"} <= titles
    assert {"A topology format", "A schedule format", "A command of the terminal"} <= titles
    assert {"A player view", "A lesson", "A page", "A what-if", "A library", "An edit"} <= titles
    assert "An exercise" in titles
    assert all(recipe.commands and recipe.summary for recipe in recipes())
    assert [recipe.title for recipe in recipes() if recipe.questions] == ["A what-if"]


@pytest.mark.slow
@pytest.mark.turns("project")
@EVERY
def test_the_terminal_the_dashboard_and_the_tests_have_it(project, turn, answers):
    _, recipe = project
    printed, shown, errors = answers
    for command, lines in recipe.commands:
        if command.startswith("-m pytest"):
            assert re.search(r"\d+ passed", printed[command]), printed[command][-4000:]
            assert "failed" not in printed[command], printed[command][-4000:]
        else:
            assert lines, f"{command} says nothing of what it prints"
            assert contains(printed[command], lines), f"{command}\n{printed[command]}"
    assert errors == []
    page = plain(" ".join(shown))
    if recipe.address:
        assert [words for words in (recipe.summary, *recipe.questions) if words not in page] == []
        for view in re.findall(r"\bview=(\w+)", recipe.address):
            assert f'"t": 0.0, "view": "{view}"' in page.replace("\\", "")  # the player begins in it


@pytest.mark.slow
def test_they_are_as_the_project_writes_itself(tmp_path):
    for recipe in recipes():
        file = tmp_path / recipe.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(recipe.source, encoding="utf-8")
    as_here = ["--config", str(ROOT / "pyproject.toml"), "--config", f'src = ["{ROOT}"]']
    commands = [["ruff", "check", *as_here], ["ruff", "format", "--check", *as_here]]
    for tool, check in (("oxlint", "--deny-warnings"), ("oxfmt", "--check")):
        commands.append([tool, "--config", str(ROOT / f".{tool}rc.json"), check, "assets"])
    for tool, *words in commands:
        line = [str(Path(sys.executable).parent / tool), *words]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
