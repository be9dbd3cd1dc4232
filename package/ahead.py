"""Compile the simulator's kernel ahead of time: `python -m package.ahead` writes `assets/kernel/kernel.wasm`.

Numba compiles the kernel functions to LLVM code, which is then compiled for WebAssembly instead of this computer. The
module needs no other code. It owns a memory; the caller lays the arrays of `FabricState` and `Crossbar` out in it, and
passes every function the address of a table of 64-bit words: the address and the extents of each array, then the other
arguments. `kernel.json` lists them all, and the constants. The same numba makes the same bytes on every computer.
"""

import hashlib
import io
import json
import os
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from package import webassembly
from sim.base import compiled as compiler
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.fabric import calendar, kernel, links, rows
from sim.fabric.crossbar import table
from sim.fabric.memory import Arena
from sim.registry import one_sentence
from sim.topology import Device, Link, Topology

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "kernel"
NAMES = ("kernel.wasm", "kernel.json")
PLAIN = {
    "NUMBA_OPT": "0",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "0",
}
"""Settings under which numba's LLVM code does not depend on the computer: it is optimised for WebAssembly alone."""
FEATURES = "+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals"
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "advance": ("float64",),
    "touch": ("int64", "float64"),
    "divert": ("int64", "int64", "float64"),
    "leads": (),
}
"""The functions of the module, with the types of their arguments after the arrays."""
RESULTS = {"advance": "int64"}
"""Functions that return something."""
LEADS = {"overhead": "float64", "latency": "float64", "route_start": "int32", "route_links": "int32", "lead": "float64"}
"""The arrays of `leads`; the other functions take those of the fabric's state and of the crossbar."""


def arena() -> Arena:
    """Return the memory of a machine of two devices, for the types of its arrays."""
    pair = (Device("a", "GPU"), Device("b", "GPU"))
    return Arena(Topology("pair", pair, (Link("a", "b", 1.0, 0.0),)), history=False)


def arrays(value: Any, path: str = "") -> Iterator[tuple[str, str, int]]:
    """List the arrays of a named tuple in order: path, dtype, number of axes."""
    if isinstance(value, tuple):
        for field, it in zip(value._fields, value, strict=True):  # type: ignore[attr-defined]
            yield from arrays(it, f"{path}.{field}".lstrip("."))
    else:
        yield path, str(value.dtype), value.ndim


def records() -> dict[str, list[tuple[str, str, int]]]:
    """List the arrays that functions take: those of the fabric's state, and those of `leads`."""
    memory = arena()
    fabric = [*arrays(memory.fabric), *arrays(memory.crossbar, "bar")]
    return {"fabric": fabric, "leads": [(name, dtype, 1) for name, dtype in LEADS.items()]}


def record_of(function: str) -> str:
    """Return which record of arrays a function takes."""
    return function if function == "leads" else "fabric"


def module_of(function: str) -> Any:
    """Return the module a kernel function is in."""
    return links if function == "leads" else kernel


def fingerprint() -> str:
    """Return a fingerprint of the sources the artefact is made of; comments and docstrings do not count."""
    kernels = [getattr(module_of(name), name) for name in FUNCTIONS]
    files = sorted(set().union(*(compiler.files(it) for it in kernels)))
    digest = hashlib.sha256(json.dumps(records()).encode())
    for file in [*files, compiler.__file__]:
        digest.update("".join(words_of(Path(file).read_text(encoding="utf-8"))).encode())
    return digest.hexdigest()


