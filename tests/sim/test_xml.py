"""XML from anywhere: read with its lines, or refused with one."""

import pytest

from sim.base.xml import DEEPEST, parse_xml
from sim.errors import InputError
from tests.tables import each_row


def test_every_element_knows_its_line_its_attributes_and_its_text():
    root = parse_xml('<?xml version="1.0"?>\n<a x="1">\n  <b/>\n  one <c>\n</c> two\n</a>', "t")
    assert (root.tag, root.line, root.attributes) == ("a", 2, {"x": "1"})
    assert [(child.tag, child.line) for child in root.children] == [("b", 3), ("c", 4)]
    assert root.text.split() == ["one", "two"]


@each_row(
    "before, after",
    [
        ("```xml\n", "\n```\n"),
        ("$ cat it.xml\n", "\n$ exit"),
        ("Dear all,\n\nhere it is:\n", "\n\nYours\n"),
        ("\ufeff", "\n"),
        ("", "\n> \n"),
    ],
)
@each_row("head", ["", '<?xml version="1.0" encoding="UTF-8"?>\n', "<!-- by hand -->\n"])
def test_what_stands_around_a_document_does_no_harm(before, after, head):
    """A line of its own behind the last end of an element, or before the first thing in angle brackets."""
    root = parse_xml(before + head + '<a x="1">\n  <b/>\n</a>' + after, "t")
    line = 1 + (before + head).count("\n")
    assert (root.tag, root.line, root.attributes, root.children[0].line) == ("a", line, {"x": "1"}, line + 1)
    with pytest.raises(InputError, match=rf"line {line + 1}\b"):
        parse_xml(before + head + "<a>\n</b>" + after, "t")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "t, line 1: not well-formed XML"),
        ("<a>\n<b></a>", r"t, line 2: not well-formed XML \(mismatched tag\): give the whole file"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "t, line 1: a DOCTYPE is not read here: delete it"),
        ('<!DOCTYPE a SYSTEM "http://example.org/a.dtd"><a/>', "a DOCTYPE is not read here"),
        ("<a>&lol;</a>", "undefined entity"),
        ("<a>" * (DEEPEST + 1), "elements nest deeper than"),
        ("<a \ud800/>", "not well-formed"),
    ],
)
def test_what_is_broken_or_hostile_is_refused_with_its_line(text, message):
    with pytest.raises(InputError, match=message):
        parse_xml(text, "t")


def test_a_document_type_that_defines_nothing_may_be_passed_over():
    assert parse_xml('<!DOCTYPE a SYSTEM "a.dtd"><a/>', "t", doctype=True).tag == "a"
    with pytest.raises(InputError, match="DOCTYPE"):
        parse_xml('<!DOCTYPE a SYSTEM "a.dtd" [<!ENTITY x "y">]><a/>', "t", doctype=True)


def test_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr("sim.base.xml.MOST_ELEMENTS", 10)
    with pytest.raises(InputError, match="more than 10 elements: give a smaller file"):
        parse_xml("<a>" + "<b/>" * 10 + "</a>", "t")


@pytest.mark.parametrize(
    "front",
    [
        lambda number, line: f"> {line}",
        lambda number, line: f"{number:5}  {line}",
        lambda number, line: f"[1,0]<stdout>:{line}",
        lambda number, line: f"worker-1 | {line}",
        lambda number, line: line.replace('="', "=“").replace('"', "”"),
    ],
)
def test_what_mails_logs_and_editors_did_to_every_line_is_undone(front):
    lines = ['<system version="1">', '  <cpu numaid="0">', '    <pci busid="a"/>', "  </cpu>", "</system>"]
    root = parse_xml("\n".join(front(i + 1, line) for i, line in enumerate(lines)), "it")
    assert (root.tag, root.attributes, root.line) == ("system", {"version": "1"}, 1)
    (cpu,) = root.children
    assert [(child.tag, child.attributes, child.line) for child in cpu.children] == [("pci", {"busid": "a"}, 3)]


def test_a_document_cut_behind_prefixes_is_refused_where_it_ends():
    with pytest.raises(InputError, match=r"it, line \d: not well-formed XML .*: give the whole file"):
        parse_xml('> <system version="1">\n> <cpu numaid="0">\n', "it")
