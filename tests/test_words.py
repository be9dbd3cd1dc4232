"""Names say what a thing is: a participle that could stand for anything is no name."""

import ast
from collections.abc import Iterable

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
