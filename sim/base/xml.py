"""XML of unknown origin, read safely: no entities, no fetching, bounded, and every element knows its line."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from sim.base.pasted import pasted_lines
from sim.errors import InputError, Message

DEEPEST = 200
MOST_ELEMENTS = 500_000
"""Far beyond any real file; keeps a hostile one from filling the memory."""
_BEGINS = re.compile(r"^[\ufeff \t]*<[?!A-Za-z_]", re.MULTILINE)
_ENDS = re.compile(r"(?:</[\w.:-]{1,80}|/|--)>[ \t\r]*$", re.MULTILINE)
_QUOTES = str.maketrans("“”„″", '""""')
_EACH_DECLARED = re.compile(r"<\?xml\b[^<>]{0,200}\?>")
_DECLARED = re.compile(r"\ufeff?[ \t]*+<\?xml\b[^<>]{0,200}\?>")


@dataclass(slots=True)
class Element:
    """One element; `line` is where it opens, `text` all the characters directly inside it."""

    tag: str
    line: int
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def refuse(self, name: str, why: str, /, **values: object) -> NoReturn:
        """Raise the InputError that names this place in the file called `name`; `why` is the id of a message."""
        raise InputError("at.line", file=name, line=self.line, what=Message(why, **values))


def parse_xml(text: str, name: str, *, doctype: bool = False) -> Element:
    """The root of a document; `name` is what messages call it.

    With `doctype`, a document type that only names its kind is passed over; its own definitions never are.
    Raises InputError, with the line, for what is not well-formed, defines entities, or is unreasonably big.
    """
    try:
        return _root(_alone(text), name, doctype=doctype)
    except expat.ExpatError as error:
        wrong = error
    try:
        return _root(_alone(_unprefixed(text)), name, doctype=doctype)
    except expat.ExpatError:
        what = expat.ErrorString(wrong.code)
    raise InputError("xml.malformed", file=name, line=wrong.lineno, why=what)


def parse_each(text: str, name: str) -> list[Element]:
    """Return the roots of documents that stand one after another in a text; raises InputError as `parse_xml` does."""
    try:
        return [parse_xml(text, name)]
    except InputError as error:
        wrong = error
    for lines in (text, _unprefixed(text)):
        with suppress(InputError):
            roots = parse_xml(f"<all>{_EACH_DECLARED.sub('', _alone(lines))}</all>", name).children
            if len(roots) > 1:
                return roots
    raise wrong


def _root(text: str, name: str, *, doctype: bool) -> Element:
    reader = _XmlReader(name, doctype=doctype)
    reader.parser.Parse(text.encode("utf-8", "replace"), True)
    return reader.roots[0]


def _unprefixed(text: str) -> str:
    r"""The lines without what mails, logs and editors put in front of each, and with plain quotes.

    >>> _unprefixed("> <cpu b=“1”>\n> </cpu>")
    '<cpu b="1">\n</cpu>'
    """
    parts: list[list[str]] = [[] for _ in range(text.count("\n") + 1)]
    for number, _, line in pasted_lines(text.translate(_QUOTES)):
        if number <= len(parts):
            parts[number - 1].append(line)
    return "\n".join(map("".join, parts))


def _alone(text: str) -> str:
    r"""A document without the lines around it, as in mails, terminals and Markdown; its own keep their numbers.

    >>> _alone("$ cat it.xml\n<a/>\n$")
    '\n<a/>'
    """
    plain = text.strip("\ufeff \t\r\n")
    if plain.startswith("<") and _ENDS.search(plain, plain.rfind("\n") + 1):
        first = text.index("<")
        head = _DECLARED.match(plain) if first else None
        return "\n" * text.count("\n", 0, first) + text[first + head.end() :] if head else text
    begin = _BEGINS.search(text)
    if begin is None:
        return text
    end = max((match.end() for match in _ENDS.finditer(text)), default=len(text))
    if not text[: begin.start()].strip():
        return text[:end]
    declared = _DECLARED.match(text, begin.start())
    inside = text[declared.end() if declared else begin.start() : end]
    return "\n" * text.count("\n", 0, begin.start()) + inside


class _XmlReader:
    """Builds elements from what the parser reports; `open_now` have not ended, `said` are their characters so far."""

    def __init__(self, name: str, *, doctype: bool) -> None:
        self.name, self.doctype = name, doctype
        self.roots: list[Element] = []
        self.open_now: list[Element] = []
        self.said: list[list[str]] = []
        self.count = 0
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.declare
        self.parser.EntityDeclHandler = self.define

    def refuse(self, why: str, /, **values: object) -> NoReturn:
        raise InputError("at.line", file=self.name, line=self.parser.CurrentLineNumber, what=Message(why, **values))

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open_now) >= DEEPEST:
            self.refuse("xml.too_deep", most=DEEPEST)
        if self.count > MOST_ELEMENTS:
            self.refuse("xml.too_many", most=MOST_ELEMENTS)
        element = Element(tag, self.parser.CurrentLineNumber, attributes)
        (self.open_now[-1].children if self.open_now else self.roots).append(element)
        self.open_now.append(element)
        self.said.append([])

    def end(self, _tag: str) -> None:
        self.open_now.pop().text = "".join(self.said.pop())

    def characters(self, data: str) -> None:
        if not data.isspace():
            self.said[-1].append(data)

    def declare(self, _kind: str, _system: str | None, _public: str | None, has_definitions: int) -> None:
        if not self.doctype or has_definitions:
            self.refuse("xml.doctype")

    def define(self, *_: object) -> None:
        self.refuse("xml.entities")
