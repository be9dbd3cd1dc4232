"""Ways of writing something down, one file each: a list of formats that finds the reader a text is for.

A reader is a function from a text to a thing, with keyword options read from its signature. What goes wrong in it is
told in one sentence; one that goes through `rows` or `lines` has the line told too.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from sim.base.files.textfile import Expected, bounded, read_text
from sim.errors import InputError, Message
from sim.parameters import Parameter, bind, parameters
from sim.registry import Registry

Thing = TypeVar("Thing")
Read = TypeVar("Read", bound=Callable[..., Any])
Write = TypeVar("Write", bound=Callable[..., str])

LOOKED_AT = 1 << 20
"""Characters of an unknown text that are searched for what it is instead."""

SLIPS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""What a reader raises over a short line or a wrong number that it did not expect."""

_LINE: ContextVar[tuple[int, str]] = ContextVar("line", default=(0, ""))
"""The line that the reader under way has in hand, and its number; 0 where it is not known."""


class ReadingError(InputError):
    """A reader stumbled over a text in a way it has no sentence of its own for."""


@dataclass(frozen=True, slots=True)
class Format(Generic[Thing]):
    """A way of writing a thing down: `read(text, name=…, **options)` for texts that `matches` knows.

    `explain` says, for a text no format matches, what it is instead and what to do, or nothing.
    `write(thing, **options)` is absent where a format is only read. `check(text, name=…, **options)` judges a text
    where that takes more than to read it. `endings` are those of files, without the dot. Formats of higher
    `precedence` are asked first whether a text is theirs: 0 is for a mark of its own, less for a look others share.
    """

    name: str
    title: str
    matches: Callable[[str], bool]
    read: Callable[..., Thing]
    write: Callable[..., str] | None = None
    explain: Callable[[str], str] = lambda text: ""
    check: Callable[..., Any] | None = None
    endings: tuple[str, ...] = ("txt",)
    precedence: int = 0

    @property
    def options(self) -> dict[str, Parameter]:
        """The keyword options of the reader, for help texts and widgets."""
        return parameters(self.read, skip=("text", "name"))


class Words(NamedTuple):
    """How messages speak of a kind of format: what it describes, several of them, a file, and a mend for too much."""

    thing: str
    things: str
    file: str
    mend: str
    unknown: str = ""
    """What a text is not that no format knows, where that is more than the thing."""


