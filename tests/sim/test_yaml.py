"""YAML from anywhere: texts with their lines, or refused with one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.yaml import DEEPEST, parse_yaml, quote
from sim.errors import InputError
from tests.tables import each_row


def plain(node):
    """A document as Python values."""
    if isinstance(node.value, dict):
        return {key: plain(value) for key, value in node.value.items()}
    return [plain(item) for item in node.value] if isinstance(node.value, list) else node.value


def test_values_stay_texts_and_know_their_lines():
    root = parse_yaml("a: no\nb:\n  - 1e3\n  - {c: 25GBps, d: ~}\ne: '~'\n", "f")
    assert plain(root) == {"a": "no", "b": ["1e3", {"c": "25GBps", "d": ""}], "e": "~"}
    assert root.lines == {"a": 1, "b": 2, "e": 5}
    assert root.value["b"].value[1].lines == {"c": 4, "d": 4}


def test_what_is_anchored_may_be_used_again():
    assert plain(parse_yaml("a: &x {b: 1}\nc: [*x, *x]\n", "f")) == {"a": {"b": "1"}, "c": [{"b": "1"}, {"b": "1"}]}


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)


@each_row(
    "text, message",
    [
        ("", "f holds no values: give the whole file"),
        ("# only a comment\n", "f holds no values"),
        ("a: 1\nb: [1, 2", "f, line 2: not well-formed YAML .*: give the whole file"),
        ("a: 1\na: 2", "f, line 2: 'a' is given twice: keep one"),
        ("a: 1\n---\nb: 2\n", "f, line 2: a second document begins: keep one"),
        ("a: !!python/object/apply:os.system [ls]", "f, line 1: the tag .* is not read here: delete it"),
        ("a: &x [*x]", r"f, line 1: \*x names nothing finished: write the value itself"),
        ("a: *x", "names nothing finished|not well-formed"),
        ("? [1]\n: 2", "f, line 1: a key is no single word: write key: value"),
        (BOMB, r"f, line \d+: more than 2,000,000 values: give a smaller file"),
        ("[" * 100_000, f"f, line 1: values nest deeper than {DEEPEST}"),
        ("- " * 100_000, f"f, line 1: values nest deeper than {DEEPEST}"),
        ("a: \x01", "f.*: not well-formed YAML .*control characters"),
    ],
)
def test_what_is_broken_or_hostile_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_yaml(text, "f")


def test_an_unknown_key_is_told_with_its_line_and_the_nearest_one():
    root = parse_yaml("name: x\nbandwith: 1\n", "f")
    with pytest.raises(InputError, match="f, line 2: a link has no key 'bandwith': did you mean bandwidth"):
        root.mapping("a link", ("name", "bandwidth"))
    with pytest.raises(InputError, match="a link has no key 'bandwith': it takes name, kind"):
        root.mapping("a link", ("name", "kind"))
    with pytest.raises(InputError, match="f, line 1: the file is a mapping: write a list"):
        root.items("the file")
    with pytest.raises(InputError, match="f, line 1: x is a mapping: write one value"):
        root.text("x")
    with pytest.raises(InputError, match="f, line 1: x is one value: write key: value"):
        root.value["name"].mapping("x")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=100))
def test_a_quoted_text_reads_back_as_itself(text):
    # as a key, too: YAML wants those below 1,024 characters, of which a quoted one may need ten
    key = "other " + text  # no key stands twice
    assert parse_yaml(f"{{k: {quote(text)}, {quote(key)}: v}}", "f").value["k"].value == text
