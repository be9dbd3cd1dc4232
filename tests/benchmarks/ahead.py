"""Whole commands with kernels compiled ahead of time and run by wasmtime, beside numba's and interpreted ones.

Run `python -m tests.benchmarks.ahead [ranks …]`; 8, 64, 256, 1024 and 4096 if left out. Every cell is a process of its
own that builds a machine and a schedule, proves it and simulates every rank: seconds of the processor from its start to
its end, the median of three that take turns. A cold process finds no machine code on disk. All kernel functions that
the commands use are compiled ahead of time for this, the proof's and the dependencies' too. `RINGSIDE_AHEAD` names a
folder that keeps what is compiled for the next table.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ops import ALGORITHMS
from package import ahead
from sim import engine
from sim.base import compiled as compiler
from sim.fabric import kernel, links, memory
from sim.machines import build
from sim.schedule import dependencies, replay
from sim.schedule.verify import prove

RANKS = (8, 64, 256, 1024, 4096)
WORKLOADS = ("allreduce.ring", "alltoall.linear", "alltoallv.linear", "allreduce.rabenseifner")
ENGINES = ("numba", "wasmtime", "wasmtime64", "interpreted")
MODULES = (kernel, links, replay)
REPEATS = 3
LONG = 256
"""Ranks above which every cell is tried once."""
PATIENCE = 600.0
"""Seconds after which a cell is given up."""
NEVER = 1 << 60
"""Array operations that no run has."""
NARROW = 5 << 20
"""Transfers of the largest run whose arrays 32 bits can address."""
UNEVEN = 1 << 20
"""Transfers of the largest run whose sizes all differ: more take hours."""
SLOW = 64
"""Ranks up to which runs are interpreted, too."""
SMALL = 1 << 16
"""Bytes up to which arrays stay outside the module's memory until a call."""
LETTERS = {float: "f", int: "i", bool: "b", type(None): "n", np.float64: "f", np.int64: "i", np.bool_: "b"}
RAISED = re.compile(r"br i1 [^,]+, label [^,]+, label (%[^ ,\n]+).*")
"""Where a function of numba's looks whether what it called raised an error; none does here."""
COLD = 64
"""Ranks for which processes without machine code on disk are tried: what they compile is the same for others."""
AT_ONCE = 3_000
"""Array operations from which on wasmtime is loaded: a tenth of numba's, since it takes a tenth of the time."""


def run(workload: str, n: int) -> float:
    """Prove and simulate a workload; returns the simulated seconds."""
    topology = build(f"switch:ranks={n}")
    schedule = ALGORITHMS[workload].schedule(n)
    uneven = workload.startswith("alltoallv")
    blocks = np.random.default_rng(1).permutation(n * n) * 1024.0 + (1 << 20) if uneven else None
    proof = prove(schedule, blocks=uneven)
    return engine.simulate(topology, schedule, 1 << 30, blocks=blocks, proof=proof).time


def make(folder: Path) -> None:
    """Compile the functions of proofs and dependencies, with the types the workloads call them with, and the kernel."""
    ahead.prepare()
    from numba import types

    compiler.AT_ONCE = compiler.IN_ALL = -1
    for workload in WORKLOADS:
        schedule = ALGORITHMS[workload].schedule(8)
        prove(schedule, blocks=workload.startswith("alltoallv"))
        dependencies.waits(schedule)
    codes, table = {}, []
    for name, twin in vars(compiler.compiled(replay)).items():
        for arguments, made in twin.overloads.items():
            kind = made.signature.return_type
            result, export = "void" if kind == types.none else str(kind), f"f{len(codes)}"
            code = ahead.code_of(export, twin, list(arguments), result)
            door = code.index(f"@{export}(")
            codes[export] = code[:door] + RAISED.sub(r"br label \1", code[door:], count=1)
            table.append([name, export, key_of(arguments)])
    (folder / "functions.json").write_text(json.dumps(table))
    (folder / "kernel32.wasm").write_bytes((ahead.FOLDER / "kernel.wasm").read_bytes())
    for bits in (32, 64):
        (folder / f"proof{bits}.wasm").write_bytes(ahead.linked(codes, bits))
    (folder / "kernel64.wasm").write_bytes(ahead.compile_all(64))


def key_of(kinds: Sequence) -> str:
    """The types of arrays, in the order in which they are passed, and of other arguments."""
    from numba import types

    parts = []
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            parts.append(key_of(list(kind.types)))
        elif isinstance(kind, types.Array):
            parts.append(f"{kind.dtype}{kind.ndim}")
        else:
            parts.append({"none": "n", "bool": "b", "int64": "i", "float64": "f"}[str(kind)])
    return " ".join(parts)


