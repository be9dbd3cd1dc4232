"""YAML of unknown origin, read safely: no tags, no bombs, bounded, and every value knows its line.

Values stay texts, so that `no`, `1e3` and `25GBps` mean what their reader says they mean.
"""

import difflib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from sim.base.pasted import bare_lines
from sim.errors import InputError, Message

DEEPEST = 50
MOST_NODES = 2_000_000
"""Far beyond any real file, aliases written out; keeps a hostile one from filling the memory."""

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_UNPLAIN = re.compile(r"[^ !#-\[\]-~]")
_ESCAPES: dict[str, str] = yaml.emitter.Emitter.ESCAPE_REPLACEMENTS
"""Letters that YAML has a short escape for."""
_EMPTY = ("~", "null")
_TOO_DEEP = "maximum nesting depth"
"""How the parser, which looks a thousand brackets ahead, says so before we see one of them."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True, eq=False)
class YamlNode:
    """One value: a text, a list or a mapping; `lines` is where each key of a mapping stands."""

    name: str
    line: int
    value: "str | list[YamlNode] | dict[str, YamlNode]"
    lines: dict[str, int] = field(default_factory=dict)
    size: int = 1

    @property
    def place(self) -> Message:
        """The file and the line."""
        return Message("place.line", file=self.name, line=self.line)

    def refuse(self, why: str | Exception, at: int = 0, /, **values: object) -> NoReturn:
        """Raise the InputError that names this place, or a line; `why` is the id of a message, or an error."""
        what = Message(why, **values) if isinstance(why, str) else why
        raise InputError("at.line", file=self.name, line=at or self.line, what=what)

    def text(self, what: str) -> str:
        """The text it is. Raises InputError naming `what` when it is none, or empty."""
        if not isinstance(self.value, str) or not self.value:
            self.refuse("yaml.one_value", what=Message(what), shape=self._shape())
        return self.value

    def items(self, what: str) -> "list[YamlNode]":
        """The list it is. Raises InputError naming `what` when it is none."""
        if not isinstance(self.value, list):
            self.refuse("yaml.list", what=Message(what), shape=self._shape())
        return self.value

    def mapping(self, what: str, keys: Collection[str] = ()) -> "dict[str, YamlNode]":
        """The mapping it is, of `known` keys if any are given. Raises InputError naming `what` and the nearest key."""
        if not isinstance(self.value, dict):
            self.refuse("yaml.mapping", what=Message(what), shape=self._shape())
        for key in self.value:
            if keys and key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                mend = Message("choose.near", name=near[0]) if near else Message("choose.takes", names=keys)
                self.refuse("yaml.no_key", self.lines[key], what=Message(what), key=key, remedy=mend)
        return self.value

    def _shape(self) -> Message:
        one = "yaml.is_empty" if self.value == "" else "yaml.is_str"
        return Message({str: one, list: "yaml.is_list", dict: "yaml.is_dict"}[type(self.value)])


def parse_yaml(text: str, name: str) -> YamlNode:
    """The one document of a text; `name` is what messages call it.

    Raises InputError, with the line, for what is not well-formed, has tags, or is unreasonably big.
    """
    text = bare_lines(text)
    try:
        events = yaml.parse(text.encode("utf-8", "replace"), Loader=_LOADER)
        root = _document(events, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(error.problem or error.context).split())[:120]
        line = min(mark.line, text.count("\n")) + 1 if mark else 1
        if _TOO_DEEP in what:
            _refuse_depth(YamlNode(name, line, ""))
        raise InputError("yaml.malformed_line", file=name, line=line, why=what) from None
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())[:120]
        raise InputError("yaml.malformed", file=name, why=what) from None
    if root is None:
        raise InputError("yaml.empty", file=name)
    return root


def quote(text: str) -> str:
    """A text as a YAML scalar that reads back as itself."""
    if _PLAIN.fullmatch(text) and text not in _EMPTY:
        return text
    return f'"{_UNPLAIN.sub(_escaped, text)}"'


def _escaped(letter: re.Match[str]) -> str:
    code = ord(letter[0])
    if letter[0] in _ESCAPES:
        return f"\\{_ESCAPES[letter[0]]}"
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _refuse_depth(node: YamlNode) -> NoReturn:
    node.refuse("yaml.too_deep", most=DEEPEST)


def _document(events: Iterator[Any], name: str) -> YamlNode | None:
    """The root of the nodes that events make; None where there are none."""
    reader = _YamlReader(name)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent) and reader.root is not None:
            raise InputError("yaml.second", file=name, line=event.start_mark.line + 1)
        if isinstance(event, yaml.CollectionEndEvent):
            reader.close()
        elif isinstance(event, yaml.NodeEvent):
            reader.enter(event)
    return reader.root


class _YamlReader:
    """Nodes from events, without recursion, so that nesting cannot exhaust the stack.

    `open_now` are the lists and mappings that have not ended, each with the key that waits for its value.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.root: YamlNode | None = None
        self.open_now: list[tuple[YamlNode, list[str]]] = []
        self.anchors: dict[str, YamlNode] = {}
        self.total = 0

    def close(self) -> None:
        closed, _ = self.open_now.pop()
        if self.open_now:
            self.open_now[-1][0].size += closed.size

    def enter(self, event: Any) -> None:
        node = _node(event, self.name, self.anchors, {id(entry) for entry, _ in self.open_now})
        self.total += node.size
        if self.total > MOST_NODES:
            node.refuse("yaml.too_many", most=MOST_NODES)
        opens = isinstance(event, yaml.CollectionStartEvent)
        if not self.open_now:
            self.root = node
        else:
            _put(*self.open_now[-1], node, event)
            self.open_now[-1][0].size += 0 if opens else node.size
        if opens:
            if len(self.open_now) >= DEEPEST:
                _refuse_depth(node)
            self.open_now.append((node, []))
        if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
            self.anchors[event.anchor] = node


def _node(event: Any, name: str, anchors: dict[str, YamlNode], open_now: set[int]) -> YamlNode:
    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent):
        target = anchors.get(event.anchor)
        if target is None or id(target) in open_now:
            raise InputError("yaml.anchor", file=name, line=line, anchor=event.anchor)
        return YamlNode(name, line, target.value, target.lines, target.size)
    if event.tag is not None and event.tag != "!":
        raise InputError("yaml.tag", file=name, line=line, tag=event.tag)
    if isinstance(event, yaml.ScalarEvent):
        empty = event.implicit[0] and event.value in _EMPTY
        return YamlNode(name, line, "" if empty else event.value)
    return YamlNode(name, line, {} if isinstance(event, yaml.MappingStartEvent) else [])


def _put(parent: YamlNode, keys: list[str], node: YamlNode, event: Any) -> None:
    """Enter a node into its list or mapping; in a mapping keys and values take turns."""
    if isinstance(parent.value, list):
        parent.value.append(node)
        return
    assert isinstance(parent.value, dict)
    if keys:
        parent.value[keys.pop()] = node
        return
    if not isinstance(event, yaml.ScalarEvent):
        node.refuse("yaml.key")
    key = event.value
    if key in parent.value:
        node.refuse("yaml.twice", key=key)
    parent.lines[key] = node.line
    keys.append(key)
