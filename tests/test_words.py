"""Names say what a thing is: a participle that could stand for anything is no name."""

import ast
import json
import re
from collections.abc import Iterable
from pathlib import Path

import click

from terminal import ringside
from tests.test_house import FILES, name_of, nodes_of

NO_NAMES = {"given", "found", "there", "told", "mine", "asked", "wanted", "known"}
PUBLIC = {"given"}
"""A promise's first blocks, beside what is `owed`: files of users write it."""


def names(nodes: Iterable[ast.AST]) -> set[str]:
    """What functions, classes, arguments, variables and attributes are called where they are made."""
    return {
        name.strip("_")
        for node in nodes
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            else [node.arg]
            if isinstance(node, ast.arg)
            else [node.id]
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            else [node.attr]
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            else []
        )
    }


def test_a_name_that_says_nothing_is_seen():
    tree = ast.parse("def _told(mine, *, given=1):\n    found: int = 2\n    self.known = [there for there in found]")
    assert names(ast.walk(tree)) >= {"told", "mine", "given", "found", "known", "there"}
    assert not names(ast.walk(ast.parse("promise.given[0] = known(told=1)"))) & NO_NAMES


def test_names_say_what_a_thing_is():
    without = {name_of(path): names(nodes_of(path)) & NO_NAMES for path in FILES}
    assert len(without) > 300
    assert {module: said for module, said in without.items() if said} == {"sim.schedule.model": PUBLIC}


ROOT = Path(__file__).resolve().parent.parent
BANNED = (
    r"tell(s|ing)?|told|whoever|whomever|who has it|that which|of which|whatever of it|anew|none the wiser",
    r"bears? on|bore on|stands? (in the open|exposed|in front|beside|below|above|there)|keep beside|put it beside",
    r"mend(s|ed|ing)?|cables?|refus(e|ed|es|als?)|troubles?|scenarios?|requests? for a run|folded away|alike",
    r"the machine's own|worth a look|long form|ladders?|referees?|rivals?|at best|sketch(es)?|paces?|drawers?|figures",
    r"(?<!lower )(?<!upper )(?<!-)bound|the house|front door|on the stage|to the stage|the stage's",
)
"""Phrases of our own where the field has a word, and relative clauses in place of a noun."""
OTHERS = {"api.md": {"bound"}}
"""Phrases that stay, by place: Python's own docstring of a bound method."""
PLACE = re.compile(r"\{[^{}]*\}")
CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`]*`", re.DOTALL | re.MULTILINE)
"""Commands, files and output, which have the words of their programs and formats."""


def helps() -> dict[str, str]:
    """The help of the program and of each command."""
    context = click.Context(ringside, info_name="ringside")
    commands = {name: ringside.get_command(context, name) for name in ringside.list_commands(context)}
    return {
        f"{name} --help": one.get_help(click.Context(one, info_name=name))
        for name, one in {"": ringside, **commands}.items()
    }


def texts() -> dict[str, str]:
    """Every text that a person reads, by where it is: files of texts, help, and pages (the API has all docstrings)."""
    files = (ROOT / "assets" / "text" / "en.json", ROOT / "sim" / "base" / "messages.json")
    by_id = {key: PLACE.sub("", text) for file in files for key, text in json.loads(file.read_text("utf-8")).items()}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    return by_id | helps() | {page.name: CODE.sub("", page.read_text("utf-8")) for page in pages}


def banned(text: str) -> list[str]:
    """The banned phrases of a text."""
    return [hit.group() for hit in re.finditer(rf"\b({'|'.join(BANNED)})\b", " ".join(text.split()), re.IGNORECASE)]


def test_a_banned_phrase_is_seen():
    assert banned("A seat: what cannot be listed\nis told anew. Twice the bound") == ["told", "anew", "bound"]
    assert not banned("The lower bound of a latency-bound run, retold")


def test_what_people_read_has_no_banned_phrase():
    hits = {where: banned(text) for where, text in texts().items()}
    assert len(hits) > 2000
    assert {
        where: words for where, words in hits.items() if set(map(str.lower, words)) - OTHERS.get(where, set())
    } == {}
