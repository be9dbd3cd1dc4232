"""Errors are messages: an id with values, whose texts are there in every language and in no source."""

import ast
import pickle
import re
import string
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.formats import SCHEDULE_FORMATS, ScheduleProblem
from ops.measured.formats import MEASUREMENTS
from ops.measured.machine import UntoldError
from ops.plan import Plan, plan_file, training
from ops.plan.examples import example_captures, example_schedules
from sim.errors import InputError, Message, StalledError, UnreachableError, english_texts
from sim.formats import FORMATS, write_topology
from sim.machines import build
from sim.trace import from_json
from ui.talk import Talk, TalkScene, document
from ui.text import ERROR, languages, retold, speaking, written

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("sim", "ops", "ui", "terminal")
SOURCES = [ROOT / "cli.py", *(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))]
TAKE_AN_ID = {"Message", "malformed", "refuse", "_refuse", "damaged", "broken", "check_slices"}
"""Functions, beside errors, whose argument is the id of a message, and whose keywords fill its places."""
ASIDE = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|（[^（）]*）|<[^<>]*>")
"""What may be in any language: what is quoted, and another program's own reason in brackets."""
PROSE = re.compile(r"(?<![\w./=-])[a-z]{2,} [a-z]{2,}(?![\w./=-])")


def places(text: str) -> set[str]:
    """The names of the places of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def chinese(error: Exception) -> str:
    """What a Chinese page says of an error, without what is the same in every language."""
    with speaking("zh"):
        return retold(error)


def is_chinese(said: str) -> bool:
    """Whether a sentence is Chinese, and nothing in it is an English one."""
    return bool(re.search("[\u4e00-\u9fff]", said)) and not PROSE.search(ASIDE.sub("", said))


def literals(node: ast.expr) -> list[str]:
    """The strings that an argument may be."""
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def test_every_message_is_used_and_every_id_in_the_sources_has_a_text():
    texts, strings, begins, wrong = english_texts(), set[str](), list[str](), []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.add(node.value)
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                begins += re.findall(r"^[a-z_]+\.[a-z_]+\.", str(node.values[0].value))
            if not isinstance(node, ast.Call):
                continue
            function = str(getattr(node.func, "id", getattr(node.func, "attr", "")))
            if function not in TAKE_AN_ID and not function.endswith(("Error", "Problem")):
                continue
            names = {keyword.arg for keyword in node.keywords}
            for word in chain.from_iterable(map(literals, node.args)):
                if word in texts and None not in names and function != "check_slices":
                    wrong += [(path.name, node.lineno, word)] if places(texts[word]) - names else []
                elif re.fullmatch(r"[a-z_]+\.[a-z_]+", word) and word not in texts:
                    wrong.append((path.name, node.lineno, word))
    assert wrong == []
    assert {key for key in texts.keys() - strings if not key.startswith(tuple(begins))} == set()


@pytest.mark.parametrize("language", [language for language in languages() if language != "en"])
def test_every_message_has_the_same_places_in_every_language(language):
    own = {key.removeprefix(ERROR): text for key, text in written(language).items() if key.startswith(ERROR)}
    assert own.keys() == english_texts().keys()
    for key, text in english_texts().items():
        assert places(own[key]) == places(text), key
        if language == "zh" and not key.startswith(("at.", "place.", "list.", "addition.place", "choose.")):
            assert re.search("[\u4e00-\u9fff]", own[key]) or not re.search("[a-z]{3,} [a-z]{3,}", text), key


def test_english_texts_are_read_when_the_first_error_is_shown():
    code = "import sim.errors as e; e.InputError('file.empty'); print(e.english_texts.cache_info().currsize)"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert said.stdout == "0\n"


@pytest.mark.parametrize(
    "error",
    [
        InputError("table.row_twice", file="cut.txt", line=3, row="GPU1"),
        InputError("at.place", place="a.yaml", what=UnreachableError("routes.none", topology="m", src="A", dst="B")),
        ScheduleProblem("malformed", "goal.sizes", size=1, sent=2, line=3),
        UntoldError("untold.ranks", "ranks", source="a.txt"),
        InputError("somebody's own words with {braces} and % signs"),
        StalledError("list.sentences", parts=[Message("stall.none_dead"), "x"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_another_process_is_the_same_in_every_language(error):
    error.trace = "up to here"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.status, again.trace) == (type(error), str(error), error.status, error.trace)
    assert chinese(again) == chinese(error)
    assert repr(again) == repr(error) == f"{type(error).__name__}({str(error)!r})"


def test_a_message_says_what_it_holds_in_a_language():
    error = InputError("at.place", place="cut.txt", what=InputError("table.row_twice", file="it", line=3, row="GPU1"))
    assert str(error) == "cut.txt: it, line 3: row GPU1 is there twice: paste one table"
    assert chinese(error) == "cut.txt：it 第 3 行：GPU1 这一行出现了两次：请只粘贴一张表"
    assert str(InputError("network.unknown", network="x" * 99, choices=["a", "b"])).count("x") == 40
    assert chinese(ValueError("of Python's own")) == "of Python's own"


def test_a_text_that_cannot_be_filled_in_stands_back_for_the_english_one():
    message = Message("file.empty", file="a.xml", titles="a topology")
    for text in ("{", "{nobody} 是空的", "{file:d}", "{file.no_such_part}"):
        assert message.render({"file.empty": text}) == str(message) == "a.xml is empty: give a topology"


def test_words_of_a_file_of_ones_own_are_said_as_they_are():
    assert str(InputError("only {odd} numbers % 2: give one")) == "only {odd} numbers % 2: give one"
    assert chinese(InputError("only {odd} numbers: give one")) == "only {odd} numbers: give one"


PLAN = Plan(machine="switch:ranks=4", size="1MiB")
MEASURED = [path.read_text(errors="replace") for path in sorted((ROOT / "tests" / "data").rglob("*.txt"))[::9]]
READERS = {
    "captures": (FORMATS.read, [*example_captures().values()]),
    "machines": (FORMATS.read, [write_topology(build(spec), "ringside_yaml") for spec in ("ring:ranks=3", "dgx1v")]),
    "platforms": (FORMATS.read, [write_topology(build("ring:ranks=3"), "simgrid_xml")]),
    "schedules": (SCHEDULE_FORMATS.read, [*example_schedules().values()]),
    "measurements": (MEASUREMENTS.read, MEASURED),
    "plans": (plan_file.from_yaml, [plan_file.to_yaml(PLAN)]),
    "steps": (training.from_yaml, [training.to_yaml(training.WorkloadPlan(machine=PLAN))]),
    "talks": (document.from_text, [document.to_text(Talk("A talk", (TalkScene(PLAN, "A plan"),)))]),
    "traces": (lambda text, name: from_json(text), [PLAN.run().trace.to_json()]),
}
"""What reads, and texts that it reads well."""
WORDS = (
    "",
    "x",
    "-1",
    "0",
    "1e999",
    "\n",
    ": ",
    "- a",
    "[",
    "}",
    "<a>",
    "</x>",
    '"',
    "GPU9",
    "nan",
    "9" * 12,
    "é",
    "\t",
)


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_a_damaged_text_is_refused_in_chinese(kind, data):
    read, texts = READERS[kind]
    text = data.draw(st.sampled_from(texts))
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 30)) | st.just(len(text)))
    said = "没有出错"
    try:
        read(text[:begin] + data.draw(st.sampled_from(WORDS)) + text[end:], "粘贴的内容")
    except InputError as error:
        said = chinese(error)
    assert is_chinese(said), said
