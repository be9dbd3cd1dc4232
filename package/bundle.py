"""ES modules as one expression, for pages that cannot fetch files: a page's inline code, and a page that is one file.

Every module becomes a function of its own, so that no name of one meets a name of another, run once and after what it
imports. What would not mean the same in there is refused: imports in a circle, `import()`, `import.meta`, `await`
outside functions, and exports that may change.
"""

import json
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter

from tree_sitter import Language, Node, Parser, Query, QueryCursor

PREFIX = "$module"
"""What a module is called in the bundle, with its number; no source may use it."""
ALL, DEFAULT = "*", "default"
FUNCTIONS = {
    *("function_declaration", "function_expression", "arrow_function", "method_definition"),
    *("generator_function", "generator_function_declaration"),
}
ODD = """
(await_expression) @await
(for_in_statement "await") @await
(meta_property) @import.meta
(call_expression function: (import)) @import
"""


COMMENTS = "(comment) @comment"


@dataclass
class Module:
    """A module taken apart: where each of its own names comes from, what it exports, and the rest of its text.

    `imports` are module, name there (`*` for all of it) and name here; `exports` lead from a name to what it stands for
    here, `passed` from a name to a module and the name there; `stars` are modules passed on whole.
    """

    imports: list[tuple[str, str, str]] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)
    passed: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    needs: dict[str, None] = field(default_factory=dict)
    text: str = ""


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """An expression that runs the module called `entry` and gives its exports; `read(path)` gives a module's text.

    Raises ValueError for modules that do not fit together, or cannot be put in one.
    """
    modules: dict[str, Module] = {}
    todo = [entry]
    while todo:
        path = todo.pop()
        if path not in modules:
            modules[path] = DATA.get(path.rpartition(".")[2], _code)(path, read(path))
            todo += modules[path].needs
    try:
        order = list(TopologicalSorter({path: module.needs for path, module in modules.items()}).static_order())
    except CycleError as error:
        raise ValueError(f"modules import each other in a circle: {' → '.join(error.args[1])}") from error
    names = {path: f"{PREFIX}{k}" for k, path in enumerate(order)}
    parts = [f"const {names[path]} = {_function(path, modules, names)};" for path in order]
    return "\n".join(["(() => {", *parts, f"return {names[entry]};", "})()"])


def _function(path: str, modules: dict[str, Module], names: dict[str, str]) -> str:
    """The call that runs a module and gives what it exports."""
    module = modules[path]
    heads, exports = [], dict(module.exports)
    for source, name, here in module.imports:
        heads.append(f"const {here} = {_read(path, source, name, modules, names)};")
    for name, (source, name_there) in module.passed.items():
        exports[name] = _read(path, source, name_there, modules, names)
    for source in module.stars:
        for name in _exported(source, modules) - {DEFAULT, *exports}:
            exports[name] = _read(path, source, name, modules, names)
    table = ", ".join(f"{json.dumps(name)}: {exports[name]}" for name in sorted(exports))
    result = f"return Object.freeze({{ __proto__: null, {table} }});"
    return "\n".join([f"(() => {{ // {path}", *heads, module.text.strip("\n"), result, "})()"])


def _read(path: str, source: str, name: str, modules: dict[str, Module], names: dict[str, str]) -> str:
    """What a module reads to have another's export, or all of it."""
    if name == ALL:
        return names[source]
    if name not in _exported(source, modules):
        raise ValueError(f"{path} takes {name} from {source}, which exports no such name")
    return f"{names[source]}[{json.dumps(name)}]"


def _exported(path: str, modules: dict[str, Module]) -> set[str]:
    module = modules[path]
    starred = [name for star in module.stars for name in _exported(star, modules) if name != DEFAULT]
    return {*module.exports, *module.passed, *starred}


def _json(path: str, text: str) -> Module:
    json.loads(text)
    return Module(exports={DEFAULT: f"{PREFIX}Default"}, text=f"const {PREFIX}Default = {text.strip()};")


def _letters(path: str, text: str) -> Module:
    return _json(path, json.dumps(text))


@cache  # several bundles have most of their modules in common
def _code(path: str, text: str) -> Module:
    return _Reader(path, text).module


DATA = {"json": _json, "wasm": _letters}
"""How modules that are no code are read, by their endings: of a binary one `read` gives letters."""


def _blank(code: bytes, comment: Node) -> tuple[int, int, str]:
    """What to cut of a comment, and what to put there: lines that hold nothing else go whole."""
    begin, end = len(code[: comment.start_byte].rstrip(b" \t")), comment.end_byte
    is_first = code[begin - 1 : begin] in (b"", b"\n")
    if is_first and code[end : end + 1] == b"\n":
        return begin, end + 1, ""
    return begin, end, "\n" if b"\n" in code[begin:end] and not is_first else ""


