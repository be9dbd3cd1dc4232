"""A WebAssembly object made into a module, without a linker.

The kernel's object has functions alone: no data, no tables, and of imports only a memory and the stack pointer. So its
own memory and stack pointer take the place of these imports, and its functions are exported by name. The layout of
objects is that of WebAssembly's tool conventions (Linking.md), that of modules the WebAssembly core specification's.
"""

from collections.abc import Iterator, Sequence

PAGE = 1 << 16
STACK = 4 * PAGE
"""Bytes at the start of the memory that the functions use as their stack; what follows is free."""
CUSTOM, TYPES, IMPORTS, FUNCTIONS, MEMORY, GLOBALS, EXPORTS, CODE, DATA_COUNT = 0, 1, 2, 3, 5, 6, 7, 10, 12
"""Numbers of sections."""
POINTER = {32: bytes([0x7F, 1, 0x41]), 64: bytes([0x7E, 1, 0x42])}
"""A variable of 32 or 64 bits, and the instruction that loads a constant of that kind."""
LIMITS = {32: 0, 64: 4}
"""Flags of a memory without a largest size."""
END = 0x0B
SYMBOL_TABLE, FUNCTION, DATA, SECTION = 8, 0, 1, 3
TABLE, GLOBAL = 1, 3
"""Kinds of imports, beside `FUNCTION` and memories."""
UNDEFINED, EXPLICIT = 0x10, 0x40
"""Flags of symbols."""


class Cursor:
    """Reads numbers and names of a binary one after the other."""

    def __init__(self, raw: bytes, at: int = 0) -> None:
        self._raw = raw
        self._at = at

    def number(self) -> int:
        """Read an unsigned number in LEB128."""
        value = shift = 0
        while True:
            byte = self._raw[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def part(self) -> bytes:
        """Read a number of bytes and as many bytes."""
        length = self.number()
        self._at += length
        return self._raw[self._at - length : self._at]

    def rest(self) -> bytes:
        """Return what has not been read."""
        return self._raw[self._at :]

    def __bool__(self) -> bool:
        return self._at < len(self._raw)


def module_of(raw: bytes, names: Sequence[str], bits: int = 32) -> bytes:
    """Return the module of an object that exports `memory` and functions of these names.

    Addresses have 32 or 64 bits. Raises ValueError if the object needs more than a memory and a stack pointer.
    """
    sections = dict(_sections(raw))
    linking = sections.pop("linking")
    if extra := {it for it in sections if isinstance(it, int)} - {TYPES, IMPORTS, FUNCTIONS, CODE, DATA_COUNT}:
        raise ValueError(f"the kernel's object has sections {sorted(extra)}: kernels must have no data and no tables")
    index = dict(_functions(linking))
    exports = [_part(b"memory") + bytes([2, 0])]
    exports += [_part(name.encode()) + bytes([0]) + _number(index[name.encode()]) for name in names]
    made = {
        TYPES: sections[TYPES],
        FUNCTIONS: sections[FUNCTIONS],
        MEMORY: bytes([1, LIMITS[bits]]) + _number(STACK // PAGE),
        GLOBALS: bytes([1]) + POINTER[bits] + _signed(STACK) + bytes([END]),
        EXPORTS: _number(len(exports)) + b"".join(exports),
        CODE: sections[CODE],
    }
    return raw[:8] + b"".join(bytes([kind]) + _part(body) for kind, body in made.items())


def lacking(raw: bytes) -> list[str]:
    """List what an object needs from others beside its memory and its stack pointer: functions, above all."""
    imports = _imports(dict(_sections(raw))[IMPORTS])
    return [name for name in imports if name not in ("__linear_memory", "__stack_pointer")]


def _sections(raw: bytes) -> Iterator[tuple[int | str, bytes]]:
    """List an object's sections by number, or by name where they have one."""
    cursor = Cursor(raw, 8)
    while cursor:
        kind, body = cursor.number(), Cursor(cursor.part())
        yield (body.part().decode() if kind == CUSTOM else kind), body.rest()


def _imports(section: bytes) -> Iterator[str]:
    cursor = Cursor(section)
    for _ in range(cursor.number()):
        cursor.part()
        yield cursor.part().decode()
        kind = cursor.number()
        if kind == TABLE:
            cursor.number()  # the type of its entries
        first = cursor.number()  # the type of a function or a global, or which limits the others have
        for _ in range({FUNCTION: 0, GLOBAL: 1}.get(kind, 1 + (first & 1))):
            cursor.number()


def _functions(linking: bytes) -> Iterator[tuple[bytes, int]]:
    """List the names and indices of functions in an object's table of symbols."""
    cursor = Cursor(linking)
    cursor.number()  # the version
    while cursor:
        kind, body = cursor.number(), Cursor(cursor.part())
        for _ in range(body.number() if kind == SYMBOL_TABLE else 0):
            symbol, flags = body.number(), body.number()
            if symbol == SECTION:
                body.number()
            elif symbol == DATA:
                raise ValueError(f"the kernel's object has data: {body.part().decode()}")
            else:
                index = body.number()
                named = not flags & UNDEFINED or flags & EXPLICIT
                name = body.part() if named else b""
                if symbol == FUNCTION:
                    yield name, index


def _number(value: int) -> bytes:
    """Write an unsigned number in LEB128."""
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _number(high) if high else bytes([low])


def _signed(value: int) -> bytes:
    """Write a number of 0 or more in signed LEB128."""
    low, high = value & 0x7F, value >> 7
    return bytes([low]) if not high and low < 0x40 else bytes([low | 0x80]) + _signed(high)


def _part(body: bytes) -> bytes:
    return _number(len(body)) + body
