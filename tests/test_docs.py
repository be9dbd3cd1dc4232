"""What the documents claim is executed: commands, examples, links and names of files."""

import doctest
import importlib
import re
import runpy
import shlex
from contextlib import ExitStack
from pathlib import Path

import pytest
from PIL import Image

import cli
from ops import ALGORITHMS
from ops.workloads import WORKLOADS
from sim.formats import FORMATS
from sim.machines import MACHINES
from terminal import DONE
from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
MADE = runpy.run_path(str(ROOT / "docs" / "__main__.py"))["MADE"]
PROMPT = "$ .venv/bin/python cli.py "


def commands() -> list[tuple[str, str]]:
    """The commands of the README and of the tour, each with what it prints."""
    sessions = re.findall(r"```console\n(.*?)```", README + TOUR, re.DOTALL)
    told = "".join(sessions).split(PROMPT)
    assert told[0] == ""
    return [(command, output) for command, _, output in (part.partition("\n") for part in told[1:])]


def test_the_tour_has_commands():
    assert {command.split()[0] for command, _ in commands()} == {
        "compare",
        "list",
        "nccl-choice",
        "run",
        "synthesize",
        "topology",
        "verify",
        "why",
        "winners",
        "workload",
    }


@pytest.mark.slow
@each_row("command, output", commands())
def test_a_command_of_the_tour_prints_what_the_tour_says(command, output, capsys):
    cli.main(shlex.split(command))
    printed = capsys.readouterr()
    assert printed.out + printed.err == output


@pytest.mark.parametrize("page, least", [("README.md", 8), ("docs/tour.md", 20), ("docs/python.md", 12)])
def test_the_python_examples_hold(page, least):
    if page == "docs/python.md":
        pytest.importorskip("networkx")
    with ExitStack() as lists:
        for registry in (ALGORITHMS, MACHINES, FORMATS, WORKLOADS):
            lists.enter_context(registry.also())  # the examples add to the lists
        options = {"module_relative": False, "verbose": False, "optionflags": doctest.ELLIPSIS}
        outcome = doctest.testfile(str(ROOT / page), **options)
    assert outcome.attempted > least
    assert outcome.failed == 0


def test_the_front_page_begins_with_a_moving_picture_and_fits_two_screens():
    assert len(README.splitlines()) <= 90
    before, _, rest = README.partition("\n## Set up\n")
    (film,) = re.findall(r"!\[[^\]]+\]\(([^)]+\.gif)\)", before)
    assert (ROOT / film).stat().st_size < 1_500_000
    with Image.open(ROOT / film) as moving:
        assert moving.n_frames > 20
    assert rest.index("./start") < rest.index("./check") < rest.index("\n## ")


def pictures() -> dict[str, list[str]]:
    """Files that the README and the tour show, with the words of the command that makes each."""
    lines = re.findall(r"`(render [^`]*-o\s+docs/pictures/[^`]*)`", README + TOUR)
    return {words[-1]: words for words in (shlex.split(line) for line in lines)}


def test_every_picture_is_made_by_a_command_that_stands_beside_it():
    shown = {
        f"docs/{name.removeprefix('docs/')}" for name in re.findall(r"\]\(((?:docs/)?pictures/[^)]+)\)", README + TOUR)
    }
    assert (
        shown == pictures().keys() == {f"docs/pictures/{file.name}" for file in (ROOT / "docs" / "pictures").iterdir()}
    )
    assert sum((ROOT / name).stat().st_size for name in shown) < 2_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in pictures() if name.endswith(".png")])
def test_a_picture_is_made_again_as_large(name, tmp_path):
    again = tmp_path / Path(name).name
    assert cli.main([*pictures()[name][:-1], str(again)]) == DONE
    with Image.open(again) as new, Image.open(ROOT / name) as kept:
        assert (new.size, new.mode) == (kept.size, kept.mode)


@pytest.mark.parametrize("name", MADE)
def test_a_page_that_is_made_is_what_the_code_says(name):
    kept = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert kept == MADE[name](), "stale: run python -m docs"


def test_two_commands_set_everything_up():
    shown = re.findall(r"^    (\./\S+)", README, re.MULTILINE)
    assert shown == ["./start", "./check"]
    assert all((ROOT / script).stat().st_mode & 0o100 for script in ("start", "check", ".ci/run"))


@each_row("page", PAGES)
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("http")]
    assert all((page.parent / link).exists() for link in links)
    paths = re.findall(r"`((?:sim|ops|ui|tests|docs|assets)/[\w./-]*)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_requirement_says_why_it_is_here():
    needed = re.findall(r"^([a-z]\w*)[<>=]", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    told = (ROOT / "docs" / "decisions" / "0007-requirements.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| ([a-z]\w*) \|", told, re.MULTILINE)[1:]) == sorted(needed)


def test_the_commands_of_the_model_page_exist(capsys):
    assert "`--lockstep`" in (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    assert cli.main(["run", "--help"]) == DONE
    assert "--lockstep" in capsys.readouterr().out


def test_decisions_are_numbered_without_gaps():
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for number, page in enumerate(pages, 1):
        assert page.read_text(encoding="utf-8").startswith(f"# {number}. "), page.name


def test_the_path_through_the_house_can_be_walked():
    page = ROOT / "docs" / "architecture.md"
    outcome = doctest.testfile(str(page), module_relative=False, verbose=False)
    assert outcome.attempted > 20
    assert outcome.failed == 0
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:sim|ops|ui|terminal)(?:\.\w+)+)`", text))
    assert len(names) > 20
    assert [name for name in sorted(names) if not _is_there(name)] == []


def _is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    module, _, inside = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return hasattr(importlib.import_module(module), inside)
    return True