class Engine:
    """The kernel functions of `MODULES` by wasmtime, loaded when there is enough to do."""

    def __init__(self, folder: Path, bits: int) -> None:
        self.folder, self.bits, self.memory = folder, bits, None
        self.spaces = {module.__name__: SimpleNamespace() for module in MODULES}

    def module(self, name: str) -> Any:
        """Load a module, and compile it unless its machine code is on disk."""
        from tests.wasmtime_kernel import WasmtimeModule

        kept = Path(os.environ["NUMBA_CACHE_DIR"], f"{name}{self.bits}.cwasm")
        return WasmtimeModule(self.folder / f"{name}{self.bits}.wasm", self.bits, kept)

    def load(self) -> None:
        """Load the functions."""
        self.memory, proof = self.module("kernel"), self.module("proof")
        for module, name in ((kernel, "advance"), (kernel, "touch"), (kernel, "divert"), (links, "leads")):
            setattr(self.spaces[module.__name__], name, partial(self.memory.call, name))
        exports = defaultdict(dict)
        for name, export, key in json.loads((self.folder / "functions.json").read_text()):
            exports[name][key] = export
        for name, by_key in exports.items():
            setattr(self.spaces[replay.__name__], name, partial(self.called, proof, by_key))

    def called(self, module: Any, by_key: dict[str, str], *arguments: Any) -> int:
        from tests.wasmtime_kernel import leaves

        kinds = (
            f"{it.dtype}{it.ndim}" if isinstance(it, np.ndarray) else LETTERS[type(it)] for it in leaves(arguments)
        )
        return module.call(by_key[" ".join(kinds)], *arguments)

    def twin(self, module: ModuleType, work: float) -> Any:
        return self.compiled(module) if self.memory or work > AT_ONCE else module

    def compiled(self, module: ModuleType) -> Any:
        if not self.memory:
            self.load()
        return self.spaces[module.__name__]

    def empty(self, shape, dtype=np.float64) -> np.ndarray:
        large = self.memory and np.prod(shape) * np.dtype(dtype).itemsize > SMALL
        return self.memory.empty(shape, dtype) if large else np.empty(shape, dtype)

    def install(self) -> None:
        """Put these in the place of numba's, and memory of the module in that of numpy's."""
        engine.INTERPRETED = AT_ONCE
        engine._ready = lambda: self.compiled(kernel)
        places = {
            "twin": self.twin,
            "compiled": self.compiled,
            "blank": self.empty,
            "is_compiled": lambda _: bool(self.memory),
        }
        for module in [it for name, it in sys.modules.items() if name.startswith(("sim.", "ops."))]:
            for name, ours in places.items():
                if getattr(vars(module).get(name), "__module__", "") in ("sim.base.compiled", "sim.base.arrays"):
                    setattr(module, name, ours)
        memory.np = SimpleNamespace(**{**vars(np), "empty": self.empty})


def once(name: str, workload: str, n: int, folder: Path) -> None:
    """Run one workload with an engine; prints the simulated seconds."""
    if name == "interpreted":
        compiler._PATIENCE[0] = NEVER
    if name.startswith("wasmtime"):
        Engine(folder, 64 if name.endswith("64") else 32).install()
    print(run(workload, n).hex())


def cell(name: str, workload: str, n: int, folder: Path, kept: str) -> tuple[float, str]:
    """Seconds of the processor of a process, and what it printed."""
    command = [sys.executable, "-m", "tests.benchmarks.ahead", "--once", name, workload, str(n), str(folder)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": kept, "RINGSIDE_QUIET": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        killer = threading.Timer(PATIENCE, process.kill)
        killer.start()
        printed = process.stdout.read().strip()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = status
    return (usage.ru_utime + usage.ru_stime if printed else float("nan")), printed


def row(workload: str, n: int, folder: Path, warm: str) -> dict[str, float]:
    """Seconds by engine; answers must be equal to the bit."""
    names = engines(workload, n)
    spent, answers = defaultdict(list), set()
    with tempfile.TemporaryDirectory() as cold:
        for name in ("numba", "wasmtime") if n == COLD else ():
            spent[f"{name}, cold"].append(cell(name, workload, n, folder, cold)[0])
    for _ in range(REPEATS if n <= LONG else 1):
        for name in names:
            seconds, printed = cell(name, workload, n, folder, warm)
            spent[name].append(seconds)
            answers |= {printed} - {""}
    assert len(answers) == 1, (workload, n, answers)
    return {name: statistics.median(seconds) for name, seconds in spent.items()}


def main(ranks: Sequence[int], folder: Path) -> None:
    """Print a row per workload and number of ranks."""
    columns = ["numba, cold", "wasmtime, cold", *ENGINES]
    warm = str(folder / "warm")
    Path(warm).mkdir(parents=True, exist_ok=True)
    if not (folder / "kernel64.wasm").exists():
        subprocess.run([sys.executable, "-m", "tests.benchmarks.ahead", "--make", str(folder)], check=True)
    print(f"{'':24}{'ranks':>6}" + "".join(f"{name:>16}" for name in columns) + f"{'ratio':>8}{'ratio64':>9}")
    for n in ranks:
        for workload in WORKLOADS:
            if workload.startswith("alltoallv") and transfers(workload, n) > UNEVEN:
                continue
            for name in engines(workload, n) if n <= LONG else ():
                cell(name, workload, n, folder, warm)
            spent = row(workload, n, folder, warm)
            cells = "".join(f"{spent.get(name, float('nan')):16.2f}" for name in columns)
            ratios = spent.get("wasmtime", float("nan")) / spent["numba"], spent["wasmtime64"] / spent["numba"]
            print(f"{workload:24}{n:6}{cells}{ratios[0]:8.2f}{ratios[1]:9.2f}", flush=True)


def engines(workload: str, n: int) -> list[str]:
    """Those that can run it: with 32 bits as far as these address it, interpreted where that takes seconds."""
    left = {"wasmtime": transfers(workload, n) > NARROW, "interpreted": n > SLOW}
    return [name for name in ENGINES if not left.get(name)]


def transfers(workload: str, n: int) -> int:
    return {"ring": 2 * n * (n - 1), "linear": n * (n - 1), "rabenseifner": 2 * n * 12}[workload.split(".")[1]]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        once(sys.argv[2], sys.argv[3], int(sys.argv[4]), Path(sys.argv[5]))
    elif sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main([int(n) for n in sys.argv[1:]] or RANKS, Path(os.environ.get("RINGSIDE_AHEAD", place)))
