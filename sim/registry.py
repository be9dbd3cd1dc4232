"""A list that fills itself: whatever the modules of one package register when they are first needed.

An addition that cannot be listed (its file does not import, a name is taken, it has no docstring, its arguments are not
those of its kind) is refused in one sentence that names the file; so is what goes wrong in it when it is called.
"""

import importlib
import inspect
import pkgutil
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, TypeVar

from sim.errors import InputError, Message, expect_kind, nearest_first
from sim.parameters import KINDS, Parameter, about, parameters, summary
from sim.units import fmt_object

Entry = TypeVar("Entry")
Returned = TypeVar("Returned")
ROOT = Path(__file__).resolve().parents[1]
PACKAGES: set[str] = set()
"""Those whose modules are additions: what a list is made of."""
SHOWN = 5
"""Names of entries in the line that shows a list."""
THROUGH = "terminal."
"""What every error passes on its way out, whoever made it: commands are blamed for their own lines alone."""


def titled(title: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a function the name that people read, where that is not its own name in words. Stands below `@machine`.

    Parameters
    ----------
    title : str
        The name, as it is written inside a sentence.

    Returns
    -------
    callable
        A decorator, which returns the function unchanged.
    """

    def named(function: Callable[..., Any]) -> Callable[..., Any]:
        vars(function)["title"] = title
        return function

    return named


def title_of(function: Callable[..., Any], name: str) -> str:
    """Return the name that people read of a registered function: the one it was given, or its own in words.

    >>> title_of(titled("DGX A100")(lambda: None), "dgx_a100"), title_of(lambda: None, "double_ring")
    ('DGX A100', 'double ring')
    """
    return getattr(inspect.unwrap(function), "title", "") or name.replace("_", " ")


class AdditionError(InputError):
    """Something in a registry's folder cannot be listed; the message names the file and the mend."""


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name. `package` holds a module per entry or family of entries; `what` is what one is called.

    `function` gives the function an entry is made of, whose docstring and keyword parameters describe it; `leading`
    are the names its positional arguments must have, which are no parameters. Where it is `lenient` a name may be
    written in other letters and with other hyphens, and entries have aliases.
    """

    def __init__(
        self,
        package: str,
        what: str,
        *,
        function: Callable[[Entry], Callable[..., Any]] | None = None,
        leading: tuple[str, ...] = (),
        lenient: bool = False,
    ) -> None:
        PACKAGES.add(package)
        self._package, self._what = package, what
        self._function, self._leading, self._lenient = function, leading, lenient
        self._aliases: dict[str, dict[str, str]] = {}
        self._entries: dict[str, Entry] = {}
        self._is_whole, self._loader, self._lock = False, 0, threading.RLock()

    def _all(self) -> dict[str, Entry]:
        """All entries; to modules that look them up while they are imported, those that are there so far."""
        if not self._is_whole and self._loader != threading.get_ident():
            with self._lock:
                if not self._is_whole:
                    self._fill()
        return self._entries

    def _fill(self) -> None:
        self._loader = threading.get_ident()
        try:
            folder = importlib.import_module(self._package).__path__
            for module in sorted(m.name for m in pkgutil.iter_modules(folder)):
                self._load(f"{self._package}.{module}")
            self._complete()
            self._is_whole = True
        finally:
            self._loader = 0

    def _load(self, module: str) -> None:
        """Import a module; one that cannot be imported leaves nothing behind and is looked at again next time."""
        before = dict(self._entries)
        try:
            importlib.import_module(module)
        except Exception as error:
            whole = {name for name, e in self._entries.items() if name in before or self._module(e) in sys.modules}
            self._entries = {name: self._entries[name] for name in whole}
            if isinstance(error, AdditionError):
                raise
            raise AdditionError("at.place", place=_where(error, module), what=Message("addition.remedy")) from error

    def _complete(self) -> None:
        """Called once when all modules have registered what they have."""

    def add(self, name: str, entry: Entry) -> None:
        """Register an entry. Raises AdditionError for a name that is taken and for an entry that says too little."""
        if name in self._entries:
            files = [*filter(None, map(self._file, (self._entries[name], entry)))]
            raise AdditionError("addition.name_twice", files=files, what=Message(self._what), name=name)
        self._check(name, entry)
        self._entries[name] = entry

    def alias(self, name: str, *aliases: str) -> None:
        """Let other names stand for an entry. Raises AdditionError for a name that stands for another one already."""
        for alias in aliases:
            other = self._plain().get(_letters(alias), name)
            if other != name:
                files = [*filter(None, (self._file(self._entries[it]) for it in (other, name)))]
                raise AdditionError("addition.name_twice", files=files, what=Message(self._what), name=alias)
            self._aliases.setdefault(name, {})[_letters(alias)] = alias

    def aliases(self, name: str) -> tuple[str, ...]:
        """Other names of an entry, as they were given."""
        return tuple(self._aliases.get(name, {}).values())

    def resolved(self, name: str) -> str:
        """The entry's own name for one of its names in any spelling; the name itself where no entry has it."""
        return name if name in self._all() or not self._lenient else self._plain().get(_letters(name), name)

    def _plain(self) -> dict[str, str]:
        """Entries' names by their letters and digits alone, aliases' too."""
        by_alias = {letters: name for name, aliases in self._aliases.items() for letters in aliases}
        return by_alias | {_letters(name): name for name in self._entries}

    def _check(self, name: str, entry: Entry) -> None:
        function = self._function(entry) if self._function else None
        if function is None:
            return
        place = Message("addition.place", file=self._file(entry), what=Message(self._what), name=name)
        if not summary(function):
            raise AdditionError("addition.docstring", place=place)
        arguments = tuple(inspect.signature(function).parameters)
        if arguments[: len(self._leading)] != self._leading:
            takes = arguments or Message("nothing")
            raise AdditionError("addition.takes", place=place, takes=takes, first=self._leading)
        try:
            listed = parameters(function, skip=self._leading).values()
        except Exception as error:
            raise AdditionError("addition.annotation", place=place, error=error) from error
        for parameter in listed:
            if parameter.kind not in KINDS:
                able = Message("addition.kinds")
                raise AdditionError(
                    "addition.parameter_kind", place=place, parameter=parameter.name, kind=parameter.kind, able=able
                )
            if parameter.flaw:
                raise AdditionError(
                    "addition.parameter_flaw", place=place, parameter=parameter.name, flaw=parameter.flaw
                )

    def __repr__(self) -> str:
        names = list(self)
        listed = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
        return fmt_object("Registry", f"{self._what}: {len(names)} entries, {listed}")

    def _file(self, entry: Entry) -> str:
        code = getattr(inspect.unwrap(self._function(entry)), "__code__", None) if self._function else None
        return shown(code.co_filename) if code else ""

    def _module(self, entry: Entry) -> str:
        return self._function(entry).__module__ if self._function else type(entry).__module__

    def change(self, name: str, entry: Entry) -> None:
        """Put another entry in the place of one that is there."""
        self._entries[name] = entry

    @contextmanager
    def also(self, entries: Mapping[str, Entry] | None = None) -> Iterator[None]:
        """Until the block ends the list has these entries too, and what is registered meanwhile."""
        before = dict(self._all())
        self._entries.update(entries or {})
        try:
            yield
        finally:
            self._entries = before

    def summary(self, name: str) -> str:
        """The first line of an entry's docstring."""
        return summary(self._described(name))

    def title(self, name: str) -> str:
        """The name of an entry that people read."""
        return title_of(self._described(name), name.rpartition(".")[2])

    def about(self, name: str) -> str:
        """The rest of an entry's docstring."""
        return about(self._described(name))

    def parameters(self, name: str) -> dict[str, Parameter]:
        """An entry's keyword parameters, for help texts and widgets. Raises InputError for a name that is not there."""
        return parameters(self._described(name), skip=self._leading)

    def _described(self, name: str) -> Callable[..., Any]:
        assert self._function, f"entries of the list of {self._what}s are no functions"
        return self._function(self[name])

    def __getitem__(self, name: str) -> Entry:
        entries = self._all()
        if isinstance(name, str):
            name = self.resolved(name)
        if not isinstance(name, str) or name not in entries:
            expect_kind(name, str, f"the name of a {self._what}", "give a text")
            plain = self._plain() if self._lenient else {}
            near = [plain[letters] for letters in get_close_matches(_letters(name)[:60], plain)]
            choices = list(dict.fromkeys([*near, *nearest_first(name, sorted(entries))]))
            raise InputError("thing.unknown", what=Message(self._what), name=name, choices=choices)
        return entries[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The entry of a name, or the default."""
        try:
            return self[name]
        except InputError:
            return default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.resolved(name) in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __len__(self) -> int:
        return len(self._all())


def _letters(name: str) -> str:
    """A name without what people write between its letters and digits.

    >>> _letters("ND A100-v4"), _letters("p4d.24xlarge")
    ('nda100v4', 'p4d24xlarge')
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def shown(path: str | Path) -> str:
    """A file as messages name it: from the project's folder on where it lies in it."""
    path = Path(path)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def returned(function: Callable[..., Any], answer: object, kind: type[Returned]) -> Returned:
    """What an addition's function returned. Raises AdditionError where that is no `kind`, but nothing, say."""
    if isinstance(answer, kind):
        return answer
    code = inspect.unwrap(function).__code__
    came, due = Message("nothing") if answer is None else type(answer).__name__, kind.__name__
    raise AdditionError("addition.returns", file=shown(code.co_filename), function=code.co_name, value=came, due=due)


def addition_fault(error: BaseException) -> AdditionError | None:
    """What an addition's own lines did wrong while they were called, in one sentence; None where none were called.

    The line is its last one on the way to the error, which may have been raised in what it called with something wrong.
    Processes of SimPy's raise another error from the one that was raised in them.
    """
    first: BaseException | None = error
    while first is not None:
        frames = _own_frames(first)
        for module, line in reversed(frames):
            if _is_addition(module) and (line is frames[-1][1] or not module.startswith(THROUGH)):
                return AdditionError("at.place", place=_line(line, first), what=Message("addition.remedy"))
        first = first.__cause__
    return None


@contextmanager
def one_sentence() -> Iterator[None]:
    """End the program with status 2 and what an addition did wrong, in one sentence instead of a traceback."""
    try:
        yield
    except Exception as error:
        fault = error if isinstance(error, InputError) else addition_fault(error)
        if fault is None:
            raise
        sys.stderr.write(f"{fault}\n")
        raise SystemExit(InputError.status) from None


def _is_addition(module: str) -> bool:
    return any(module.startswith(f"{package}.") for package in PACKAGES)


def _own_frames(error: BaseException) -> list[tuple[str, traceback.FrameSummary]]:
    """Module and line of every call that led to an error, as far as they are the project's; the last is the nearest."""
    steps = list(traceback.walk_tb(error.__traceback__))
    lines = traceback.StackSummary.extract(iter(steps), lookup_lines=False)
    return [
        (str(frame.f_globals.get("__name__", "")), line)
        for (frame, _), line in zip(steps, lines, strict=True)
        if Path(line.filename).is_relative_to(ROOT) and not shown(line.filename).startswith(".")
    ]


def _line(place: traceback.FrameSummary, error: BaseException) -> str:
    return f"{shown(place.filename)}, line {place.lineno}: {_what(error)}"


def _what(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _where(error: Exception, module: str) -> str:
    """File and line of what went wrong in an import, and what: the line of the file that was being imported."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{shown(error.filename)}, line {error.lineno}: {error.msg}"
    frames = [line for _, line in _own_frames(error) if line.name == "<module>"]
    return _line(frames[-1], error) if frames else f"{module}: {_what(error)}"