class Formats(Registry[Format[Thing]], Generic[Thing]):
    """The formats of one kind of thing, by name.

    `other_things` are patterns of what people give by mistake, each with what it is and what to do;
    `largest` is in characters.
    """

    def __init__(
        self, package: str, words: Words, *, largest: int, other_things: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(package, f"{words.thing} format", function=lambda entry: entry.read, leading=("text",))
        self._words, self._other_things = words, other_things
        self.expected = Expected(words.file, words.mend, self.titles, largest)

    def summary(self, name: str) -> str:
        """The format's title."""
        return self[name].title

    def reader(
        self,
        name: str,
        title: str,
        *,
        matches: Callable[[str], bool],
        explain: Callable[[str], str] = lambda text: "",
        check: Callable[..., Any] | None = None,
        endings: tuple[str, ...] = ("txt",),
        precedence: int = 0,
    ) -> Callable[[Read], Read]:
        """Register a reader under a format's name; the function is returned unchanged. `Format` tells the rest."""

        def register(read: Read) -> Read:
            self.add(
                name,
                Format(
                    name, title, matches, read, explain=explain, check=check, endings=endings, precedence=precedence
                ),
            )
            return read

        return register

    def writer(self, name: str) -> Callable[[Write], Write]:
        """Register the writer of a format that has a reader; the function is returned unchanged."""

        def register(write: Write) -> Write:
            self.change(name, replace(self[name], write=write))
            return write

        return register

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of all formats' files, without the dot."""
        return tuple(sorted({ending for entry in self.values() for ending in entry.endings}))

    def titles(self) -> Message:
        """What may be given, in one phrase."""
        *others, last = (Message(entry.title) for entry in self.values())
        return Message("list.or", others=others, last=last) if others else last

    def recognise(self, text: str, name: str) -> Format[Thing]:
        """The format of a text; `name` is what messages call it. Raises InputError saying what it is instead."""
        bounded(text, name, self.expected)
        if not text.strip():
            raise InputError("file.empty", file=name, titles=self.titles())
        by_precedence = sorted(self.values(), key=lambda entry: -entry.precedence)
        matching = next((entry for entry in by_precedence if entry.matches(text)), None)
        if matching is not None:
            return matching
        instead = next(filter(None, (entry.explain(text) for entry in by_precedence)), "")
        instead = instead or self._other_thing(text[:LOOKED_AT])
        thing = Message(self._words.unknown or self._words.thing)
        unknown = Message("file.unknown", thing=thing, titles=self.titles())
        raise InputError("file.is_instead", file=name, instead=Message(instead) if instead else unknown)

    def _other_thing(self, text: str) -> str:
        return next((what for pattern, what in self._other_things if re.search(pattern, text, re.IGNORECASE)), "")

    def read(self, text: str, name: str, **options: Any) -> Thing:
        """What a text describes, whatever its format; `options` are the reader's, parsed when texts.

        Raises InputError naming the place and the mend.
        """
        entry = self.recognise(text, name)
        thing: Thing = self.call(entry, entry.read, text, name, options)
        return thing

    def call(self, entry: Format[Any], function: Callable[..., Any], text: str, name: str, options: Any) -> Any:
        """Call a reader, or what else takes a reader's arguments, with options checked against the reader's."""
        values = bind(entry.read, options, entry.name, skip=("text", "name"))
        with reading(name, entry.title):
            return function(text, name=name, **values)

    def read_file(self, path: str | Path, **options: Any) -> Thing:
        """`read` of a file. Raises InputError when it cannot be opened or is not text."""
        return self.read(self.text(path), str(path), **options)

    def text(self, path: str | Path) -> str:
        """What a file says. Raises InputError when it cannot be opened, is too large or is not text."""
        return read_text(path, self.expected)

    def write(self, thing: Thing, format: str, *, machine: Any = None, **options: Any) -> str:
        """A thing in another format, for a machine where the writer takes one.

        Raises InputError for a format that is only read, or cannot hold it.
        """
        entry = self[format]
        if entry.write is None:
            able = [entry.name for entry in self.values() if entry.write]
            raise InputError("write.not_written", things=Message(self._words.things), format=format, choices=able)
        bound = bind(entry.write, options, format, skip=(self._words.thing, "machine"))
        if machine is not None and "machine" in signature(entry.write).parameters:
            bound["machine"] = machine
        return entry.write(thing, **bound)


def lines(text: str, *, comment: str = "#") -> Iterator[str]:
    r"""A text's lines without comments, empty ones left out; what goes wrong at one is told with its number.

    >>> list(lines("# two cables\nA B  # short\n\nB C"))
    ['A B', 'B C']
    """
    for number, line in enumerate(text.splitlines(), 1):
        said = (line.partition(comment)[0] if comment else line).strip()
        if said:
            _LINE.set((number, said))
            yield said
    _LINE.set((0, ""))


def rows(text: str, *, comment: str = "#", separator: str | None = None) -> Iterator[list[str]]:
    """Cut a text into the words of its lines; errors raised meanwhile name the line.

    Parameters
    ----------
    text : str
        The text.
    comment : str
        Start of a comment.
    separator : str
        Separator of words; spaces unless given. Spaces around words are removed.

    Yields
    ------
    list of str
        The words of a nonempty line.

    Examples
    --------
    >>> list(rows("a, b", separator=","))
    [['a', 'b']]
    """
    for line in lines(text, comment=comment):
        yield [word.strip() for word in line.split(separator)]


@contextmanager
def reading(name: str, title: str) -> Iterator[None]:
    """While a reader is under way: what goes wrong is an InputError that names the text, and the line if known."""
    token = _LINE.set((0, ""))
    try:
        yield
    except InputError as error:
        if not str(error).startswith(name):
            error.args = (Message("at.place", place=_place(name), what=error),)
        raise
    except SLIPS as error:
        number, line = _LINE.get()
        raise ReadingError(
            "reader.line" if number else "reader.file",
            place=_place(name),
            line=line,
            title=Message(title),
            reason=_reason(error),
        ) from error
    finally:
        _LINE.reset(token)


def _place(name: str) -> str | Message:
    number, _ = _LINE.get()
    return Message("place.line", file=name, line=number) if number else name


def _reason(error: Exception) -> str | Message:
    """What an exception says, on one line."""
    if isinstance(error, KeyError):
        return Message("reader.nothing_called", key=error)
    return " ".join(str(error).split())[:120] or type(error).__name__
