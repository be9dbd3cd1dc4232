"""Regular expressions whose time grows faster than the text, found by their structure and not by the clock.

A backtracking matcher is superlinear in two ways only, and both need a repeat without a bound. `restarts`: a search may
begin anywhere in what such a repeat takes, runs to its end, fails there, and begins one letter later. `shares`: two
such repeats, one after the other or one inside the other, may divide one run between them in many ways.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from re import _constants as names  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LONG = 5000
"""A repeat that may be longer than this has no bound."""
_ALPHABET = frozenset([*map(chr, range(128)), *"\x85\xa0\u2028\u3000é中٣²–│␛×“”"])
_REPEATS = (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT)
_LEAVES = (names.LITERAL, names.NOT_LITERAL, names.ANY, names.IN)
Node = tuple[Any, Any]


@cache
def superlinear(pattern: re.Pattern[str], *, anchored: bool) -> str:
    """Return what in a pattern is superlinear, or nothing; `anchored` where it is tried at one place only."""
    nodes = list(parser.parse(pattern.pattern, pattern.flags))
    return _shares(nodes, pattern.flags) or ("" if anchored else _restarts(nodes, pattern.flags))


def _restarts(nodes: list[Node], flags: int) -> str:
    """Return the repeat in which a search may begin at every letter and fail at the end."""
    for before, (op, argument), after in _paths(nodes):
        if op in _REPEATS and _is_long(argument):
            letters = _letters(argument[2], flags)
            if letters and all(_fits(node, letters, flags) for node in before) and not _is_nullable(after):
                return f"begins anywhere in {_shown(letters)}"
    return ""


def _shares(nodes: list[Node], flags: int) -> str:
    """Return two repeats that can divide one run between them in many ways, with something to fail behind them."""
    for _, (op, argument), after in _paths(nodes):
        if op not in _REPEATS or not _is_long(argument):
            continue
        letters = _letters(argument[2], flags)
        if op is not names.POSSESSIVE_REPEAT:
            for at, (other, its) in enumerate(after):
                if other in _REPEATS and _is_long(its) and letters & _letters(its[2], flags):
                    between = letters & _letters(its[2], flags)
                    if all(_fits(node, between, flags) for node in after[:at]) and not _is_nullable(after[at + 1 :]):
                        return f"divides {_shown(between)}"
        for _, (other, its), _ in _paths(list(argument[2])):
            if other in (names.MAX_REPEAT, names.MIN_REPEAT) and _is_long(its):
                inner = _letters(its[2], flags)
                rest = [node for node in argument[2] if node != (other, its)]
                if all(_fits(node, inner, flags) for node in rest):
                    return f"repeats what repeats {_shown(inner)}"
    return ""


def _paths(nodes: list[Node], before: tuple[Node, ...] = (), after: tuple[Node, ...] = ()) -> Iterator[Any]:
    """Yield every node with what stands before and after it on the way through all groups and branches."""
    for at, (op, argument) in enumerate(nodes):
        ahead, behind = (*before, *nodes[:at]), (*nodes[at + 1 :], *after)
        yield list(ahead), (op, argument), list(behind)
        for inner in _inside(op, argument):
            yield from _paths(inner, ahead, behind)


def _inside(op: Any, argument: Any) -> Iterable[list[Node]]:
    if op is names.SUBPATTERN:
        return [list(argument[3])]
    if op is names.BRANCH:
        return [list(branch) for branch in argument[1]]
    if op in _REPEATS:
        return [list(argument[2])]
    if op is names.ATOMIC_GROUP:
        return [list(argument)]
    return []


def _is_long(argument: Any) -> bool:
    return argument[1] is names.MAXREPEAT or argument[1] > LONG


def _letters(nodes: Iterable[Node], flags: int) -> frozenset[str]:
    """Return all letters that stand anywhere in what these nodes match."""
    found: frozenset[str] = frozenset()
    for op, argument in nodes:
        if op in _LEAVES:
            found |= _leaf(op, repr(argument), flags, argument=_Held(argument))
        for inner in _inside(op, argument):
            found |= _letters(inner, flags)
    return found


class _Held:
    """An argument that a cache does not look at."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return True


@cache
def _leaf(op: Any, _shown_as: str, flags: int, *, argument: _Held) -> frozenset[str]:
    """Return the letters of the alphabet that one leaf takes, as the matcher itself says."""
    from re import _compiler as compiler  # type: ignore[attr-defined]

    state = parser.State()
    state.flags = flags
    one = compiler.compile(parser.SubPattern(state, [(op, argument.value)]), flags)
    return frozenset(letter for letter in _ALPHABET if one.match(letter))


def _fits(node: Node, letters: frozenset[str], flags: int) -> bool:
    """Whether a node can match something that has these letters only."""
    op, argument = node
    if op in _LEAVES:
        return bool(_letters([node], flags) & letters)
    if op is names.AT:
        if argument in (names.AT_BEGINNING_STRING, names.AT_END_STRING):
            return False
        if argument in (names.AT_BEGINNING, names.AT_END):
            return bool(flags & re.MULTILINE) and "\n" in letters
        return True
    if op in (names.ASSERT, names.ASSERT_NOT):
        return _holds(op, list(argument[1]), letters, flags)
    if op in _REPEATS and argument[0] == 0:
        return True
    if op is names.BRANCH:
        return any(all(_fits(inner, letters, flags) for inner in branch) for branch in argument[1])
    return all(_fits(part, letters, flags) for inner in _inside(op, argument) for part in inner)


def _holds(op: Any, inner: list[Node], letters: frozenset[str], flags: int) -> bool:
    """Whether what is looked for beside a place can be there, or not be there, inside a run of these letters."""
    if len(inner) != 1 or inner[0][0] not in _LEAVES:
        return True
    its = _letters(inner, flags)
    return bool(letters & its if op is names.ASSERT else letters - its)


def _is_nullable(nodes: Iterable[Node]) -> bool:
    """Whether these nodes match wherever they are tried."""
    for op, argument in nodes:
        if op in _LEAVES or op in (names.AT, names.ASSERT, names.ASSERT_NOT, names.GROUPREF, names.GROUPREF_EXISTS):
            return False
        if op in _REPEATS and (argument[0] == 0 or _is_nullable(argument[2])):
            continue
        if op is names.BRANCH and any(_is_nullable(branch) for branch in argument[1]):
            continue
        if not all(_is_nullable(inner) for inner in _inside(op, argument)) or op in _REPEATS or op is names.BRANCH:
            return False
    return True


def _shown(letters: frozenset[str]) -> str:
    return "a run of " + "".join(sorted(letters))[:12].__repr__()
