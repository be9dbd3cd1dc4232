"""Kernels of several files, interpreted and compiled."""

import ast
import dis
import inspect
import os
import subprocess
import sys
from types import FunctionType, ModuleType

import pytest

from ops.lab.synthesis import matching
from sim.base import compiled
from sim.fabric import kernel, max_min
from sim.schedule import replay
from sim.symmetry import follow
from sim.symmetry.classes import kernels

INNER = "from sim.base.compiled import helper\n\n\n@helper\ndef inner(x):\n    return x + {}\n"
OUTER = "from inner import inner\nfrom sim.base.compiled import jit\n\n\n@jit\ndef outer(x):\n    return 2 * inner(x)\n"
ASK = "import outer, sim.base.compiled as s; print(outer.outer(3), s.compiled(outer).outer(3), s.is_compiled(outer))"


@pytest.mark.slow
def test_machine_code_is_made_anew_when_a_file_it_calls_has_changed(tmp_path):
    (tmp_path / "outer.py").write_text(OUTER, encoding="utf-8")
    path = os.pathsep.join((str(tmp_path), os.getcwd(), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    for added, found in ((1, 8), (20, 46)):
        (tmp_path / "inner.py").write_text(INNER.format(added), encoding="utf-8")
        asked = subprocess.run(
            [sys.executable, "-c", ASK], capture_output=True, text=True, check=True, env=environment, timeout=120
        )
        assert asked.stdout.split() == [str(found), str(found), "True"]
    assert list((tmp_path / "__pycache__").glob("outer*.nbi"))


def test_little_work_is_interpreted_until_much_of_it_was_done(monkeypatch):
    monkeypatch.setattr(compiled, "compiled", lambda module: "compiled")
    large, small = ModuleType("large"), ModuleType("small")
    assert compiled.twin(large, compiled.AT_ONCE + 1) == "compiled"
    calls = compiled.IN_ALL // compiled.AT_ONCE
    assert all(compiled.twin(small, compiled.AT_ONCE) is small for _ in range(calls))
    assert compiled.twin(small, compiled.AT_ONCE) == "compiled"


def test_more_is_interpreted_while_another_process_compiles(monkeypatch):
    monkeypatch.setattr(compiled, "compiled", lambda module: "compiled")
    monkeypatch.setattr(compiled, "_PATIENCE", [1])
    first, second = ModuleType("first"), ModuleType("second")
    compiled.wait_for_compiler(is_at_work=True)
    assert compiled.twin(first, compiled.AT_ONCE * compiled.PATIENT) is first
    assert compiled.twin(first, compiled.AT_ONCE * compiled.PATIENT + 1) == "compiled"
    assert not compiled.spent(second, compiled.IN_ALL * compiled.PATIENT)
    compiled.wait_for_compiler(is_at_work=False)
    assert compiled.twin(first, compiled.AT_ONCE + 1) == "compiled"
    assert compiled.spent(second, 0)


@pytest.mark.parametrize("module", [follow, kernels, matching, replay], ids=lambda module: module.__name__)
def test_all_functions_of_a_module_of_kernels_are_compiled(module):
    own = [it for it in vars(module).values() if isinstance(it, FunctionType) and it.__module__ == module.__name__]
    assert own
    assert compiled._KERNELS.keys() >= {*own}


@pytest.mark.parametrize("module", [kernel, max_min, replay], ids=lambda module: module.__name__)
def test_indices_of_a_twin_are_unsigned(module):
    for function in [it for it in vars(module).values() if isinstance(it, FunctionType) and it in compiled._KERNELS]:
        tree = ast.walk(ast.parse(inspect.getsource(function)))
        indices = [node.slice for node in tree if isinstance(node, ast.Subscript)]
        parts = [part for index in indices for part in (index.elts if isinstance(index, ast.Tuple) else [index])]
        casts = sum(not isinstance(part, ast.Constant | ast.Slice) for part in parts)
        loads = [it.argval for it in dis.get_instructions(compiled._unsigned(function)) if it.opname == "LOAD_GLOBAL"]
        assert loads.count(compiled.CAST) >= casts  # some code stands twice, as a loop's condition does
