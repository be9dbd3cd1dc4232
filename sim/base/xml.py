"""XML of unknown origin, read safely: no entities, no fetching, bounded, and every element knows its line."""

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from sim.errors import InputError

DEEPEST = 200
MOST_ELEMENTS = 500_000
"""Far beyond any real file; keeps a hostile one from filling the memory."""


@dataclass(slots=True)
class Element:
    """One element; `line` is where it opens, `text` all the characters directly inside it."""

    tag: str
    line: int
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def refuse(self, name: str, why: str) -> NoReturn:
        """Raise the InputError that names this place in the file called `name`."""
        raise InputError(f"{name}, line {self.line}: {why}")


def parse_xml(text: str, name: str, *, doctype: bool = False) -> Element:
    """The root of a document; `name` is what messages call it.

    With `doctype`, a document type that only names its kind is passed over; its own definitions never are.
    Raises InputError, with the line, for what is not well-formed, defines entities, or is unreasonably big.
    """
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    roots: list[Element] = []
    open_now: list[Element] = []
    count = 0

    def refuse(why: str) -> None:
        raise InputError(f"{name}, line {parser.CurrentLineNumber}: {why}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(open_now) >= DEEPEST:
            refuse(f"elements nest deeper than {DEEPEST}: give the file as its tool wrote it")
        if count > MOST_ELEMENTS:
            refuse(f"more than {MOST_ELEMENTS:,} elements: give a smaller file")
        element = Element(tag, parser.CurrentLineNumber, attributes)
        (open_now[-1].children if open_now else roots).append(element)
        open_now.append(element)

    def end(tag: str) -> None:
        open_now.pop()

    def characters(data: str) -> None:
        if not data.isspace():
            open_now[-1].text += data

    def declare(kind: str, system: str | None, public: str | None, has_definitions: int) -> None:
        if not doctype or has_definitions:
            refuse("a DOCTYPE is not read here: delete it")

    def define(*_: object) -> None:
        refuse("entities are not read here: write the text itself")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = declare
    parser.EntityDeclHandler = define
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise InputError(f"{name}, line {error.lineno}: not well-formed XML ({what}): give the whole file") from None
    return roots[0]