def words_of(source: str) -> Iterator[str]:
    """List the tokens of a source without comments, layout and strings that stand alone."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.INDENT, tokenize.DEDENT}
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped and not (begins and token.type == tokenize.STRING):
            yield token.string
        if token.type != tokenize.COMMENT:
            begins = token.type in skipped


def describe(numba: str) -> dict[str, Any]:
    """Return what a caller of the module needs to know."""
    modules = {"kernel": kernel, "calendar": calendar, "links": links, "rows": rows, "crossbar": table}
    return {
        "sources": fingerprint(),
        "numba": numba,
        "free": webassembly.STACK,
        "records": records(),
        "functions": {
            name: {"record": record_of(name), "scalars": scalars, "result": RESULTS.get(name)}
            for name, scalars in FUNCTIONS.items()
        },
        "constants": {name: dict(sorted(_constants(module))) for name, module in modules.items()},
    }


def _constants(module: Any) -> Iterator[tuple[str, int]]:
    for name, value in vars(module).items():
        if name.isupper() and hasattr(value, "__index__"):
            yield name, int(value)


def kinds_of(function: str) -> list[Any]:
    """Return numba's types of a function's arguments."""
    import numba
    from numba import types

    memory = arena()
    arrays = [numba.typeof(memory.fabric), numba.typeof(memory.crossbar)]
    if function == "leads":
        arrays = [types.Array(getattr(types, dtype), 1, "C") for dtype in LEADS.values()]
    return arrays + [getattr(types, kind) for kind in FUNCTIONS[function]]


def code_of(name: str, twin: Any, kinds: list[Any], result: str) -> str:
    """Return the LLVM code of a compiled function that reads its arguments from a table of words."""
    import numba
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    word, whole = ir.IntType(64), types.Tuple(kinds)

    @intrinsic  # type: ignore[untyped-decorator]
    def read(_context: Any, _table: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            start, at = builder.inttoptr(arguments[0], word.as_pointer()), count()

            def load() -> Any:
                return builder.load(builder.gep(start, [word(next(at))]))

            def made(kind: Any) -> Any:
                if isinstance(kind, types.BaseTuple):
                    return context.make_tuple(builder, kind, [made(it) for it in kind.types])
                if kind == types.none:
                    return context.get_dummy_value()
                if not isinstance(kind, types.Array):
                    form = context.get_value_type(kind)
                    return builder.trunc(load(), form) if kind == types.boolean else builder.bitcast(load(), form)
                item = context.get_data_type(kind.dtype)
                data = builder.inttoptr(load(), item.as_pointer())
                shape = [load() for _ in range(kind.ndim)]
                strides = [word(context.get_abi_sizeof(item))]
                for extent in reversed(shape[1:]):
                    strides.insert(0, builder.mul(strides[0], extent))
                array = make_array(kind)(context, builder)
                populate_array(array, data, shape, strides, itemsize=strides[-1], meminfo=None)
                return array._getvalue()

            return made(whole)

        return whole(types.int64), build

    options = {option: compiler.OPTIONS[option] for option in ("_nrt", "error_model")}
    made = numba.cfunc(getattr(types, result)(types.int64), **options)(lambda words: twin(*read(words)))
    return str(made.inspect_llvm()).replace(f"@{made.native_name}(", f"@{name}(")


def linked(codes: Mapping[str, str], bits: int = 32) -> bytes:
    """Return a module that exports functions, given by their LLVM code, for a memory with addresses of so many bits.

    Raises InputError for a function that calls what is no kernel function.
    """
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = f"wasm{bits}-unknown-unknown"
    machine = llvm.Target.from_triple(target).create_target_machine(
        cpu="mvp", features=FEATURES, opt=3, reloc="static", codemodel="default"
    )
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{target}"\n'
    whole = llvm.parse_assembly(head)
    for name, code in codes.items():
        module = llvm.parse_assembly(head + re.sub(r"^target (datalayout|triple) = .*\n", "", code, flags=re.M))
        for it in [*module.functions, *module.global_variables]:
            if not it.is_declaration and it.name != name:
                it.linkage = "internal"
        builder.getModulePassManager().run(module, builder)
        if lacking := webassembly.lacking(machine.emit_object(module)):
            raise InputError(f"{name} cannot be compiled ahead of time, as it calls {', '.join(lacking)}: do without")
        whole.link_in(module)
    return webassembly.module_of(machine.emit_object(whole), list(codes), bits)


def compile_all(bits: int = 32) -> bytes:
    """Return the kernel's module, for which numba must be imported under the settings of `PLAIN`."""
    twins = {name: getattr(compiler.compiled(module_of(name)), name) for name in FUNCTIONS}
    kinds = {name: kinds_of(name) for name in FUNCTIONS}
    codes = {name: code_of(name, twin, kinds[name], RESULTS.get(name, "void")) for name, twin in twins.items()}
    return linked(codes, bits)


def prepare() -> None:
    """Have numba, which must not be imported yet, make code that does not depend on this computer, and keep none."""
    os.environ.update(PLAIN)
    compiler.OPTIONS["cache"] = False


def build(folder: Path) -> list[str]:
    """Write the module and its description into a folder; return the names of the files that changed."""
    prepare()
    import numba

    text = json.dumps(describe(numba.__version__), separators=(",", ":"))
    made = [compile_all(), f"{text}\n".encode()]
    changed = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(NAMES, made, strict=True):
        if not (folder / name).exists() or (folder / name).read_bytes() != content:
            write_whole(folder / name, content)
            changed.append(name)
    return changed


if __name__ == "__main__":
    with one_sentence():
        folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
        changed = build(folder)
        print("written: " + ", ".join(changed) if changed else "identical")  # noqa: T201