class _Reader:
    """Takes one module apart."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self.module = Module()
        if PREFIX in text:
            raise ValueError(f"{path}: {PREFIX} is a name of the bundle's own")
        code = text.encode()
        parser, query = _javascript()
        top = parser.parse(code).root_node
        if top.has_error:
            raise ValueError(f"{path}, line {_broken(top).start_point[0] + 1}: this is no JavaScript")
        found = QueryCursor(query).captures(top)
        comments = found.pop("comment", [])
        self._refuse(found)
        self._edits: dict[tuple[int, int], str] = {}
        for node in top.named_children:
            if node.type == "import_statement":
                self._import(node)
            elif node.type == "export_statement":
                self._export(node)
        edits = [(begin, end, new) for (begin, end), new in self._edits.items()]
        places = [(begin, end) for begin, end, _ in edits]
        outside = (it for it in comments if not any(begin <= it.start_byte < end for begin, end in places))
        edits += [_blank(code, comment) for comment in outside]
        for begin, end, new in sorted(edits, reverse=True):
            code = code[:begin] + new.encode() + code[end:]
        self.module.text = code.decode()

    def _error(self, node: Node, what: str) -> ValueError:
        return ValueError(f"{self._path}, line {node.start_point[0] + 1}: {what}")

    def _refuse(self, odd: dict[str, list[Node]]) -> None:
        for what, nodes in odd.items():
            for node in nodes:
                if what != "await" or not _is_in_function(node):
                    raise self._error(node, f"{what} cannot be part of a bundle here")

    def _source(self, node: Node) -> str:
        """The module that an import or export names."""
        source = node.child_by_field_name("source")
        assert source is not None
        written = json.loads(f'"{_text(source)[1:-1]}"')
        if not written.startswith(("./", "../")):
            raise self._error(node, f"{written!r} is no file beside this one")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self._path), written))
        self.module.needs[path] = None
        return path

    def _import(self, node: Node) -> None:
        self._edits[node.start_byte, node.end_byte] = ""
        source = self._source(node)
        for clause in _of(node, "import_clause"):
            for part in clause.named_children:
                if part.type == "identifier":
                    self.module.imports.append((source, DEFAULT, _text(part)))
                elif part.type == "namespace_import":
                    self.module.imports.append((source, ALL, _text(part.named_children[0])))
                else:
                    self.module.imports += [(source, *_pair(specifier)) for specifier in _of(part, "import_specifier")]

    def _export(self, node: Node) -> None:
        declaration = node.child_by_field_name("declaration")
        if node.child_by_field_name("source"):
            self._pass_on(node)
        elif declaration is not None:
            self._declare(node, declaration)
        elif (value := node.child_by_field_name("value")) is not None:
            self.module.exports[DEFAULT] = f"{PREFIX}Default"
            self._edits[node.start_byte, value.start_byte] = f"const {PREFIX}Default = "
        else:
            for clause in _of(node, "export_clause"):
                pairs = (_pair(specifier) for specifier in _of(clause, "export_specifier"))
                self.module.exports |= {outside: here for here, outside in pairs}
            self._edits[node.start_byte, node.end_byte] = ""

    def _pass_on(self, node: Node) -> None:
        """`export … from …`."""
        self._edits[node.start_byte, node.end_byte] = ""
        source = self._source(node)
        for clause in _of(node, "export_clause"):
            for specifier in _of(clause, "export_specifier"):
                name, outside = _pair(specifier)
                self.module.passed[outside] = (source, name)
        for whole in _of(node, "namespace_export"):
            self.module.passed[_name(whole.named_children[0])] = (source, ALL)
        if any(child.type == ALL for child in node.children):
            self.module.stars.append(source)

    def _declare(self, node: Node, declaration: Node) -> None:
        """`export` before something that has a name of its own, or several."""
        self._edits[node.start_byte, declaration.start_byte] = ""
        kind = declaration.child_by_field_name("kind")
        if declaration.type == "variable_declaration" or (kind is not None and _text(kind) == "let"):
            raise self._error(node, "only what stays as it is can be exported: say const")
        name = declaration.child_by_field_name("name")
        names = [_text(name)] if name is not None else [_text(part) for part in _bound(declaration)]
        is_default = any(child.type == DEFAULT for child in node.children)
        self.module.exports |= {DEFAULT if is_default else each: each for each in names}


@cache
def _javascript() -> tuple[Parser, Query]:
    """What reads the language, and what finds the odd places in it and its comments."""
    import tree_sitter_javascript

    language = Language(tree_sitter_javascript.language())
    return Parser(language), Query(language, ODD + COMMENTS)


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _name(node: Node) -> str:
    """A name, which may be written as a string."""
    return str(json.loads(_text(node))) if node.type == "string" else _text(node)


def _of(node: Node, kind: str) -> list[Node]:
    return [child for child in node.named_children if child.type == kind]


def _pair(specifier: Node) -> tuple[str, str]:
    """The name before `as` and the one after it; without `as` the same."""
    parts = [child for child in specifier.children if child.type not in ("as", "comment")]
    return _name(parts[0]), _name(parts[-1])


def _bound(declaration: Node) -> Iterator[Node]:
    """The names that a declaration of constants binds, those in patterns too."""
    todo = [child.child_by_field_name("name") for child in _of(declaration, "variable_declarator")]
    while todo:
        node = todo.pop(0)
        if node is None:
            continue
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield node
        elif node.type == "pair_pattern":
            todo.append(node.child_by_field_name("value"))
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            todo.append(node.child_by_field_name("left"))
        else:
            todo += node.named_children


def _is_in_function(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type not in FUNCTIONS:
        above = above.parent
    return above is not None


def _broken(node: Node) -> Node:
    """The first place in a tree that could not be read."""
    for child in node.children:
        if child.is_error or child.is_missing:
            return child
        if child.has_error:
            return _broken(child)
    return node
